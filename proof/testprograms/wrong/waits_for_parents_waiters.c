// Waits before a condition variable is destroyed until all waiters have left it, in the child of a fork also for those who
// exist in the parent only. Its mutexes know of no waiters at all.
// fails: fork_forgets
#include "wrong.h"

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

int pthread_cond_destroy(pthread_cond_t *cond)
{
    return REAL(pthread_cond_destroy)(cond);
}
