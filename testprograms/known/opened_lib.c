// The library that `opened` opens.
// variant: closed -DCLOSED
#include <pthread.h>
#include <stdint.h>
#include <time.h>

struct times {
    int64_t want, have, until;
    int line, is_holder, thread;
    int *id;
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

__attribute__((noinline)) void waits_in_library(struct times *times, int64_t hold_ns)
{
    struct timespec hold = {.tv_sec = 0, .tv_nsec = hold_ns};
    times->want = now();
    times->line = __LINE__ + 1;
    pthread_mutex_lock(&LOCK_OF_LIBRARY);
    times->have = now();
    if (hold_ns > 0)
        nanosleep(&hold, NULL);
    times->until = now();
    pthread_mutex_unlock(&LOCK_OF_LIBRARY);
    __asm__ volatile("");
}
