// A wait with a mutex that is free is refused, whatever its kind is.
// fails: cond_unlocked
#include "wrong.h"

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *end)
{
    if (__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 0)
        return EPERM;
    return REAL(pthread_cond_timedwait)(cond, mutex, end);
}
