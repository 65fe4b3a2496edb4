// Condition variables of its own: a waiter that is cancelled passes on what it was notified of, but only if it has a place,
// and places are given to the first threads that wait for anything. Waits with a deadline just wait for that; those, and
// processes, are not what this is about.
// fails: cond_many_threads
#include "wrong.h"

#define MOST_PLACES 4096

static int n_places;
static __thread int place;

static int has_place(void)
{
    if (!place)
        place = __atomic_add_fetch(&n_places, 1, __ATOMIC_RELAXED);
    return place <= MOST_PLACES;
}

// Lies in the first half of a pthread_cond_t: who has come, and who may go.
struct room {
    int next, served;
};

struct waiter {
    struct room *room;
    pthread_mutex_t *mutex;
    int ticket;
};

static void serve(struct room *room, int n)
{
    __atomic_fetch_add(&room->served, n, __ATOMIC_RELEASE);
    futex(&room->served, FUTEX_WAKE, INT_MAX, NULL);
}

static void leave(void *argument)
{
    struct waiter *waiter = argument;
    pthread_mutex_lock(waiter->mutex);
    if (has_place() && waiter->room->next - waiter->room->served > 0)
        serve(waiter->room, 1);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *end)
{
    has_place();
    return REAL(pthread_mutex_timedlock)(mutex, end);
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    struct room *room = (struct room *)(void *)cond;
    struct waiter waiter = {room, mutex, __atomic_fetch_add(&room->next, 1, __ATOMIC_RELAXED)};
    int old;
    has_place();
    pthread_testcancel();
    pthread_mutex_unlock(mutex);
    pthread_cleanup_push(leave, &waiter);
    for (;;) {
        int served = __atomic_load_n(&room->served, __ATOMIC_ACQUIRE);
        if (served - waiter.ticket > 0)
            break;
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
        futex(&room->served, FUTEX_WAIT, served, NULL);
        pthread_setcanceltype(old, &old);
    }
    pthread_cleanup_pop(0);
    pthread_mutex_lock(mutex);
    return 0;
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *end)
{
    (void)cond;
    pthread_mutex_unlock(mutex);
    clock_nanosleep(clock, TIMER_ABSTIME, end, NULL);
    pthread_mutex_lock(mutex);
    return ETIMEDOUT;
}

int pthread_cond_signal(pthread_cond_t *cond)
{
    struct room *room = (struct room *)(void *)cond;
    if (room->next - room->served > 0)
        serve(room, 1);
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
    struct room *room = (struct room *)(void *)cond;
    if (room->next - room->served > 0)
        serve(room, room->next - room->served);
    return 0;
}

int pthread_cond_destroy(pthread_cond_t *cond)
{
    (void)cond;
    return 0;
}
