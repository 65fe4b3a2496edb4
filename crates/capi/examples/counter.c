/* Four threads count to 100000 each, under one mutex.
 *
 * Prints: 400000
 */
#include <ondeck.h>
#include <pthread.h>
#include <stdio.h>

static ondeck_mutex_t lock = ONDECK_MUTEX_INIT;
static long count;

static void *add(void *unused) {
    (void)unused;
    for (int i = 0; i < 100000; i++) {
        ondeck_mutex_lock(&lock);
        count++;
        ondeck_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", count);
    return 0;
}
