// 20 000 mutexes held at once by one thread, and by several: what keeps a record for each held mutex runs out here.
#include "check.h"

#define N_MUTEXES 20000
#define N_THREADS 4

static pthread_mutex_t mutexes[N_MUTEXES];
static long counts[N_MUTEXES];
static pthread_barrier_t barrier;

static void *hold_a_share(void *argument)
{
    int first = (int)(long)argument;
    for (int i = first; i < N_MUTEXES; i += N_THREADS)
        OK(pthread_mutex_lock(&mutexes[i]));
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < N_MUTEXES; i += 7)
        GIVES(pthread_mutex_trylock(&mutexes[i]), EBUSY);
    pthread_barrier_wait(&barrier);
    // In another order than they came.
    for (int i = first; i < N_MUTEXES; i += 2 * N_THREADS)
        OK(pthread_mutex_unlock(&mutexes[i]));
    for (int i = first + N_THREADS; i < N_MUTEXES; i += 2 * N_THREADS)
        OK(pthread_mutex_unlock(&mutexes[i]));
    // And each of them once, in the others' way.
    for (int i = 0; i < N_MUTEXES; i++) {
        OK(pthread_mutex_lock(&mutexes[i]));
        counts[i]++;
        OK(pthread_mutex_unlock(&mutexes[i]));
    }
    return NULL;
}

int main(void)
{
    watchdog();
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_DEFAULT};
    OK(pthread_barrier_init(&barrier, NULL, N_THREADS));
    for (int round = 0; round < 3; round++) {
        pthread_mutexattr_t attr;
        OK(pthread_mutexattr_init(&attr));
        OK(pthread_mutexattr_settype(&attr, types[round]));
        for (int i = 0; i < N_MUTEXES; i++) {
            OK(pthread_mutex_init(&mutexes[i], &attr));
            counts[i] = 0;
        }
        doing = "all held by one thread";
        for (int i = 0; i < N_MUTEXES; i++)
            OK(pthread_mutex_lock(&mutexes[i]));
        for (int i = 0; i < N_MUTEXES; i++)
            OK(pthread_mutex_unlock(&mutexes[i]));
        doing = "all held by several threads";
        pthread_t threads[N_THREADS];
        for (long i = 0; i < N_THREADS; i++)
            threads[i] = start(hold_a_share, (void *)i);
        for (int i = 0; i < N_THREADS; i++)
            join_soon(threads[i], doing);
        for (int i = 0; i < N_MUTEXES; i++) {
            CHECK(counts[i] == N_THREADS);
            OK(pthread_mutex_destroy(&mutexes[i]));
        }
    }
    return 0;
}
