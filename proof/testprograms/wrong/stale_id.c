// Each thread looks up its id once; in the child of a fork the thread has another one.
// fails: shared fork_forgets random_ops
#include "wrong.h"

static __thread int cached;

static int cached_id(void)
{
    return cached ? cached : (cached = own_id());
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex), id = cached_id(), code;
    if (!is_plain(kind))
        return REAL(pthread_mutex_lock)(mutex);
    if (is_again(mutex, kind, id, &code))
        return code;
    if (!try_word(mutex)) {
        while (__atomic_exchange_n(&mutex->__data.__lock, 2, __ATOMIC_ACQUIRE) != 0)
            futex(&mutex->__data.__lock, FUTEX_WAIT | private_flag(kind), 2, NULL);
    }
    now_owned(mutex, id);
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex), code;
    if (!is_plain(kind))
        return REAL(pthread_mutex_unlock)(mutex);
    if (is_kept(mutex, kind, cached_id(), &code))
        return code;
    no_longer_owned(mutex);
    release_word(mutex, kind);
    return 0;
}
