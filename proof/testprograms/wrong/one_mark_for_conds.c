// As one_mark_for_mutexes, for condition variables. It has one mark for all of them, as glibc leaves no room in them.
// fails: fork_in_first_touch
#include "wrong.h"

#define BUSY (-1)

static void make_anew(void)
{
    static int process;
    int seen;
    while ((seen = __atomic_load_n(&process, __ATOMIC_ACQUIRE)) != getpid()) {
        if (seen == BUSY)
            sched_yield();
        else if (__atomic_compare_exchange_n(&process, &seen, BUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            __atomic_store_n(&process, getpid(), __ATOMIC_RELEASE);
    }
}

int pthread_cond_signal(pthread_cond_t *cond)
{
    make_anew();
    return REAL(pthread_cond_signal)(cond);
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
    make_anew();
    return REAL(pthread_cond_broadcast)(cond);
}
