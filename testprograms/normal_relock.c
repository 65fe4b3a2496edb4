// A thread that locks a NORMAL or ADAPTIVE mutex a second time waits for ever, asleep: it uses next to no CPU time.
#include "check.h"

// A wait may begin awake; what it may use for that of the 300 ms it is watched.
#define MOST_CPU (60 * MS)
#define N_LOOKS 20

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
    for (int i = 0; i < 3; i++) {
        while (!__atomic_load_n(&lockers[i].id, __ATOMIC_ACQUIRE))
            sleep_ns(MS);
        before[i] = cpu_ns(threads[i]);
    }
    // A thread that is always ready to run waits awake, however little of a busy machine it gets.
    int n_asleep[3] = {0, 0, 0};
    sleep_ns(100 * MS);
    for (int look = 0; look < N_LOOKS; look++) {
        for (int i = 0; i < 3; i++)
            n_asleep[i] += is_asleep(lockers[i].id);
        sleep_ns(10 * MS);
    }
    for (int i = 0; i < 3; i++) {
        int64_t used = cpu_ns(threads[i]) - before[i];
        CHECK(!__atomic_load_n(&lockers[i].came_through, __ATOMIC_ACQUIRE));
        if (n_asleep[i] < N_LOOKS / 2)
            FAIL("a wait that does not end was asleep at %d of %d looks", n_asleep[i], N_LOOKS);
        if (used > MOST_CPU)
            FAIL("a wait of 300 ms used %lld us of CPU time", (long long)used / 1000);
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
