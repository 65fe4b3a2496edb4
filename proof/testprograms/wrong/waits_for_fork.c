// While the process forks nobody begins to wait, so that the child's copy of all waiters is of one moment; for 100 ms at most.
// fails: fork_handlers
#include "wrong.h"

static int is_forking;

static void begin(void)
{
    __atomic_store_n(&is_forking, 1, __ATOMIC_SEQ_CST);
}

static void end(void)
{
    __atomic_store_n(&is_forking, 0, __ATOMIC_SEQ_CST);
}

__attribute__((constructor)) static void watch(void)
{
    pthread_atfork(begin, end, end);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static const struct timespec nap = {0, 1000000};
    if (pthread_mutex_trylock(mutex) == 0)
        return 0;
    for (int i = 0; i < 100 && __atomic_load_n(&is_forking, __ATOMIC_SEQ_CST); i++)
        nanosleep(&nap, NULL);
    return REAL(pthread_mutex_lock)(mutex);
}
