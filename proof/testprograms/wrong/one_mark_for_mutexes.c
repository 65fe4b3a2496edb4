// The first use of a mutex in a process makes something anew, and a mark tells others to wait for that meanwhile: the same
// mark in each process. In a child that is forked just then nobody takes it away.
// fails: fork_in_first_touch
#include "wrong.h"

#define BUSY (-1)

static void make_anew(pthread_mutex_t *mutex)
{
    // Bytes that glibc does not use for plain mutexes.
    int *process = (int *)(void *)mutex + 6, seen;
    while ((seen = __atomic_load_n(process, __ATOMIC_ACQUIRE)) != getpid()) {
        if (seen == BUSY)
            sched_yield();
        else if (__atomic_compare_exchange_n(process, &seen, BUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            __atomic_store_n(process, getpid(), __ATOMIC_RELEASE);
    }
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (is_plain(kind_of(mutex)))
        make_anew(mutex);
    return REAL(pthread_mutex_lock)(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    if (is_plain(kind_of(mutex)))
        make_anew(mutex);
    return REAL(pthread_mutex_trylock)(mutex);
}
