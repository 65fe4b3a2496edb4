// fork with handlers that take a mutex, while its holder needs another one that is contended: a stand-in that holds up waiters
// during a fork holds up the holder too, for which the handler waits. The handlers are registered before any library's, so
// that a library's own handler comes first.
#include "check.h"

#define N_FORKS 9
// A fork takes 1 ms here, most of it because threads sleep with the mutexes. Machines are busy.
#define MOST (50 * MS)

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static int is_over, n_taken;

static void before(void)
{
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

static void *hold_outer(void *argument)
{
    (void)argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        OK(pthread_mutex_lock(&outer));
        __atomic_fetch_add(&n_taken, 1, __ATOMIC_RELEASE);
        for (int i = 0; i < 4; i++) {
            OK(pthread_mutex_lock(&inner));
            sleep_ns(50000);
            OK(pthread_mutex_unlock(&inner));
        }
        OK(pthread_mutex_unlock(&outer));
        // So that the one that forks gets it, whatever is fair.
        sleep_ns(MS);
    }
    return NULL;
}

static void *hold_inner(void *argument)
{
    (void)argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        OK(pthread_mutex_lock(&inner));
        sleep_ns(50000);
        OK(pthread_mutex_unlock(&inner));
        // For the same reason.
        sleep_ns(20000);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

int main(void)
{
    watchdog();
    doing = "forks with handlers";
    pthread_t threads[3] = {start(hold_outer, NULL), start(hold_inner, NULL), start(hold_inner, NULL)};
    int64_t times[N_FORKS];
    for (int i = 0; i < N_FORKS; i++) {
        // Just taken.
        int n_before = __atomic_load_n(&n_taken, __ATOMIC_ACQUIRE);
        while (__atomic_load_n(&n_taken, __ATOMIC_ACQUIRE) == n_before)
            sleep_ns(20000);
        int64_t begin = now_ns(CLOCK_MONOTONIC);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            _exit(0);
        times[i] = now_ns(CLOCK_MONOTONIC) - begin;
        child_is_well(pid, doing);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 3; i++)
        join_soon(threads[i], doing);
    // Half of them, since others may be late by chance.
    qsort(times, N_FORKS, sizeof *times, compare);
    if (times[N_FORKS / 2] > MOST)
        FAIL("half of the forks took %ld ms and more", (long)(times[N_FORKS / 2] / MS));
    return 0;
}
