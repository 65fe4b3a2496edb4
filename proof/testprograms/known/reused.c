// One piece of memory that is two mutexes, one after the other; and a mutex that is moved, byte by byte, while it is free.
#include "known.h"

static pthread_mutex_t *memory;
static pthread_mutex_t before_the_move = PTHREAD_MUTEX_INITIALIZER, after_the_move;
static struct known *known_now_there;

APART static void *waits_for_what_is_there(void *id)
{
    comes(id);
    LOCK(known_now_there);
    UNLOCK(known_now_there);
    return NULL;
}

APART static void holds_what_is_there(int64_t ns)
{
    pthread_t thread;
    int id;
    LOCK(known_now_there);
    start_waiters(&thread, &id, 1, waits_for_what_is_there);
    sleep_ns(ns);
    UNLOCK(known_now_there);
    join_all(&thread, 1);
}

APART static void makes_the_first(void)
{
    OK(pthread_mutex_init(memory, NULL));
    __asm__ volatile("");
}

APART static void makes_the_second(void)
{
    OK(pthread_mutex_init(memory, NULL));
    __asm__ volatile("");
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    memory = malloc(sizeof *memory);
    CHECK(memory != NULL);
    makes_the_first();
    known_now_there = KNOWN_MUTEX("*makes_the_first*", memory);
    holds_what_is_there(20 * MS);
    OK(pthread_mutex_destroy(memory));
    makes_the_second();
    known_now_there = KNOWN_MUTEX("*makes_the_second*", memory);
    holds_what_is_there(10 * MS);
    holds_what_is_there(30 * MS);
    OK(pthread_mutex_destroy(memory));

    known_now_there = KNOWN_MUTEX("before_the_move", &before_the_move);
    holds_what_is_there(20 * MS);
    memcpy(&after_the_move, &before_the_move, sizeof after_the_move);
    memset(&before_the_move, 0, sizeof before_the_move);
    known_now_there = KNOWN_MUTEX("after_the_move", &after_the_move);
    holds_what_is_there(30 * MS);
    known_write(arguments[1], "exit");
    return 0;
}
