// The first thing that a child of a fork does is that several of its threads lock: all at once, before anybody in the child has
// touched a mutex. They exclude each other, and leave the mutex as one that nobody uses.
#include "check.h"

enum { CHILDREN = 40, THREADS = 4, ROUNDS = 1000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count, is_inside, is_begun;

static void *locks(void *unused)
{
    while (!__atomic_load_n(&is_begun, __ATOMIC_ACQUIRE))
        ;
    for (int i = 0; i < ROUNDS; i++) {
        OK(pthread_mutex_lock(&mutex));
        CHECK(__atomic_exchange_n(&is_inside, 1, __ATOMIC_RELAXED) == 0);
        count++;
        __atomic_store_n(&is_inside, 0, __ATOMIC_RELAXED);
        OK(pthread_mutex_unlock(&mutex));
    }
    return unused;
}

static void child(void)
{
    pthread_t threads[THREADS];
    watchdog();
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(locks, NULL);
    __atomic_store_n(&is_begun, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++)
        join_soon(threads[i], "a thread of the child");
    CHECK(count == THREADS * ROUNDS);
    OK(pthread_mutex_destroy(&mutex));
    exit(0);
}

int main(void)
{
    watchdog();
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            child();
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return 0;
}
