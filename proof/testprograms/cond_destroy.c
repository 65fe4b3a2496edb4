// A condition variable may be destroyed, and its memory used for something else, as soon as all its waiters have been
// broadcast to: destroy has to see to it that those who are still on their way out do not touch it any more.
#include "check.h"
#include <threads.h>

#define N_WAITERS 4
#define N_ROUNDS 400
#define PATTERN 0xa5

struct room {
    pthread_cond_t cond;
    int is_over;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begin, end;
static struct room *room;
static int n_waiting, n_left, with_deadlines;

static void *wait_each_round(void *argument)
{
    uint64_t seed = 5 + (uint64_t)(long)argument;
    for (int round = 0; round < 2 * N_ROUNDS; round++) {
        pthread_barrier_wait(&begin);
        OK(pthread_mutex_lock(&mutex));
        n_waiting++;
        // What the loop looks at is not in the memory that goes away.
        if (with_deadlines) {
            struct timespec until = in_ns(CLOCK_MONOTONIC, chance(&seed) % 60000);
            int code = 0;
            while (!room->is_over && code == 0)
                code = pthread_cond_clockwait(&room->cond, &mutex, CLOCK_MONOTONIC, &until);
            CHECK(code == 0 || code == ETIMEDOUT);
        } else {
            for (struct room *mine = room; mine == room;)
                OK(pthread_cond_wait(&mine->cond, &mutex));
        }
        n_left++;
        OK(pthread_mutex_unlock(&mutex));
        pthread_barrier_wait(&end);
    }
    return NULL;
}

static void until(const int *value)
{
    for (int all = 0; !all;) {
        OK(pthread_mutex_lock(&mutex));
        all = *value == N_WAITERS;
        OK(pthread_mutex_unlock(&mutex));
        if (!all)
            give_way();
    }
}

static void is_untouched(const unsigned char *memory)
{
    for (size_t i = 0; i < sizeof(struct room); i++)
        if (memory[i] != PATTERN)
            FAIL("byte %zu of a condition variable changed after its end", i);
}

// By either of its names; the objects are the same.
static void destroy(pthread_cond_t *cond)
{
    static int n_destroyed;
    if (n_destroyed++ % 2)
        cnd_destroy((cnd_t *)(void *)cond);
    else
        OK(pthread_cond_destroy(cond));
}

// The mutex is held from the broadcast until the memory is another's: waiters wake while it is taken away, and each of
// them sees by `room` that it is over.
static void after_a_broadcast(void)
{
    until(&n_waiting);
    OK(pthread_mutex_lock(&mutex));
    struct room *old = room;
    room = NULL;
    OK(pthread_cond_broadcast(&old->cond));
    destroy(&old->cond);
    memset(old, PATTERN, sizeof *old);
    OK(pthread_mutex_unlock(&mutex));
    pthread_barrier_wait(&end);
    is_untouched((unsigned char *)old);
    free(old);
}

// Some have timed out, some are woken; all have said that they left, none has to have returned from unlock.
static void after_timeouts(void)
{
    until(&n_waiting);
    OK(pthread_mutex_lock(&mutex));
    room->is_over = 1;
    OK(pthread_cond_broadcast(&room->cond));
    OK(pthread_mutex_unlock(&mutex));
    until(&n_left);
    destroy(&room->cond);
    memset(room, PATTERN, sizeof *room);
    pthread_barrier_wait(&end);
    is_untouched((unsigned char *)room);
    free(room);
}

struct slow {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int waiter, destroyer, is_over, is_destroyed;
};

static void *wait_until_over(void *argument)
{
    struct slow *slow = argument;
    OK(pthread_mutex_lock(&slow->mutex));
    __atomic_store_n(&slow->waiter, thread_id(), __ATOMIC_RELEASE);
    while (!slow->is_over)
        OK(pthread_cond_wait(&slow->cond, &slow->mutex));
    OK(pthread_mutex_unlock(&slow->mutex));
    return NULL;
}

static void *destroy_it(void *argument)
{
    struct slow *slow = argument;
    __atomic_store_n(&slow->destroyer, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_cond_destroy(&slow->cond));
    __atomic_store_n(&slow->is_destroyed, 1, __ATOMIC_RELEASE);
    return NULL;
}

// Who destroys it while somebody waits is kept waiting, asleep: undefined in POSIX, and how glibc does it. In another process
// too, be that a child which has not touched the condition variable before.
static void destroyer_waits(int shared, int in_child)
{
    doing = in_child ? "destroy in a child" : shared ? "destroy while somebody waits, shared" : "destroy while somebody waits";
    struct slow *slow = mmap(NULL, sizeof *slow, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(slow != MAP_FAILED);
    pthread_condattr_t attr;
    pthread_mutexattr_t mutex_attr;
    OK(pthread_condattr_init(&attr));
    OK(pthread_mutexattr_init(&mutex_attr));
    OK(pthread_condattr_setpshared(&attr, shared));
    OK(pthread_mutexattr_setpshared(&mutex_attr, shared));
    OK(pthread_cond_init(&slow->cond, &attr));
    OK(pthread_mutex_init(&slow->mutex, &mutex_attr));
    pthread_t waiter = start(wait_until_over, slow), destroyer = 0;
    until_asleep(&slow->waiter);
    pid_t child = 0;
    if (in_child) {
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            watchdog();
            destroy_it(slow);
            _exit(0);
        }
    } else {
        destroyer = start(destroy_it, slow);
    }
    until_asleep(&slow->destroyer);
    CHECK(!__atomic_load_n(&slow->is_destroyed, __ATOMIC_ACQUIRE));
    OK(pthread_mutex_lock(&slow->mutex));
    slow->is_over = 1;
    OK(pthread_cond_broadcast(&slow->cond));
    OK(pthread_mutex_unlock(&slow->mutex));
    join_soon(waiter, doing);
    if (in_child)
        child_is_well(child, doing);
    else
        join_soon(destroyer, doing);
    CHECK(slow->is_destroyed);
    munmap(slow, sizeof *slow);
}

int main(void)
{
    watchdog();
    destroyer_waits(0, 0);
    destroyer_waits(1, 0);
    destroyer_waits(1, 1);
    OK(pthread_barrier_init(&begin, NULL, N_WAITERS + 1));
    OK(pthread_barrier_init(&end, NULL, N_WAITERS + 1));
    pthread_t threads[N_WAITERS];
    for (long i = 0; i < N_WAITERS; i++)
        threads[i] = start(wait_each_round, (void *)i);
    pthread_condattr_t attr;
    OK(pthread_condattr_init(&attr));
    for (with_deadlines = 0; with_deadlines < 2; with_deadlines++) {
        doing = with_deadlines ? "destroy after time-outs" : "destroy after a broadcast";
        for (int round = 0; round < N_ROUNDS; round++) {
            room = calloc(1, sizeof *room);
            OK(pthread_condattr_setpshared(&attr, round % 4 < 2 ? PTHREAD_PROCESS_PRIVATE : PTHREAD_PROCESS_SHARED));
            OK(pthread_cond_init(&room->cond, &attr));
            n_waiting = n_left = 0;
            pthread_barrier_wait(&begin);
            if (with_deadlines)
                after_timeouts();
            else
                after_a_broadcast();
        }
    }
    for (int i = 0; i < N_WAITERS; i++)
        join(threads[i]);
    return 0;
}
