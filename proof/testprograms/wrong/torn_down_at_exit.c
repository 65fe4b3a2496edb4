// Takes its state down in its destructor, though others' destructors and threads come after it.
// fails: dl
#include "wrong.h"

static int is_gone;

__attribute__((destructor)) static void tear_down(void)
{
    is_gone = 1;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return is_gone ? ENOTRECOVERABLE : REAL(pthread_mutex_lock)(mutex);
}
