// The kinds that stay the C library's: robust, priority inheritance, and shared between processes, where the child of a fork
// waits for its parent.
#include "known.h"

static pthread_mutex_t robust, inheriting, *shared;
// In the same memory: whether the child is about to wait.
static int *is_coming;
static struct known *known_robust, *known_inheriting, *known_shared;
static const char *path;

WAITS(waits_for_the_robust, known_robust, 0)
WAITS(waits_for_the_inheriting, known_inheriting, 0)

APART static void waits_for_the_parent(void)
{
    __atomic_store_n(is_coming, 1, __ATOMIC_RELEASE);
    int64_t want = known_now();
    OK(pthread_mutex_lock(shared));
    known_took(known_shared, TOOK_FROM_OUTSIDE, want, __func__, __LINE__ - 1);
    UNLOCK(known_shared);
}

APART static void holds_the_shared(void)
{
    LOCK(known_shared);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        known_begin();
        known_forked();
        waits_for_the_parent();
        known_write(path, "exit");
        exit(0);
    }
    while (!__atomic_load_n(is_coming, __ATOMIC_ACQUIRE))
        sleep_ns(MS / 10);
    sleep_ns(60 * MS);
    UNLOCK(known_shared);
    child_is_well(child, "who shares a mutex");
}

int main(int n, char **arguments)
{
    pthread_mutexattr_t attributes;
    known_begin();
    CHECK(n == 2);
    path = arguments[1];
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutex_init(&robust, &attributes));
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
    OK(pthread_mutex_init(&inheriting, &attributes));
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    is_coming = (int *)(shared + 1);
    OK(pthread_mutex_init(shared, &attributes));
    known_robust = KNOWN_MUTEX("robust", &robust);
    known_inheriting = KNOWN_MUTEX("inheriting", &inheriting);
    known_shared = KNOWN_MUTEX("*", shared);
    for (int round = 0; round < 3; round++) {
        holds(known_robust, waits_for_the_robust, 2, 20 * MS);
        holds(known_inheriting, waits_for_the_inheriting, 2, 20 * MS);
    }
    holds_the_shared();
    known_write(path, "exit");
    return 0;
}
