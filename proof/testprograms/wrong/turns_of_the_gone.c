// Threads have turns, and a thread that leaves its wait leaves its turn behind: nobody comes after it.
// fails: leave_while_waiting leave_while_waiting+exceptions
#include "wrong.h"

static int next, now;

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int turn = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED), seen;
    while ((seen = __atomic_load_n(&now, __ATOMIC_ACQUIRE)) != turn)
        futex(&now, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, NULL);
    int code = REAL(pthread_mutex_lock)(mutex);
    __atomic_fetch_add(&now, 1, __ATOMIC_RELEASE);
    futex(&now, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL);
    return code;
}
