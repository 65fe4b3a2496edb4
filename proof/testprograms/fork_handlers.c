// fork with handlers that take a mutex, while its holder needs another one that is contended: a stand-in that holds up waiters
// during a fork holds up the holder too, for which the handler waits. The handlers are registered before any library's, so
// that a library's own handler comes first.
#include "check.h"

#define N_FORKS 9
// A fork takes 5 ms here, most of it to find out that a thread sleeps.
#define MOST (50 * MS)

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static sem_t outer_is_held, inner_is_held, is_forking;
static int waiter_id;

static void before(void)
{
    sem_post(&is_forking);
    OK(pthread_mutex_lock(&outer));
}

static void after(void)
{
    OK(pthread_mutex_unlock(&outer));
}

static void be_first(void)
{
    OK(pthread_atfork(before, after, after));
}

// Before the constructors of all libraries.
__attribute__((used, section(".preinit_array"))) static void (*const first)(void) = be_first;

// Its wait for the inner one begins when the fork has begun.
static void *hold_outer(void *argument)
{
    OK(pthread_mutex_lock(&outer));
    sem_post(&outer_is_held);
    wait_for(&is_forking);
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_mutex_lock(&inner));
    OK(pthread_mutex_unlock(&inner));
    OK(pthread_mutex_unlock(&outer));
    return argument;
}

static void *hold_inner(void *argument)
{
    OK(pthread_mutex_lock(&inner));
    sem_post(&inner_is_held);
    until_asleep(&waiter_id);
    OK(pthread_mutex_unlock(&inner));
    return argument;
}

static int64_t fork_once(void)
{
    waiter_id = 0;
    pthread_t threads[2] = {start(hold_outer, NULL), start(hold_inner, NULL)};
    wait_for(&outer_is_held);
    wait_for(&inner_is_held);
    int64_t begin = now_ns(CLOCK_MONOTONIC);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(0);
    int64_t took_ns = now_ns(CLOCK_MONOTONIC) - begin;
    child_is_well(pid, doing);
    for (int i = 0; i < 2; i++)
        join_soon(threads[i], doing);
    return took_ns;
}

int main(void)
{
    watchdog();
    doing = "forks with handlers";
    sem_init(&outer_is_held, 0, 0);
    sem_init(&inner_is_held, 0, 0);
    sem_init(&is_forking, 0, 0);
    // On a busy machine many may be late. Who holds them up does it each time.
    int64_t end = now_ns(CLOCK_MONOTONIC) + LATEST;
    for (int n_quick = 0; n_quick < N_FORKS;) {
        n_quick += fork_once() < MOST;
        if (n_quick == 0 && now_ns(CLOCK_MONOTONIC) > end)
            FAIL("each fork took more than %lld ms", MOST / MS);
        if (n_quick > 0 && now_ns(CLOCK_MONOTONIC) > end)
            break;
    }
    return 0;
}
