// The child of a fork leaves alone what it does not use. While threads of the parent wait for a mutex or on a condition
// variable, the child may have them in memory that it shares with the parent, may have none of that memory, or may have
// something else there: what it does with other mutexes must not write there, and not look there either.
#include "check.h"

#define N_WAITERS 3

struct objects {
    pthread_mutex_t mutex, of_cond;
    pthread_cond_t cond;
    int is_set, n_locked, n_woken;
};

static struct objects *objects;
static size_t size;
static int ids[2 * N_WAITERS];
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t other_cond = PTHREAD_COND_INITIALIZER;

static void *lock_it(void *id)
{
    __atomic_store_n((int *)id, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_mutex_lock(&objects->mutex));
    objects->n_locked++;
    OK(pthread_mutex_unlock(&objects->mutex));
    return NULL;
}

static void *wait_for_it(void *id)
{
    __atomic_store_n((int *)id, thread_id(), __ATOMIC_RELEASE);
    OK(pthread_mutex_lock(&objects->of_cond));
    while (!objects->is_set)
        OK(pthread_cond_wait(&objects->cond, &objects->of_cond));
    objects->n_woken++;
    OK(pthread_mutex_unlock(&objects->of_cond));
    return NULL;
}

// What the child does use, as much as there is to use.
static void use_others(void)
{
    OK(pthread_mutex_lock(&other));
    struct timespec end = in_ns(CLOCK_MONOTONIC, MS);
    GIVES(pthread_cond_clockwait(&other_cond, &other, CLOCK_MONOTONIC, &end), ETIMEDOUT);
    OK(pthread_cond_broadcast(&other_cond));
    OK(pthread_mutex_unlock(&other));
    OK(pthread_cond_destroy(&other_cond));
    OK(pthread_mutex_destroy(&other));
}

static void does_nothing_first(void)
{
    use_others();
}

static void unmaps(void)
{
    CHECK(munmap(objects, size) == 0);
    use_others();
}

// Numbers that a lock's word may have as well, and some that none has.
static int number_at(size_t i, int round)
{
    static const int numbers[] = {0, 1, 2, 7, 256, -1};
    return numbers[(i + (size_t)round) % (sizeof numbers / sizeof *numbers)];
}

static void uses_the_memory(void)
{
    int *numbers = (int *)(void *)objects;
    for (size_t i = 0; i < size / sizeof(int); i++)
        numbers[i] = number_at(i, (int)getpid() % 6);
    use_others();
    for (size_t i = 0; i < size / sizeof(int); i++)
        if (numbers[i] != number_at(i, (int)getpid() % 6))
            FAIL("word %zu of memory that is used anew has become %d", i, numbers[i]);
}

// `sharing` is MAP_PRIVATE or MAP_SHARED; the mutexes are private to the process in any case, and the child does not use
// them. `advice` is for the kernel, 0 if there is none.
static void round_of(const char *what, int sharing, int advice, void (*act)(void))
{
    doing = what;
    objects = mmap(NULL, size, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    CHECK(objects != MAP_FAILED);
    OK(pthread_mutex_init(&objects->mutex, NULL));
    OK(pthread_mutex_init(&objects->of_cond, NULL));
    OK(pthread_cond_init(&objects->cond, NULL));
    if (advice)
        CHECK(madvise(objects, size, advice) == 0);
    OK(pthread_mutex_lock(&objects->mutex));
    pthread_t threads[2 * N_WAITERS];
    memset(ids, 0, sizeof ids);
    for (int i = 0; i < 2 * N_WAITERS; i++)
        threads[i] = start(i < N_WAITERS ? lock_it : wait_for_it, &ids[i]);
    for (int i = 0; i < 2 * N_WAITERS; i++)
        until_asleep(&ids[i]);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        watchdog();
        act();
        _exit(0);
    }
    child_is_well(pid, what);
    // And the parent's waiters are woken as if there had been no child.
    OK(pthread_mutex_unlock(&objects->mutex));
    OK(pthread_mutex_lock(&objects->of_cond));
    objects->is_set = 1;
    OK(pthread_cond_broadcast(&objects->cond));
    OK(pthread_mutex_unlock(&objects->of_cond));
    for (int i = 0; i < 2 * N_WAITERS; i++)
        join_soon(threads[i], what);
    CHECK(objects->n_locked == N_WAITERS && objects->n_woken == N_WAITERS);
    CHECK(munmap(objects, size) == 0);
}

int main(void)
{
    watchdog();
    size = (size_t)sysconf(_SC_PAGESIZE);
    round_of("memory shared with the child", MAP_SHARED, 0, does_nothing_first);
    round_of("memory that the child has not", MAP_PRIVATE, MADV_DONTFORK, does_nothing_first);
    round_of("memory that the child gives back", MAP_PRIVATE, 0, unmaps);
    round_of("memory that the child uses for something else", MAP_PRIVATE, 0, uses_the_memory);
    return 0;
}
