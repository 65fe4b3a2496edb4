// A waiter whose time is over says so although a signal has woken it.
// fails: timed_waits_and_signals
#include "wrong.h"

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *end)
{
    int code = REAL(pthread_cond_clockwait)(cond, mutex, clock, end);
    struct timespec now;
    clock_gettime(clock, &now);
    int is_past = now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
    return code == 0 && is_past ? ETIMEDOUT : code;
}
