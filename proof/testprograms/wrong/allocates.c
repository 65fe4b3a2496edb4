// Allocates a node for a wait: an allocator that locks is entered by itself.
// fails: malloc_locks
#include "wrong.h"
#include <stdlib.h>

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex) == 0)
        return 0;
    void *volatile node = malloc(64);
    int code = REAL(pthread_mutex_lock)(mutex);
    free(node);
    return code;
}
