// A handler that comes at any instruction of lock, unlock, wait and signal, and uses other mutexes itself. POSIX promises
// nothing here, but glibc's functions keep no state of their own in the thread, and programs have come to rely on it. First a
// handler after each instruction (on x86-64), then, in threads that contend, many by chance. With a deadline a handler may also
// lock what its own thread is unlocking.
#include "steps.h"

#define N_THREADS 3
#define RUN (400 * MS)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile long count;

// Only handlers use these. Threads in handlers may contend: what they interrupted is none of these.
static pthread_mutex_t of_handlers = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER;
static volatile long count_of_handlers, n_locked;
// For the threads, and before them for the hammer: it must not hit a thread that is gone.
static int is_over, hammer_is_over;

static void handle(int signal_number)
{
    (void)signal_number;
    int saved = errno;
    int code = pthread_mutex_trylock(&tried);
    if (code == 0) {
        dally(50);
        OK(pthread_mutex_unlock(&tried));
    } else {
        GIVES(code, EBUSY);
    }
    OK(pthread_mutex_lock(&of_handlers));
    count_of_handlers++;
    OK(pthread_mutex_unlock(&of_handlers));
    __atomic_fetch_add(&n_locked, 1, __ATOMIC_RELAXED);
    errno = saved;
}

static void *run(void *argument)
{
    (void)argument;
    for (int round = 0; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); round++) {
        OK(pthread_mutex_lock(&mutex));
        count++;
        // The others come to wait, and are interrupted there.
        if (round % 8 == 4)
            sched_yield();
        if (round % 16 == 0) {
            struct timespec end = in_ns(CLOCK_MONOTONIC, 20000);
            int code = pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &end);
            CHECK(code == 0 || code == ETIMEDOUT);
        } else if (round % 16 == 8) {
            OK(pthread_cond_signal(&cond));
        }
        OK(pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

static void *hammer(void *argument)
{
    pthread_t *threads = argument;
    uint64_t seed = 4711;
    while (!__atomic_load_n(&hammer_is_over, __ATOMIC_ACQUIRE)) {
        pthread_kill(threads[chance(&seed) % N_THREADS], SIGUSR1);
        dally((int)(chance(&seed) % 20000));
    }
    return NULL;
}

// -- A handler after each instruction ------------------------------------------------------------------------------------

#ifdef CAN_STEP
static void handle_step(int step)
{
    (void)step;
    handle(SIGTRAP);
}

static void lock_unlock(void)
{
    int (*volatile lock)(pthread_mutex_t *) = pthread_mutex_lock;
    int (*volatile unlock)(pthread_mutex_t *) = pthread_mutex_unlock;
    OK(lock(&mutex));
    OK(unlock(&mutex));
}

static void wait_and_notify(void)
{
    int (*volatile wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) = pthread_cond_timedwait;
    int (*volatile notify)(pthread_cond_t *) = pthread_cond_signal;
    struct timespec end = in_ns(CLOCK_REALTIME, -SECOND);
    GIVES(wait(&cond, &mutex, &end), ETIMEDOUT);
    OK(notify(&cond));
}

static void all_by_steps(const char *what)
{
    doing = what;
    CHECK(by_steps(lock_unlock, handle_step) > 6);
    OK(pthread_mutex_lock(&mutex));
    CHECK(by_steps(wait_and_notify, handle_step) > 6);
    OK(pthread_mutex_unlock(&mutex));
}

static void *idle(void *may_end)
{
    wait_for(may_end);
    return NULL;
}

// The mutex that the thread is just unlocking, with a deadline: several threads sleep for it, and another one has it as soon as
// it is free.
#define N_ASLEEP 3

static pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
static int n_waiting, has_it;
static sem_t want_it, tried_it, want_it_back, gave_it_back;

static void *wait_and_unlock(void *unused)
{
    (void)unused;
    OK(pthread_mutex_lock(&unlocked));
    n_waiting++;
    OK(pthread_cond_wait(&cond, &unlocked));
    OK(pthread_mutex_unlock(&unlocked));
    return NULL;
}

static void *take_meanwhile(void *unused)
{
    (void)unused;
    for (;;) {
        wait_for(&want_it);
        if (__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
            return NULL;
        has_it = pthread_mutex_trylock(&unlocked) == 0;
        sem_post(&tried_it);
        wait_for(&want_it_back);
        if (has_it)
            OK(pthread_mutex_unlock(&unlocked));
        sem_post(&gave_it_back);
    }
}

static void lock_what_is_unlocked(int step)
{
    (void)step;
    sem_post(&want_it);
    wait_for(&tried_it);
    struct timespec end = in_ns(CLOCK_REALTIME, MS / 2);
    int code = pthread_mutex_timedlock(&unlocked, &end);
    if (code == 0)
        OK(pthread_mutex_unlock(&unlocked));
    else
        GIVES(code, ETIMEDOUT);
    sem_post(&want_it_back);
    wait_for(&gave_it_back);
}

static void unlock_it(void)
{
    int (*volatile unlock)(pthread_mutex_t *) = pthread_mutex_unlock;
    OK(unlock(&unlocked));
}

static void timed_by_steps(void)
{
    doing = "a handler locks, with a deadline, what its thread unlocks";
    sem_t *all[] = {&want_it, &tried_it, &want_it_back, &gave_it_back};
    for (int i = 0; i < 4; i++)
        sem_init(all[i], 0, 0);
    pthread_t waiters[N_ASLEEP], other = start(take_meanwhile, NULL);
    for (int i = 0; i < N_ASLEEP; i++)
        waiters[i] = start(wait_and_unlock, NULL);
    for (int n = 0; n < N_ASLEEP; sleep_ns(MS / 4)) {
        OK(pthread_mutex_lock(&unlocked));
        n = n_waiting;
        if (n < N_ASLEEP)
            OK(pthread_mutex_unlock(&unlocked));
    }
    OK(pthread_cond_broadcast(&cond));
    CHECK(by_steps(unlock_it, lock_what_is_unlocked) > 3);
    for (int i = 0; i < N_ASLEEP; i++)
        join_soon(waiters[i], "those who slept");
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    sem_post(&want_it);
    join_soon(other, "who took it meanwhile");
    __atomic_store_n(&is_over, 0, __ATOMIC_RELEASE);
}

static void by_each_step(void)
{
    all_by_steps("a handler after each instruction");
    sem_t may_end;
    sem_init(&may_end, 0, 0);
    pthread_t other = start(idle, &may_end);
    all_by_steps("a handler after each instruction, and another thread");
    sem_post(&may_end);
    join(other);
    timed_by_steps();
}
#else
static void by_each_step(void)
{
}
#endif

int main(void)
{
    watchdog();
    by_each_step();
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        threads[i] = start(run, NULL);
    pthread_t hammerer = start(hammer, threads);
    doing = "handlers that lock";
    // By time and not by rounds: signals come so often that somebody's rounds may take long.
    sleep_ns(RUN);
    while (__atomic_load_n(&n_locked, __ATOMIC_RELAXED) == 0)
        sleep_ns(MS);
    __atomic_store_n(&hammer_is_over, 1, __ATOMIC_RELEASE);
    join_soon(hammerer, "the hammer");
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < N_THREADS; i++)
        join_soon(threads[i], "handlers that lock");
    CHECK(count > 0 && n_locked > 0);
    CHECK(count_of_handlers == n_locked);
    OK(pthread_mutex_trylock(&of_handlers));
    OK(pthread_mutex_trylock(&tried));
    return 0;
}
