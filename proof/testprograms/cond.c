// Condition variables: what signal, broadcast and wait do, and what wait answers when the mutex is not the caller's.
#include "check.h"

#define N_WAITERS 8

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int n_waiting, n_tokens, n_ended, n_woken, is_over, is_inside;
} room;

static void make_room(int type)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    memset(&room, 0, sizeof room);
    OK(pthread_mutex_init(&room.mutex, &attr));
    OK(pthread_cond_init(&room.cond, NULL));
}

static void close_room(void)
{
    OK(pthread_cond_destroy(&room.cond));
    OK(pthread_mutex_destroy(&room.mutex));
}

static void *take_a_token(void *argument)
{
    (void)argument;
    OK(pthread_mutex_lock(&room.mutex));
    room.n_waiting++;
    while (room.n_tokens == 0 && !room.is_over) {
        OK(pthread_cond_wait(&room.cond, &room.mutex));
        // Who comes back has the mutex: nobody else is inside.
        CHECK(room.is_inside == 0);
        room.is_inside = 1;
        dally(100);
        room.is_inside = 0;
        room.n_ended++;
    }
    room.n_tokens -= !room.is_over;
    room.n_waiting--;
    room.n_woken++;
    OK(pthread_mutex_unlock(&room.mutex));
    return NULL;
}

static int locked_read(const int *value)
{
    OK(pthread_mutex_lock(&room.mutex));
    int found = *value;
    OK(pthread_mutex_unlock(&room.mutex));
    return found;
}

static void until(const int *value, int wanted)
{
    int64_t end = now_ns(CLOCK_MONOTONIC) + LATEST;
    while (locked_read(value) != wanted) {
        if (now_ns(CLOCK_MONOTONIC) > end)
            FAIL("hung: %s", doing);
        give_way();
    }
}

static void signals(int type, int signal_inside)
{
    pthread_t threads[N_WAITERS];
    make_room(type);
    for (int i = 0; i < N_WAITERS; i++)
        threads[i] = start(take_a_token, NULL);
    until(&room.n_waiting, N_WAITERS);
    doing = "a signal wakes at least one";
    for (int i = 1; i <= N_WAITERS / 2; i++) {
        OK(pthread_mutex_lock(&room.mutex));
        room.n_tokens++;
        if (signal_inside)
            OK(pthread_cond_signal(&room.cond));
        OK(pthread_mutex_unlock(&room.mutex));
        if (!signal_inside)
            OK(pthread_cond_signal(&room.cond));
        until(&room.n_woken, i);
    }
    // POSIX lets waits end without a notification; those of ours on a condition variable of one process do not.
    if (is_preloaded())
        CHECK(locked_read(&room.n_ended) == N_WAITERS / 2);
    doing = "a broadcast wakes all";
    OK(pthread_mutex_lock(&room.mutex));
    room.is_over = 1;
    if (signal_inside)
        OK(pthread_cond_broadcast(&room.cond));
    OK(pthread_mutex_unlock(&room.mutex));
    if (!signal_inside)
        OK(pthread_cond_broadcast(&room.cond));
    until(&room.n_woken, N_WAITERS);
    for (int i = 0; i < N_WAITERS; i++)
        join(threads[i]);
    close_room();
}

// Signals are not stored: who comes afterwards waits.
static void nobody_there(void)
{
    make_room(PTHREAD_MUTEX_NORMAL);
    OK(pthread_cond_signal(&room.cond));
    OK(pthread_cond_broadcast(&room.cond));
    OK(pthread_mutex_lock(&room.mutex));
    struct timespec end = in_ns(CLOCK_REALTIME, 5 * MS);
    int code;
    while ((code = pthread_cond_timedwait(&room.cond, &room.mutex, &end)) == 0) {
    }
    GIVES(code, ETIMEDOUT);
    OK(pthread_mutex_unlock(&room.mutex));
    close_room();
}

static void *hold_for_a_while(void *argument)
{
    sem_t *held = argument;
    OK(pthread_mutex_lock(&room.mutex));
    sem_post(held);
    sleep_ns(20 * MS);
    OK(pthread_mutex_unlock(&room.mutex));
    return NULL;
}

// The mutex is free, or another thread's: refused, and the condition variable is as before.
static void not_the_owner(int type)
{
    make_room(type);
    struct timespec end = in_ns(CLOCK_REALTIME, 50 * SECOND);
    GIVES(pthread_cond_wait(&room.cond, &room.mutex), EPERM);
    GIVES(pthread_cond_timedwait(&room.cond, &room.mutex, &end), EPERM);
    GIVES(pthread_cond_clockwait(&room.cond, &room.mutex, CLOCK_REALTIME, &end), EPERM);
    sem_t held;
    sem_init(&held, 0, 0);
    pthread_t holder = start(hold_for_a_while, &held);
    while (sem_wait(&held) != 0) {
    }
    GIVES(pthread_cond_wait(&room.cond, &room.mutex), EPERM);
    GIVES(pthread_cond_timedwait(&room.cond, &room.mutex, &end), EPERM);
    join(holder);

    pthread_t waiter = start(take_a_token, NULL);
    until(&room.n_waiting, 1);
    GIVES(pthread_cond_wait(&room.cond, &room.mutex), EPERM);
    OK(pthread_mutex_lock(&room.mutex));
    room.n_tokens = 1;
    OK(pthread_cond_signal(&room.cond));
    OK(pthread_mutex_unlock(&room.mutex));
    join_soon(waiter, "a signal after a refused wait");
    close_room();
}

// The codes of the three waits tell time-outs from wakes, and the mutex is held after each.
static void holds_after_timeout(int type)
{
    make_room(type);
    OK(pthread_mutex_lock(&room.mutex));
    for (int i = 0; i < 20; i++) {
        struct timespec end = in_ns(CLOCK_MONOTONIC, i * 10000);
        int code = pthread_cond_clockwait(&room.cond, &room.mutex, CLOCK_MONOTONIC, &end);
        CHECK(code == ETIMEDOUT || code == 0);
        if (type == PTHREAD_MUTEX_ERRORCHECK)
            GIVES(pthread_mutex_lock(&room.mutex), EDEADLK);
        if (type == PTHREAD_MUTEX_NORMAL)
            GIVES(pthread_mutex_trylock(&room.mutex), EBUSY);
    }
    // The count of a recursive mutex is 1 again, no more and no less.
    OK(pthread_mutex_unlock(&room.mutex));
    if (type != PTHREAD_MUTEX_NORMAL)
        GIVES(pthread_mutex_unlock(&room.mutex), EPERM);
    close_room();
}

struct deep {
    int n_levels, id, is_set;
};

static void unlock_levels(int n_levels)
{
    for (int level = 0; level < n_levels; level++)
        OK(pthread_mutex_unlock(&room.mutex));
    GIVES(pthread_mutex_unlock(&room.mutex), EPERM);
}

static void *wait_deep(void *argument)
{
    struct deep *deep = argument;
    for (int level = 0; level < deep->n_levels; level++)
        OK(pthread_mutex_lock(&room.mutex));
    __atomic_store_n(&deep->id, thread_id(), __ATOMIC_RELEASE);
    while (!__atomic_load_n(&deep->is_set, __ATOMIC_ACQUIRE))
        OK(pthread_cond_wait(&room.cond, &room.mutex));
    unlock_levels(deep->n_levels);
    return NULL;
}

// A recursive mutex that was locked more than once is locked as often after a wait, however that ended.
static void levels(int n_levels)
{
    doing = "a wait with a recursive mutex that is locked more than once";
    make_room(PTHREAD_MUTEX_RECURSIVE);
    for (int level = 0; level < n_levels; level++)
        OK(pthread_mutex_lock(&room.mutex));
    struct timespec end = in_ns(CLOCK_REALTIME, MS);
    int code = pthread_cond_timedwait(&room.cond, &room.mutex, &end);
    CHECK(code == ETIMEDOUT || code == 0);
    unlock_levels(n_levels);

    struct deep deep = {.n_levels = n_levels};
    pthread_t waiter = start(wait_deep, &deep);
    until_asleep(&deep.id);
    // glibc's wait unlocks one level. POSIX leaves it open; a library of ours is to free the mutex.
    if (is_preloaded()) {
        OK(pthread_mutex_trylock(&room.mutex));
        OK(pthread_mutex_unlock(&room.mutex));
    }
    __atomic_store_n(&deep.is_set, 1, __ATOMIC_RELEASE);
    OK(pthread_cond_signal(&room.cond));
    join_soon(waiter, doing);
    close_room();
}

static struct both {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int id, is_over;
} both;

static void make_both(int type, int shared_mutex, int shared_cond)
{
    pthread_mutexattr_t mutex_attr;
    pthread_condattr_t cond_attr;
    OK(pthread_mutexattr_init(&mutex_attr));
    OK(pthread_mutexattr_settype(&mutex_attr, type));
    OK(pthread_mutexattr_setpshared(&mutex_attr, shared_mutex));
    OK(pthread_condattr_init(&cond_attr));
    OK(pthread_condattr_setpshared(&cond_attr, shared_cond));
    memset(&both, 0, sizeof both);
    OK(pthread_mutex_init(&both.mutex, &mutex_attr));
    OK(pthread_cond_init(&both.cond, &cond_attr));
}

static void *wait_until_over(void *argument)
{
    (void)argument;
    OK(pthread_mutex_lock(&both.mutex));
    __atomic_store_n(&both.id, thread_id(), __ATOMIC_RELEASE);
    while (!both.is_over)
        OK(pthread_cond_wait(&both.cond, &both.mutex));
    OK(pthread_mutex_unlock(&both.mutex));
    return NULL;
}

// The same with a mutex that processes share, which may be another's business. After refused waits nothing is left of them: a
// waiter can be notified, and the condition variable destroyed before it is out, be it made anew before that or not.
static void refused_when_shared(int shared_cond, int is_made_anew)
{
    doing = "a wait with a shared mutex of nobody";
    make_both(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PROCESS_SHARED, shared_cond);
    struct timespec end = in_ns(CLOCK_REALTIME, 50 * SECOND);
    GIVES(pthread_cond_wait(&both.cond, &both.mutex), EPERM);
    GIVES(pthread_cond_timedwait(&both.cond, &both.mutex, &end), EPERM);
    pthread_condattr_t attr;
    OK(pthread_condattr_init(&attr));
    OK(pthread_condattr_setpshared(&attr, shared_cond));
    if (is_made_anew)
        OK(pthread_cond_init(&both.cond, &attr));
    pthread_t waiter = start(wait_until_over, NULL);
    until_asleep(&both.id);
    OK(pthread_mutex_lock(&both.mutex));
    both.is_over = 1;
    OK(pthread_cond_broadcast(&both.cond));
    OK(pthread_cond_destroy(&both.cond));
    OK(pthread_mutex_unlock(&both.mutex));
    join_soon(waiter, doing);
    OK(pthread_mutex_destroy(&both.mutex));
}

static void *wait_with_anothers(void *argument)
{
    (void)argument;
    struct timespec end = in_ns(CLOCK_REALTIME, MS);
    int code = pthread_cond_timedwait(&both.cond, &both.mutex, &end);
    CHECK(code == ETIMEDOUT || code == 0);
    OK(pthread_mutex_unlock(&both.mutex));
    return NULL;
}

// A normal mutex that another thread holds: the wait unlocks it for that one, and the mutex is as good as new afterwards.
static void with_anothers_mutex(int shared_mutex)
{
    doing = "a wait with a normal mutex of another thread";
    make_both(PTHREAD_MUTEX_NORMAL, shared_mutex, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_mutex_lock(&both.mutex));
    join_soon(start(wait_with_anothers, NULL), doing);
    OK(pthread_cond_destroy(&both.cond));
    OK(pthread_mutex_destroy(&both.mutex));
}

int main(void)
{
    watchdog();
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP};
    nobody_there();
    for (int i = 0; i < 4; i++) {
        signals(types[i], 0);
        signals(types[i], 1);
    }
    not_the_owner(PTHREAD_MUTEX_ERRORCHECK);
    not_the_owner(PTHREAD_MUTEX_RECURSIVE);
    holds_after_timeout(PTHREAD_MUTEX_NORMAL);
    holds_after_timeout(PTHREAD_MUTEX_RECURSIVE);
    holds_after_timeout(PTHREAD_MUTEX_ERRORCHECK);
    levels(2);
    levels(5);
    for (int i = 0; i < 4; i++)
        refused_when_shared(i & 1, i >> 1);
    with_anothers_mutex(PTHREAD_PROCESS_PRIVATE);
    with_anothers_mutex(PTHREAD_PROCESS_SHARED);

    pthread_condattr_t attr;
    OK(pthread_condattr_init(&attr));
    GIVES(pthread_condattr_setclock(&attr, CLOCK_PROCESS_CPUTIME_ID), EINVAL);
    return 0;
}
