// fork while others hold mutexes, wait for them, or are about to: the child has one thread, and none of those who waited.
// What was free, or held by the forking thread, works in the child as before, also when it was fought for in the parent.
//
// The variant makes its children by _Fork and by the bare system call, where no handlers of pthread_atfork run: an
// interposer cannot hear of those.
// variant: raw -DRAW
#include "check.h"

#define N_FIGHTERS 4
#define N_IN_CHILD 3
#define N_FORKS 40

enum how { FORK, RAW_FORK, RAW_CLONE };

static const char *const names[] = {"fork", "_Fork", "clone by syscall"};

// Fought for in the parent all the time, and held by the forking thread: that is the only way to know that they are whole.
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    long count;
} hot[3];

static pthread_mutex_t guarded = PTHREAD_MUTEX_INITIALIZER;
static volatile long guarded_count;
static int is_over, n_prepared, ids[N_FIGHTERS];

static void before_fork(void)
{
    OK(pthread_mutex_lock(&guarded));
    __atomic_fetch_add(&n_prepared, 1, __ATOMIC_RELAXED);
}

static void after_fork(void)
{
    OK(pthread_mutex_unlock(&guarded));
}

static void *fight(void *argument)
{
    uint64_t seed = 3 + (uint64_t)(long)argument;
    __atomic_store_n(&ids[(long)argument], thread_id(), __ATOMIC_RELEASE);
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        int which = (int)(chance(&seed) % 3);
        OK(pthread_mutex_lock(&hot[which].mutex));
        hot[which].count++;
        dally((int)(chance(&seed) % 300));
        // Rarely enough not to be all there is: a holder that gives way makes the others queue.
        if (chance(&seed) % 16 == 0)
            give_way();
        if (chance(&seed) % 8 == 0)
            OK(pthread_cond_broadcast(&hot[which].cond));
        OK(pthread_mutex_unlock(&hot[which].mutex));
        OK(pthread_mutex_lock(&guarded));
        guarded_count++;
        OK(pthread_mutex_unlock(&guarded));
    }
    return NULL;
}

// In the child: threads that contend, so that everything is needed that was left by threads which are gone.
static void *use_in_child(void *argument)
{
    (void)argument;
    for (int round = 0; round < 200; round++) {
        for (int which = 0; which < 3; which++) {
            OK(pthread_mutex_lock(&hot[which].mutex));
            hot[which].count++;
            if (round % 32 == 0)
                give_way();
            OK(pthread_mutex_unlock(&hot[which].mutex));
        }
        OK(pthread_mutex_lock(&guarded));
        guarded_count++;
        OK(pthread_mutex_unlock(&guarded));
    }
    return NULL;
}

static void *wait_in_child(void *argument)
{
    int *token = argument;
    OK(pthread_mutex_lock(&hot[0].mutex));
    while (!*token)
        OK(pthread_cond_wait(&hot[0].cond, &hot[0].mutex));
    OK(pthread_mutex_unlock(&hot[0].mutex));
    return NULL;
}

static void unlock_all(void)
{
    for (int which = 2; which >= 0; which--)
        OK(pthread_mutex_unlock(&hot[which].mutex));
}

static int id_in_child;

// Where the parent's threads waited, somebody waits in the child.
static void *lock_in_child(void *argument)
{
    __atomic_store_n(&id_in_child, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_mutex_lock(argument));
    OK(pthread_mutex_unlock(argument));
    return NULL;
}

static void wait_for_each(void)
{
    for (int which = 0; which < 3; which++) {
        id_in_child = 0;
        pthread_t thread = start(lock_in_child, &hot[which].mutex);
        until_asleep(&id_in_child);
        OK(pthread_mutex_unlock(&hot[which].mutex));
        join_soon(thread, "a thread of the child that waits for what the parent's threads wait for");
        OK(pthread_mutex_lock(&hot[which].mutex));
    }
}

// All fighters wait by then, or will. Whatever a library lets them do meanwhile: two of them are at the same mutex, and one
// of these sleeps.
static void until_one_sleeps(void)
{
    int64_t end = now_ns(CLOCK_MONOTONIC) + LATEST;
    for (int in_a_row = 0; in_a_row < 5; sleep_ns(MS / 2)) {
        int n_asleep = 0;
        for (int i = 0; i < N_FIGHTERS; i++)
            n_asleep += is_asleep(__atomic_load_n(&ids[i], __ATOMIC_ACQUIRE));
        in_a_row = n_asleep ? in_a_row + 1 : 0;
        if (now_ns(CLOCK_MONOTONIC) > end)
            FAIL("no waiter goes to sleep");
    }
}

static void child(enum how how, int has_waiters)
{
    watchdog();
    doing = names[how];
    if (has_waiters && how != RAW_CLONE)
        wait_for_each();
    unlock_all();
    long counts[3], before = guarded_count;
    for (int which = 0; which < 3; which++)
        counts[which] = hot[which].count;
    if (how == RAW_CLONE) {
        // The C library does not know of this child, so no threads: just this one.
        use_in_child(NULL);
        _exit(0);
    }
    // Nobody waits on a condition variable here while the process forks, so it is whole as well.
    int token = 0;
    pthread_t threads[N_IN_CHILD], waiter = start(wait_in_child, &token);
    for (int i = 0; i < N_IN_CHILD; i++)
        threads[i] = start(use_in_child, NULL);
    for (int i = 0; i < N_IN_CHILD; i++)
        join_soon(threads[i], "a thread in the child");
    OK(pthread_mutex_lock(&hot[0].mutex));
    token = 1;
    OK(pthread_cond_signal(&hot[0].cond));
    OK(pthread_mutex_unlock(&hot[0].mutex));
    join_soon(waiter, "a waiter in the child");
    for (int which = 0; which < 3; which++)
        CHECK(hot[which].count == counts[which] + 200 * N_IN_CHILD);
    CHECK(guarded_count == before + 200 * N_IN_CHILD);
    _exit(0);
}

static pid_t make_child(enum how how)
{
    if (how == FORK)
        return fork();
    // These run no handlers.
    OK(pthread_mutex_lock(&guarded));
    pid_t pid = how == RAW_FORK ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    OK(pthread_mutex_unlock(&guarded));
    return pid;
}

// The same mutexes, free and at rest in the parent for now, but not for long.
static void grandchild_of_quiet_times(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        watchdog();
        pid_t next = fork();
        if (next == 0) {
            watchdog();
            OK(pthread_mutex_lock(&guarded));
            OK(pthread_mutex_unlock(&guarded));
            _exit(0);
        }
        child_is_well(next, "a child of a child");
        _exit(0);
    }
    child_is_well(pid, "a child with a child");
}

int main(void)
{
    watchdog();
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_ADAPTIVE_NP};
    for (int which = 0; which < 3; which++) {
        pthread_mutexattr_t attr;
        OK(pthread_mutexattr_init(&attr));
        OK(pthread_mutexattr_settype(&attr, types[which]));
        OK(pthread_mutex_init(&hot[which].mutex, &attr));
        OK(pthread_cond_init(&hot[which].cond, NULL));
    }
    OK(pthread_atfork(before_fork, after_fork, after_fork));
    pthread_t fighters[N_FIGHTERS];
    for (long i = 0; i < N_FIGHTERS; i++)
        fighters[i] = start(fight, (void *)i);
    for (int round = 0; round < N_FORKS; round++) {
#ifdef RAW
        enum how how = round % 2 ? RAW_FORK : RAW_CLONE;
#else
        enum how how = FORK;
#endif
        doing = names[how];
        for (int which = 0; which < 3; which++)
            OK(pthread_mutex_lock(&hot[which].mutex));
        // Now and then they all wait, and otherwise as it comes.
        int has_waiters = round % 4 < 2 && round < 12;
        if (has_waiters)
            until_one_sleeps();
        pid_t pid = make_child(how);
        CHECK(pid >= 0);
        if (pid == 0)
            child(how, has_waiters);
        unlock_all();
        child_is_well(pid, names[how]);
    }
#ifndef RAW
    CHECK(n_prepared == N_FORKS);
#endif
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < N_FIGHTERS; i++)
        join_soon(fighters[i], "a thread of the parent after forks");
    grandchild_of_quiet_times();
    return 0;
}
