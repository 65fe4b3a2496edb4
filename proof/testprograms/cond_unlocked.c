// A wait with a NORMAL or ADAPTIVE mutex that nobody holds: a mistake of the program, which glibc does not notice. The wait
// ends as any other, at its time or when it is notified, and then the caller has the mutex.
#include "check.h"

static pthread_mutex_t mutex;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiter_id, is_set;

static void is_held(void)
{
    GIVES(pthread_mutex_trylock(&mutex), EBUSY);
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
}

static void *wait_unlocked(void *argument)
{
    (void)argument;
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    do
        OK(pthread_cond_wait(&cond, &mutex));
    while (!__atomic_load_n(&is_set, __ATOMIC_ACQUIRE) && pthread_mutex_unlock(&mutex) == 0);
    is_held();
    return NULL;
}

static void round_of(int type)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutex_init(&mutex, &attr));
    OK(pthread_mutexattr_destroy(&attr));
    doing = "a timed wait with a mutex that is free";
    struct timespec end = in_ns(CLOCK_REALTIME, 5 * MS);
    GIVES(pthread_cond_timedwait(&cond, &mutex, &end), ETIMEDOUT);
    is_held();
    end = in_ns(CLOCK_MONOTONIC, 5 * MS);
    GIVES(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &end), ETIMEDOUT);
    is_held();
    GIVES(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &end), ETIMEDOUT);
    is_held();
    doing = "a wait with a mutex that is free";
    waiter_id = is_set = 0;
    pthread_t thread = start(wait_unlocked, NULL);
    until_asleep(&waiter_id);
    OK(pthread_mutex_lock(&mutex));
    __atomic_store_n(&is_set, 1, __ATOMIC_RELEASE);
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    join_soon(thread, doing);
}

int main(void)
{
    watchdog();
    round_of(PTHREAD_MUTEX_NORMAL);
    round_of(PTHREAD_MUTEX_ADAPTIVE_NP);
    return 0;
}
