// The lock changes hands just while somebody goes to sleep for it: the system call then says EAGAIN, which is no time-out and
// no error. On x86-64 the mutex is freed after each instruction of a call in turn, the last of them the one before its sleep.
// Elsewhere, and besides, by chance: sections are about as long as the way into the kernel.
#include "steps.h"

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

// -- Each instruction in turn --------------------------------------------------------------------------------------------

#ifdef CAN_STEP
enum way { LOCK, TIMEDLOCK, CLOCKLOCK, N_WAYS };

static const char *const names[] = {"lock", "timedlock", "clocklock"};
static enum way way;
static sem_t is_held, may_free, is_freed;
static int when, freed_at;

static void *hold(void *argument)
{
    OK(pthread_mutex_lock(&mutex));
    sem_post(&is_held);
    wait_for(&may_free);
    OK(pthread_mutex_unlock(&mutex));
    sem_post(&is_freed);
    return argument;
}

static void free_in_time(int step)
{
    if (step < when && step < MOST_STEPS && !is_about_to_sleep())
        return;
    freed_at = step;
    sem_post(&may_free);
    wait_for(&is_freed);
    no_more_steps();
}

static void call(void)
{
    int (*volatile lock)(pthread_mutex_t *) = pthread_mutex_lock;
    int (*volatile timed)(pthread_mutex_t *, const struct timespec *) = pthread_mutex_timedlock;
    int (*volatile by_clock)(pthread_mutex_t *, clockid_t, const struct timespec *) = pthread_mutex_clocklock;
    struct timespec end = in_ns(way == CLOCKLOCK ? CLOCK_MONOTONIC : CLOCK_REALTIME, 3600 * SECOND);
    if (way == LOCK)
        OK(lock(&mutex));
    else if (way == TIMEDLOCK)
        OK(timed(&mutex, &end));
    else
        OK(by_clock(&mutex, CLOCK_MONOTONIC, &end));
}

// False if the call was about to sleep, or to give up its steps, before that instruction.
static int freed_in_time(void)
{
    freed_at = 0;
    pthread_t holder = start(hold, NULL);
    wait_for(&is_held);
    by_steps(call, free_in_time);
    CHECK(freed_at > 0);
    OK(pthread_mutex_unlock(&mutex));
    join(holder);
    return freed_at == when;
}

static void by_each_step(void)
{
    sem_init(&is_held, 0, 0);
    sem_init(&may_free, 0, 0);
    sem_init(&is_freed, 0, 0);
    for (way = LOCK; way < N_WAYS; way++) {
        doing = names[way];
        for (when = 1; freed_in_time(); when += 1 + when / 8) {
        }
        CHECK(when > 3);
    }
}
#else
static void by_each_step(void)
{
    puts("word_changes: by chance only, steps instructions of x86-64");
}
#endif

int main(void)
{
    watchdog();
    by_each_step();
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
