// A handler unlocks the mutex that its own thread tries to lock, in a process without other threads: nothing else can change
// the mutex there, but that can, between any two instructions. So it is done after each instruction in turn. A trylock that
// reads and then writes, because nobody else is there, puts back what it has read.
//
// x86-64 only: elsewhere it says so and succeeds.
#include "steps.h"

#ifndef CAN_STEP
int main(void)
{
    puts("unlock_in_handler: skipped, steps instructions of x86-64 only");
    return 0;
}
#else

static pthread_mutex_t mutex;
// After this step the handler unlocks. `is_free_at`: where it did, 0 before that.
static int when, is_free_at, code;
static struct timespec end;

static void unlock_in_time(int step)
{
    // Nobody else would end its sleep, or its spinning: so it is done then at the latest.
    int is_last = step == MOST_STEPS || is_about_to_sleep();
    if (is_free_at || (step < when && !is_last))
        return;
    OK(pthread_mutex_unlock(&mutex));
    is_free_at = step;
    no_more_steps();
}

static void by_trylock(void)
{
    int (*volatile call)(pthread_mutex_t *) = pthread_mutex_trylock;
    code = call(&mutex);
}

static void by_timedlock(void)
{
    int (*volatile call)(pthread_mutex_t *, const struct timespec *) = pthread_mutex_timedlock;
    code = call(&mutex, &end);
}

static void by_lock(void)
{
    int (*volatile call)(pthread_mutex_t *) = pthread_mutex_lock;
    code = call(&mutex);
}

// Locked before and after. False if the call was over, or asleep, before that step.
static int round_of(void (*call)(void), int refusal)
{
    is_free_at = 0;
    by_steps(call, unlock_in_time);
    if (code != 0)
        GIVES(code, refusal);
    else if (!is_free_at)
        FAIL("locked again while it was locked");
    if (code != 0 && is_free_at && pthread_mutex_trylock(&mutex) != 0)
        FAIL("unlocked after instruction %d, and yet not free", is_free_at);
    // A way to ask that fits all kinds.
    GIVES(pthread_mutex_trylock(&mutex), EBUSY);
    return is_free_at == when;
}

static void rounds(const char *what, int type, void (*call)(void), int refusal, int64_t ns)
{
    doing = what;
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutex_init(&mutex, &attr));
    OK(pthread_mutexattr_destroy(&attr));
    OK(pthread_mutex_lock(&mutex));
    when = 0;
    // Each instruction at first; of a long call, that looks at the mutex again and again, some.
    do {
        end = in_ns(CLOCK_REALTIME, ns);
        when += when < 100 ? 1 : when / 4;
    } while (round_of(call, refusal));
    CHECK(when > 3);
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

int main(void)
{
    watchdog();
    rounds("trylock", PTHREAD_MUTEX_NORMAL, by_trylock, EBUSY, 0);
    rounds("trylock, adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, by_trylock, EBUSY, 0);
    rounds("trylock, error checking", PTHREAD_MUTEX_ERRORCHECK, by_trylock, EBUSY, 0);
    rounds("timedlock, too late", PTHREAD_MUTEX_NORMAL, by_timedlock, ETIMEDOUT, -1);
    rounds("timedlock", PTHREAD_MUTEX_NORMAL, by_timedlock, 0, 3600 * SECOND);
    rounds("timedlock, adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, by_timedlock, 0, 3600 * SECOND);
    rounds("lock", PTHREAD_MUTEX_NORMAL, by_lock, 0, 0);
    rounds("lock, adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, by_lock, 0, 0);
    return 0;
}
#endif
