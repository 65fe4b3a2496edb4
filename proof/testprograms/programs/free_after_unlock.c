/* Objects that carry their mutex, and are freed by whoever leaves them last, right after its unlock.
 *
 * POSIX allows that. An unlock that touches the mutex after it has let the next thread in touches freed memory here, which
 * memcheck sees. Threads yield now and then, so that they do wait, and in no fixed order: under memcheck one runs at a time,
 * and goes on until it makes a system call. If two are inside at once, some object is never freed. */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Threads that go the same way for long stay in one order, so there are many groups of them. */
enum { THREADS = 4, OBJECTS = 50, GROUPS = 60 };

struct object {
    pthread_mutex_t mutex;
    int n_users;
};

static struct object *objects[OBJECTS];
static atomic_long n_freed;

static void yield_now_and_then(unsigned *state) {
    for (int turns = rand_r(state) % 4; turns; turns--) sched_yield();
}

static void *use(void *argument) {
    unsigned state = (unsigned)(size_t)argument;
    for (int i = 0; i < OBJECTS; i++) {
        struct object *object = objects[i];
        pthread_mutex_lock(&object->mutex);
        int left = object->n_users - 1;
        if (left) yield_now_and_then(&state);
        object->n_users = left;
        int is_last = left == 0;
        pthread_mutex_unlock(&object->mutex);
        if (is_last) {
            pthread_mutex_destroy(&object->mutex);
            free(object);
            atomic_fetch_add(&n_freed, 1);
        }
    }
    return NULL;
}

/* One group; whether it could be had. */
static int group(unsigned number) {
    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = malloc(sizeof *objects[i]);
        if (!objects[i]) return 0;
        pthread_mutex_init(&objects[i]->mutex, NULL);
        objects[i]->n_users = THREADS;
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        size_t seed = number * THREADS + (unsigned)i + 1;
        if (pthread_create(&threads[i], NULL, use, (void *)seed)) return 0;
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 1;
}

int main(void) {
    puts("started");
    fflush(stdout);
    for (unsigned number = 0; number < GROUPS; number++)
        if (!group(number)) return 1;
    printf("freed %ld\n", (long)n_freed);
    return n_freed == (long)OBJECTS * GROUPS ? 0 : 1;
}
