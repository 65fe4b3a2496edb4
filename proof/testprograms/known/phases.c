// Two locks, each waited for in a phase of its own.
#include "known.h"

static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER, late = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_early, *known_late;

APART static void *waits_early(void *id)
{
    comes(id);
    LOCK(known_early);
    UNLOCK(known_early);
    return NULL;
}

APART static void *waits_late(void *id)
{
    comes(id);
    LOCK(known_late);
    UNLOCK(known_late);
    return NULL;
}

APART static void holds(struct known *lock, void *(*waits)(void *))
{
    pthread_t threads[2];
    int ids[2];
    LOCK(lock);
    start_waiters(threads, ids, 2, waits);
    sleep_ns(30 * MS);
    UNLOCK(lock);
    join_all(threads, 2);
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_early = KNOWN_MUTEX("early", &early);
    known_late = KNOWN_MUTEX("late", &late);
    for (int round = 0; round < 8; round++)
        holds(known_early, waits_early);
    sleep_ns(400 * MS);
    for (int round = 0; round < 6; round++)
        holds(known_late, waits_late);
    known_write(arguments[1], "exit");
    return 0;
}
