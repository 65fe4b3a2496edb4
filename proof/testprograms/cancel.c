// Cancellation in waits on condition variables: who is cancelled has the mutex when its clean-up handlers run, a cancel
// that is pending acts at entry, a disabled one does not act, a cancelled waiter passes its signal on; and locking a mutex
// is no cancellation point.
// variant: exceptions -fexceptions
#include "check.h"
#include <threads.h>

enum wait { WAIT, TIMEDWAIT, CLOCKWAIT, C11_WAIT, C11_TIMEDWAIT, N_WAITS };

static const char *const names[] = {"cond_wait", "cond_timedwait", "cond_clockwait", "cnd_wait", "cnd_timedwait"};

// As in glibc, the types of C11 are those of pthread: one room serves both.
static struct {
    union {
        pthread_mutex_t mutex;
        mtx_t mtx;
    };
    union {
        pthread_cond_t cond;
        cnd_t cnd;
    };
    int n_waiting, n_ended, n_cleaned, n_tokens, is_recursive;
    // The thread that came first.
    int first;
} room;

// Of the condition variable: PTHREAD_PROCESS_PRIVATE or SHARED.
static int sharing;

static void make_room(int type)
{
    pthread_condattr_t cond_attr;
    OK(pthread_condattr_init(&cond_attr));
    OK(pthread_condattr_setpshared(&cond_attr, sharing));
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    memset(&room, 0, sizeof room);
    room.is_recursive = type == PTHREAD_MUTEX_RECURSIVE;
    OK(pthread_mutex_init(&room.mutex, &attr));
    OK(pthread_cond_init(&room.cond, &cond_attr));
}

static void wait_by(enum wait wait)
{
    struct timespec end = in_ns(wait == CLOCKWAIT ? CLOCK_MONOTONIC : CLOCK_REALTIME, 50 * SECOND);
    switch (wait) {
    case WAIT:
        OK(pthread_cond_wait(&room.cond, &room.mutex));
        break;
    case TIMEDWAIT:
        OK(pthread_cond_timedwait(&room.cond, &room.mutex, &end));
        break;
    case CLOCKWAIT:
        OK(pthread_cond_clockwait(&room.cond, &room.mutex, CLOCK_MONOTONIC, &end));
        break;
    case C11_WAIT:
        CHECK(cnd_wait(&room.cnd, &room.mtx) == thrd_success);
        break;
    default:
        CHECK(cnd_timedwait(&room.cnd, &room.mtx, &end) == thrd_success);
    }
}

// Runs with the mutex held, as POSIX says.
static void clean_up(void *argument)
{
    (void)argument;
    room.n_cleaned++;
    if (!room.is_recursive)
        GIVES(pthread_mutex_trylock(&room.mutex), EBUSY);
    // EPERM from the kinds with an owner check, if it is not held by this thread.
    OK(pthread_mutex_unlock(&room.mutex));
}

static void *wait_for_a_token(void *argument)
{
    enum wait wait = (enum wait)(long)argument;
    OK(pthread_mutex_lock(&room.mutex));
    if (room.n_waiting++ == 0)
        room.first = gettid();
    pthread_cleanup_push(clean_up, NULL);
    // What the thread had set is as before after each wait.
    int type_before, type;
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type_before));
    OK(pthread_setcanceltype(type_before, &type));
    while (room.n_tokens == 0) {
        wait_by(wait);
        room.n_ended++;
        OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type));
        CHECK(type == type_before);
        OK(pthread_setcanceltype(type_before, &type));
    }
    room.n_tokens--;
    pthread_cleanup_pop(0);
    OK(pthread_mutex_unlock(&room.mutex));
    return NULL;
}

static void *cancel_self_and_wait(void *argument)
{
    OK(pthread_cancel(pthread_self()));
    return wait_for_a_token(argument);
}

static void *wait_uncancelled(void *argument)
{
    int old;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    CHECK(old == PTHREAD_CANCEL_DEFERRED);
    CHECK(wait_for_a_token(argument) == NULL);
    // The wait has not changed what the thread had set.
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    CHECK(old == PTHREAD_CANCEL_ASYNCHRONOUS);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    CHECK(old == PTHREAD_CANCEL_DISABLE);
    pthread_testcancel();
    FAIL("a cancel of %s was swallowed", names[(long)argument]);
}

// A thread that is cancelled nowhere in particular stays so.
static void *wait_asynchronously(void *argument)
{
    int old;
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    CHECK(old == PTHREAD_CANCEL_DEFERRED);
    CHECK(wait_for_a_token(argument) == NULL);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    CHECK(old == PTHREAD_CANCEL_ASYNCHRONOUS);
    return NULL;
}

static void until_waiting(int wanted)
{
    for (int found = -1; found != wanted;) {
        OK(pthread_mutex_lock(&room.mutex));
        found = room.n_waiting;
        OK(pthread_mutex_unlock(&room.mutex));
        give_way();
    }
}

static void give_a_token(void)
{
    OK(pthread_mutex_lock(&room.mutex));
    room.n_tokens++;
    OK(pthread_cond_signal(&room.cond));
    OK(pthread_mutex_unlock(&room.mutex));
}

static void each_wait(enum wait wait, int type)
{
    doing = names[wait];
    make_room(type);
    void *argument = (void *)(long)wait;
    pthread_t waiter = start(wait_for_a_token, argument);
    until_waiting(1);
    OK(pthread_cancel(waiter));
    CHECK(join_soon(waiter, "a cancelled wait") == PTHREAD_CANCELED);
    CHECK(room.n_cleaned == 1);

    // A cancelled waiter whose mutex is taken comes back only when it is free.
    waiter = start(wait_for_a_token, argument);
    until_waiting(2);
    OK(pthread_mutex_lock(&room.mutex));
    OK(pthread_cancel(waiter));
    sleep_ns(2 * MS);
    CHECK(room.n_cleaned == 1);
    OK(pthread_mutex_unlock(&room.mutex));
    CHECK(join_soon(waiter, "a cancelled wait whose mutex is taken") == PTHREAD_CANCELED);
    CHECK(room.n_cleaned == 2);

    waiter = start(cancel_self_and_wait, argument);
    CHECK(join_soon(waiter, "a wait with a pending cancel") == PTHREAD_CANCELED);
    CHECK(room.n_cleaned == 3);

    waiter = start(wait_uncancelled, argument);
    until_waiting(4);
    OK(pthread_cancel(waiter));
    sleep_ns(5 * MS);
    CHECK(pthread_tryjoin_np(waiter, NULL) == EBUSY);
    give_a_token();
    CHECK(join_soon(waiter, "a wait with cancels disabled") == PTHREAD_CANCELED);
    CHECK(room.n_cleaned == 3);

    waiter = start(wait_asynchronously, argument);
    until_waiting(5);
    give_a_token();
    CHECK(join_soon(waiter, "a wait of a thread that is cancelled asynchronously") == NULL);

    // Both words are whole after all that.
    waiter = start(wait_for_a_token, argument);
    until_waiting(6);
    give_a_token();
    CHECK(join_soon(waiter, "a wait after cancelled ones") == NULL);
    OK(pthread_cond_destroy(&room.cond));
    OK(pthread_mutex_destroy(&room.mutex));
}

// Whether waits end by notifications alone: ours do, on condition variables of one process. glibc's need not.
static int is_exact(void)
{
    const char *lock = getenv("ONDECK_LOCK");
    return is_preloaded() && sharing == PTHREAD_PROCESS_PRIVATE && !(lock && strcmp(lock, "glibc") == 0);
}

// The younger of two waiters is cancelled, and is nobody's any more: the next signal is the older one's.
static void cancel_the_younger(enum wait wait)
{
    make_room(PTHREAD_MUTEX_NORMAL);
    void *argument = (void *)(long)wait;
    pthread_t older = start(wait_for_a_token, argument);
    until_waiting(1);
    pthread_t younger = start(wait_for_a_token, argument);
    until_waiting(2);
    OK(pthread_cancel(younger));
    CHECK(join_soon(younger, "a cancelled wait behind another") == PTHREAD_CANCELED);
    until_asleep(&room.first);
    give_a_token();
    CHECK(join_soon(older, "a wait before a cancelled one") == NULL);
    if (is_exact())
        CHECK(room.n_ended == 1);
    OK(pthread_cond_destroy(&room.cond));
    OK(pthread_mutex_destroy(&room.mutex));
}

// One of two waiters is cancelled while a signal is given: the signal may not go with it.
static void cancel_meets_signal(enum wait wait, int n_rounds)
{
    doing = "a signal that a cancelled waiter ate";
    uint64_t seed = 99;
    for (int round = 0; round < n_rounds; round++) {
        make_room(round % 2 ? PTHREAD_MUTEX_NORMAL : PTHREAD_MUTEX_RECURSIVE);
        pthread_t waiters[2];
        for (int i = 0; i < 2; i++) {
            waiters[i] = start(wait_for_a_token, (void *)(long)wait);
            until_waiting(i + 1);
        }
        // Woken oldest first by most: the cancelled one is the one that the signal is for.
        int victim = round % 4 == 3;
        int signal_first = round % 8 >= 4;
        OK(pthread_mutex_lock(&room.mutex));
        room.n_tokens = 1;
        if (!signal_first)
            OK(pthread_cancel(waiters[victim]));
        OK(pthread_cond_signal(&room.cond));
        if (signal_first)
            OK(pthread_cancel(waiters[victim]));
        OK(pthread_mutex_unlock(&room.mutex));
        dally((int)(chance(&seed) % 1000));
        void *result = join_soon(waiters[victim], "a waiter that was cancelled");
        if (result == PTHREAD_CANCELED) {
            CHECK(join_soon(waiters[!victim], "a waiter whose signal was eaten by a cancelled one") == NULL);
            CHECK(room.n_tokens == 0);
        } else {
            OK(pthread_cancel(waiters[!victim]));
            CHECK(join_soon(waiters[!victim], "the other waiter") == PTHREAD_CANCELED);
        }
        OK(pthread_cond_destroy(&room.cond));
        OK(pthread_mutex_destroy(&room.mutex));
    }
}

// A waiter that has been notified sleeps for the mutex when its condition variable is destroyed, and is cancelled then: whatever
// has its memory now stays as it is.
static void cancel_after_destroy(enum wait wait)
{
    doing = "a cancelled waiter whose condition variable is gone";
    make_room(PTHREAD_MUTEX_NORMAL);
    pthread_t waiter = start(wait_for_a_token, (void *)(long)wait);
    until_waiting(1);
    until_asleep(&room.first);
    OK(pthread_mutex_lock(&room.mutex));
    OK(pthread_cond_broadcast(&room.cond));
    OK(pthread_cond_destroy(&room.cond));
    unsigned char pattern[sizeof room.cond];
    memset(pattern, 0xa5, sizeof pattern);
    memcpy(&room.cond, pattern, sizeof pattern);
    room.n_tokens = 1;
    OK(pthread_cancel(waiter));
    OK(pthread_mutex_unlock(&room.mutex));
    // It may have been too late for the cancel.
    join_soon(waiter, doing);
    CHECK(memcmp(&room.cond, pattern, sizeof pattern) == 0);
    OK(pthread_mutex_destroy(&room.mutex));
}

static void *lock_with_pending_cancel(void *argument)
{
    int *came_through = argument;
    OK(pthread_cancel(pthread_self()));
    OK(pthread_mutex_lock(&room.mutex));
    OK(pthread_mutex_unlock(&room.mutex));
    struct timespec end = in_ns(CLOCK_REALTIME, 50 * SECOND);
    OK(pthread_mutex_timedlock(&room.mutex, &end));
    OK(pthread_cond_signal(&room.cond));
    OK(pthread_cond_broadcast(&room.cond));
    OK(pthread_mutex_unlock(&room.mutex));
    OK(pthread_mutex_clocklock(&room.mutex, CLOCK_MONOTONIC, &end));
    OK(pthread_mutex_unlock(&room.mutex));
    *came_through = 1;
    pthread_testcancel();
    return NULL;
}

static void locks_are_no_points(void)
{
    make_room(PTHREAD_MUTEX_NORMAL);
    int came_through = 0;
    doing = "locks with a pending cancel";
    OK(pthread_mutex_lock(&room.mutex));
    pthread_t thread = start(lock_with_pending_cancel, &came_through);
    sleep_ns(3 * MS);
    OK(pthread_mutex_unlock(&room.mutex));
    CHECK(join_soon(thread, doing) == PTHREAD_CANCELED);
    CHECK(came_through);
}

static void unlock(void *argument)
{
    (void)argument;
    OK(pthread_mutex_unlock(&room.mutex));
}

static void too_late(void *argument)
{
    (void)argument;
    FAIL("cancelled while that was disabled");
}

static void *call_on(void *argument)
{
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    for (int *n_calls = argument;; __atomic_add_fetch(n_calls, 1, __ATOMIC_RELAXED))
        syscall(SYS_gettid);
    return NULL;
}

// A thread may ask to be cancelled anywhere, and be in the function that calls the kernel.
static void in_a_call(int n_rounds)
{
    doing = "cancels of a thread that calls the kernel";
    uint64_t seed = 7;
    for (int i = 0; i < n_rounds; i++) {
        int n_calls = 0;
        pthread_t thread = start(call_on, &n_calls);
        while (__atomic_load_n(&n_calls, __ATOMIC_RELAXED) == 0)
            give_way();
        dally((int)(chance(&seed) % 1000));
        OK(pthread_cancel(thread));
        CHECK(join_soon(thread, doing) == PTHREAD_CANCELED);
    }
}

// One short wait with cancellation enabled and one without, again and again.
static void *wait_now_and_again(void *argument)
{
    while (argument) {
        struct timespec end = in_ns(CLOCK_REALTIME, 1000);
        OK(pthread_mutex_lock(&room.mutex));
        pthread_cleanup_push(unlock, NULL);
        pthread_cond_timedwait(&room.cond, &room.mutex, &end);
        pthread_cleanup_pop(1);
        int before;
        OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before));
        end = in_ns(CLOCK_REALTIME, 100000);
        OK(pthread_mutex_lock(&room.mutex));
        pthread_cleanup_push(too_late, NULL);
        pthread_cond_timedwait(&room.cond, &room.mutex, &end);
        pthread_cleanup_pop(0);
        OK(pthread_mutex_unlock(&room.mutex));
        OK(pthread_setcancelstate(before, NULL));
    }
    return NULL;
}

// A cancel that was sent while it could act, and arrives when it may not.
static void disabled_meanwhile(int n_rounds)
{
    make_room(PTHREAD_MUTEX_NORMAL);
    doing = "cancels that come when they may not act";
    uint64_t seed = 1;
    for (int i = 0; i < n_rounds; i++) {
        pthread_t thread = start(wait_now_and_again, &room);
        sleep_ns(chance(&seed) % 400000);
        OK(pthread_cancel(thread));
        CHECK(join_soon(thread, doing) == PTHREAD_CANCELED);
    }
}

int main(void)
{
    watchdog();
    disabled_meanwhile(1000);
    in_a_call(300);
    for (enum wait wait = 0; wait < N_WAITS; wait++) {
        each_wait(wait, PTHREAD_MUTEX_NORMAL);
        each_wait(wait, PTHREAD_MUTEX_ERRORCHECK);
        cancel_the_younger(wait);
        cancel_after_destroy(wait);
        cancel_meets_signal(wait, 160);
        sharing = PTHREAD_PROCESS_SHARED;
        each_wait(wait, PTHREAD_MUTEX_NORMAL);
        cancel_the_younger(wait);
        cancel_meets_signal(wait, 16);
        sharing = PTHREAD_PROCESS_PRIVATE;
    }
    locks_are_no_points();
    return 0;
}
