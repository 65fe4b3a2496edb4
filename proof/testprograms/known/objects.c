/* A thread sleeps for a barrier, and then for a lock of readers. */
#include <pthread.h>
#include "sleepers.h"
static pthread_barrier_t both;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static void *comes_first(void *unused)
{
    pthread_barrier_wait(&both);
    pthread_rwlock_rdlock(&shared);
    pthread_rwlock_unlock(&shared);
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    pthread_rwlock_wrlock(&shared);
    pthread_create(&thread, NULL, comes_first, NULL);
    until_in_futex(1);
    pthread_barrier_wait(&both);
    usleep(20000);
    until_in_futex(1);
    pthread_rwlock_unlock(&shared);
    return pthread_join(thread, NULL);
}
