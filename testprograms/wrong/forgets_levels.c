// A wait gives a recursive mutex back as if it had been locked once.
// fails: cond
#include "wrong.h"

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex);
    int code = REAL(pthread_cond_wait)(cond, mutex);
    if (is_plain(kind) && (kind & 3) == RECURSIVE)
        mutex->__data.__count = 1;
    return code;
}
