// A wait unlocks a recursive mutex wholly, and locks it again once, however often it was locked.
// fails: cond
#include "wrong.h"

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex);
    if (is_plain(kind) && (kind & 3) == RECURSIVE && is_owner(mutex, own_id()))
        mutex->__data.__count = 1;
    return REAL(pthread_cond_wait)(cond, mutex);
}
