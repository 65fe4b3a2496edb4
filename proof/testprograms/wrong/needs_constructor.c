// Finds glibc's functions in its constructor, which comes after the preinit array of the program.
// fails: early_late
#include "wrong.h"

static int (*real_lock)(pthread_mutex_t *);

__attribute__((constructor)) static void set_up(void)
{
    *(void **)&real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return real_lock(mutex);
}
