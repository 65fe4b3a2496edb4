// Waits on condition variables that a cancel does not reach: as a bare futex call would.
// fails: cancel cancel+exceptions cancel_cpp
#include "wrong.h"

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    int code = REAL(pthread_cond_wait)(cond, mutex);
    pthread_setcancelstate(old, &old);
    return code;
}
