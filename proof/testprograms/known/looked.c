// Until it is told to end, one function holds a lock for most of the time, and `look_up` waits for it in three threads. Which
// lock, and what its holder does, an argument says: with `sleeps`, `computes` and `looks_at_clock`, `refresh` holds the mutex `cache` for
// 50 ms at a time; with `chain` it waits meanwhile for the mutex `disk`, with which `compact` sleeps; with `writes` it sleeps with `table`, a
// lock for readers and writers, which `look_up` wants to read. With `by_hand` another thread waits for `cache` by the system
// call itself, from a function of which nothing is known.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER, disk = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static volatile long n_entries;
static const char *what;

static int is(const char *word)
{
    return strcmp(what, word) == 0;
}

static void compute(void)
{
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        for (int i = 0; i < 20000 && is("computes"); i++)
            n_entries++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < 50000000);
}

__attribute__((noinline)) static void compact(void)
{
    pthread_mutex_lock(&disk);
    usleep(50000);
    n_entries++;
    pthread_mutex_unlock(&disk);
}

__attribute__((noinline)) static void refresh(void)
{
    if (is("writes"))
        pthread_rwlock_wrlock(&table);
    else
        pthread_mutex_lock(&cache);
    if (is("computes") || is("looks_at_clock")) {
        compute();
    } else if (is("chain")) {
        pthread_mutex_lock(&disk);
        n_entries++;
        pthread_mutex_unlock(&disk);
    } else {
        usleep(50000);
    }
    n_entries++;
    if (is("writes"))
        pthread_rwlock_unlock(&table);
    else
        pthread_mutex_unlock(&cache);
}

__attribute__((noinline)) static void look_up(void)
{
    if (is("writes")) {
        pthread_rwlock_rdlock(&table);
        n_entries++;
        pthread_rwlock_unlock(&table);
    } else {
        pthread_mutex_lock(&cache);
        n_entries++;
        pthread_mutex_unlock(&cache);
    }
}

// Whoever it was woken instead of is woken then.
__attribute__((noinline)) static void await_by_hand(void)
{
    const int contended = 2;
    syscall(SYS_futex, &cache, FUTEX_WAIT_PRIVATE, contended, NULL, NULL, 0);
    syscall(SYS_futex, &cache, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *by_hand(void *nothing)
{
    for (;;) {
        await_by_hand();
        usleep(500);
    }
    return nothing;
}

static void *refresher(void *nothing)
{
    for (;;) {
        refresh();
        usleep(2000);
    }
    return nothing;
}

static void *compacter(void *nothing)
{
    for (;;) {
        compact();
        usleep(100);
    }
    return nothing;
}

static void *reader(void *nothing)
{
    for (;;) {
        look_up();
        usleep(500);
    }
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    what = argc > 1 ? argv[1] : "sleeps";
    pthread_create(&thread, NULL, refresher, NULL);
    if (is("chain"))
        pthread_create(&thread, NULL, compacter, NULL);
    if (is("by_hand"))
        pthread_create(&thread, NULL, by_hand, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, reader, NULL);
    puts("begun");
    fflush(stdout);
    getchar();
    puts("ended");
    exit(0);
}
