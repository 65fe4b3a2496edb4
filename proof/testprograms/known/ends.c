// A program that ends in the midst of its work, by what its second argument says: abort, kill (itself, which nothing can
// catch). What was more than a second before is in the profile, and a wait that never ended spoils nothing.
#include "known.h"

static pthread_mutex_t used = PTHREAD_MUTEX_INITIALIZER, never_given_back = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_used;

APART static void *waits_before(void *id)
{
    comes(id);
    LOCK(known_used);
    UNLOCK(known_used);
    return NULL;
}

APART static void *waits_for_ever(void *id)
{
    comes(id);
    OK(pthread_mutex_lock(&never_given_back));
    return NULL;
}

APART static void holds(void)
{
    pthread_t threads[2];
    int ids[2];
    LOCK(known_used);
    start_waiters(threads, ids, 2, waits_before);
    sleep_ns(20 * MS);
    UNLOCK(known_used);
    join_all(threads, 2);
}

int main(int n, char **arguments)
{
    pthread_t thread;
    int id;
    known_begin();
    CHECK(n == 3);
    known_used = KNOWN_MUTEX("used", &used);
    for (int round = 0; round < 5; round++)
        holds();
    known_write(arguments[1], "abruptly");
    sleep_ns(1100 * MS);
    OK(pthread_mutex_lock(&never_given_back));
    start_waiters(&thread, &id, 1, waits_for_ever);
    if (strcmp(arguments[2], "abort") == 0)
        abort();
    CHECK(strcmp(arguments[2], "kill") == 0);
    kill(getpid(), SIGKILL);
    pause();
    return 0;
}
