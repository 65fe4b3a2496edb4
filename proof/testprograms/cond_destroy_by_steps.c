// A condition variable is destroyed after a broadcast, and its page is closed, while a waiter is stopped on its way out:
// after each instruction in turn. Either destroy waits for it, or the waiter leaves the condition variable alone.
// Deterministic, where cond_destroy relies on chance. x86-64 only: elsewhere it says so and succeeds.
#include "steps.h"

#ifndef CAN_STEP
int main(void)
{
    puts("cond_destroy_by_steps: skipped, steps instructions of x86-64 only");
    return 0;
}
#else

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t *cond;
static size_t page;
static sem_t may_destroy, may_end;
static int when, n_after, is_notified, is_stopped, waiter_id, destroyer_id;
static const struct timespec *deadline;

static void touched(int signal_number)
{
    (void)signal_number;
    static const char text[] = "a condition variable was touched after its end\n";
    if (write(2, text, sizeof text - 1) < 0)
        _exit(3);
    _exit(1);
}

static void *destroys(void *argument)
{
    wait_for(&may_destroy);
    __atomic_store_n(&destroyer_id, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_cond_destroy(cond));
    CHECK(mprotect(cond, page, PROT_NONE) == 0);
    // Asleep here, too, for who asks whether it is.
    wait_for(&may_end);
    return argument;
}

static void stop_in_time(int step)
{
    (void)step;
    if (!__atomic_load_n(&is_notified, __ATOMIC_ACQUIRE) || ++n_after < when)
        return;
    is_stopped = 1;
    sem_post(&may_destroy);
    // It is done, or waits for this thread.
    until_asleep(&destroyer_id);
    no_more_steps();
}

static void wait_once(void)
{
    int (*volatile call)(pthread_cond_t *, pthread_mutex_t *) = pthread_cond_wait;
    int (*volatile timed)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) = pthread_cond_timedwait;
    // No spurious wake-up can be mistaken: the condition variable must not be looked at again.
    do
        OK(deadline ? timed(cond, &mutex, deadline) : call(cond, &mutex));
    while (!__atomic_load_n(&is_notified, __ATOMIC_ACQUIRE));
}

static void *waits(void *argument)
{
    OK(pthread_mutex_lock(&mutex));
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    by_steps(wait_once, stop_in_time);
    OK(pthread_mutex_unlock(&mutex));
    return argument;
}

// False if the wait was over before that instruction.
static int round_of(void)
{
    cond = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(cond != MAP_FAILED);
    OK(pthread_cond_init(cond, NULL));
    n_after = is_notified = is_stopped = waiter_id = destroyer_id = 0;
    pthread_t threads[2] = {start(waits, NULL), start(destroys, NULL)};
    until_asleep(&waiter_id);
    OK(pthread_mutex_lock(&mutex));
    __atomic_store_n(&is_notified, 1, __ATOMIC_RELEASE);
    OK(pthread_cond_broadcast(cond));
    OK(pthread_mutex_unlock(&mutex));
    join_soon(threads[0], "a waiter whose condition variable is destroyed");
    if (!is_stopped)
        sem_post(&may_destroy);
    sem_post(&may_end);
    join_soon(threads[1], "who destroys a condition variable");
    CHECK(munmap(cond, page) == 0);
    return is_stopped;
}

int main(void)
{
    watchdog();
    page = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_handler = touched};
    sigaction(SIGSEGV, &action, NULL);
    sem_init(&may_destroy, 0, 0);
    sem_init(&may_end, 0, 0);
    struct timespec far = in_ns(CLOCK_REALTIME, 3600 * SECOND);
    for (int timed = 0; timed < 2; timed++) {
        doing = timed ? "a timed wait" : "a wait";
        deadline = timed ? &far : NULL;
        for (when = 1; round_of(); when += 1 + when / 8) {
        }
        CHECK(when > 3);
    }
    return 0;
}
#endif
