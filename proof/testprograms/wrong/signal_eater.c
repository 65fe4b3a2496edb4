// Condition variables of its own: a signal wakes the oldest waiter, and if that one has been cancelled in the meantime, or
// exists in the parent of a fork only, the signal is gone with it. Deadlines, clocks and processes are not what this is about.
// fails: cancel fork_forgets
#include "wrong.h"

// Lies in the first half of a pthread_cond_t: who has come, and who may go.
struct room {
    int next, served;
};

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

static struct room *room_of(pthread_cond_t *cond)
{
    return (struct room *)(void *)cond;
}

static void lock_again(void *mutex)
{
    pthread_mutex_lock(mutex);
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    struct room *room = room_of(cond);
    int ticket = __atomic_fetch_add(&room->next, 1, __ATOMIC_RELAXED), old;
    pthread_testcancel();
    int code = pthread_mutex_unlock(mutex);
    if (code != 0)
        return code;
    pthread_cleanup_push(lock_again, mutex);
    for (;;) {
        int served = __atomic_load_n(&room->served, __ATOMIC_ACQUIRE);
        if (served - ticket > 0)
            break;
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
        futex(&room->served, FUTEX_WAIT, served, NULL);
        pthread_setcanceltype(old, &old);
    }
    pthread_cleanup_pop(1);
    return 0;
}

// Tickets are served in their order, whether who has it is there any more or not.
int pthread_cond_signal(pthread_cond_t *cond)
{
    struct room *room = room_of(cond);
    if (room->next - room->served > 0) {
        __atomic_fetch_add(&room->served, 1, __ATOMIC_RELEASE);
        futex(&room->served, FUTEX_WAKE, INT_MAX, NULL);
    }
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
    struct room *room = room_of(cond);
    __atomic_store_n(&room->served, room->next, __ATOMIC_RELEASE);
    futex(&room->served, FUTEX_WAKE, INT_MAX, NULL);
    return 0;
}

int pthread_cond_destroy(pthread_cond_t *cond)
{
    (void)cond;
    return 0;
}
