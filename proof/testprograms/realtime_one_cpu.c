// Everybody on one CPU, and who waits has real-time priority over who holds: each instant that a waiter spends awake is one
// that the holder does not run. Waits must end soon, with little CPU time.
#include "check.h"

#define HOLD (30 * MS)
#define MOST_CPU (HOLD / 2)

enum way { LOCK, TIMEDLOCK, CLOCKLOCK, COND_WAIT, N_WAYS };

static const char *const names[] = {"lock", "timedlock", "clocklock", "cond_wait"};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int signalled;
static sem_t waits;

static int to_real_time(void)
{
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
}

static void *may_be_real_time(void *argument)
{
    *(int *)argument = to_real_time() == 0;
    return NULL;
}

struct waiter {
    enum way way;
    int64_t used_ns, waited_ns;
};

static void *wait_in_real_time(void *argument)
{
    struct waiter *waiter = argument;
    OK(to_real_time());
    struct timespec end = in_ns(waiter->way == CLOCKLOCK ? CLOCK_MONOTONIC : CLOCK_REALTIME, 50 * SECOND);
    if (waiter->way == COND_WAIT)
        OK(pthread_mutex_lock(&mutex));
    int64_t begin = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    sem_post(&waits);
    switch (waiter->way) {
    case LOCK:
        OK(pthread_mutex_lock(&mutex));
        break;
    case TIMEDLOCK:
        OK(pthread_mutex_timedlock(&mutex, &end));
        break;
    case CLOCKLOCK:
        OK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &end));
        break;
    default:
        while (!signalled)
            OK(pthread_cond_wait(&cond, &mutex));
    }
    waiter->used_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    waiter->waited_ns = now_ns(CLOCK_MONOTONIC) - begin;
    OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

static void one(enum way way)
{
    struct waiter waiter = {.way = way};
    doing = names[way];
    signalled = 0;
    pthread_t thread;
    if (way != COND_WAIT)
        OK(pthread_mutex_lock(&mutex));
    thread = start(wait_in_real_time, &waiter);
    while (sem_wait(&waits) != 0) {
    }
    if (way == COND_WAIT) {
        // It has the signal long before the mutex: it waits for that one then.
        OK(pthread_mutex_lock(&mutex));
        signalled = 1;
        OK(pthread_cond_signal(&cond));
    }
    burn_ns(HOLD);
    OK(pthread_mutex_unlock(&mutex));
    join_soon(thread, names[way]);
    if (waiter.used_ns > MOST_CPU)
        FAIL("%s: a real-time waiter used %lld us of CPU time, while the holder needed %lld on the same CPU", names[way],
             (long long)waiter.used_ns / 1000, (long long)HOLD / 1000);
    if (waiter.waited_ns > LATEST)
        FAIL("%s: a real-time waiter waited for %lld ms", names[way], (long long)(waiter.waited_ns / MS));
}

int main(void)
{
    watchdog();
    cpu_set_t allowed, first;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    CPU_ZERO(&first);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_SET(cpu, &first);
            break;
        }
    CHECK(sched_setaffinity(0, sizeof first, &first) == 0);
    int may = 0;
    join(start(may_be_real_time, &may));
    if (!may) {
        puts("realtime_one_cpu: real-time priorities are not permitted here; skipped");
        return 0;
    }
    sem_init(&waits, 0, 0);
    for (int round = 0; round < 2; round++)
        for (enum way way = LOCK; way < N_WAYS; way++)
            one(way);
    return 0;
}
