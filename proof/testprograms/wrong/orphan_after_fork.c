// One waiter spins and has a flag in the mutex that says so; the others sleep until that flag is given back. In the child of
// a fork the spinner is gone, and its flag is not.
// fails: fork fork+raw fork_free
#include "wrong.h"

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex), id = own_id(), code;
    if (!is_plain(kind))
        return REAL(pthread_mutex_lock)(mutex);
    if (is_again(mutex, kind, id, &code))
        return code;
    // Bytes that glibc does not use for plain mutexes.
    int *has_spinner = (int *)(void *)mutex + 6;
    while (!try_word(mutex)) {
        if (__atomic_exchange_n(has_spinner, 1, __ATOMIC_ACQUIRE) == 0) {
            while (!try_word(mutex))
                sched_yield();
            __atomic_store_n(has_spinner, 0, __ATOMIC_RELEASE);
            futex(has_spinner, FUTEX_WAKE | private_flag(kind), 1, NULL);
            break;
        }
        futex(has_spinner, FUTEX_WAIT | private_flag(kind), 1, NULL);
    }
    now_owned(mutex, id);
    return 0;
}
