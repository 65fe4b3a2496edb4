// Keeps the owner in a table by the mutex's address: whoever moves or overwrites a mutex leaves an old entry behind.
// fails: moved
#include "wrong.h"

#define N_SLOTS 65536

// Only for kinds with an owner check, with the fifth part of a right one: no collisions are looked after.
static struct {
    pthread_mutex_t *mutex;
    int kind;
} slots[N_SLOTS];

static int kind_by_address(pthread_mutex_t *mutex)
{
    unsigned at = (unsigned)((uintptr_t)mutex >> 3) % N_SLOTS;
    if (slots[at].mutex != mutex) {
        slots[at].mutex = mutex;
        slots[at].kind = kind_of(mutex) & 3;
    }
    return slots[at].kind;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (is_plain(kind_of(mutex)) && kind_by_address(mutex) == ERRORCHECK && is_owner(mutex, own_id()))
        return EDEADLK;
    return REAL(pthread_mutex_lock)(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    if (is_plain(kind_of(mutex)) && kind_by_address(mutex) != RECURSIVE && is_owner(mutex, own_id()))
        return EBUSY;
    return REAL(pthread_mutex_trylock)(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int kind = kind_of(mutex);
    if (is_plain(kind) && kind_by_address(mutex) != (kind & 3))
        return EPERM;
    return REAL(pthread_mutex_unlock)(mutex);
}
