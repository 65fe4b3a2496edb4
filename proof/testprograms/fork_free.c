// fork when a mutex is free though threads fight for it: whether it is free in the child is seen by trylock there, and if it
// is, nothing that threads left in it which are gone may hinder anybody.
#include "check.h"

#define N_FIGHTERS 6
#define N_FORKS 60

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long count;
static int is_over;

static void *fight(void *argument)
{
    uint64_t seed = 17 + (uint64_t)(long)argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        if (chance(&seed) % 4 == 0) {
            // Some give up: they must leave nothing behind either.
            struct timespec end = in_ns(CLOCK_MONOTONIC, chance(&seed) % 100000);
            int code = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &end);
            if (code == ETIMEDOUT)
                continue;
            OK(code);
        } else {
            OK(pthread_mutex_lock(&mutex));
        }
        count++;
        if (chance(&seed) % 32 == 0)
            sleep_ns(20000);
        OK(pthread_mutex_unlock(&mutex));
        // Long enough for the mutex to be free more often than not, and to be fought for all the same.
        dally((int)(chance(&seed) % 40000));
    }
    return NULL;
}

static void *use_in_child(void *argument)
{
    (void)argument;
    for (int round = 0; round < 300; round++) {
        OK(pthread_mutex_lock(&mutex));
        count++;
        if (round % 50 == 0)
            sleep_ns(20000);
        OK(pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

int main(void)
{
    watchdog();
    pthread_t fighters[N_FIGHTERS];
    for (long i = 0; i < N_FIGHTERS; i++)
        fighters[i] = start(fight, (void *)i);
    int n_free = 0;
    uint64_t seed = 1;
    for (int round = 0; round < N_FORKS; round++) {
        doing = "forks in a fight";
        sleep_ns(chance(&seed) % 300000);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            watchdog();
            doing = "a mutex in the child that was free in the parent";
            // Held by a thread that is gone: nothing to be done about that one.
            if (pthread_mutex_trylock(&mutex) != 0)
                _exit(7);
            long before = count;
            pthread_t threads[4];
            for (int i = 0; i < 4; i++)
                threads[i] = start(use_in_child, NULL);
            sleep_ns(100000);
            OK(pthread_mutex_unlock(&mutex));
            for (int i = 0; i < 4; i++)
                join_soon(threads[i], "a thread in the child");
            CHECK(count == before + 4 * 300);
            OK(pthread_mutex_destroy(&mutex));
            _exit(0);
        }
        int status;
        while (waitpid(pid, &status, 0) < 0) {
        }
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 7))
            FAIL("a child ended with status %#x", (unsigned)status);
        n_free += WEXITSTATUS(status) == 0;
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < N_FIGHTERS; i++)
        join_soon(fighters[i], "a thread of the parent after forks");
    // Mostly free is what makes this a test; none at all would mean that it has become blind.
    if (n_free == 0)
        puts("fork_free: the mutex was never free in a child; nothing was tested");
    return 0;
}
