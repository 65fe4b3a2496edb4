// One lock is waited for among two thousand that nobody waits for, a thousand in a static array and a thousand on the heap; of
// these too, one is waited for, but less.
#include "known.h"

#define N 1000
#define HOT 37
#define WARM 512

static pthread_mutex_t idle[N];
static char names[N][24];
static struct known *known_hot, *known_warm;

APART static void *waits_for_the_hot_one(void *id)
{
    comes(id);
    LOCK(known_hot);
    UNLOCK(known_hot);
    return NULL;
}

APART static void *waits_for_the_warm_one(void *id)
{
    comes(id);
    LOCK(known_warm);
    UNLOCK(known_warm);
    return NULL;
}

APART static void holds(struct known *lock, void *(*waits)(void *), int n)
{
    pthread_t threads[2];
    int ids[2];
    LOCK(lock);
    start_waiters(threads, ids, n, waits);
    sleep_ns(20 * MS);
    UNLOCK(lock);
    join_all(threads, n);
}

APART static void passes(struct known *lock)
{
    for (int i = 0; i < 10; i++) {
        OK(pthread_mutex_lock((pthread_mutex_t *)lock->address));
        OK(pthread_mutex_unlock((pthread_mutex_t *)lock->address));
    }
    COUNT(lock, 10);
}

APART static pthread_mutex_t *makes_one_on_the_heap(void)
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
    for (int i = 0; i < N; i++) {
        // A static array without initializers: all bits 0, which is PTHREAD_MUTEX_INITIALIZER here.
        snprintf(names[i], sizeof names[i], i ? "idle[%d]" : "idle*", i);
        struct known *lock = KNOWN_MUTEX(names[i], &idle[i]);
        known_hot = i == HOT ? lock : known_hot;
        passes(lock);
    }
    for (int i = 0; i < N; i++) {
        struct known *lock = KNOWN_MUTEX("*makes_one_on_the_heap*", makes_one_on_the_heap());
        known_warm = i == WARM ? lock : known_warm;
        passes(lock);
    }
    holds(known_warm, waits_for_the_warm_one, 1);
    for (int round = 0; round < 3; round++)
        holds(known_hot, waits_for_the_hot_one, 2);
    known_write(arguments[1], "exit");
    return 0;
}
