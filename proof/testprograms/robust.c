// Robust mutexes: who acquires one after its holder has died is told so, and puts it right or leaves it useless; the same
// through a condition variable, within a process and between processes.
#include "check.h"

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int n_waiting;
};

static struct shared *shared;

static void make(int type, int pshared)
{
    pthread_mutexattr_t attr;
    pthread_condattr_t cond_attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutexattr_setpshared(&attr, pshared));
    OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
    memset(shared, 0, sizeof *shared);
    OK(pthread_mutex_init(&shared->mutex, &attr));
    OK(pthread_condattr_init(&cond_attr));
    OK(pthread_condattr_setpshared(&cond_attr, pshared));
    OK(pthread_cond_init(&shared->cond, &cond_attr));
}

static void *die_inside(void *argument)
{
    (void)argument;
    OK(pthread_mutex_lock(&shared->mutex));
    return NULL;
}

static void let_die(int process)
{
    if (!process) {
        join(start(die_inside, NULL));
        return;
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        OK(pthread_mutex_lock(&shared->mutex));
        // No unlock, no handlers: as if killed.
        _exit(0);
    }
    child_is_well(child, "a process that dies inside");
}

static int acquire(int way)
{
    struct timespec end = in_ns(CLOCK_REALTIME, 50 * SECOND);
    switch (way % 4) {
    case 0:
        return pthread_mutex_lock(&shared->mutex);
    case 1:
        return pthread_mutex_trylock(&shared->mutex);
    case 2:
        return pthread_mutex_timedlock(&shared->mutex, &end);
    default:
        return pthread_mutex_clocklock(&shared->mutex, CLOCK_REALTIME, &end);
    }
}

static void put_right(int type, int process)
{
    doing = "put right";
    make(type, process);
    GIVES(pthread_mutex_consistent(&shared->mutex), EINVAL);
    for (int way = 0; way < 4; way++) {
        let_die(process);
        GIVES(acquire(way), EOWNERDEAD);
        OK(pthread_mutex_consistent(&shared->mutex));
        OK(pthread_mutex_unlock(&shared->mutex));
        OK(acquire(way));
        OK(pthread_mutex_unlock(&shared->mutex));
    }
    OK(pthread_mutex_destroy(&shared->mutex));
}

static void left_wrong(int type, int process)
{
    doing = "left wrong";
    make(type, process);
    let_die(process);
    GIVES(pthread_mutex_lock(&shared->mutex), EOWNERDEAD);
    OK(pthread_mutex_unlock(&shared->mutex));
    // trylock comes last: after its ENOTRECOVERABLE the mutex stays taken on glibc 2.36, and everybody else hangs.
    static const int ways[] = {0, 2, 3, 1};
    for (int i = 0; i < 4; i++)
        GIVES(acquire(ways[i]), ENOTRECOVERABLE);
}

static void *wait_robustly(void *argument)
{
    OK(pthread_mutex_lock(&shared->mutex));
    __atomic_store_n(&shared->n_waiting, 1, __ATOMIC_RELEASE);
    struct timespec end = in_ns(CLOCK_REALTIME, 50 * SECOND);
    // The death is told by the wait, since it is the wait that acquires.
    int code = argument ? pthread_cond_timedwait(&shared->cond, &shared->mutex, &end)
                        : pthread_cond_wait(&shared->cond, &shared->mutex);
    GIVES(code, EOWNERDEAD);
    OK(pthread_mutex_consistent(&shared->mutex));
    OK(pthread_mutex_unlock(&shared->mutex));
    return NULL;
}

static void *signal_and_die(void *argument)
{
    (void)argument;
    OK(pthread_mutex_lock(&shared->mutex));
    OK(pthread_cond_broadcast(&shared->cond));
    return NULL;
}

static void through_a_condition(int type, void *timed)
{
    doing = "a waiter on a condition variable";
    make(type, PTHREAD_PROCESS_PRIVATE);
    pthread_t waiter = start(wait_robustly, timed);
    while (!__atomic_load_n(&shared->n_waiting, __ATOMIC_ACQUIRE))
        sched_yield();
    join(start(signal_and_die, NULL));
    join_soon(waiter, doing);
    OK(pthread_mutex_lock(&shared->mutex));
    OK(pthread_mutex_unlock(&shared->mutex));
    OK(pthread_mutex_destroy(&shared->mutex));
    OK(pthread_cond_destroy(&shared->cond));
}

struct between {
    int id;
    sem_t held;
};

static void *wait_for_it(void *argument)
{
    struct between *between = argument;
    __atomic_store_n(&between->id, thread_id(), __ATOMIC_RELEASE);
    GIVES(pthread_mutex_lock(&shared->mutex), EOWNERDEAD);
    OK(pthread_mutex_consistent(&shared->mutex));
    OK(pthread_mutex_unlock(&shared->mutex));
    return NULL;
}

static void *die_when_waited_for(void *argument)
{
    struct between *between = argument;
    OK(pthread_mutex_lock(&shared->mutex));
    sem_post(&between->held);
    until_asleep(&between->id);
    return NULL;
}

// The waiter sleeps when the holder dies: the kernel wakes it.
static void dies_while_waited_for(int type)
{
    doing = "a holder that dies while somebody sleeps";
    make(type, PTHREAD_PROCESS_PRIVATE);
    struct between between = {.id = 0};
    sem_init(&between.held, 0, 0);
    pthread_t holder = start(die_when_waited_for, &between);
    while (sem_wait(&between.held) != 0) {
    }
    pthread_t waiter = start(wait_for_it, &between);
    join_soon(holder, doing);
    join_soon(waiter, doing);
}

int main(void)
{
    watchdog();
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP};
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    for (int i = 0; i < 4; i++) {
        for (int process = 0; process < 2; process++) {
            put_right(types[i], process);
            left_wrong(types[i], process);
        }
        through_a_condition(types[i], NULL);
        through_a_condition(types[i], &shared);
        dies_while_waited_for(types[i]);
    }
    return 0;
}
