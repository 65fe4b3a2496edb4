// unlock counts itself in the mutex after the write that lets the next thread in, who may have freed it by then.
// fails: unlock_by_steps
#include "wrong.h"

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex), code;
    if (!is_plain(kind))
        return REAL(pthread_mutex_unlock)(mutex);
    if (is_kept(mutex, kind, own_id(), &code))
        return code;
    no_longer_owned(mutex);
    release_word(mutex, kind);
    // A statistic in bytes that glibc does not use.
    __atomic_fetch_add((int *)(void *)mutex + 6, 1, __ATOMIC_RELAXED);
    return 0;
}
