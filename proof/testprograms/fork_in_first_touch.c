// The child of a fork uses a mutex or condition variable for the first time, and forks again in the middle of that: after
// each of its instructions in turn. What has to be made anew in a child is half done then, and whoever was at it does not
// exist in the grandchild, which must not wait for it.
//
// The child steps itself, and is ended, with status 0x5, if the library blocks the signal of its trap meanwhile.
//
// x86-64 only: elsewhere it says so and succeeds.
#include "steps.h"

#ifndef CAN_STEP
int main(void)
{
    puts("fork_in_first_touch: skipped, steps instructions of x86-64 only");
    return 0;
}
#else
#include <sys/prctl.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t of_waiter = PTHREAD_MUTEX_INITIALIZER, of_grandchild = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static const struct timespec long_ago;

// ---- what the child does

static void lock(void)
{
    OK(pthread_mutex_lock(&mutex));
}

static void try_lock(void)
{
    OK(pthread_mutex_trylock(&mutex));
}

// The thread that forked has it in the child, too.
static void unlock(void)
{
    OK(pthread_mutex_unlock(&held));
}

static void notify(void)
{
    OK(pthread_cond_signal(&cond));
}

static void notify_all(void)
{
    OK(pthread_cond_broadcast(&cond));
}

static void wait_late(void)
{
    GIVES(pthread_cond_timedwait(&cond, &of_waiter, &long_ago), ETIMEDOUT);
}

// ---- what the grandchild does

// It may be free or not, that depends on where the child was. What is half done takes more than two or three instructions, so
// each use is tried there.
static void uses_mutex(pthread_mutex_t *which, int step)
{
    int code = step % 2 ? pthread_mutex_trylock(which) : pthread_mutex_timedlock(which, &long_ago);
    if (code == 0)
        OK(pthread_mutex_unlock(which));
    else
        GIVES(code, step % 2 ? EBUSY : ETIMEDOUT);
}

static void uses_free(int step)
{
    uses_mutex(&mutex, step);
}

static void uses_held(int step)
{
    uses_mutex(&held, step);
}

static void uses_cond(int step)
{
    OK(pthread_mutex_lock(&of_grandchild));
    if (step % 3 == 0)
        OK(pthread_cond_signal(&cond));
    else if (step % 3 == 1)
        OK(pthread_cond_broadcast(&cond));
    else
        GIVES(pthread_cond_timedwait(&cond, &of_grandchild, &long_ago), ETIMEDOUT);
    OK(pthread_mutex_unlock(&of_grandchild));
}

// ----

static void (*use)(int step);

static void be_grandchild(int step)
{
    char at[100];
    snprintf(at, sizeof at, "%s, and a fork after instruction %d", doing, step);
    doing = at;
    // One that hangs is not left behind; and it was forked where signals may be blocked.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    watchdog();
    alarm(LATEST / SECOND);
    use(step);
    _exit(0);
}

static void fork_again(int step)
{
    pid_t child = _Fork();
    CHECK(child >= 0);
    if (child == 0)
        be_grandchild(step);
    child_is_well(child, "a grandchild");
}

static void child_that(const char *what, void (*act)(void), int is_prepared, void (*use_of_grandchild)(int))
{
    doing = what;
    use = use_of_grandchild;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        watchdog();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // What is made anew once in a process is done then, too.
        if (is_prepared)
            OK(pthread_mutex_lock(&of_waiter));
        CHECK(by_steps(act, fork_again) > 3);
        _exit(0);
    }
    child_is_well(child, what);
}

int main(void)
{
    watchdog();
    // One CPU for all makes steps cheaper.
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
    // Used in the parent; and what the dynamic linker does at a first call is done, and not stepped.
    try_lock();
    OK(pthread_mutex_unlock(&mutex));
    lock();
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_lock(&of_waiter));
    notify();
    notify_all();
    wait_late();
    OK(pthread_mutex_unlock(&of_waiter));
    OK(pthread_mutex_lock(&held));
    unlock();
    OK(pthread_mutex_lock(&held));
    child_that("the first lock at all", lock, 0, uses_free);
    child_that("lock", lock, 1, uses_free);
    child_that("trylock", try_lock, 1, uses_free);
    child_that("unlock", unlock, 1, uses_held);
    child_that("signal", notify, 1, uses_cond);
    child_that("broadcast", notify_all, 1, uses_cond);
    // glibc's wait holds a lock inside of the condition variable for some instructions, which stays locked in a child.
    if (is_preloaded())
        child_that("timedwait", wait_late, 1, uses_cond);
    return 0;
}
#endif
