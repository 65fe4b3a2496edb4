// The last user of a counted object destroys and frees it right after its own unlock, while others have only just called
// theirs. POSIX allows that, so unlock must not touch the mutex after the write that lets the next thread in.
// unlock_by_steps looks at the same deterministically; here many rounds meet it by chance.
#include "check.h"

#define PATTERN 0xa5
#define N_ROUNDS 1500
#define N_MOST 8

struct object {
    pthread_mutex_t mutex;
    int n_users;
};

static struct object *object;
static pthread_barrier_t begin;
static size_t page;
static int closes_page, ways;

static void touched(int signal_number)
{
    (void)signal_number;
    static const char text[] = "a mutex was touched after its end\n";
    if (write(2, text, sizeof text - 1) < 0)
        _exit(3);
    _exit(1);
}

static void end_of(struct object *mine)
{
    GIVES(pthread_mutex_destroy(&mine->mutex), 0);
    if (closes_page)
        mprotect(mine, page, PROT_NONE);
    else
        memset(mine, PATTERN, sizeof *mine);
}

static void enter(struct object *mine, uint64_t *seed)
{
    if (ways && chance(seed) % 2) {
        // Who leaves the wait by time must be out of every queue too.
        struct timespec until = in_ns(CLOCK_MONOTONIC, chance(seed) % 20000);
        if (pthread_mutex_clocklock(&mine->mutex, CLOCK_MONOTONIC, &until) == 0)
            return;
    }
    OK(pthread_mutex_lock(&mine->mutex));
}

static void *use(void *argument)
{
    uint64_t seed = 31 + (uint64_t)(long)argument;
    for (int round = 0; round < N_ROUNDS; round++) {
        pthread_barrier_wait(&begin);
        struct object *mine = object;
        pthread_barrier_wait(&begin);
        enter(mine, &seed);
        dally((int)(chance(&seed) % 200));
        int is_last = --mine->n_users == 0;
        OK(pthread_mutex_unlock(&mine->mutex));
        if (is_last)
            end_of(mine);
    }
    return NULL;
}

static void with_threads(int n_threads, int type)
{
    pthread_t threads[N_MOST];
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_barrier_init(&begin, NULL, (unsigned)n_threads + 1));
    for (long i = 0; i < n_threads; i++)
        threads[i] = start(use, (void *)i);
    struct object *last = NULL;
    for (int round = 0; round < N_ROUNDS; round++) {
        // A place of its own for every other object: the one before is looked at when everybody has gone from it.
        struct object *next = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(next != MAP_FAILED);
        OK(pthread_mutex_init(&next->mutex, &attr));
        next->n_users = n_threads;
        // All have left the last object once they are at the barrier.
        struct object *done = object;
        object = next;
        pthread_barrier_wait(&begin);
        if (done && done == last && !closes_page)
            for (size_t i = 0; i < sizeof *done; i++)
                if (((unsigned char *)done)[i] != PATTERN)
                    FAIL("byte %zu of a mutex changed after its end", i);
        if (done)
            munmap(done, page);
        last = next;
        pthread_barrier_wait(&begin);
    }
    for (int i = 0; i < n_threads; i++)
        join(threads[i]);
    munmap(object, page);
    object = NULL;
    OK(pthread_barrier_destroy(&begin));
}

int main(void)
{
    watchdog();
    page = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_handler = touched};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    doing = "the last one frees";
    static const int threads[] = {2, 3, 4, 8};
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_NORMAL};
    for (int i = 0; i < 4; i++) {
        closes_page = i % 2 == 0;
        ways = i >= 2;
        with_threads(threads[i], types[i]);
    }
    return 0;
}
