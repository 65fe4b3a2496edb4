// Who is to blame. Several wait through a long hold and then through a short one: the long one's part of their waiting is the
// long holder's, although the short holder is the last who releases before they go on. And where one thread locks and another
// unlocks, what is waited meanwhile is charged to who took it.
#include "known.h"

#define N_ROUNDS 5

static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER, lent = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_wanted, *known_lent;

// First in the queue, so that the others wait on.
WAITS(holds_short, known_wanted, 1 * MS)
WAITS(waits_through_both, known_wanted, 0)

APART static void holds_long(void)
{
    pthread_t threads[4];
    int ids[4];
    LOCK(known_wanted);
    int64_t since = known_now();
    start_waiters(threads, ids, 1, holds_short);
    start_waiters(threads + 1, ids + 1, 3, waits_through_both);
    sleep_ns(50 * MS - (known_now() - since));
    UNLOCK(known_wanted);
    join_all(threads, 4);
}

APART static void *takes_it(void *argument)
{
    LOCK(known_lent);
    return argument;
}

WAITS(waits_for_it, known_lent, 0)

APART static void *gives_it_back(void *argument)
{
    sleep_ns(20 * MS);
    UNLOCK(known_lent);
    return argument;
}

static void lend(void)
{
    pthread_t waiters[2];
    int ids[2];
    join_soon(start(takes_it, NULL), "takes_it");
    start_waiters(waiters, ids, 2, waits_for_it);
    join_soon(start(gives_it_back, NULL), "gives_it_back");
    join_all(waiters, 2);
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_wanted = KNOWN_MUTEX("wanted", &wanted);
    known_lent = KNOWN_MUTEX("lent", &lent);
    for (int round = 0; round < N_ROUNDS; round++) {
        holds_long();
        lend();
    }
    known_write(arguments[1], "exit");
    return 0;
}
