// Waits on condition variables are no waits for locks: until a signal, until a time is over, and until a broadcast. And a hold
// ends where such a wait begins: what others wait until then is charged to who took the mutex, and nothing afterwards.
#include "known.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signalled = PTHREAD_COND_INITIALIZER, timed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t broadcast = PTHREAD_COND_INITIALIZER;
static struct known *known_mutex, *known_signalled, *known_timed, *known_broadcast;
static int n_items, is_over, is_held, are_there;

APART static void *consumes(void *id)
{
    LOCK(known_mutex);
    comes(id);
    while (n_items == 0)
        WAIT_ON(known_signalled, known_mutex, pthread_cond_wait(&signalled, &mutex), 0);
    n_items--;
    UNLOCK(known_mutex);
    return NULL;
}

APART static void produces(void)
{
    pthread_t thread;
    int id;
    start_waiters(&thread, &id, 1, consumes);
    sleep_ns(100 * MS);
    LOCK(known_mutex);
    n_items++;
    UNLOCK(known_mutex);
    OK(pthread_cond_signal(&signalled));
    join_all(&thread, 1);
}

APART static void waits_in_vain(void)
{
    LOCK(known_mutex);
    struct timespec end = in_ns(CLOCK_REALTIME, 40 * MS);
    WAIT_ON(known_timed, known_mutex, pthread_cond_timedwait(&timed, &mutex, &end), ETIMEDOUT);
    end = in_ns(CLOCK_MONOTONIC, 30 * MS);
    WAIT_ON(known_timed, known_mutex, pthread_cond_clockwait(&timed, &mutex, CLOCK_MONOTONIC, &end), ETIMEDOUT);
    UNLOCK(known_mutex);
}

APART static void *waits_for_the_end(void *id)
{
    LOCK(known_mutex);
    comes(id);
    while (!is_over)
        WAIT_ON(known_broadcast, known_mutex, pthread_cond_wait(&broadcast, &mutex), 0);
    UNLOCK(known_mutex);
    return NULL;
}

APART static void ends_it(void)
{
    pthread_t threads[3];
    int ids[3];
    is_over = 0;
    start_waiters(threads, ids, 3, waits_for_the_end);
    sleep_ns(40 * MS);
    LOCK(known_mutex);
    is_over = 1;
    UNLOCK(known_mutex);
    OK(pthread_cond_broadcast(&broadcast));
    join_all(threads, 3);
}

// Holds the mutex for 20 ms from when two others wait, and gives it back by a wait that lasts for 50.
APART static void *holds_and_waits(void *argument)
{
    LOCK(known_mutex);
    __atomic_store_n(&is_held, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&are_there, __ATOMIC_ACQUIRE))
        sleep_ns(MS / 10);
    sleep_ns(20 * MS);
    struct timespec end = in_ns(CLOCK_REALTIME, 50 * MS);
    WAIT_ON(known_timed, known_mutex, pthread_cond_timedwait(&timed, &mutex, &end), ETIMEDOUT);
    UNLOCK(known_mutex);
    return argument;
}

// Gets it when that wait begins, and is done before it ends; a third waits meanwhile.
WAITS(holds_between, known_mutex, 15 * MS)
WAITS(waits_twice, known_mutex, 0)

static void share_while_one_waits(void)
{
    int ids[2];
    is_held = are_there = 0;
    pthread_t holder = start(holds_and_waits, NULL), threads[2];
    while (!__atomic_load_n(&is_held, __ATOMIC_ACQUIRE))
        sleep_ns(MS / 10);
    start_waiters(threads, ids, 1, holds_between);
    start_waiters(threads + 1, ids + 1, 1, waits_twice);
    __atomic_store_n(&are_there, 1, __ATOMIC_RELEASE);
    join_all(threads, 2);
    join_soon(holder, "who waits for a time");
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_mutex = KNOWN_MUTEX("mutex", &mutex);
    known_signalled = KNOWN_CONDITION("signalled", &signalled);
    known_timed = KNOWN_CONDITION("timed", &timed);
    known_broadcast = KNOWN_CONDITION("broadcast", &broadcast);
    for (int round = 0; round < 2; round++) {
        produces();
        waits_in_vain();
        ends_it();
        share_while_one_waits();
    }
    known_write(arguments[1], "exit");
    return 0;
}
