// One thread locks and another unlocks: what is waited meanwhile is charged to who took it.
#include "known.h"

#define N_ROUNDS 5

static pthread_mutex_t lent = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_lent;

APART static void *takes_it(void *argument)
{
    LOCK(known_lent);
    return argument;
}

APART static void *waits_for_it(void *id)
{
    comes(id);
    LOCK(known_lent);
    UNLOCK(known_lent);
    return NULL;
}

APART static void *gives_it_back(void *argument)
{
    sleep_ns(20 * MS);
    UNLOCK(known_lent);
    return argument;
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_lent = KNOWN_MUTEX("lent", &lent);
    for (int round = 0; round < N_ROUNDS; round++) {
        pthread_t waiters[2];
        int ids[2];
        join_soon(start(takes_it, NULL), "takes_it");
        start_waiters(waiters, ids, 2, waits_for_it);
        join_soon(start(gives_it_back, NULL), "gives_it_back");
        join_all(waiters, 2);
    }
    known_write(arguments[1], "exit");
    return 0;
}
