// Deadlines are rounded to milliseconds, and not up.
// fails: timeouts
#include "wrong.h"

static struct timespec rounded(const struct timespec *end)
{
    struct timespec early = *end;
    if (early.tv_nsec >= 0 && early.tv_nsec < 1000000000)
        early.tv_nsec -= early.tv_nsec % 1000000;
    return early;
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *end)
{
    struct timespec early = rounded(end);
    return REAL(pthread_mutex_timedlock)(mutex, &early);
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *end)
{
    struct timespec early = rounded(end);
    return REAL(pthread_cond_timedwait)(cond, mutex, &early);
}
