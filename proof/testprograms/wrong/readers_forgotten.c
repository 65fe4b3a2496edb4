// A reader-writer lock that is destroyed beside a reader forgets it.
// fails: rwlocks
#include <pthread.h>
#include <string.h>

int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
    memset(lock, 0, sizeof *lock);
    return 0;
}
