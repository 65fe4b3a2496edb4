// Recursive mutexes, of which the outermost acquisition counts; errorcheck ones, whose refusals count for nothing; tries that
// fail, which are no waits; and waits with a deadline that is over, which are waits and no acquisitions.
#include "known.h"

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER, timed = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_recursive, *known_checked, *known_adaptive, *known_tried, *known_timed;

APART static void *enters_again_and_again(void *id)
{
    comes(id);
    LOCK(known_recursive);
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_trylock(&recursive));
    OK(pthread_mutex_unlock(&recursive));
    OK(pthread_mutex_unlock(&recursive));
    UNLOCK(known_recursive);
    return NULL;
}

APART static void *is_refused(void *id)
{
    comes(id);
    GIVES(pthread_mutex_unlock(&checked), EPERM);
    LOCK(known_checked);
    GIVES(pthread_mutex_lock(&checked), EDEADLK);
    UNLOCK(known_checked);
    GIVES(pthread_mutex_unlock(&checked), EPERM);
    return NULL;
}

WAITS(waits_for_the_adaptive, known_adaptive, 0)

APART static void *tries_in_vain(void *id)
{
    for (int i = 0; i < 50; i++)
        GIVES(pthread_mutex_trylock(&tried), EBUSY);
    comes(id);
    sleep_ns(30 * MS);
    return NULL;
}

APART static void tries_with_success(void)
{
    for (int i = 0; i < 7; i++) {
        TAKE(known_tried, pthread_mutex_trylock(&tried));
        UNLOCK(known_tried);
    }
}

APART static void *gives_up(void *id)
{
    comes(id);
    struct timespec end = in_ns(CLOCK_REALTIME, 20 * MS);
    GIVE_UP(known_timed, pthread_mutex_timedlock(&timed, &end), ETIMEDOUT);
    end = in_ns(CLOCK_MONOTONIC, 15 * MS);
    GIVE_UP(known_timed, pthread_mutex_clocklock(&timed, CLOCK_MONOTONIC, &end), ETIMEDOUT);
    __atomic_store_n(&must_hold, 0, __ATOMIC_RELEASE);
    end = in_ns(CLOCK_REALTIME, 10 * SECOND);
    TAKE(known_timed, pthread_mutex_timedlock(&timed, &end));
    UNLOCK(known_timed);
    return NULL;
}

APART static void holds_twice(void)
{
    pthread_t thread;
    int id;
    LOCK(known_recursive);
    OK(pthread_mutex_lock(&recursive));
    start_waiters(&thread, &id, 1, enters_again_and_again);
    sleep_ns(10 * MS);
    // The inner one lets nobody in.
    OK(pthread_mutex_unlock(&recursive));
    sleep_ns(15 * MS);
    UNLOCK(known_recursive);
    join_all(&thread, 1);
}

int main(int n, char **arguments)
{
    int unused;
    known_begin();
    CHECK(n == 2);
    known_recursive = KNOWN_MUTEX("recursive", &recursive);
    known_checked = KNOWN_MUTEX("checked", &checked);
    known_adaptive = KNOWN_MUTEX("adaptive", &adaptive);
    known_tried = KNOWN_MUTEX("tried", &tried);
    known_timed = KNOWN_MUTEX("timed", &timed);
    for (int round = 0; round < 3; round++) {
        holds_twice();
        enters_again_and_again(&unused);
        holds(known_checked, is_refused, 1, 20 * MS);
        holds(known_adaptive, waits_for_the_adaptive, 1, 20 * MS);
        holds(known_tried, tries_in_vain, 1, 10 * MS);
        tries_with_success();
        must_hold = 1;
        holds(known_timed, gives_up, 1, 20 * MS);
    }
    known_write(arguments[1], "exit");
    return 0;
}
