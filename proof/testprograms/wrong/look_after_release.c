// unlock looks for a spinner in the mutex after its release, to save itself a wake: it only reads, but what it reads may be
// gone, or another's.
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
    int before = __atomic_exchange_n(&mutex->__data.__lock, 0, __ATOMIC_RELEASE);
    int has_spinner = __atomic_load_n((int *)(void *)mutex + 6, __ATOMIC_ACQUIRE);
    if (before > 1 && !has_spinner)
        futex(&mutex->__data.__lock, FUTEX_WAKE | private_flag(kind), 1, NULL);
    return 0;
}
