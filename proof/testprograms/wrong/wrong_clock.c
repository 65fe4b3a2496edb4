// clockwait takes each deadline for one of CLOCK_REALTIME: those of the monotonic clock are long past.
// fails: timeouts random_ops
#include "wrong.h"

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *end)
{
    return REAL(pthread_cond_clockwait)(cond, mutex, clock == CLOCK_MONOTONIC ? CLOCK_REALTIME : clock, end);
}
