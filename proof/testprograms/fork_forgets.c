// What the parent's threads were at is forgotten in the child of a fork: nobody waits there, and the thread that forked is
// another one, which has nothing that asks for its owner.
#include "check.h"

#define N_WAITERS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiter_ids[N_WAITERS], waiter_id, is_set;

static void *wait_for_it(void *id)
{
    __atomic_store_n((int *)id, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_mutex_lock(&mutex));
    while (!is_set)
        OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

static pthread_t waiter_of_child(void)
{
    pthread_t waiter = start(wait_for_it, &waiter_id);
    until_asleep(&waiter_id);
    return waiter;
}

static void signal_comes(void)
{
    pthread_t waiter = waiter_of_child();
    OK(pthread_mutex_lock(&mutex));
    is_set = 1;
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    join_soon(waiter, "a signal for the only waiter of the child");
}

struct locker {
    pthread_mutex_t *mutex;
    int id;
};

static void *lock_once(void *argument)
{
    struct locker *locker = argument;
    __atomic_store_n(&locker->id, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_mutex_lock(locker->mutex));
    OK(pthread_mutex_unlock(locker->mutex));
    return NULL;
}

// A thread that waits for the mutex is called, and not one of the parent's threads.
static void is_handed_on(pthread_mutex_t *which)
{
    for (int round = 0; round < 3; round++) {
        struct locker locker = {which, 0};
        OK(pthread_mutex_lock(which));
        pthread_t thread = start(lock_once, &locker);
        until_asleep(&locker.id);
        OK(pthread_mutex_unlock(which));
        join_soon(thread, doing);
    }
}

// None of the parent's waiters is moved to the mutex, or woken.
static void notifies_nobody(int (*notify)(pthread_cond_t *))
{
    OK(pthread_mutex_lock(&mutex));
    OK(notify(&cond));
    OK(pthread_mutex_unlock(&mutex));
    is_handed_on(&mutex);
}

static void signals_nobody(void)
{
    notifies_nobody(pthread_cond_signal);
}

static void broadcasts_to_nobody(void)
{
    notifies_nobody(pthread_cond_broadcast);
}

static void destroys_mutex(void)
{
    OK(pthread_mutex_destroy(&mutex));
}

static void destroys_used_mutex(void)
{
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

static void destroys_cond(void)
{
    OK(pthread_cond_destroy(&cond));
}

// Who has been notified, and waits for the mutex now, is all that a destroyer has to do with.
static void destroys_used_cond(void)
{
    pthread_t waiter = waiter_of_child();
    OK(pthread_mutex_lock(&mutex));
    is_set = 1;
    OK(pthread_cond_broadcast(&cond));
    OK(pthread_cond_destroy(&cond));
    OK(pthread_mutex_unlock(&mutex));
    join_soon(waiter, "a waiter whose condition variable is destroyed");
    OK(pthread_mutex_destroy(&mutex));
}

static pthread_mutex_t unused = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t of_unused = PTHREAD_COND_INITIALIZER;

// The first that the child does with the mutex is to wait with it, free as it is.
static void waits_with_free_mutex(void)
{
    struct timespec end = in_ns(CLOCK_REALTIME, MS);
    int code = pthread_cond_timedwait(&of_unused, &unused, &end);
    CHECK(code == ETIMEDOUT || code == 0);
    OK(pthread_mutex_unlock(&unused));
    OK(pthread_mutex_destroy(&unused));
}

static pthread_mutex_t owned;

static void owns_nothing(void)
{
    GIVES(pthread_mutex_unlock(&owned), EPERM);
    GIVES(pthread_mutex_trylock(&owned), EBUSY);
    struct timespec end = in_ns(CLOCK_REALTIME, MS);
    GIVES(pthread_mutex_timedlock(&owned, &end), ETIMEDOUT);
    GIVES(pthread_cond_timedwait(&cond, &owned, &end), EPERM);
}

static void in_child(const char *what, void (*act)(void))
{
    doing = what;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        watchdog();
        act();
        _exit(0);
    }
    child_is_well(pid, what);
}

static pthread_mutex_t called;
static sem_t has_come, may_go;

static void stay(int signal_number)
{
    (void)signal_number;
    sem_post(&has_come);
    wait_for(&may_go);
}

static void uses_called(void)
{
    // What a thread does only with its first mutex in a process is done then.
    OK(pthread_mutex_lock(&unused));
    OK(pthread_mutex_unlock(&unused));
    is_handed_on(&called);
    OK(pthread_mutex_destroy(&called));
}

// The mutex is free when the process forks, and a thread has been called for it that is in a signal handler: in the child there
// is no such thread.
static void forks_while_one_is_called(const char *what, int type)
{
    doing = what;
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutex_init(&called, &attr));
    struct locker locker = {&called, 0};
    OK(pthread_mutex_lock(&called));
    pthread_t thread = start(lock_once, &locker);
    until_asleep(&locker.id);
    OK(pthread_kill(thread, SIGUSR1));
    wait_for(&has_come);
    OK(pthread_mutex_unlock(&called));
    in_child(what, uses_called);
    sem_post(&may_go);
    join_soon(thread, what);
    OK(pthread_mutex_destroy(&called));
}

static void holder_forks(const char *what, int type)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutex_init(&owned, &attr));
    OK(pthread_mutexattr_destroy(&attr));
    OK(pthread_mutex_lock(&owned));
    in_child(what, owns_nothing);
    OK(pthread_mutex_unlock(&owned));
    OK(pthread_mutex_destroy(&owned));
}

int main(void)
{
    watchdog();
    holder_forks("the child of an error checking mutex's holder", PTHREAD_MUTEX_ERRORCHECK);
    holder_forks("the child of a recursive mutex's holder", PTHREAD_MUTEX_RECURSIVE);
    sem_init(&has_come, 0, 0);
    sem_init(&may_go, 0, 0);
    signal(SIGUSR1, stay);
    forks_while_one_is_called("a mutex that a thread was called for", PTHREAD_MUTEX_NORMAL);
    forks_while_one_is_called("a recursive mutex that a thread was called for", PTHREAD_MUTEX_RECURSIVE);
    forks_while_one_is_called("an adaptive mutex that a thread was called for", PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_t waiters[N_WAITERS];
    for (int i = 0; i < N_WAITERS; i++)
        waiters[i] = start(wait_for_it, &waiter_ids[i]);
    for (int i = 0; i < N_WAITERS; i++)
        until_asleep(&waiter_ids[i]);
    in_child("a signal in the child", signal_comes);
    in_child("a signal in the child for nobody", signals_nobody);
    in_child("a broadcast in the child to nobody", broadcasts_to_nobody);
    // glibc counts the parent's waiters in the child: it refuses to destroy the mutex, and waits for them, for ever, before
    // the condition variable is destroyed.
    if (is_preloaded()) {
        in_child("a mutex used and destroyed in the child", destroys_used_mutex);
        in_child("a mutex destroyed in the child", destroys_mutex);
        in_child("a wait with a free mutex in the child", waits_with_free_mutex);
        in_child("a condition variable destroyed in the child", destroys_cond);
        in_child("a condition variable used and destroyed in the child", destroys_used_cond);
    }
    doing = "the parent's waiters";
    OK(pthread_mutex_lock(&mutex));
    is_set = 1;
    OK(pthread_cond_broadcast(&cond));
    OK(pthread_mutex_unlock(&mutex));
    for (int i = 0; i < N_WAITERS; i++)
        join_soon(waiters[i], doing);
    return 0;
}
