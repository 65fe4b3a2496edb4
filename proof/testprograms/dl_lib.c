// A library that dl.c opens at run time. It knows pthread's functions by the names it is linked with, and uses a mutex and a
// condition variable that the program owns.
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

int dl_add(pthread_mutex_t *mutex, volatile long *count, int n_rounds);
int dl_turn(pthread_mutex_t *mutex, pthread_cond_t *cond, volatile int *turn, int me);

static void lock_and_unlock(void)
{
    static const char text[] = "a library that is opened or closed cannot lock\n";
    if (pthread_mutex_lock(&own) == 0 && pthread_mutex_trylock(&own) != 0 && pthread_mutex_unlock(&own) == 0)
        return;
    if (write(2, text, sizeof text - 1) < 0)
        _exit(3);
    _exit(1);
}

// In a constructor, that is under the dynamic linker's lock.
__attribute__((constructor)) static void opened(void)
{
    lock_and_unlock();
}

// If it is still open at the end of the process, this comes after the destructors of libraries that were there before,
// interposers among them.
__attribute__((destructor)) static void closed(void)
{
    lock_and_unlock();
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
