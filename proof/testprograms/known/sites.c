// Two mutexes, each wanted at several places: acquisitions, waits and waiting for each of them. And one in shared memory of
// the C library's allocator, initialised by a function with a name.
#include "known.h"

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_left, *known_right, *known_made;

APART static void *waits_at_one_place(void *id)
{
    comes(id);
    LOCK(known_left);
    UNLOCK(known_left);
    return NULL;
}

APART static void *waits_at_another(void *id)
{
    comes(id);
    LOCK(known_left);
    UNLOCK(known_left);
    return NULL;
}

APART static void *waits_at_the_right(void *id)
{
    comes(id);
    LOCK(known_right);
    UNLOCK(known_right);
    return NULL;
}

APART static void *waits_for_the_made_one(void *id)
{
    comes(id);
    LOCK(known_made);
    UNLOCK(known_made);
    return NULL;
}

APART static void holds_left(void)
{
    pthread_t threads[3];
    int ids[3];
    LOCK(known_left);
    start_waiters(threads, ids, 1, waits_at_one_place);
    start_waiters(threads + 1, ids + 1, 2, waits_at_another);
    sleep_ns(10 * MS);
    UNLOCK(known_left);
    join_all(threads, 3);
}

APART static void holds_right(void)
{
    pthread_t thread;
    int id;
    LOCK(known_right);
    start_waiters(&thread, &id, 1, waits_at_the_right);
    sleep_ns(20 * MS);
    UNLOCK(known_right);
    join_all(&thread, 1);
}

APART static void holds_the_made_one(void)
{
    pthread_t thread;
    int id;
    LOCK(known_made);
    start_waiters(&thread, &id, 1, waits_for_the_made_one);
    sleep_ns(15 * MS);
    UNLOCK(known_made);
    join_all(&thread, 1);
}

APART static void passes(struct known *lock)
{
    for (int i = 0; i < 1000; i++) {
        LOCK(lock);
        UNLOCK(lock);
    }
}

APART static pthread_mutex_t *makes_one(void)
{
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    CHECK(mutex != NULL);
    OK(pthread_mutex_init(mutex, NULL));
    return mutex;
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_left = KNOWN_MUTEX("left", &left);
    known_right = KNOWN_MUTEX("right", &right);
    known_made = KNOWN_MUTEX("*makes_one*", makes_one());
    for (int round = 0; round < 4; round++)
        holds_left();
    for (int round = 0; round < 3; round++)
        holds_right();
    holds_the_made_one();
    passes(known_left);
    passes(known_right);
    known_write(arguments[1], "exit");
    return 0;
}
