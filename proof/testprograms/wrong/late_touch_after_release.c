// As touch_after_release, but the thread sometimes loses its core in between: what chance does to the other one now and then.
// fails: destroy_after_unlock
#include "wrong.h"

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static unsigned n_calls;
    int kind = kind_of(mutex), code;
    if (!is_plain(kind))
        return REAL(pthread_mutex_unlock)(mutex);
    if (is_kept(mutex, kind, own_id(), &code))
        return code;
    no_longer_owned(mutex);
    release_word(mutex, kind);
    if (__atomic_fetch_add(&n_calls, 1, __ATOMIC_RELAXED) % 16 == 0)
        usleep(50);
    __atomic_fetch_add((int *)(void *)mutex + 6, 1, __ATOMIC_RELAXED);
    return 0;
}
