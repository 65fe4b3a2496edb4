// C11's names of mutexes and condition variables.
#include "known.h"
#include <threads.h>

static mtx_t plain, timed, recursive;
static cnd_t condition;
static int is_ready;
static struct known *known_plain, *known_timed, *known_recursive, *known_condition;

WAITS_BY(waits_for_the_plain, known_plain, mtx_lock(&plain), mtx_unlock(&plain), 0)

APART static void *waits_for_the_timed(void *id)
{
    comes(id);
    CHECK(mtx_trylock(&timed) == thrd_busy);
    struct timespec end = in_ns(CLOCK_REALTIME, 20 * MS);
    GIVE_UP(known_timed, mtx_timedlock(&timed, &end), thrd_timedout);
    __atomic_store_n(&must_hold, 0, __ATOMIC_RELEASE);
    end = in_ns(CLOCK_REALTIME, 10 * SECOND);
    TAKE(known_timed, mtx_timedlock(&timed, &end));
    GIVE(known_timed, mtx_unlock(&timed));
    return NULL;
}

APART static void *waits_for_the_recursive(void *id)
{
    comes(id);
    TAKE(known_recursive, mtx_lock(&recursive));
    OK(mtx_lock(&recursive));
    OK(mtx_unlock(&recursive));
    GIVE(known_recursive, mtx_unlock(&recursive));
    return NULL;
}

APART static void holds_one(mtx_t *mutex, struct known *known, void *(*waits)(void *))
{
    HOLD(known, mtx_lock(mutex), mtx_unlock(mutex), waits, 1, 30 * MS);
}

APART static void *waits_for_news(void *id)
{
    TAKE(known_plain, mtx_lock(&plain));
    comes(id);
    while (!is_ready)
        WAIT_ON(known_condition, known_plain, cnd_wait(&condition, &plain), thrd_success);
    is_ready = 0;
    struct timespec end = in_ns(CLOCK_REALTIME, 30 * MS);
    WAIT_ON(known_condition, known_plain, cnd_timedwait(&condition, &plain, &end), thrd_timedout);
    GIVE(known_plain, mtx_unlock(&plain));
    return NULL;
}

APART static void tells_news(void)
{
    pthread_t thread;
    int id;
    start_waiters(&thread, &id, 1, waits_for_news);
    sleep_ns(50 * MS);
    TAKE(known_plain, mtx_lock(&plain));
    is_ready = 1;
    GIVE(known_plain, mtx_unlock(&plain));
    CHECK(cnd_signal(&condition) == thrd_success);
    join_all(&thread, 1);
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    CHECK(mtx_init(&plain, mtx_plain) == thrd_success);
    CHECK(mtx_init(&timed, mtx_timed) == thrd_success);
    CHECK(mtx_init(&recursive, mtx_plain | mtx_recursive) == thrd_success);
    CHECK(cnd_init(&condition) == thrd_success);
    known_plain = KNOWN_MUTEX("plain", &plain);
    known_timed = KNOWN_MUTEX("timed", &timed);
    known_recursive = KNOWN_MUTEX("recursive", &recursive);
    known_condition = KNOWN_CONDITION("condition", &condition);
    for (int round = 0; round < 2; round++) {
        holds_one(&plain, known_plain, waits_for_the_plain);
        must_hold = 1;
        holds_one(&timed, known_timed, waits_for_the_timed);
        holds_one(&recursive, known_recursive, waits_for_the_recursive);
        tells_news();
    }
    known_write(arguments[1], "exit");
    return 0;
}
