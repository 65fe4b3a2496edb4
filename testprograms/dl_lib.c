// A library that dl.c opens at run time. It knows pthread's functions by the names it is linked with, and uses a mutex and a
// condition variable that the program owns.
#define _GNU_SOURCE
#include <pthread.h>

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

int dl_add(pthread_mutex_t *mutex, volatile long *count, int n_rounds);
int dl_turn(pthread_mutex_t *mutex, pthread_cond_t *cond, volatile int *turn, int me);

// In a constructor, that is under the dynamic linker's lock.
__attribute__((constructor)) static void opened(void)
{
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
}

__attribute__((destructor)) static void closed(void)
{
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
}

int dl_add(pthread_mutex_t *mutex, volatile long *count, int n_rounds)
{
    for (int round = 0; round < n_rounds; round++) {
        int code = pthread_mutex_lock(mutex);
        if (code != 0)
            return code;
        *count = *count + 1;
        code = pthread_mutex_unlock(mutex);
        if (code != 0)
            return code;
    }
    return 0;
}

int dl_turn(pthread_mutex_t *mutex, pthread_cond_t *cond, volatile int *turn, int me)
{
    int code = pthread_mutex_lock(mutex);
    while (code == 0 && *turn % 2 != me)
        code = pthread_cond_wait(cond, mutex);
    if (code != 0)
        return code;
    *turn = *turn + 1;
    pthread_cond_signal(cond);
    return pthread_mutex_unlock(mutex);
}
