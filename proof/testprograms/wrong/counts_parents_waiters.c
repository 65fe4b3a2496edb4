// Has the waits of condition variables counted in the mutex, as glibc does, and the child of a fork does not forget it.
// fails: fork_forgets
#include "wrong.h"

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    return REAL(pthread_mutex_destroy)(mutex);
}
