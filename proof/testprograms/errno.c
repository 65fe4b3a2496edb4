// None of these functions writes errno: they return their codes. Programs look at errno after a call that failed, with a lock
// or a wait in between.
#include "check.h"

// No call would set this one.
#define MARK 4711

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiter_id, is_set;

#define KEEPS_ERRNO(call, code)                                                                                        \
    do {                                                                                                               \
        errno = MARK;                                                                                                  \
        int keeps_got = (call), keeps_errno = errno;                                                                   \
        GIVES(keeps_got, code);                                                                                        \
        if (keeps_errno != MARK)                                                                                       \
            FAIL("%s has set errno to %s", #call, code_name(keeps_errno));                                             \
    } while (0)

static volatile int n_handled;

static void nothing(int signal_number)
{
    (void)signal_number;
    n_handled++;
}

// -- Alone: what returns at once, and what times out --------------------------------------------------------------------

static void times_out(clockid_t clock)
{
    struct timespec end = in_ns(clock, 2 * MS);
    KEEPS_ERRNO(pthread_cond_clockwait(&cond, &mutex, clock, &end), ETIMEDOUT);
    end = in_ns(clock, 2 * MS);
    KEEPS_ERRNO(pthread_mutex_clocklock(&mutex, clock, &end), ETIMEDOUT);
    if (clock == CLOCK_REALTIME) {
        end = in_ns(clock, 2 * MS);
        KEEPS_ERRNO(pthread_cond_timedwait(&cond, &mutex, &end), ETIMEDOUT);
        end = in_ns(clock, 2 * MS);
        KEEPS_ERRNO(pthread_mutex_timedlock(&mutex, &end), ETIMEDOUT);
    }
    // Past already.
    KEEPS_ERRNO(pthread_cond_clockwait(&cond, &mutex, clock, &end), ETIMEDOUT);
    KEEPS_ERRNO(pthread_mutex_clocklock(&mutex, clock, &end), ETIMEDOUT);
}

static void alone(int type)
{
    doing = "alone";
    pthread_mutexattr_t attr;
    KEEPS_ERRNO(pthread_mutexattr_init(&attr), 0);
    KEEPS_ERRNO(pthread_mutexattr_settype(&attr, type), 0);
    KEEPS_ERRNO(pthread_mutex_init(&mutex, &attr), 0);
    KEEPS_ERRNO(pthread_mutex_lock(&mutex), 0);
    int is_recursive = type == PTHREAD_MUTEX_RECURSIVE;
    KEEPS_ERRNO(pthread_mutex_trylock(&mutex), is_recursive ? 0 : EBUSY);
    if (is_recursive)
        KEEPS_ERRNO(pthread_mutex_unlock(&mutex), 0);
    KEEPS_ERRNO(pthread_mutex_destroy(&mutex), EBUSY);
    if (type == PTHREAD_MUTEX_NORMAL) {
        times_out(CLOCK_REALTIME);
        times_out(CLOCK_MONOTONIC);
        struct timespec wrong = {0, -1};
        KEEPS_ERRNO(pthread_mutex_timedlock(&mutex, &wrong), EINVAL);
        KEEPS_ERRNO(pthread_cond_timedwait(&cond, &mutex, &wrong), EINVAL);
        KEEPS_ERRNO(pthread_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID, &wrong), EINVAL);
    }
    KEEPS_ERRNO(pthread_cond_signal(&cond), 0);
    KEEPS_ERRNO(pthread_cond_broadcast(&cond), 0);
    KEEPS_ERRNO(pthread_mutex_unlock(&mutex), 0);
    if (type == PTHREAD_MUTEX_ERRORCHECK)
        KEEPS_ERRNO(pthread_mutex_unlock(&mutex), EPERM);
    KEEPS_ERRNO(pthread_mutex_destroy(&mutex), 0);
    OK(pthread_mutexattr_destroy(&attr));
}

// -- With another thread, and with signals that come into the wait ------------------------------------------------------

static void *wait_for_mutex(void *argument)
{
    (void)argument;
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    KEEPS_ERRNO(pthread_mutex_lock(&mutex), 0);
    KEEPS_ERRNO(pthread_mutex_unlock(&mutex), 0);
    return NULL;
}

static void *wait_timed_for_mutex(void *argument)
{
    (void)argument;
    struct timespec end = in_ns(CLOCK_REALTIME, LATEST);
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    KEEPS_ERRNO(pthread_mutex_timedlock(&mutex, &end), 0);
    KEEPS_ERRNO(pthread_mutex_unlock(&mutex), 0);
    return NULL;
}

static void *wait_on_cond(void *argument)
{
    (void)argument;
    OK(pthread_mutex_lock(&mutex));
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    while (!is_set)
        KEEPS_ERRNO(pthread_cond_wait(&cond, &mutex), 0);
    KEEPS_ERRNO(pthread_mutex_unlock(&mutex), 0);
    return NULL;
}

static void in_wait(const char *what, void *(*wait)(void *))
{
    doing = what;
    int is_cond = wait == wait_on_cond;
    waiter_id = is_set = 0;
    if (!is_cond)
        OK(pthread_mutex_lock(&mutex));
    pthread_t thread = start(wait, NULL);
    until_asleep(&waiter_id);
    for (int i = 0; i < 3; i++) {
        int before = n_handled;
        pthread_kill(thread, SIGUSR1);
        while (n_handled == before)
            sleep_ns(MS / 10);
        until_asleep(&waiter_id);
    }
    if (is_cond) {
        OK(pthread_mutex_lock(&mutex));
        is_set = 1;
        KEEPS_ERRNO(pthread_cond_broadcast(&cond), 0);
    }
    // With somebody to be woken.
    KEEPS_ERRNO(pthread_mutex_unlock(&mutex), 0);
    join_soon(thread, what);
}

int main(void)
{
    watchdog();
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGUSR1, &action, NULL);
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP};
    for (int i = 0; i < 4; i++)
        alone(types[i]);
    OK(pthread_mutex_init(&mutex, NULL));
    in_wait("lock", wait_for_mutex);
    in_wait("timedlock", wait_timed_for_mutex);
    in_wait("cond_wait", wait_on_cond);
    KEEPS_ERRNO(pthread_cond_destroy(&cond), 0);
    return 0;
}
