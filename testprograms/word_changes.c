// The lock changes hands just while somebody goes to sleep for it: the system call then says EAGAIN, which is no time-out and
// no error. Sections are about as long as the way into the kernel, so this happens all the time.
#include "check.h"

#define N_THREADS 3
#define RUN (300 * MS)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long count;
static int is_over;

static void *run(void *argument)
{
    uint64_t seed = 21 + (uint64_t)(long)argument;
    long entered = 0;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        clockid_t clock = chance(&seed) % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        struct timespec end = in_ns(clock, 50 * SECOND);
        uint32_t way = chance(&seed) % 4;
        if (way == 0)
            OK(pthread_mutex_lock(&mutex));
        else if (way == 1 && clock == CLOCK_REALTIME)
            OK(pthread_mutex_timedlock(&mutex, &end));
        else
            OK(pthread_mutex_clocklock(&mutex, clock, &end));
        count++;
        dally((int)(chance(&seed) % 4000));
        OK(pthread_mutex_unlock(&mutex));
        entered++;
    }
    return (void *)entered;
}

int main(void)
{
    watchdog();
    doing = "locks that change while one goes to sleep";
    pthread_t threads[N_THREADS];
    for (long i = 0; i < N_THREADS; i++)
        threads[i] = start(run, (void *)i);
    sleep_ns(RUN);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    long entered = 0;
    for (int i = 0; i < N_THREADS; i++)
        entered += (long)join_soon(threads[i], doing);
    CHECK(count == entered);
    return 0;
}
