/* Names 3000 locks on the heap "shard", and some by themselves. Uses them, and the shards and the journal in a child. A lock
   that is named too late is destroyed, and what comes to be in its place has no name. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ondeck.h"
enum { SHARDS = 3000 };
static pthread_mutex_t *shards;
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
static void *use_shards(void *unused)
{
    for (int i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(shards + i);
        pthread_mutex_unlock(shards + i);
    }
    return unused;
}
static void twice(void *(*act)(void *), void *lock)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(threads + i, NULL, act, lock);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
int main(void)
{
    pthread_mutex_t *locks = calloc(3, sizeof *locks);
    pthread_rwlock_t *table = calloc(1, sizeof *table);
    shards = calloc(SHARDS, sizeof *shards);
    for (int i = 0; i < SHARDS; i++)
        ondeck_name(shards + i, "shard");
    ondeck_name(locks, "cache");
    ondeck_name(locks + 1, "journal");
    ondeck_name(table, "table");
    twice(use, locks);
    twice(use_shards, NULL);
    pthread_rwlock_wrlock(table);
    pthread_rwlock_unlock(table);
    pthread_mutex_init(locks + 2, NULL);
    twice(use, locks + 2);
    ondeck_name(locks + 2, "session");
    pthread_mutex_destroy(locks + 2);
    pthread_mutex_init(locks + 2, NULL);
    twice(use, locks + 2);
    if (fork() == 0) {
        twice(use, locks + 1);
        twice(use_shards, NULL);
        exit(0);
    }
    wait(NULL);
}
