/* Until it is told to end, `rebuild` computes for 3 ms with the mutex `table`, and `tally` for as long without it, both in turn in
   one thread. `touch` has the mutex for no time. All three are called alike, and three threads wait in `find`. Which of them is
   the culprit is only known from where the thread runs while it has the mutex. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define APART __attribute__((noinline))

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long n_entries;
static unsigned long turns_of_3_ms;

static double own_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static inline __attribute__((always_inline)) unsigned long computed(unsigned long turns)
{
    unsigned long sum = n_entries;
    for (unsigned long i = 0; i < turns; i++)
        sum = sum * 6364136223846793005UL + (i ^ sum >> 7);
    return sum;
}

APART static void rebuild(void)
{
    pthread_mutex_lock(&table);
    n_entries = computed(turns_of_3_ms);
    pthread_mutex_unlock(&table);
}

APART static void tally(void)
{
    n_entries = computed(turns_of_3_ms);
}

APART static void touch(void)
{
    pthread_mutex_lock(&table);
    n_entries = 0;
    pthread_mutex_unlock(&table);
}

APART static void find(void)
{
    pthread_mutex_lock(&table);
    n_entries++;
    pthread_mutex_unlock(&table);
}

static void *works(void *nothing)
{
    static void (*volatile parts[])(void) = { rebuild, tally, touch, tally };
    for (unsigned i = 0;; i++)
        parts[i % 4]();
    return nothing;
}

static void *reads(void *nothing)
{
    for (;;) {
        find();
        usleep(300);
    }
    return nothing;
}

int main(void)
{
    pthread_t thread;
    double began = own_ms();
    const unsigned long some = 1000000;
    n_entries = computed(some);
    turns_of_3_ms = some * 3 / (own_ms() - began);
    pthread_create(&thread, NULL, works, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, reads, NULL);
    puts("begun");
    fflush(stdout);
    getchar();
    puts("ended");
    exit(0);
}
