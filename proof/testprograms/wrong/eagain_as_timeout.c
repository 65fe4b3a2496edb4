// Any error of the futex call is a time-out, also the EAGAIN of a word that has changed already.
// fails: word_changes
#include "wrong.h"

static int lock_until(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *end)
{
    int kind = kind_of(mutex), id = own_id(), code;
    if (is_again(mutex, kind, id, &code))
        return code;
    if (!try_word(mutex)) {
        while (__atomic_exchange_n(&mutex->__data.__lock, 2, __ATOMIC_ACQUIRE) != 0)
            if (futex(&mutex->__data.__lock, wait_operation(kind, clock), 2, end) != 0)
                return ETIMEDOUT;
    }
    now_owned(mutex, id);
    return 0;
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *end)
{
    return is_plain(kind_of(mutex)) ? lock_until(mutex, CLOCK_REALTIME, end) : REAL(pthread_mutex_timedlock)(mutex, end);
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *end)
{
    return is_plain(kind_of(mutex)) ? lock_until(mutex, clock, end) : REAL(pthread_mutex_clocklock)(mutex, clock, end);
}
