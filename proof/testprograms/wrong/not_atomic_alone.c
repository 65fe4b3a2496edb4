// In a process with one thread, trylock reads and writes where it would have to exchange.
// fails: unlock_in_handler
#include "wrong.h"
#include <sys/single_threaded.h>

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex);
    if (!is_plain(kind) || !__libc_single_threaded)
        return REAL(pthread_mutex_trylock)(mutex);
    volatile int *word = &mutex->__data.__lock;
    int seen = *word;
    *word = 1;
    if (seen != 0) {
        *word = seen;
        return EBUSY;
    }
    now_owned(mutex, own_id());
    return 0;
}
