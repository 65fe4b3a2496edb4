// lock never sleeps.
// fails: normal_relock realtime_one_cpu
#include "wrong.h"

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex), id = own_id(), code;
    if (!is_plain(kind))
        return REAL(pthread_mutex_lock)(mutex);
    if (is_again(mutex, kind, id, &code))
        return code;
    while (!try_word(mutex))
        sched_yield();
    now_owned(mutex, id);
    return 0;
}
