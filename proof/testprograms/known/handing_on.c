// A waiter that does not come when the lock is free: a signal's handler keeps its thread from it. That part of its waiting is
// charged to no holder.
#include "known.h"

static pthread_mutex_t free_for_long = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_free;

static void keeps_away(int signal_number)
{
    (void)signal_number;
    sleep_ns(50 * MS);
}

APART static void *waits_long(void *id)
{
    comes(id);
    LOCK(known_free);
    UNLOCK(known_free);
    return NULL;
}

APART static void holds_for_a_part(void)
{
    pthread_t thread;
    int id;
    LOCK(known_free);
    start_waiters(&thread, &id, 1, waits_long);
    OK(pthread_kill(thread, SIGUSR1));
    sleep_ns(20 * MS);
    UNLOCK(known_free);
    join_all(&thread, 1);
}

int main(int n, char **arguments)
{
    struct sigaction action;
    known_begin();
    CHECK(n == 2);
    memset(&action, 0, sizeof action);
    action.sa_handler = keeps_away;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    known_free = KNOWN_MUTEX("free_for_long", &free_for_long);
    for (int round = 0; round < 4; round++)
        holds_for_a_part();
    known_write(arguments[1], "exit");
    return 0;
}
