// An initialisation that is left by an exception counts as begun for ever.
// fails: once_left
#include "wrong.h"

int pthread_once(pthread_once_t *once, void (*run)(void))
{
    int seen = 0;
    if (__atomic_compare_exchange_n(once, &seen, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        run();
        __atomic_store_n(once, 2, __ATOMIC_RELEASE);
        futex(once, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL);
    }
    while ((seen = __atomic_load_n(once, __ATOMIC_ACQUIRE)) != 2)
        futex(once, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, NULL);
    return 0;
}
