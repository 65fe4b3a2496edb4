/* As many calls as the first argument says, of the kind of lock that the second names; nobody waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
    pthread_spinlock_t spin;
    pthread_mutexattr_init(&attributes);
    if (argv[2][0] == 'r')
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_spin_init(&spin, 0);
    for (int n = atoi(argv[1]); n > 0; n--) {
        if (argv[2][0] == 's') {
            pthread_spin_lock(&spin);
            pthread_spin_unlock(&spin);
        } else if (argv[2][0] == 'w') {
            pthread_rwlock_wrlock(&shared);
            pthread_rwlock_unlock(&shared);
        } else {
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
        }
    }
    return 0;
}
