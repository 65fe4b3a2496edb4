// Leaves what its system calls leave in errno.
// fails: errno
#include "wrong.h"

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex), id = own_id(), code;
    if (!is_plain(kind))
        return REAL(pthread_mutex_lock)(mutex);
    if (is_again(mutex, kind, id, &code))
        return code;
    if (!try_word(mutex))
        while (__atomic_exchange_n(&mutex->__data.__lock, 2, __ATOMIC_ACQUIRE) != 0)
            syscall(SYS_futex, &mutex->__data.__lock, FUTEX_WAIT | private_flag(kind), 2, NULL);
    now_owned(mutex, id);
    return 0;
}
