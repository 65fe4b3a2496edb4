/* Names locks of the C library and of ondeck.h, by the header alone: this links with no library too.
 * Prints: named
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include "ondeck.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static ondeck_mutex_t own = ONDECK_MUTEX_INIT;

int main(void) {
    static pthread_mutex_t shards[2000];
    static sem_t seats;
    int i;
    for (i = 0; i < 2000; i++) {
        ondeck_name(&shards[i], "shard");
    }
    ondeck_name(&mutex, "mutex");
    ondeck_name(&filled, "filled");
    ondeck_name(&table, "table");
    ondeck_name(&seats, "seats");
    ondeck_name(&own, "own");
    ondeck_name(&own, "");
    ondeck_name(NULL, "nothing");
    ondeck_name(&own, NULL);
    if (pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex) || pthread_mutex_destroy(&mutex)) {
        return 1;
    }
    puts("named");
    return 0;
}
