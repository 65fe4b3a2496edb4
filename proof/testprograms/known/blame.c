// Who is to blame: several wait through a long hold and then through a short one. The long one's part of their waiting is the
// long holder's, although the short holder is the last who releases before they go on.
#include "known.h"

#define N_WAITERS 3
#define N_ROUNDS 5

static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_wanted;

// First in the queue, so that the others wait on.
APART static void *holds_short(void *id)
{
    comes(id);
    LOCK(known_wanted);
    sleep_ns(1 * MS);
    UNLOCK(known_wanted);
    return NULL;
}

APART static void *waits_through_both(void *id)
{
    comes(id);
    LOCK(known_wanted);
    UNLOCK(known_wanted);
    return NULL;
}

APART static void holds_long(void)
{
    pthread_t threads[1 + N_WAITERS];
    int ids[1 + N_WAITERS];
    LOCK(known_wanted);
    int64_t since = known_now();
    start_waiters(threads, ids, 1, holds_short);
    start_waiters(threads + 1, ids + 1, N_WAITERS, waits_through_both);
    sleep_ns(50 * MS - (known_now() - since));
    UNLOCK(known_wanted);
    join_all(threads, 1 + N_WAITERS);
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_wanted = KNOWN_MUTEX("wanted", &wanted);
    for (int round = 0; round < N_ROUNDS; round++)
        holds_long();
    known_write(arguments[1], "exit");
    return 0;
}
