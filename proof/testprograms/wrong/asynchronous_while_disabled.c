// A thread in a wait is cancelled by whatever signal comes, though it may have disabled cancellation since that was sent.
// fails: cancel
#include "wrong.h"

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *end)
{
    int old;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    int code = REAL(pthread_cond_timedwait)(cond, mutex, end);
    pthread_setcanceltype(old, &old);
    return code;
}
