// No wake-up is lost: two threads that take turns, a bounded queue with several producers and consumers, signals given
// inside and outside of the mutex, waits with and without deadlines mixed.
#include "check.h"

#define N_TURNS 20000
#define N_ITEMS 20000
#define N_EACH 3
#define ROOM 4

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t conds[2];
    int turn;
} game = {.mutex = PTHREAD_MUTEX_INITIALIZER, .conds = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER}};

static void *play(void *argument)
{
    int me = (int)(long)argument;
    for (int turn = 0; turn < N_TURNS; turn++) {
        int inside = turn % 3 != 0;
        OK(pthread_mutex_lock(&game.mutex));
        while (game.turn != me)
            OK(pthread_cond_wait(&game.conds[me], &game.mutex));
        game.turn = !me;
        if (inside)
            OK(pthread_cond_signal(&game.conds[!me]));
        OK(pthread_mutex_unlock(&game.mutex));
        if (!inside)
            OK(pthread_cond_signal(&game.conds[!me]));
    }
    return NULL;
}

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_full, not_empty;
    long items[ROOM];
    int n_items, n_taken, mode;
    long sum;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER,
           .not_empty = PTHREAD_COND_INITIALIZER};

static void wait_on(pthread_cond_t *cond, uint64_t *seed)
{
    if (queue.mode == 0 || chance(seed) % 2) {
        OK(pthread_cond_wait(cond, &queue.mutex));
        return;
    }
    // Far away: whoever times out here was left sleeping.
    struct timespec end = in_ns(CLOCK_MONOTONIC, 50 * SECOND);
    OK(pthread_cond_clockwait(cond, &queue.mutex, CLOCK_MONOTONIC, &end));
}

static void leave(pthread_cond_t *cond, uint64_t *seed)
{
    int inside = (int)(chance(seed) % 2);
    if (inside)
        OK(pthread_cond_signal(cond));
    OK(pthread_mutex_unlock(&queue.mutex));
    if (!inside)
        OK(pthread_cond_signal(cond));
}

static void *produce(void *argument)
{
    uint64_t seed = 77 + (uint64_t)(long)argument;
    for (long item = (long)argument; item < N_ITEMS; item += N_EACH) {
        OK(pthread_mutex_lock(&queue.mutex));
        while (queue.n_items == ROOM)
            wait_on(&queue.not_full, &seed);
        queue.items[queue.n_items++] = item;
        leave(&queue.not_empty, &seed);
    }
    return NULL;
}

static void *consume(void *argument)
{
    uint64_t seed = 99 + (uint64_t)(long)argument;
    for (;;) {
        OK(pthread_mutex_lock(&queue.mutex));
        while (queue.n_items == 0 && queue.n_taken < N_ITEMS)
            wait_on(&queue.not_empty, &seed);
        if (queue.n_items == 0) {
            OK(pthread_mutex_unlock(&queue.mutex));
            return NULL;
        }
        queue.sum += queue.items[--queue.n_items];
        if (++queue.n_taken == N_ITEMS)
            OK(pthread_cond_broadcast(&queue.not_empty));
        leave(&queue.not_full, &seed);
    }
}

int main(void)
{
    watchdog();
    pthread_t players[2] = {start(play, (void *)0L), start(play, (void *)1L)};
    join_soon(players[0], "two threads that take turns");
    join_soon(players[1], "two threads that take turns");

    for (queue.mode = 0; queue.mode < 2; queue.mode++) {
        pthread_t threads[2 * N_EACH];
        queue.sum = queue.n_taken = 0;
        for (long i = 0; i < N_EACH; i++) {
            threads[i] = start(produce, (void *)i);
            threads[N_EACH + i] = start(consume, (void *)i);
        }
        for (int i = 0; i < 2 * N_EACH; i++)
            join_soon(threads[i], "a bounded queue");
        CHECK(queue.sum == (long)N_ITEMS * (N_ITEMS - 1) / 2);
    }
    return 0;
}
