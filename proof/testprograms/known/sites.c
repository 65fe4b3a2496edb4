// Two mutexes, each wanted at several places: acquisitions, waits and waiting for each of them. And one in memory of the C
// library's allocator, initialised by a function with a name.
#include "known.h"

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_left, *known_right, *known_made;

WAITS(waits_at_one_place, known_left, 0)
WAITS(waits_at_another, known_left, 0)
WAITS(waits_at_the_right, known_right, 0)
WAITS(waits_for_the_made_one, known_made, 0)

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
        holds(known_right, waits_at_the_right, 1, 20 * MS);
    holds(known_made, waits_for_the_made_one, 1, 15 * MS);
    passes(known_left);
    passes(known_right);
    known_write(arguments[1], "exit");
    return 0;
}
