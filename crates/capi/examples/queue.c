/* A queue of four places: who finds it full waits for room, who finds it empty waits for an item.
 *
 * Prints: 1000 items, sum 499500
 */
#include <ondeck.h>
#include <pthread.h>
#include <stdio.h>

enum { PLACES = 4, ITEMS = 1000 };

static struct {
    ondeck_mutex_t lock;
    ondeck_cond_t has_item, has_room;
    int items[PLACES];
    int first, n;
} queue = { ONDECK_MUTEX_INIT, ONDECK_COND_INIT, ONDECK_COND_INIT, { 0 }, 0, 0 };

static void push(int item) {
    ondeck_mutex_lock(&queue.lock);
    while (queue.n == PLACES)
        ondeck_cond_wait(&queue.has_room, &queue.lock);
    queue.items[(queue.first + queue.n++) % PLACES] = item;
    ondeck_cond_signal(&queue.has_item);
    ondeck_mutex_unlock(&queue.lock);
}

static int pop(void) {
    ondeck_mutex_lock(&queue.lock);
    while (queue.n == 0)
        ondeck_cond_wait(&queue.has_item, &queue.lock);
    int item = queue.items[queue.first];
    queue.first = (queue.first + 1) % PLACES;
    queue.n--;
    ondeck_cond_signal(&queue.has_room);
    ondeck_mutex_unlock(&queue.lock);
    return item;
}

static void *produce(void *unused) {
    (void)unused;
    for (int item = 0; item < ITEMS; item++)
        push(item);
    return NULL;
}

int main(void) {
    pthread_t producer;
    int sum = 0;
    pthread_create(&producer, NULL, produce, NULL);
    for (int i = 0; i < ITEMS; i++)
        sum += pop();
    pthread_join(producer, NULL);
    printf("%d items, sum %d\n", ITEMS, sum);
    return 0;
}
