// Signals to a waiting thread, one at a time or a hammer of them, never show: no call gives EINTR, no wait is early, none is lost.
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int token, n_handled, is_over;

static void handle(int signal_number)
{
    (void)signal_number;
    __atomic_fetch_add(&n_handled, 1, __ATOMIC_RELAXED);
}

static void *hammer(void *argument)
{
    pthread_t target = *(pthread_t *)argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        pthread_kill(target, SIGUSR1);
        sleep_ns(100000);
    }
    return NULL;
}

// Holds the mutex for a while, again and again, and gives a token each time.
static void *hold(void *argument)
{
    (void)argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        OK(pthread_mutex_lock(&mutex));
        sleep_ns(3 * MS);
        token++;
        OK(pthread_cond_signal(&cond));
        OK(pthread_mutex_unlock(&mutex));
        sleep_ns(MS);
    }
    return NULL;
}

// Out of step with the others, so that each kind of wait comes upon a mutex that is taken.
static void *stand_in_the_way(void *argument)
{
    (void)argument;
    uint64_t seed = 8;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        OK(pthread_mutex_lock(&mutex));
        sleep_ns(chance(&seed) % (2 * MS));
        OK(pthread_mutex_unlock(&mutex));
        sleep_ns(chance(&seed) % (MS / 4));
    }
    return NULL;
}

static void *wait_in_all_ways(void *argument)
{
    (void)argument;
    int64_t stop = now_ns(CLOCK_MONOTONIC) + 250 * MS;
    while (now_ns(CLOCK_MONOTONIC) < stop) {
        // Who comes right back from an unlock finds the mutex free: others have to have come in between.
        for (int i = 0; i < 4; i++) {
            sleep_ns(MS / 4);
            OK(pthread_mutex_lock(&mutex));
            OK(pthread_mutex_unlock(&mutex));
        }
        sleep_ns(MS / 4);
        struct timespec far = in_ns(CLOCK_REALTIME, 50 * SECOND);
        OK(pthread_mutex_timedlock(&mutex, &far));
        while (!token)
            OK(pthread_cond_wait(&cond, &mutex));
        token--;
        OK(pthread_mutex_unlock(&mutex));

        sleep_ns(MS / 4);
        struct timespec near = in_ns(CLOCK_MONOTONIC, MS);
        int code = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &near);
        if (code == ETIMEDOUT) {
            CHECK(now_ns(CLOCK_MONOTONIC) >= ns_of(&near));
            OK(pthread_mutex_lock(&mutex));
        } else {
            OK(code);
        }
        near = in_ns(CLOCK_REALTIME, 2 * MS);
        while (!token) {
            code = pthread_cond_timedwait(&cond, &mutex, &near);
            if (code == ETIMEDOUT) {
                CHECK(now_ns(CLOCK_REALTIME) >= ns_of(&near));
                break;
            }
            OK(code);
        }
        far = in_ns(CLOCK_MONOTONIC, 50 * SECOND);
        while (!token)
            OK(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &far));
        token--;
        OK(pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

// -- One signal at a time, each for a thread that sleeps ------------------------------------------------------------------

enum way { LOCK, TIMEDLOCK, CLOCKLOCK, WAIT, TIMEDWAIT, CLOCKWAIT, N_WAYS };

static const char *const names[] = {"lock", "timedlock", "clocklock", "cond_wait", "cond_timedwait", "cond_clockwait"};
static int sleeper_id;

static void *sleep_in(void *argument)
{
    enum way way = (enum way)(long)argument;
    struct timespec far = in_ns(way == CLOCKLOCK || way == CLOCKWAIT ? CLOCK_MONOTONIC : CLOCK_REALTIME, 50 * SECOND);
    if (way >= WAIT)
        OK(pthread_mutex_lock(&mutex));
    __atomic_store_n(&sleeper_id, thread_id(), __ATOMIC_RELEASE);
    if (way == LOCK)
        OK(pthread_mutex_lock(&mutex));
    else if (way == TIMEDLOCK)
        OK(pthread_mutex_timedlock(&mutex, &far));
    else if (way == CLOCKLOCK)
        OK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &far));
    while (way >= WAIT && !token) {
        if (way == WAIT)
            OK(pthread_cond_wait(&cond, &mutex));
        else if (way == TIMEDWAIT)
            OK(pthread_cond_timedwait(&cond, &mutex, &far));
        else
            OK(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &far));
    }
    OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

static void one_at_a_time(enum way way)
{
    doing = names[way];
    sleeper_id = token = 0;
    if (way < WAIT)
        OK(pthread_mutex_lock(&mutex));
    pthread_t sleeper = start(sleep_in, (void *)(long)way);
    for (int i = 0; i < 3; i++) {
        until_asleep(&sleeper_id);
        int before = __atomic_load_n(&n_handled, __ATOMIC_RELAXED);
        pthread_kill(sleeper, SIGUSR1);
        while (__atomic_load_n(&n_handled, __ATOMIC_RELAXED) == before)
            sleep_ns(MS / 10);
    }
    until_asleep(&sleeper_id);
    if (way >= WAIT) {
        OK(pthread_mutex_lock(&mutex));
        token = 1;
        OK(pthread_cond_signal(&cond));
    }
    OK(pthread_mutex_unlock(&mutex));
    join_soon(sleeper, names[way]);
}

int main(void)
{
    watchdog();
    static const int flags[] = {0, SA_RESTART};
    for (int i = 0; i < 2; i++) {
        struct sigaction action = {.sa_handler = handle, .sa_flags = flags[i]};
        sigaction(SIGUSR1, &action, NULL);
        for (enum way way = LOCK; way < N_WAYS; way++)
            one_at_a_time(way);
        is_over = 0;
        token = 0;
        doing = flags[i] ? "with SA_RESTART" : "without SA_RESTART";
        pthread_t waiter = start(wait_in_all_ways, NULL);
        pthread_t others[3] = {start(hold, NULL), start(hammer, &waiter), start(stand_in_the_way, NULL)};
        // The hammer stops first: it must not hit a thread that is gone.
        sleep_ns(270 * MS);
        __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
        join(others[1]);
        // A waiter that is still at it needs tokens to come to its end.
        while (pthread_tryjoin_np(waiter, NULL) == EBUSY) {
            OK(pthread_mutex_lock(&mutex));
            token++;
            OK(pthread_cond_signal(&cond));
            OK(pthread_mutex_unlock(&mutex));
            sleep_ns(MS);
        }
        join(others[0]);
        join(others[2]);
    }
    return 0;
}
