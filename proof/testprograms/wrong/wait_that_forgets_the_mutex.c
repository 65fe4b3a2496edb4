// A wait that times out does not take the mutex again.
// fails: cond timeouts random_ops
#include "wrong.h"

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *end)
{
    int code = REAL(pthread_cond_clockwait)(cond, mutex, clock, end);
    if (code == ETIMEDOUT)
        pthread_mutex_unlock(mutex);
    return code;
}
