// Before main, in the preinit array and in constructors, and after it, in atexit handlers and destructors, in destructors of
// thread-specific data, and in a thread that runs while the process ends: locks work the same.
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile long count;
static int n_stages, ready;
static pthread_key_t key;

static void *contend(void *argument)
{
    (void)argument;
    for (int i = 0; i < 500; i++) {
        OK(pthread_mutex_lock(&mutex));
        count++;
        if (i % 100 == 0)
            sched_yield();
        OK(pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

static void *wait_for_ready(void *argument)
{
    (void)argument;
    OK(pthread_mutex_lock(&mutex));
    while (!ready)
        OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

static void alone(const char *stage)
{
    doing = stage;
    n_stages++;
    OK(pthread_mutex_lock(&mutex));
    GIVES(pthread_mutex_trylock(&mutex), EBUSY);
    struct timespec end = in_ns(CLOCK_REALTIME, 100000);
    GIVES(pthread_mutex_timedlock(&mutex, &end), ETIMEDOUT);
    int code = pthread_cond_timedwait(&cond, &mutex, &end);
    CHECK(code == ETIMEDOUT || code == 0);
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_cond_signal(&cond));
    OK(pthread_cond_broadcast(&cond));
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_unlock(&recursive));
    OK(pthread_mutex_unlock(&recursive));
    pthread_mutexattr_t attr;
    pthread_mutex_t mine;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
    OK(pthread_mutex_init(&mine, &attr));
    OK(pthread_mutex_lock(&mine));
    GIVES(pthread_mutex_lock(&mine), EDEADLK);
    OK(pthread_mutex_unlock(&mine));
    OK(pthread_mutex_destroy(&mine));
    // A kind that an interposer hands on, and for which it has to have found glibc's functions by now.
    OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutex_init(&mine, &attr));
    OK(pthread_mutex_lock(&mine));
    OK(pthread_mutex_unlock(&mine));
    OK(pthread_mutex_destroy(&mine));
}

static void with_others(const char *stage)
{
    alone(stage);
    long before = count;
    pthread_t threads[2] = {start(contend, NULL), start(contend, NULL)};
    pthread_t waiter = start(wait_for_ready, NULL);
    contend(NULL);
    join_soon(threads[0], stage);
    join_soon(threads[1], stage);
    OK(pthread_mutex_lock(&mutex));
    ready = 1;
    OK(pthread_cond_broadcast(&cond));
    OK(pthread_mutex_unlock(&mutex));
    join_soon(waiter, stage);
    ready = 0;
    CHECK(count == before + 1500);
}

static void in_preinit(void)
{
    watchdog();
    with_others("preinit array");
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = in_preinit;

__attribute__((constructor(101))) static void first_constructor(void)
{
    alone("first constructor");
}

__attribute__((constructor)) static void constructor(void)
{
    with_others("constructor");
}

__attribute__((destructor)) static void destructor(void)
{
    with_others("destructor");
}

__attribute__((destructor(101))) static void last_destructor(void)
{
    alone("last destructor");
    // A thread still runs, two atexit handlers, two destructors, two constructors, preinit, thread data and main.
    if (n_stages < 9)
        FAIL("only %d stages ran", n_stages);
}

static void first_handler(void)
{
    with_others("first atexit handler, called last");
}

static void second_handler(void)
{
    with_others("last atexit handler, called first");
}

// Called again and again as long as it sets its own value: other data of the thread is gone by then.
static void end_of_thread(void *value)
{
    long left = (long)value;
    contend(NULL);
    alone("destructor of thread data");
    if (left > 1)
        OK(pthread_setspecific(key, (void *)(left - 1)));
}

static void *end_with_data(void *argument)
{
    OK(pthread_setspecific(key, argument));
    return NULL;
}

static pthread_mutex_t of_stray = PTHREAD_MUTEX_INITIALIZER;
static sem_t strays_on;

static void *run_on(void *argument)
{
    (void)argument;
    sem_post(&strays_on);
    for (;;) {
        OK(pthread_mutex_lock(&of_stray));
        sched_yield();
        OK(pthread_mutex_unlock(&of_stray));
    }
    return NULL;
}

int main(void)
{
    OK(pthread_key_create(&key, end_of_thread));
    OK(atexit(first_handler));
    OK(atexit(second_handler));
    join_soon(start(end_with_data, (void *)4L), "destructor of thread data");
    with_others("main");
    sem_init(&strays_on, 0, 0);
    for (int i = 0; i < 2; i++) {
        pthread_t stray = start(run_on, NULL);
        OK(pthread_detach(stray));
        while (sem_wait(&strays_on) != 0) {
        }
    }
    return 0;
}
