// What each function answers, for each kind of mutex and each way to make one.
#include "check.h"

enum kind { NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE };

static const char *const names[] = {"normal", "recursive", "errorcheck", "adaptive"};

struct other {
    pthread_mutex_t *mutex;
    int trylock, timedlock, clocklock, unlock;
    int do_unlock;
};

static struct timespec past(void)
{
    return to_timespec(1 * SECOND);
}

// What a thread gets that does not own the mutex; it gives back what it acquired.
static void *as_another(void *argument)
{
    struct other *other = argument;
    struct timespec time = past();
    if ((other->trylock = pthread_mutex_trylock(other->mutex)) == 0)
        OK(pthread_mutex_unlock(other->mutex));
    if ((other->timedlock = pthread_mutex_timedlock(other->mutex, &time)) == 0)
        OK(pthread_mutex_unlock(other->mutex));
    if ((other->clocklock = pthread_mutex_clocklock(other->mutex, CLOCK_MONOTONIC, &time)) == 0)
        OK(pthread_mutex_unlock(other->mutex));
    if (other->do_unlock)
        other->unlock = pthread_mutex_unlock(other->mutex);
    return NULL;
}

static struct other ask_another(pthread_mutex_t *mutex, int do_unlock)
{
    struct other other = {.mutex = mutex, .do_unlock = do_unlock};
    join(start(as_another, &other));
    return other;
}

static void is_free(pthread_mutex_t *mutex)
{
    struct other other = ask_another(mutex, 0);
    GIVES(other.trylock, 0);
    GIVES(other.timedlock, 0);
    GIVES(other.clocklock, 0);
}

static void is_taken(pthread_mutex_t *mutex, int do_unlock, int unlock_code)
{
    struct other other = ask_another(mutex, do_unlock);
    GIVES(other.trylock, EBUSY);
    GIVES(other.timedlock, ETIMEDOUT);
    GIVES(other.clocklock, ETIMEDOUT);
    GIVES(other.unlock, unlock_code);
}

// Four ways in, and each time the mutex is free afterwards.
static void take_and_give(pthread_mutex_t *mutex)
{
    struct timespec time = past();
    is_free(mutex);
    OK(pthread_mutex_lock(mutex));
    is_taken(mutex, 0, 0);
    OK(pthread_mutex_unlock(mutex));
    is_free(mutex);
    OK(pthread_mutex_trylock(mutex));
    is_taken(mutex, 0, 0);
    OK(pthread_mutex_unlock(mutex));
    // A time that is past counts only for who has to wait.
    OK(pthread_mutex_timedlock(mutex, &time));
    is_taken(mutex, 0, 0);
    OK(pthread_mutex_unlock(mutex));
    OK(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &time));
    is_taken(mutex, 0, 0);
    OK(pthread_mutex_unlock(mutex));
    OK(pthread_mutex_clocklock(mutex, CLOCK_REALTIME, &time));
    OK(pthread_mutex_unlock(mutex));
    is_free(mutex);
}

static void owner_again(pthread_mutex_t *mutex, enum kind kind)
{
    struct timespec time = past();
    OK(pthread_mutex_lock(mutex));
    switch (kind) {
    case NORMAL:
    case ADAPTIVE:
        GIVES(pthread_mutex_trylock(mutex), EBUSY);
        GIVES(pthread_mutex_timedlock(mutex, &time), ETIMEDOUT);
        GIVES(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &time), ETIMEDOUT);
        break;
    case ERRORCHECK:
        GIVES(pthread_mutex_lock(mutex), EDEADLK);
        GIVES(pthread_mutex_trylock(mutex), EBUSY);
        GIVES(pthread_mutex_timedlock(mutex, &time), EDEADLK);
        GIVES(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &time), EDEADLK);
        break;
    case RECURSIVE:
        OK(pthread_mutex_lock(mutex));
        OK(pthread_mutex_trylock(mutex));
        OK(pthread_mutex_timedlock(mutex, &time));
        OK(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &time));
        for (int i = 0; i < 1000; i++)
            OK(pthread_mutex_lock(mutex));
        for (int i = 0; i < 1004; i++) {
            if (i % 200 == 0)
                is_taken(mutex, 1, EPERM);
            OK(pthread_mutex_unlock(mutex));
        }
        break;
    }
    is_taken(mutex, 0, 0);
    OK(pthread_mutex_unlock(mutex));
    is_free(mutex);
}

// The kinds with an owner check refuse; the others are released by whoever asks, and programs rely on it.
static void unlock_by_another(pthread_mutex_t *mutex, enum kind kind)
{
    int checked = kind == RECURSIVE || kind == ERRORCHECK;
    OK(pthread_mutex_lock(mutex));
    is_taken(mutex, 1, checked ? EPERM : 0);
    if (checked) {
        is_taken(mutex, 0, 0);
        OK(pthread_mutex_unlock(mutex));
        GIVES(pthread_mutex_unlock(mutex), EPERM);
    }
    is_free(mutex);
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_unlock(mutex));
    is_free(mutex);
}

static void wrong_times(pthread_mutex_t *mutex)
{
    struct timespec wrong = in_ns(CLOCK_REALTIME, 10 * SECOND);
    wrong.tv_nsec = 1000000000;
    // Looked at only when there is something to wait for.
    OK(pthread_mutex_timedlock(mutex, &wrong));
    OK(pthread_mutex_unlock(mutex));
    struct timespec right = past();
    GIVES(pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &right), EINVAL);
    GIVES(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC_COARSE, &right), EINVAL);
    GIVES(pthread_mutex_clocklock(mutex, 4711, &right), EINVAL);
    is_free(mutex);
}

struct sleeper {
    pthread_mutex_t *mutex;
    pthread_cond_t cond;
    int waits, over;
};

static void *wait_on_cond(void *argument)
{
    struct sleeper *sleeper = argument;
    OK(pthread_mutex_lock(sleeper->mutex));
    sleeper->waits = 1;
    while (!sleeper->over)
        OK(pthread_cond_wait(&sleeper->cond, sleeper->mutex));
    OK(pthread_mutex_unlock(sleeper->mutex));
    return NULL;
}

static void destroy(pthread_mutex_t *mutex)
{
    OK(pthread_mutex_lock(mutex));
    GIVES(pthread_mutex_destroy(mutex), EBUSY);
    OK(pthread_mutex_unlock(mutex));
    OK(pthread_mutex_trylock(mutex));
    GIVES(pthread_mutex_destroy(mutex), EBUSY);
    OK(pthread_mutex_unlock(mutex));

    // Free, but somebody is going to acquire it when its wait is over.
    struct sleeper sleeper = {.mutex = mutex, .cond = PTHREAD_COND_INITIALIZER};
    pthread_t thread = start(wait_on_cond, &sleeper);
    for (int waits = 0; !waits;) {
        OK(pthread_mutex_lock(mutex));
        waits = sleeper.waits;
        OK(pthread_mutex_unlock(mutex));
        sched_yield();
    }
    GIVES(pthread_mutex_destroy(mutex), EBUSY);
    OK(pthread_mutex_lock(mutex));
    sleeper.over = 1;
    OK(pthread_cond_signal(&sleeper.cond));
    OK(pthread_mutex_unlock(mutex));
    join(thread);
    OK(pthread_cond_destroy(&sleeper.cond));

    struct timespec time = past();
    OK(pthread_mutex_destroy(mutex));
    GIVES(pthread_mutex_lock(mutex), EINVAL);
    GIVES(pthread_mutex_trylock(mutex), EINVAL);
    GIVES(pthread_mutex_timedlock(mutex, &time), EINVAL);
    GIVES(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &time), EINVAL);
    GIVES(pthread_mutex_unlock(mutex), EINVAL);
}

static void everything(pthread_mutex_t *mutex, enum kind kind)
{
    doing = names[kind];
    take_and_give(mutex);
    owner_again(mutex, kind);
    unlock_by_another(mutex, kind);
    wrong_times(mutex);
    destroy(mutex);
}

static void with_attributes(int type, int shared, enum kind kind)
{
    // Memory is never clean where mutexes are made at run time.
    pthread_mutex_t mutex;
    memset(&mutex, 0xa5, sizeof mutex);
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    if (type >= 0)
        OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutexattr_setpshared(&attr, shared));
    OK(pthread_mutex_init(&mutex, &attr));
    OK(pthread_mutexattr_destroy(&attr));
    everything(&mutex, kind);
}

static pthread_mutex_t static_normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t static_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t static_errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t static_adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

int main(void)
{
    watchdog();
    everything(&static_normal, NORMAL);
    everything(&static_recursive, RECURSIVE);
    everything(&static_errorcheck, ERRORCHECK);
    everything(&static_adaptive, ADAPTIVE);

    pthread_mutex_t mutex;
    memset(&mutex, 0xa5, sizeof mutex);
    OK(pthread_mutex_init(&mutex, NULL));
    everything(&mutex, NORMAL);
    for (int shared = PTHREAD_PROCESS_PRIVATE; shared <= PTHREAD_PROCESS_SHARED; shared++) {
        with_attributes(-1, shared, NORMAL);
        with_attributes(PTHREAD_MUTEX_DEFAULT, shared, NORMAL);
        with_attributes(PTHREAD_MUTEX_NORMAL, shared, NORMAL);
        with_attributes(PTHREAD_MUTEX_RECURSIVE, shared, RECURSIVE);
        with_attributes(PTHREAD_MUTEX_ERRORCHECK, shared, ERRORCHECK);
        with_attributes(PTHREAD_MUTEX_ADAPTIVE_NP, shared, ADAPTIVE);
    }
    return 0;
}
