// Another meaning of the lock word, by some of the functions only: glibc's, reached in other ways, understand it in theirs.
// fails: dl+past c11 exclusion
#include "wrong.h"

#define HELD 4

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex), id = own_id(), code;
    if (!is_plain(kind))
        return REAL(pthread_mutex_lock)(mutex);
    if (is_again(mutex, kind, id, &code))
        return code;
    while (__atomic_fetch_or(&mutex->__data.__lock, HELD, __ATOMIC_ACQUIRE) & HELD)
        sched_yield();
    now_owned(mutex, id);
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex), code;
    if (!is_plain(kind))
        return REAL(pthread_mutex_unlock)(mutex);
    if (is_kept(mutex, kind, own_id(), &code))
        return code;
    no_longer_owned(mutex);
    __atomic_fetch_and(&mutex->__data.__lock, ~HELD, __ATOMIC_RELEASE);
    return 0;
}
