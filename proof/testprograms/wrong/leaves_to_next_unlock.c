// A notified waiter that finds the mutex held by another is left to its unlock, which looks for such waiters before it frees
// the mutex.
// fails: cond_unheld_by_steps
#include "wrong.h"

static int n_left;

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int any = __atomic_exchange_n(&n_left, 0, __ATOMIC_ACQ_REL);
    int code = REAL(pthread_mutex_unlock)(mutex);
    if (any)
        futex(&n_left, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL);
    return code;
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
    REAL(pthread_mutex_lock)(&inner);
    if (is_owner(mutex, own_id()))
        pthread_mutex_unlock(mutex);
    int code = REAL(pthread_cond_wait)(cond, &inner);
    REAL(pthread_mutex_unlock)(&inner);
    if (__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) != 0) {
        __atomic_store_n(&n_left, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&n_left, __ATOMIC_ACQUIRE))
            futex(&n_left, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 1, NULL);
    }
    REAL(pthread_mutex_lock)(mutex);
    return code;
}
