/* Threads that take mutexes around short sections: small_sections THREADS MUTEXES CHOICE INSIDE OUTSIDE DATA SECONDS
 *
 * In a section a thread increments a number INSIDE times, and between two sections another one, its own, OUTSIDE times. DATA says
 * where the number of the sections is:
 *   beside   beside the mutex, on the same cache line
 *   apart    on a cache line of its own, one for each mutex
 *   own      at the thread, so that the mutex protects nothing
 * CHOICE says which mutex a thread takes: each in `turn`, or at `random`. MUTEXES is a power of two.
 *
 * Sections are counted during SECONDS, which begin when the threads have run for a moment. At the end the numbers must add up to
 * the increments of all sections. Two threads that are inside at once lose some, unless the numbers are their own. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE = 64, THREADS_MOST = 256, MUTEXES_MOST = 4096 };

static const double WARM_UP_S = 0.02;

/* A mutex with the number that is beside it: a line. */
struct place {
    _Alignas(LINE) pthread_mutex_t mutex;
    volatile uint64_t number;
};

struct line {
    _Alignas(LINE) volatile uint64_t number;
};

struct worker {
    _Alignas(LINE) _Atomic uint64_t sections;
    volatile uint64_t number, outside;
    uint64_t random;
    pthread_t thread;
};

enum data { BESIDE, APART, OWN };

struct plan {
    unsigned threads, mutexes, inside, outside;
    int is_random;
    enum data data;
    double seconds;
};

static struct place places[MUTEXES_MOST];
static struct line lines[MUTEXES_MOST];
static struct worker workers[THREADS_MOST];
/* Written before there are threads, and then only read until the end. */
static struct plan plan;
static _Alignas(LINE) atomic_int stop;

/* Marsaglia's xorshift. */
static uint64_t next_random(uint64_t state) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ state << 17;
}

static void *work(void *argument) {
    struct worker *me = argument;
    const struct plan mine = plan;
    uint64_t turn = (uint64_t)(me - workers), random = me->random, sections = 0;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        random = mine.is_random ? next_random(random) : random;
        size_t chosen = (mine.is_random ? random >> 32 : turn++) & (mine.mutexes - 1);
        struct place *place = &places[chosen];
        volatile uint64_t *number =
            mine.data == BESIDE ? &place->number : mine.data == APART ? &lines[chosen].number : &me->number;
        pthread_mutex_lock(&place->mutex);
        for (unsigned i = 0; i < mine.inside; i++) (*number)++;
        pthread_mutex_unlock(&place->mutex);
        for (unsigned i = 0; i < mine.outside; i++) me->outside++;
        atomic_store_explicit(&me->sections, ++sections, memory_order_relaxed);
    }
    return NULL;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void rest(double seconds) {
    struct timespec time = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    nanosleep(&time, NULL);
}

static uint64_t sections_so_far(void) {
    uint64_t sections = 0;
    for (unsigned i = 0; i < plan.threads; i++)
        sections += atomic_load_explicit(&workers[i].sections, memory_order_relaxed);
    return sections;
}

/* All numbers that sections have incremented; the others are 0. */
static uint64_t increments(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < plan.mutexes; i++) sum += places[i].number + lines[i].number;
    for (unsigned i = 0; i < plan.threads; i++) sum += workers[i].number;
    return sum;
}

/* Whether the words say what to do. */
static int is_understood(char **words) {
    static const char *const names[] = { "beside", "apart", "own" };
    plan.threads = (unsigned)atoi(words[0]), plan.mutexes = (unsigned)atoi(words[1]);
    plan.is_random = strcmp(words[2], "random") == 0;
    plan.inside = (unsigned)atoi(words[3]), plan.outside = (unsigned)atoi(words[4]);
    plan.seconds = atof(words[6]);
    unsigned data = 0;
    while (data <= OWN && strcmp(words[5], names[data]) != 0) data++;
    plan.data = (enum data)data;
    int is_power = plan.mutexes > 0 && (plan.mutexes & (plan.mutexes - 1)) == 0;
    return plan.threads > 0 && plan.threads <= THREADS_MOST && is_power && plan.mutexes <= MUTEXES_MOST && data <= OWN &&
           plan.inside > 0 && plan.seconds > 0 && (plan.is_random || strcmp(words[2], "turn") == 0);
}

int main(int argc, char **argv) {
    if (argc != 8 || !is_understood(argv + 1)) {
        fprintf(stderr, "usage: small_sections THREADS MUTEXES turn|random INSIDE OUTSIDE beside|apart|own SECONDS\n");
        return 2;
    }
    for (unsigned i = 0; i < plan.mutexes; i++) pthread_mutex_init(&places[i].mutex, NULL);
    for (unsigned i = 0; i < plan.threads; i++) {
        workers[i].random = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) return 1;
    }
    rest(WARM_UP_S);
    double start = now();
    uint64_t before = sections_so_far();
    rest(plan.seconds);
    uint64_t after = sections_so_far();
    double end = now();
    atomic_store(&stop, 1);
    for (unsigned i = 0; i < plan.threads; i++) pthread_join(workers[i].thread, NULL);
    uint64_t wrong = sections_so_far() * plan.inside - increments();
    printf("ops %llu\nseconds %f\nwrong %llu\n", (unsigned long long)(after - before), end - start, (unsigned long long)wrong);
    return wrong != 0;
}
