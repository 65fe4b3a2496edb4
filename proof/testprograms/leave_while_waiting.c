// A thread that sleeps in pthread_mutex_lock and does not come back from it leaves nothing behind: it ends by pthread_exit in a
// signal handler, is cancelled asynchronously, or jumps out of a signal handler. It does so while the mutex is held, and those
// who wait before and behind it get the mutex later. In a wait on a condition variable such a thread has the mutex again.
// variant: exceptions -fexceptions
#include "check.h"
#include <setjmp.h>

enum way { STAYS, EXITS, IS_CANCELLED, JUMPS };

struct waiter {
    enum way way;
    pthread_t thread;
    int id, is_out, is_timed;
    sigjmp_buf back;
};

static pthread_mutex_t mutex;
static pthread_cond_t cond;
static int n_inside, n_cleaned;
static __thread struct waiter *self;

static void leave(int signal_number)
{
    (void)signal_number;
    if (self->way == JUMPS)
        siglongjmp(self->back, 1);
    pthread_exit(NULL);
}

// Writes over what a waiter may have left on this part of the stack.
static __attribute__((noinline)) void scribble(void)
{
    volatile unsigned char room[16384];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0xa5;
}

static void enter(void)
{
    GIVES(pthread_mutex_trylock(&mutex), EBUSY);
    n_inside++;
    OK(pthread_mutex_unlock(&mutex));
}

static void *lock(void *argument)
{
    self = argument;
    struct timespec end = in_ns(CLOCK_REALTIME, 2 * LATEST);
    if (sigsetjmp(self->back, 1) != 0) {
        scribble();
        __atomic_store_n(&self->is_out, 1, __ATOMIC_RELEASE);
        // As others do.
        OK(pthread_mutex_lock(&mutex));
        enter();
        return NULL;
    }
    if (self->way == IS_CANCELLED)
        OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    __atomic_store_n(&self->id, thread_id(), __ATOMIC_RELEASE);
    if (self->way == STAYS) {
        OK(pthread_mutex_lock(&mutex));
        enter();
    } else {
        self->is_timed ? pthread_mutex_timedlock(&mutex, &end) : pthread_mutex_lock(&mutex);
        FAIL("came back from a wait for a mutex that is held");
    }
    return NULL;
}

static void send_away(struct waiter *waiter)
{
    if (waiter->way == IS_CANCELLED)
        OK(pthread_cancel(waiter->thread));
    else
        OK(pthread_kill(waiter->thread, SIGUSR1));
    // While the mutex is held.
    if (waiter->way != JUMPS)
        join_soon(waiter->thread, "a thread that leaves while it waits");
    int64_t end = now_ns(CLOCK_MONOTONIC) + LATEST;
    while (waiter->way == JUMPS && !__atomic_load_n(&waiter->is_out, __ATOMIC_ACQUIRE)) {
        if (now_ns(CLOCK_MONOTONIC) > end)
            FAIL("hung: a jump out of a wait");
        give_way();
    }
}

// Those of four waiters whose bits are set leave, from the first to the last or the other way round.
static void some_leave(enum way way, unsigned who, int backwards)
{
    enum { N = 4 };
    static struct waiter waiters[N];
    int n_stay = 0;
    memset(waiters, 0, sizeof waiters);
    n_inside = 0;
    OK(pthread_mutex_lock(&mutex));
    for (int i = 0; i < N; i++) {
        waiters[i].way = who >> i & 1 ? way : STAYS;
        waiters[i].is_timed = i % 2;
        n_stay += waiters[i].way == STAYS || way == JUMPS;
        waiters[i].thread = start(lock, &waiters[i]);
        until_asleep(&waiters[i].id);
    }
    for (int i = 0; i < N; i++) {
        struct waiter *waiter = &waiters[backwards ? N - 1 - i : i];
        if (waiter->way != STAYS)
            send_away(waiter);
    }
    OK(pthread_mutex_unlock(&mutex));
    for (int i = 0; i < N; i++)
        if (waiters[i].way == STAYS || way == JUMPS)
            join_soon(waiters[i].thread, "a waiter beside one that has left");
    CHECK(n_inside == n_stay);
    OK(pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
}

static void clean_up(void *unused)
{
    (void)unused;
    n_cleaned++;
    GIVES(pthread_mutex_trylock(&mutex), EBUSY);
    OK(pthread_mutex_unlock(&mutex));
}

static void *wait_and_leave(void *argument)
{
    self = argument;
    if (sigsetjmp(self->back, 1) != 0) {
        clean_up(NULL);
        return NULL;
    }
    OK(pthread_mutex_lock(&mutex));
    pthread_cleanup_push(clean_up, NULL);
    __atomic_store_n(&self->id, thread_id(), __ATOMIC_RELEASE);
    for (;;)
        pthread_cond_wait(&cond, &mutex);
    pthread_cleanup_pop(0);
    return NULL;
}

static void leaves_a_condition(enum way way)
{
    struct waiter waiter = {.way = way};
    n_cleaned = 0;
    waiter.thread = start(wait_and_leave, &waiter);
    until_asleep(&waiter.id);
    OK(pthread_kill(waiter.thread, SIGUSR1));
    join_soon(waiter.thread, "a thread that leaves a condition variable");
    CHECK(n_cleaned == 1);
    OK(pthread_cond_destroy(&cond));
}

int main(void)
{
    static const char *const ways[] = {"", "pthread_exit", "pthread_cancel", "siglongjmp"};
    watchdog();
    signal(SIGUSR1, leave);
    for (enum way way = EXITS; way <= JUMPS; way++) {
        doing = ways[way];
        for (unsigned who = 1; who < 16; who++)
            some_leave(way, who, who & 1);
        if (way != IS_CANCELLED)
            leaves_a_condition(way);
    }
    OK(pthread_mutex_destroy(&mutex));
    return 0;
}
