// Takes a robust mutex, or one with a protocol, for a plain one, for it looks at the type alone.
// fails: robust pi
#include "wrong.h"

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex), id = own_id(), code;
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
    if (is_kept(mutex, kind, own_id(), &code))
        return code;
    no_longer_owned(mutex);
    release_word(mutex, kind);
    return 0;
}
