// A wait with a NORMAL or ADAPTIVE mutex that the caller does not hold, begun and notified while the holder is stopped in
// its unlock, after each instruction in turn. Once the holder is done nobody holds the mutex, so the waiter must come back:
// one that is left to the next unlock may have come too late for this one, and there is no other.
//
// x86-64 only: elsewhere it says so and succeeds.
#include "steps.h"

#ifndef CAN_STEP
int main(void)
{
    puts("cond_unheld_by_steps: skipped, steps instructions of x86-64 only");
    return 0;
}
#else

static pthread_mutex_t mutex;
static pthread_cond_t cond;
// Posted: the holder is stopped; the waiter is notified; the waiter may end.
static sem_t is_stopped, is_notified, may_end;
static int when, waiter_id, is_back;

static void *waits(void *argument)
{
    (void)argument;
    wait_for(&is_stopped);
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
    __atomic_store_n(&is_back, 1, __ATOMIC_RELEASE);
    // Asleep here, too, for who asks whether it is.
    wait_for(&may_end);
    return NULL;
}

static void *notifies(void *argument)
{
    (void)argument;
    until_asleep(&waiter_id);
    OK(pthread_cond_signal(&cond));
    // It has gone as far as it can while the holder is stopped.
    until_asleep(&waiter_id);
    sem_post(&is_notified);
    return NULL;
}

static void unlock(void)
{
    int (*volatile call)(pthread_mutex_t *) = pthread_mutex_unlock;
    OK(call(&mutex));
}

static void let_wait(void)
{
    sem_post(&is_stopped);
    wait_for(&is_notified);
}

static void let_wait_in_time(int step)
{
    if (step != when)
        return;
    let_wait();
    no_more_steps();
}

// False if unlock was over before that instruction.
static int round_of(int type)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    // A new one each time, and none is destroyed: the wait unlocks it in the holder's place, and then the holder does, too.
    // That is not what is tested here, and what it leaves behind is nobody's promise.
    OK(pthread_mutex_init(&mutex, &attr));
    OK(pthread_mutexattr_destroy(&attr));
    OK(pthread_cond_init(&cond, NULL));
    waiter_id = is_back = 0;
    pthread_t waiter = start(waits, NULL), notifier = start(notifies, NULL);
    OK(pthread_mutex_lock(&mutex));
    int n = by_steps(unlock, let_wait_in_time);
    int is_over = n < when;
    if (is_over)
        let_wait();
    for (int64_t end = now_ns(CLOCK_MONOTONIC) + LATEST; !__atomic_load_n(&is_back, __ATOMIC_ACQUIRE); sleep_ns(MS / 4))
        if (now_ns(CLOCK_MONOTONIC) > end)
            FAIL("notified after instruction %d of the unlock, and never back", when);
    sem_post(&may_end);
    join(waiter);
    join(notifier);
    OK(pthread_cond_destroy(&cond));
    return !is_over;
}

int main(void)
{
    watchdog();
    // One CPU for all: the three have the same share of a busy machine, and none is stopped for long while others go on.
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
    sem_init(&is_stopped, 0, 0);
    sem_init(&is_notified, 0, 0);
    sem_init(&may_end, 0, 0);
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ADAPTIVE_NP};
    static const char *const names[] = {"a normal mutex", "an adaptive mutex"};
    for (int i = 0; i < 2; i++) {
        doing = names[i];
        for (when = 1; round_of(types[i]); when++) {
        }
        CHECK(when > 3);
    }
    return 0;
}
#endif
