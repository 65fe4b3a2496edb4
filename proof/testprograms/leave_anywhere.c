// A thread that is cancelled asynchronously, or ends by pthread_exit in a signal handler, at any instruction of a call that does
// not sleep. POSIX does not define what the lock is like after that, and what the thread had locked stays locked, but the
// thread ends and the process goes on.
#include "check.h"
#include <threads.h>

static union {
    pthread_mutex_t mutex;
    mtx_t mtx;
    pthread_rwlock_t rwlock;
    pthread_cond_t cond;
} at;

static void by_mutex(void)
{
    pthread_mutex_lock(&at.mutex);
    pthread_mutex_unlock(&at.mutex);
}

static void by_try(void)
{
    if (pthread_mutex_trylock(&at.mutex) == 0)
        pthread_mutex_unlock(&at.mutex);
}

static void by_deadline(void)
{
    struct timespec end = {0, 0};
    if (pthread_mutex_timedlock(&at.mutex, &end) == 0)
        pthread_mutex_unlock(&at.mutex);
}

static void by_c11(void)
{
    mtx_lock(&at.mtx);
    mtx_unlock(&at.mtx);
}

static void by_cond(void)
{
    pthread_cond_signal(&at.cond);
    pthread_cond_broadcast(&at.cond);
}

static void by_reader(void)
{
    pthread_rwlock_rdlock(&at.rwlock);
    pthread_rwlock_unlock(&at.rwlock);
}

static void by_writer(void)
{
    pthread_rwlock_wrlock(&at.rwlock);
    pthread_rwlock_unlock(&at.rwlock);
}

static void by_tries(void)
{
    if (pthread_rwlock_tryrdlock(&at.rwlock) == 0)
        pthread_rwlock_unlock(&at.rwlock);
    if (pthread_rwlock_trywrlock(&at.rwlock) == 0)
        pthread_rwlock_unlock(&at.rwlock);
}

static void by_new_ones(void)
{
    pthread_mutex_init(&at.mutex, NULL);
    pthread_mutex_destroy(&at.mutex);
    pthread_cond_init(&at.cond, NULL);
    pthread_cond_destroy(&at.cond);
    pthread_rwlock_init(&at.rwlock, NULL);
    pthread_rwlock_destroy(&at.rwlock);
}

static const struct way {
    const char *name;
    void (*act)(void);
    int type; // of the mutex
} ways[] = {
    {"mutex", by_mutex, PTHREAD_MUTEX_NORMAL},
    {"recursive mutex", by_mutex, PTHREAD_MUTEX_RECURSIVE},
    {"error-checking mutex", by_mutex, PTHREAD_MUTEX_ERRORCHECK},
    {"trylock", by_try, PTHREAD_MUTEX_NORMAL},
    {"timedlock", by_deadline, PTHREAD_MUTEX_RECURSIVE},
    {"mtx_lock", by_c11, PTHREAD_MUTEX_RECURSIVE},
    {"notifications", by_cond, -1},
    {"readers", by_reader, -1},
    {"writers", by_writer, -1},
    {"tries of a rwlock", by_tries, -1},
    {"init and destroy", by_new_ones, -1},
};

static int n_done;
static enum { CANCEL, SIGNAL } how;

static void *again_and_again(void *argument)
{
    const struct way *way = argument;
    if (how == CANCEL)
        OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    for (;; __atomic_add_fetch(&n_done, 1, __ATOMIC_RELAXED))
        way->act();
    return NULL;
}

static void leave(int signal_number)
{
    (void)signal_number;
    pthread_exit(PTHREAD_CANCELED);
}

static void round_of(const struct way *way, uint64_t *seed)
{
    memset(&at, 0, sizeof at);
    if (way->type >= 0) {
        pthread_mutexattr_t attr;
        OK(pthread_mutexattr_init(&attr));
        OK(pthread_mutexattr_settype(&attr, way->type));
        OK(pthread_mutex_init(&at.mutex, &attr));
    }
    n_done = 0;
    pthread_t thread = start(again_and_again, (void *)way);
    while (__atomic_load_n(&n_done, __ATOMIC_RELAXED) == 0)
        give_way();
    dally((int)(chance(seed) % 3000));
    OK(how == CANCEL ? pthread_cancel(thread) : pthread_kill(thread, SIGUSR1));
    CHECK(join_soon(thread, doing) == PTHREAD_CANCELED);
}

int main(void)
{
    watchdog();
    CHECK(signal(SIGUSR1, leave) != SIG_ERR);
    uint64_t seed = 3;
    for (how = CANCEL; how <= SIGNAL; how++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            doing = ways[i].name;
            for (int n = 0; n < 100; n++)
                round_of(&ways[i], &seed);
        }
    return 0;
}
