// The first lock in the child of a fork prepares something, and others wait for that meanwhile: a handler that locks waits for
// the thread that it has interrupted.
// fails: first_touch_signals
#include "wrong.h"

static pid_t process;
static int is_busy;

static void prepare(void)
{
    while (process != getpid()) {
        if (__atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQUIRE)) {
            sched_yield();
            continue;
        }
        process = getpid();
        __atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
    }
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    prepare();
    return REAL(pthread_mutex_lock)(mutex);
}
