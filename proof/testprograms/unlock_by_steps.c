// unlock, one instruction at a time: once another thread has got the mutex, the mutex's page is closed, and whatever unlock
// still does must not need it. Deterministic, where destroy_after_unlock relies on chance. x86-64 only: elsewhere it says so
// and succeeds.
#include "steps.h"

#ifndef CAN_STEP
int main(void)
{
    puts("unlock_by_steps: skipped, steps instructions of x86-64 only");
    return 0;
}
#else

enum other { NOBODY_WAITS, ONE_SLEEPS, ONE_SPINS };

static const char *const names[] = {"nobody waits", "one sleeps", "one has just come"};

static size_t page;
static pthread_mutex_t *mutex;
static enum other other;
static int n_steps_after, is_closed, waiter_id;
static sem_t want_try, tried;
static pthread_mutexattr_t attr;

static void close_page(void)
{
    CHECK(mprotect(mutex, page, PROT_NONE) == 0);
    __atomic_store_n(&is_closed, 1, __ATOMIC_RELEASE);
}

// Comes after each instruction of unlock. Whether the mutex is free by now is for another thread to find out.
static void try_meanwhile(int step)
{
    if (__atomic_load_n(&is_closed, __ATOMIC_ACQUIRE)) {
        n_steps_after++;
        return;
    }
    if (other == NOBODY_WAITS) {
        sem_post(&want_try);
        wait_for(&tried);
    } else if (step < 500) {
        // The waiter gets here by itself, if it can: it is awake, or is not woken yet.
        for (int i = 0; i < 20 && !__atomic_load_n(&is_closed, __ATOMIC_ACQUIRE) && !is_asleep(waiter_id); i++)
            sched_yield();
    }
}

static void touched(int signal_number)
{
    (void)signal_number;
    char text[200];
    int length = snprintf(text, sizeof text, "unlock touches the mutex after its release (%s)\n", doing);
    if (write(2, text, (size_t)length) < 0)
        _exit(3);
    _exit(1);
}

static void *try_on_demand(void *argument)
{
    (void)argument;
    for (;;) {
        wait_for(&want_try);
        int code = pthread_mutex_trylock(mutex);
        if (code == 0) {
            OK(pthread_mutex_unlock(mutex));
            OK(pthread_mutex_destroy(mutex));
            close_page();
        }
        sem_post(&tried);
        if (code == 0)
            return NULL;
        GIVES(code, EBUSY);
    }
}

static void *wait_for_it(void *argument)
{
    (void)argument;
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_unlock(mutex));
    OK(pthread_mutex_destroy(mutex));
    close_page();
    return NULL;
}

static void unlock(void)
{
    int (*volatile call)(pthread_mutex_t *) = pthread_mutex_unlock;
    OK(call(mutex));
}

static void round_of(enum other who, int type, int shared)
{
    other = who;
    doing = names[who];
    mutex = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mutex != MAP_FAILED);
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutexattr_setpshared(&attr, shared));
    OK(pthread_mutex_init(mutex, &attr));
    n_steps_after = is_closed = waiter_id = 0;
    sem_init(&want_try, 0, 0);
    sem_init(&tried, 0, 0);
    OK(pthread_mutex_lock(mutex));
    pthread_t thread = start(who == NOBODY_WAITS ? try_on_demand : wait_for_it, NULL);
    if (who == ONE_SLEEPS)
        until_asleep(&waiter_id);
    if (who == ONE_SPINS)
        while (!__atomic_load_n(&waiter_id, __ATOMIC_ACQUIRE)) {
        }
    int n = by_steps(unlock, try_meanwhile);
    // If unlock was over before the other thread noticed, there is nothing left to step: as good as passed.
    sem_post(&want_try);
    join_soon(thread, "the next thread after a stepped unlock");
    CHECK(n > 3);
    if (who == NOBODY_WAITS)
        CHECK(n_steps_after > 0);
    munmap(mutex, page);
}

int main(void)
{
    watchdog();
    page = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_handler = touched};
    sigaction(SIGSEGV, &action, NULL);
    OK(pthread_mutexattr_init(&attr));
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    for (int i = 0; i < 5; i++)
        for (int shared = 0; shared < 2; shared++)
            for (enum other who = NOBODY_WAITS; who <= ONE_SPINS; who++)
                round_of(who, types[i], shared);
    return 0;
}
#endif
