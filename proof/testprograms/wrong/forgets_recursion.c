// unlock lets go of a recursive mutex at once, however often it was locked.
// fails: kinds random_ops
#include "wrong.h"

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex);
    if (is_plain(kind) && (kind & 3) == RECURSIVE && is_owner(mutex, own_id()))
        mutex->__data.__count = 1;
    return REAL(pthread_mutex_unlock)(mutex);
}
