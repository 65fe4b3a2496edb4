// Each thread gets a number when it first locks, and keeps it when it is gone.
// fails: many_threads
#include "wrong.h"

#define MOST_THREADS 4096

static int n_threads;
static __thread int number;

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (!number)
        number = __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED);
    return number > MOST_THREADS ? EAGAIN : REAL(pthread_mutex_lock)(mutex);
}
