// The library that `opened` opens; with -DCLOSED it is another one.
#include <pthread.h>
#include <stdint.h>
#include <time.h>

struct times {
    int64_t want, have, until;
    int line, is_holder, thread;
    // Who waits, and whether it does; whether it is held.
    int *id, *is_there, *is_held;
};

#ifdef CLOSED
#define LOCK_OF_LIBRARY lock_of_closed_library
#else
#define LOCK_OF_LIBRARY lock_of_library
#endif
pthread_mutex_t LOCK_OF_LIBRARY = PTHREAD_MUTEX_INITIALIZER;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// The holder stays until the other waits, and 30 ms more.
__attribute__((noinline)) void waits_in_library(struct times *times)
{
    struct timespec hold = {.tv_sec = 0, .tv_nsec = 30000000}, moment = {.tv_sec = 0, .tv_nsec = 100000};
    times->want = now();
    times->line = __LINE__ + 1;
    pthread_mutex_lock(&LOCK_OF_LIBRARY);
    times->have = now();
    if (times->is_holder) {
        __atomic_store_n(times->is_held, 1, __ATOMIC_RELEASE);
        while (!__atomic_load_n(times->is_there, __ATOMIC_ACQUIRE))
            nanosleep(&moment, NULL);
        nanosleep(&hold, NULL);
    }
    times->until = now();
    pthread_mutex_unlock(&LOCK_OF_LIBRARY);
    __asm__ volatile("");
}
