// unlock wakes a sleeper only every other time.
// fails: exclusion lost_wakeups oversubscribed
#include "wrong.h"

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static unsigned n_wakes;
    int kind = kind_of(mutex), code;
    if (!is_plain(kind))
        return REAL(pthread_mutex_unlock)(mutex);
    if (is_kept(mutex, kind, own_id(), &code))
        return code;
    no_longer_owned(mutex);
    if (__atomic_exchange_n(&mutex->__data.__lock, 0, __ATOMIC_RELEASE) > 1)
        if (__atomic_fetch_add(&n_wakes, 1, __ATOMIC_RELAXED) % 2)
            futex(&mutex->__data.__lock, FUTEX_WAKE | private_flag(kind), 1, NULL);
    return 0;
}
