/* Objects that carry their mutex, and are freed by whoever leaves them last, right after its unlock.
 *
 * POSIX allows that. An unlock that touches the mutex after it has let the next thread in touches freed memory here, which
 * memcheck sees. The sections yield, so that threads do wait: under memcheck one thread runs at a time. */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, OBJECTS = 400 };

struct object {
    pthread_mutex_t mutex;
    int n_users;
};

static struct object *objects[OBJECTS];
static atomic_long n_freed;

static void *use(void *argument) {
    (void)argument;
    for (int i = 0; i < OBJECTS; i++) {
        struct object *object = objects[i];
        pthread_mutex_lock(&object->mutex);
        sched_yield();
        int is_last = --object->n_users == 0;
        pthread_mutex_unlock(&object->mutex);
        if (is_last) {
            pthread_mutex_destroy(&object->mutex);
            free(object);
            atomic_fetch_add(&n_freed, 1);
        }
    }
    return NULL;
}

int main(void) {
    puts("started");
    fflush(stdout);
    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = malloc(sizeof *objects[i]);
        if (!objects[i]) return 1;
        pthread_mutex_init(&objects[i]->mutex, NULL);
        objects[i]->n_users = THREADS;
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, use, NULL)) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("freed %ld\n", (long)n_freed);
    return n_freed == OBJECTS ? 0 : 1;
}
