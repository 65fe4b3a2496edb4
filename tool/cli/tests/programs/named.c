/* Gives two locks on the heap their names, and uses the second one in a child. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ondeck.h"
static void *use(void *lock)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(lock);
        usleep(1000);
        pthread_mutex_unlock(lock);
        usleep(100);
    }
    return NULL;
}
static void all_use(pthread_mutex_t *lock)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(threads + i, NULL, use, lock);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
int main(void)
{
    pthread_mutex_t *locks = calloc(2, sizeof *locks);
    ondeck_name(locks, "cache");
    ondeck_name(locks + 1, "journal");
    all_use(locks);
    if (fork() == 0) {
        all_use(locks + 1);
        exit(0);
    }
    wait(NULL);
}
