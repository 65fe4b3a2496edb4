// A record for each held mutex, from a fixed number of them.
// fails: many_mutexes
#include "wrong.h"

#define MOST_HELD 1024

static __thread int n_held;

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (n_held == MOST_HELD)
        return EAGAIN;
    int code = REAL(pthread_mutex_lock)(mutex);
    n_held += code == 0;
    return code;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int code = REAL(pthread_mutex_unlock)(mutex);
    n_held -= code == 0;
    return code;
}
