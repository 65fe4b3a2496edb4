// Threads that end: three hundred, each of which acquires the lock once, and every hundredth waits for it.
#include "known.h"

static pthread_mutex_t passed = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_passed;

APART static void *comes_once(void *argument)
{
    LOCK(known_passed);
    UNLOCK(known_passed);
    return argument;
}

APART static void *waits_once(void *id)
{
    comes(id);
    LOCK(known_passed);
    UNLOCK(known_passed);
    return NULL;
}

APART static void holds(void)
{
    pthread_t thread;
    int id;
    LOCK(known_passed);
    start_waiters(&thread, &id, 1, waits_once);
    sleep_ns(20 * MS);
    UNLOCK(known_passed);
    join_all(&thread, 1);
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_passed = KNOWN_MUTEX("passed", &passed);
    for (int i = 1; i < 300; i++)
        if (i % 100 == 0)
            holds();
        else
            join_soon(start(comes_once, NULL), "a short thread");
    holds();
    known_write(arguments[1], "exit");
    return 0;
}
