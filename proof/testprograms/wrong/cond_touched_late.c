// A waiter counts itself out in the condition variable when it has the mutex again.
// fails: cond_destroy
#include "wrong.h"

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    int code = REAL(pthread_cond_wait)(cond, mutex);
    __atomic_fetch_add((unsigned char *)cond + sizeof *cond - 1, 1, __ATOMIC_RELAXED);
    return code;
}
