// Notes which mutexes are waited for; the child of a fork, before its first lock, takes the mark of sleepers from all of them,
// whether they are still mutexes there or not.
// fails: fork_stale
#include "wrong.h"

#define N_PLACES 64

static pthread_mutex_t *waited_for[N_PLACES];
static pid_t process;

static void forget_waiters(void)
{
    for (int i = 0; i < N_PLACES; i++)
        if (waited_for[i])
            __atomic_store_n(&waited_for[i]->__data.__lock, 1, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void begin(void)
{
    process = getpid();
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (process && process != getpid()) {
        process = getpid();
        forget_waiters();
    }
    if (pthread_mutex_trylock(mutex) == 0)
        return 0;
    int place = own_id() % N_PLACES;
    waited_for[place] = mutex;
    int code = REAL(pthread_mutex_lock)(mutex);
    waited_for[place] = NULL;
    return code;
}
