// A library whose constructor waits for a thread that uses mutexes, condition variables and their attributes; loader_lock.c
// opens it.
#include "check.h"

int n_done;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

// Those that stand-ins leave to the C library come from here: all settings that there are.
static void make_and_use(int type, int robust, int protocol, int shared)
{
    pthread_mutexattr_t attr;
    int got;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutexattr_gettype(&attr, &got));
    OK(pthread_mutexattr_setrobust(&attr, robust));
    OK(pthread_mutexattr_getrobust(&attr, &got));
    OK(pthread_mutexattr_setprotocol(&attr, protocol));
    OK(pthread_mutexattr_getprotocol(&attr, &got));
    OK(pthread_mutexattr_setpshared(&attr, shared));
    OK(pthread_mutexattr_getpshared(&attr, &got));
    OK(pthread_mutexattr_getprioceiling(&attr, &got));
    pthread_mutex_t made;
    OK(pthread_mutex_init(&made, &attr));
    OK(pthread_mutexattr_destroy(&attr));
    OK(pthread_mutex_lock(&made));
    pthread_cond_t of_made;
    pthread_condattr_t cond_attr;
    clockid_t clock;
    OK(pthread_condattr_init(&cond_attr));
    OK(pthread_condattr_setclock(&cond_attr, CLOCK_MONOTONIC));
    OK(pthread_condattr_getclock(&cond_attr, &clock));
    OK(pthread_condattr_setpshared(&cond_attr, shared));
    OK(pthread_condattr_getpshared(&cond_attr, &got));
    OK(pthread_cond_init(&of_made, &cond_attr));
    OK(pthread_condattr_destroy(&cond_attr));
    struct timespec end = in_ns(CLOCK_MONOTONIC, MS);
    GIVES(pthread_cond_timedwait(&of_made, &made, &end), ETIMEDOUT);
    GIVES(pthread_cond_clockwait(&of_made, &made, CLOCK_MONOTONIC, &end), ETIMEDOUT);
    OK(pthread_cond_signal(&of_made));
    OK(pthread_cond_broadcast(&of_made));
    OK(pthread_cond_destroy(&of_made));
    OK(pthread_mutex_unlock(&made));
    OK(pthread_mutex_trylock(&made));
    OK(pthread_mutex_unlock(&made));
    end = in_ns(CLOCK_REALTIME, SECOND);
    OK(pthread_mutex_timedlock(&made, &end));
    OK(pthread_mutex_unlock(&made));
    OK(pthread_mutex_destroy(&made));
}

static void *use(void *argument)
{
    (void)argument;
    make_and_use(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
    make_and_use(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
    make_and_use(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
    make_and_use(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE);
    // The constructor waits with these two.
    OK(pthread_mutex_lock(&mutex));
    n_done++;
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

__attribute__((constructor)) static void wait_for_a_thread(void)
{
    doing = "in the constructor";
    OK(pthread_mutex_lock(&mutex));
    pthread_t thread = start(use, NULL);
    while (n_done == 0)
        OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
    join_soon(thread, doing);
}
