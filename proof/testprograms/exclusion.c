// No two threads are inside at once, whichever of the four ways they came in, for each kind; and a wait with a deadline
// that is far away never ends by it.
#include "check.h"

#define N_THREADS 6
#define N_ROUNDS 6000

static struct {
    pthread_mutex_t mutex;
    // Not atomic: two inside at once lose increments.
    volatile long count;
    int is_recursive;
    long entered[N_THREADS];
} shared;

static pthread_barrier_t barrier;

static void timed(int code, const struct timespec *end, clockid_t clock, int *inside)
{
    if (code == ETIMEDOUT) {
        CHECK(now_ns(clock) >= ns_of(end));
        return;
    }
    OK(code);
    *inside = 1;
}

static int enter(uint64_t *seed)
{
    int inside = 0;
    uint32_t way = chance(seed) % 8;
    // Now and then so near that it passes; else so far that it must not.
    int64_t wait_ns = chance(seed) % 8 == 0 ? chance(seed) % 50000 : 50 * SECOND;
    clockid_t clock = way == 3 || way == 4 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct timespec end = in_ns(clock, wait_ns);
    switch (way) {
    case 0: {
        int code = pthread_mutex_trylock(&shared.mutex);
        if (code != EBUSY) {
            OK(code);
            inside = 1;
        }
        break;
    }
    case 1:
    case 2:
        timed(pthread_mutex_timedlock(&shared.mutex, &end), &end, clock, &inside);
        break;
    case 3:
    case 4:
    case 5:
        timed(pthread_mutex_clocklock(&shared.mutex, clock, &end), &end, clock, &inside);
        break;
    default:
        OK(pthread_mutex_lock(&shared.mutex));
        inside = 1;
    }
    return inside;
}

static void *run(void *argument)
{
    long index = (long)argument, entered = 0;
    uint64_t seed = 0x9e3779b97f4a7c15u * (uint64_t)(index + 1);
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < N_ROUNDS; round++) {
        if (enter(&seed)) {
            int again = shared.is_recursive && round % 4 == 0;
            if (again)
                OK(pthread_mutex_lock(&shared.mutex));
            long count = shared.count;
            dally((int)(chance(&seed) % 64));
            shared.count = count + 1;
            entered++;
            // With two CPUs and short sections hardly anybody meets: a holder that gives way makes the others queue.
            if (round % 64 == 0)
                give_way();
            if (again)
                OK(pthread_mutex_unlock(&shared.mutex));
            OK(pthread_mutex_unlock(&shared.mutex));
        }
        dally((int)(chance(&seed) % 64));
    }
    shared.entered[index] = entered;
    return NULL;
}

int main(void)
{
    watchdog();
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP};
    OK(pthread_barrier_init(&barrier, NULL, N_THREADS));
    for (int which = 0; which < 8; which++) {
        pthread_mutexattr_t attr;
        OK(pthread_mutexattr_init(&attr));
        OK(pthread_mutexattr_settype(&attr, types[which % 4]));
        OK(pthread_mutexattr_setpshared(&attr, which / 4));
        OK(pthread_mutex_init(&shared.mutex, &attr));
        shared.count = 0;
        shared.is_recursive = which % 4 == 1;
        pthread_t threads[N_THREADS];
        for (long i = 0; i < N_THREADS; i++)
            threads[i] = start(run, (void *)i);
        long entered = 0;
        doing = "contended rounds";
        for (int i = 0; i < N_THREADS; i++) {
            join(threads[i]);
            entered += shared.entered[i];
        }
        if (shared.count != entered)
            FAIL("%ld entries, but %ld counted: two threads were inside at once", entered, shared.count);
        OK(pthread_mutex_destroy(&shared.mutex));
    }
    return 0;
}
