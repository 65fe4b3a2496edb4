// A handler unlocks the mutex that its own thread tries to lock, in a process without other threads: nothing else can change
// the mutex there, but that can, between any two instructions. A trylock that reads and then writes, because nobody else is
// there, puts back what it has read.
#include "check.h"

#define N_ROUNDS 700
#define EVERY_US 300

static pthread_mutex_t mutex;
static volatile sig_atomic_t is_wanted;

static void unlock(int signal_number)
{
    (void)signal_number;
    if (!is_wanted)
        return;
    is_wanted = 0;
    OK(pthread_mutex_unlock(&mutex));
}

static void by_trylock(void)
{
    is_wanted = 1;
    while (pthread_mutex_trylock(&mutex) != 0) {
        if (is_wanted)
            continue;
        // Unlocked, if not before this call then before the next one.
        if (pthread_mutex_trylock(&mutex) != 0)
            FAIL("unlocked by the handler, and yet not free");
        return;
    }
}

static void by_timedlock(void)
{
    struct timespec end = in_ns(CLOCK_REALTIME, LATEST);
    is_wanted = 1;
    OK(pthread_mutex_timedlock(&mutex, &end));
}

// SIGALRM is the watchdog's, so the timer sends another.
static timer_t start_timer(int signal_number)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal_number};
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec every = {to_timespec(EVERY_US * 1000), to_timespec(EVERY_US * 1000)};
    CHECK(timer_settime(timer, 0, &every, NULL) == 0);
    return timer;
}

static void rounds(const char *what, int type, void (*lock)(void), int n_rounds)
{
    doing = what;
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutex_init(&mutex, &attr));
    OK(pthread_mutexattr_destroy(&attr));
    OK(pthread_mutex_lock(&mutex));
    for (int round = 0; round < n_rounds; round++)
        lock();
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

int main(void)
{
    watchdog();
    struct sigaction action = {.sa_handler = unlock, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    timer_t timer = start_timer(SIGUSR1);
    rounds("trylock", PTHREAD_MUTEX_NORMAL, by_trylock, N_ROUNDS);
    rounds("trylock, adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, by_trylock, N_ROUNDS);
    rounds("trylock, error checking", PTHREAD_MUTEX_ERRORCHECK, by_trylock, N_ROUNDS);
    rounds("timedlock", PTHREAD_MUTEX_NORMAL, by_timedlock, N_ROUNDS);
    timer_delete(timer);
    return 0;
}
