// A cancelled waiter goes without the mutex: its clean-up handlers unlock what is not theirs.
// fails: cancel random_ops
#include "wrong.h"

static void give_up(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    int code;
    pthread_cleanup_push(give_up, mutex);
    code = REAL(pthread_cond_wait)(cond, mutex);
    pthread_cleanup_pop(0);
    return code;
}
