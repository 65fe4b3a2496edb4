// A thread that locks a NORMAL or ADAPTIVE mutex a second time waits for ever, asleep: it uses next to no CPU time.
#include "check.h"

// A wait may begin awake: it may use a fifth of the time it is watched.
#define WATCHED (200 * MS)
#define MOST_SHARE 5

struct locker {
    pthread_mutex_t mutex;
    int id, came_through;
};

static void *lock_twice(void *argument)
{
    struct locker *locker = argument;
    OK(pthread_mutex_lock(&locker->mutex));
    struct timespec end = in_ns(CLOCK_REALTIME, 20 * MS);
    GIVES(pthread_mutex_timedlock(&locker->mutex, &end), ETIMEDOUT);
    CHECK(now_ns(CLOCK_REALTIME) >= ns_of(&end));
    GIVES(pthread_mutex_trylock(&locker->mutex), EBUSY);
    __atomic_store_n(&locker->id, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_mutex_lock(&locker->mutex));
    __atomic_store_n(&locker->came_through, 1, __ATOMIC_RELEASE);
    return NULL;
}

int main(void)
{
    watchdog();
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_ADAPTIVE_NP};
    static struct locker lockers[3];
    pthread_t threads[3];
    int64_t before[3];
    for (int i = 0; i < 3; i++) {
        pthread_mutexattr_t attr;
        OK(pthread_mutexattr_init(&attr));
        OK(pthread_mutexattr_settype(&attr, types[i]));
        OK(pthread_mutex_init(&lockers[i].mutex, &attr));
        threads[i] = start(lock_twice, &lockers[i]);
    }
    doing = "second lock";
    for (int i = 0; i < 3; i++)
        until_asleep(&lockers[i].id);
    int64_t begin = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < 3; i++)
        before[i] = cpu_ns(threads[i]);
    sleep_ns(WATCHED);
    int64_t watched = now_ns(CLOCK_MONOTONIC) - begin;
    for (int i = 0; i < 3; i++) {
        int64_t used = cpu_ns(threads[i]) - before[i];
        CHECK(!__atomic_load_n(&lockers[i].came_through, __ATOMIC_ACQUIRE));
        if (used > watched / MOST_SHARE)
            FAIL("a wait of %lld ms used %lld us of CPU time", (long long)(watched / MS), (long long)used / 1000);
    }
    // Any thread may end the wait of a mutex without owner check.
    for (int i = 0; i < 3; i++) {
        OK(pthread_mutex_unlock(&lockers[i].mutex));
        join_soon(threads[i], "a second lock after an unlock by another thread");
        OK(pthread_mutex_unlock(&lockers[i].mutex));
        OK(pthread_mutex_destroy(&lockers[i].mutex));
    }
    return 0;
}
