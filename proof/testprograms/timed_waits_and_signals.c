// A signal is never lost to a waiter that times out at the same moment: if that one says ETIMEDOUT and leaves, whoever
// waits beside it gets the signal.
#include "check.h"

#define N_ROUNDS 1500

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t begin, end;
static int has_token, n_waiting, is_over, n_timed_out, n_signalled;
static int64_t wait_ns;

static void *patient(void *argument)
{
    (void)argument;
    for (int round = 0; round < N_ROUNDS; round++) {
        pthread_barrier_wait(&begin);
        OK(pthread_mutex_lock(&mutex));
        n_waiting++;
        while (!has_token && !is_over)
            OK(pthread_cond_wait(&cond, &mutex));
        has_token = 0;
        is_over = 1;
        OK(pthread_mutex_unlock(&mutex));
        pthread_barrier_wait(&end);
    }
    return NULL;
}

static void *impatient(void *argument)
{
    (void)argument;
    for (int round = 0; round < N_ROUNDS; round++) {
        pthread_barrier_wait(&begin);
        OK(pthread_mutex_lock(&mutex));
        n_waiting++;
        struct timespec until = in_ns(CLOCK_MONOTONIC, wait_ns);
        while (!has_token && !is_over) {
            int code = pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until);
            // It leaves the token to the other one even if it can see it: the code says that no signal was for it.
            if (code == ETIMEDOUT) {
                n_timed_out++;
                goto left;
            }
            OK(code);
        }
        if (has_token) {
            n_signalled++;
            has_token = 0;
            is_over = 1;
            // The patient one is let go; nobody needs it for the result.
            OK(pthread_cond_broadcast(&cond));
        }
    left:
        OK(pthread_mutex_unlock(&mutex));
        pthread_barrier_wait(&end);
    }
    return NULL;
}

int main(void)
{
    watchdog();
    OK(pthread_barrier_init(&begin, NULL, 3));
    OK(pthread_barrier_init(&end, NULL, 3));
    pthread_t threads[2] = {start(patient, NULL), start(impatient, NULL)};
    doing = "a signal and a time-out at once";
    uint64_t seed = 12345;
    for (int round = 0; round < N_ROUNDS; round++) {
        n_waiting = has_token = is_over = 0;
        wait_ns = 20000 + chance(&seed) % 40000;
        int64_t signal_after = wait_ns - 10000 + chance(&seed) % 60000;
        pthread_barrier_wait(&begin);
        for (int both = 0; !both;) {
            OK(pthread_mutex_lock(&mutex));
            both = n_waiting == 2;
            OK(pthread_mutex_unlock(&mutex));
            if (!both)
                sched_yield();
        }
        int64_t when = now_ns(CLOCK_MONOTONIC) + signal_after / 2;
        while (now_ns(CLOCK_MONOTONIC) < when) {
        }
        OK(pthread_mutex_lock(&mutex));
        has_token = 1;
        if (round % 2)
            OK(pthread_cond_signal(&cond));
        OK(pthread_mutex_unlock(&mutex));
        if (round % 2 == 0)
            OK(pthread_cond_signal(&cond));
        pthread_barrier_wait(&end);
        CHECK(!has_token);
    }
    join(threads[0]);
    join(threads[1]);
    return 0;
}
