/* A deadline of CLOCK_REALTIME while that clock is set: the library asks the function of this name, which is ours here.
 *
 * Prints: never early
 */
#define _DEFAULT_SOURCE
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By how many seconds the clock has been set, and by how many it will be when it has been read once more. */
static _Atomic long moved_s, will_move_s;

int clock_gettime(clockid_t clock, struct timespec *now) {
    long answer = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) {
        now->tv_sec += moved_s;
        moved_s += atomic_exchange(&will_move_s, 0);
    }
    return (int)answer;
}

static ondeck_mutex_t lock = ONDECK_MUTEX_INIT;
static ondeck_cond_t cond = ONDECK_COND_INIT;

static void *lock_until(void *deadline) {
    EXPECT(ondeck_mutex_timedlock(&lock, CLOCK_REALTIME, deadline), ETIMEDOUT);
    return NULL;
}

static void *wait_until(void *deadline) {
    int n_early = 0, answer;
    EXPECT(ondeck_mutex_lock(&lock), 0);
    while ((answer = ondeck_cond_timedwait(&cond, &lock, CLOCK_REALTIME, deadline)) == 0)
        n_early++;
    EXPECT(answer, ETIMEDOUT);
    EXPECT(n_early <= 1, 1);
    EXPECT(ondeck_mutex_unlock(&lock), 0);
    return NULL;
}

/* How long a wait of 50 ms takes if the clock is set by so much as soon as the library has read it. */
static uint64_t takes(void *(*wait)(void *), long by_s) {
    pthread_t waiter;
    struct timespec deadline = in_ns(CLOCK_REALTIME, 50 * MS);
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    will_move_s = by_s;
    EXPECT(pthread_create(&waiter, NULL, wait, &deadline), 0);
    EXPECT(pthread_join(waiter, NULL), 0);
    uint64_t end = now_ns(CLOCK_MONOTONIC);
    EXPECT(will_move_s, 0);
    EXPECT(now_ns(CLOCK_REALTIME) >= (uint64_t)deadline.tv_sec * 1000000000u + (uint64_t)deadline.tv_nsec, 1);
    return end - begin;
}

int main(void) {
    void *(*waits[])(void *) = { wait_until, lock_until };
    for (int i = 0; i < 2; i++) {
        if (waits[i] == lock_until)
            EXPECT(ondeck_mutex_lock(&lock), 0);
        EXPECT(takes(waits[i], 0) >= 50 * MS, 1);
        EXPECT(takes(waits[i], -1) >= 1050 * MS, 1);
        /* Noticed late: when the monotonic clock has come so far. */
        EXPECT(takes(waits[i], 1) >= 50 * MS, 1);
    }
    EXPECT(ondeck_mutex_unlock(&lock), 0);
    puts("never early");
    return 0;
}
