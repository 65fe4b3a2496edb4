// Mutexes with priority inheritance and with a priority ceiling, with and without a condition variable: an interposer hands
// these to glibc, and its own condition variables have to go along with that.
#include "check.h"

#define N_TURNS 300

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t conds[2];
    int turn;
    long count;
} game;

static void *play(void *argument)
{
    int me = (int)(long)argument;
    for (int turn = 0; turn < N_TURNS; turn++) {
        OK(pthread_mutex_lock(&game.mutex));
        while (game.turn != me) {
            struct timespec end = in_ns(CLOCK_REALTIME, 50 * SECOND);
            OK(turn % 2 ? pthread_cond_wait(&game.conds[me], &game.mutex)
                        : pthread_cond_timedwait(&game.conds[me], &game.mutex, &end));
        }
        game.turn = !me;
        game.count++;
        OK(turn % 3 ? pthread_cond_signal(&game.conds[!me]) : pthread_cond_broadcast(&game.conds[!me]));
        OK(pthread_mutex_unlock(&game.mutex));
    }
    for (int round = 0; round < 2000; round++) {
        OK(pthread_mutex_lock(&game.mutex));
        game.count++;
        if (round % 64 == 0)
            sched_yield();
        OK(pthread_mutex_unlock(&game.mutex));
    }
    return NULL;
}

static void *is_refused(void *argument)
{
    (void)argument;
    GIVES(pthread_mutex_trylock(&game.mutex), EBUSY);
    struct timespec end = in_ns(CLOCK_REALTIME, MS);
    GIVES(pthread_mutex_timedlock(&game.mutex, &end), ETIMEDOUT);
    CHECK(now_ns(CLOCK_REALTIME) >= ns_of(&end));
    return NULL;
}

static void with_protocol(int type, int protocol, int shared)
{
    memset(&game, 0, sizeof game);
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutexattr_setpshared(&attr, shared));
    OK(pthread_mutexattr_setprotocol(&attr, protocol));
    int ceiling = sched_get_priority_min(SCHED_FIFO) + 1;
    if (protocol == PTHREAD_PRIO_PROTECT)
        OK(pthread_mutexattr_setprioceiling(&attr, ceiling));
    OK(pthread_mutex_init(&game.mutex, &attr));
    OK(pthread_cond_init(&game.conds[0], NULL));
    OK(pthread_cond_init(&game.conds[1], NULL));
    OK(pthread_mutex_lock(&game.mutex));
    if (type == PTHREAD_MUTEX_RECURSIVE) {
        OK(pthread_mutex_lock(&game.mutex));
        OK(pthread_mutex_unlock(&game.mutex));
    }
    if (type == PTHREAD_MUTEX_ERRORCHECK)
        GIVES(pthread_mutex_lock(&game.mutex), EDEADLK);
    join(start(is_refused, NULL));
    OK(pthread_mutex_unlock(&game.mutex));
    if (protocol == PTHREAD_PRIO_PROTECT) {
        int old;
        OK(pthread_mutex_getprioceiling(&game.mutex, &old));
        CHECK(old == ceiling);
        OK(pthread_mutex_setprioceiling(&game.mutex, ceiling + 1, &old));
        CHECK(old == ceiling);
    }
    pthread_t players[2] = {start(play, (void *)0L), start(play, (void *)1L)};
    join_soon(players[0], doing);
    join_soon(players[1], doing);
    CHECK(game.count == 2 * N_TURNS + 2 * 2000);
    OK(pthread_mutex_destroy(&game.mutex));
    OK(pthread_cond_destroy(&game.conds[0]));
    OK(pthread_cond_destroy(&game.conds[1]));
}

int main(void)
{
    watchdog();
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP};
    doing = "priority inheritance";
    for (int i = 0; i < 8; i++)
        with_protocol(types[i % 4], PTHREAD_PRIO_INHERIT, i / 4);

    // glibc raises the priority within the thread's policy, so a ceiling is for threads with one that has priorities:
    // others get EINVAL.
    doing = "priority ceiling";
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) != 0) {
        puts("pi: real-time priorities are not permitted here; ceilings skipped");
        return 0;
    }
    for (int i = 0; i < 8; i++)
        with_protocol(types[i % 4], PTHREAD_PRIO_PROTECT, i / 4);
    return 0;
}
