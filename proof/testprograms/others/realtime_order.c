// Threads of three real-time priorities wait, the lowest one first. Who gets a mutex, and whom a signal wakes? glibc lets the
// highest priority go first, as POSIX asks ("the scheduling policy shall determine"). Needs the right to use SCHED_FIFO.
// ondeck's locks know no priorities, so this program fails with them.
#include "../check.h"

#define N_WAITERS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static const int wanted[N_WAITERS] = {3, 2, 1};
static int order[N_WAITERS], n_in, n_signals;

struct waiter {
    int priority, id, is_at_cond;
};

static void *wait_in_real_time(void *argument)
{
    struct waiter *waiter = argument;
    struct sched_param param = {.sched_priority = waiter->priority};
    OK(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param));
    if (waiter->is_at_cond)
        OK(pthread_mutex_lock(&mutex));
    __atomic_store_n(&waiter->id, thread_id(), __ATOMIC_RELEASE);
    if (!waiter->is_at_cond)
        OK(pthread_mutex_lock(&mutex));
    while (waiter->is_at_cond && n_signals == 0)
        OK(pthread_cond_wait(&cond, &mutex));
    n_signals -= waiter->is_at_cond;
    order[n_in++] = waiter->priority;
    OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

static int in_order(int is_at_cond)
{
    struct waiter waiters[N_WAITERS];
    pthread_t threads[N_WAITERS];
    n_in = 0;
    if (!is_at_cond)
        OK(pthread_mutex_lock(&mutex));
    for (int i = 0; i < N_WAITERS; i++) {
        waiters[i] = (struct waiter){.priority = i + 1, .is_at_cond = is_at_cond};
        threads[i] = start(wait_in_real_time, &waiters[i]);
        until_asleep(&waiters[i].id);
    }
    for (int i = 0; is_at_cond && i < N_WAITERS; i++) {
        OK(pthread_mutex_lock(&mutex));
        n_signals++;
        OK(pthread_cond_signal(&cond));
        OK(pthread_mutex_unlock(&mutex));
        sleep_ns(50 * MS);
    }
    if (!is_at_cond)
        OK(pthread_mutex_unlock(&mutex));
    for (int i = 0; i < N_WAITERS; i++)
        join_soon(threads[i], "a real-time waiter");
    printf("%s: priorities %d, %d, %d\n", is_at_cond ? "signals" : "mutex", order[0], order[1], order[2]);
    return memcmp(order, wanted, sizeof order) == 0;
}

int main(void)
{
    watchdog();
    int mutex_is_fine = in_order(0), signals_are_fine = in_order(1);
    return !(mutex_is_fine && signals_are_fine);
}
