// Counts a thread's waits in a thread-local of the ordinary kind, whose place a function of the dynamic linker finds.
// fails: tls_in_malloc
#include "wrong.h"

static __thread volatile long n_waits __attribute__((tls_model("global-dynamic")));

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex) == 0)
        return 0;
    n_waits++;
    return REAL(pthread_mutex_lock)(mutex);
}
