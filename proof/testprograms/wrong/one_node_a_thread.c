// One record of the wait for each thread: a handler that locks while the thread locks finds it in use.
// fails: signal_handler
#include "wrong.h"

static __thread volatile int in_use;

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (in_use)
        return EAGAIN;
    in_use = 1;
    int code = REAL(pthread_mutex_lock)(mutex);
    in_use = 0;
    return code;
}
