// Mutexes and condition variables that are shared by code which found its functions in different ways: by linking, by a
// library opened at run time, by dlsym. Whoever locks, the others must see it.
//
// The variant finds them past a preloaded library too: by dlvsym, which passes over symbols without a version, and in a
// library that looks into its own scope first. Then glibc's functions and an interposer's meet on one mutex: that must go
// well, or end the process with a message (SIGABRT). Two who are inside, and nobody says so, is what must not be.
// variant: past -DPAST
#include "check.h"
#include <dlfcn.h>

#define N_ROUNDS 5000
#define N_TURNS 300
#define MOST_WAYS 6

typedef int lock_function(pthread_mutex_t *);
typedef int add_function(pthread_mutex_t *, volatile long *, int);
typedef int turn_function(pthread_mutex_t *, pthread_cond_t *, volatile int *, int);

struct way {
    const char *name;
    lock_function *lock, *trylock, *unlock;
    int (*wait)(pthread_cond_t *, pthread_mutex_t *);
    int (*signal)(pthread_cond_t *);
};

static struct way ways[MOST_WAYS];
static int n_ways;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile long count;
static volatile int turn;
static add_function *add;
static turn_function *take_turn;

static void add_way(const char *name, void *scope)
{
    struct way *way = &ways[n_ways++];
    way->name = name;
    way->lock = (lock_function *)dlsym(scope, "pthread_mutex_lock");
    way->trylock = (lock_function *)dlsym(scope, "pthread_mutex_trylock");
    way->unlock = (lock_function *)dlsym(scope, "pthread_mutex_unlock");
    *(void **)&way->wait = dlsym(scope, "pthread_cond_wait");
    *(void **)&way->signal = dlsym(scope, "pthread_cond_signal");
    CHECK(way->lock && way->trylock && way->unlock && way->wait && way->signal);
}

#ifdef PAST
// The versions that programs of long ago are linked with, and whatever asks for a version.
static void add_versioned_way(void)
{
    struct way *way = &ways[n_ways];
    way->name = "dlvsym";
    way->lock = (lock_function *)dlvsym(RTLD_DEFAULT, "pthread_mutex_lock", "GLIBC_2.2.5");
    way->trylock = (lock_function *)dlvsym(RTLD_DEFAULT, "pthread_mutex_trylock", "GLIBC_2.34");
    way->unlock = (lock_function *)dlvsym(RTLD_DEFAULT, "pthread_mutex_unlock", "GLIBC_2.2.5");
    *(void **)&way->wait = dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.3.2");
    *(void **)&way->signal = dlvsym(RTLD_DEFAULT, "pthread_cond_signal", "GLIBC_2.3.2");
    // Other machines have other versions.
    n_ways += way->lock && way->trylock && way->unlock && way->wait && way->signal;
}
#endif

static void *fight(void *argument)
{
    struct way *way = argument;
    for (int round = 0; round < N_ROUNDS; round++) {
        OK(way->lock(&mutex));
        count++;
        if (round % 64 == 0)
            sched_yield();
        OK(way->unlock(&mutex));
    }
    return NULL;
}

static void *fight_in_library(void *argument)
{
    (void)argument;
    OK(add(&mutex, &count, N_ROUNDS));
    return NULL;
}

// One waits by one way and signals by it; the other one by the other.
static void *turns_of(void *argument)
{
    struct way *way = argument;
    for (int i = 0; i < N_TURNS; i++) {
        OK(way->lock(&mutex));
        while (turn % 2 != 1)
            OK(way->wait(&cond, &mutex));
        turn++;
        OK(way->signal(&cond));
        OK(way->unlock(&mutex));
    }
    return NULL;
}

static void each_sees_the_others(void)
{
    for (int i = 0; i < n_ways; i++)
        for (int k = 0; k < n_ways; k++) {
            doing = ways[k > i ? k : i].name;
            OK(ways[i].lock(&mutex));
            int code = ways[k].trylock(&mutex);
#ifdef PAST
            if (code == 0) {
                ways[k].unlock(&mutex);
                ways[i].unlock(&mutex);
                FAIL("two were inside, and nobody said so");
            }
#endif
            CHECK(code == EBUSY);
            OK(ways[k].unlock(&mutex));
            OK(ways[i].trylock(&mutex));
            OK(ways[i].unlock(&mutex));
        }
}

static void *open_library(int flags)
{
    // Beside the program, wherever that is.
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 20);
    CHECK(length > 0);
    path[length] = 0;
    strcpy(strrchr(path, '/'), "/dl_lib.so");
    void *library = dlopen(path, flags);
    if (!library)
        FAIL("%s", dlerror());
    *(void **)&add = dlsym(library, "dl_add");
    *(void **)&take_turn = dlsym(library, "dl_turn");
    CHECK(add && take_turn);
    return library;
}

static void with_library(int flags)
{
    const char *what = flags & RTLD_DEEPBIND ? "a library that prefers its own scope" : "a library";
    doing = what;
    void *library = open_library(flags);
    pthread_t threads[MOST_WAYS + 1];
    count = 0;
    for (int i = 0; i < n_ways; i++)
        threads[i] = start(fight, &ways[i]);
    threads[n_ways] = start(fight_in_library, NULL);
    for (int i = 0; i <= n_ways; i++)
        join_soon(threads[i], what);
    CHECK(count == (long)N_ROUNDS * (n_ways + 1));
    for (int i = 0; i < n_ways; i++) {
        turn = 0;
        pthread_t other = start(turns_of, &ways[i]);
        for (int k = 0; k < N_TURNS; k++)
            OK(take_turn(&mutex, &cond, &turn, 0));
        join_soon(other, ways[i].name);
        CHECK(turn == 2 * N_TURNS);
    }
    CHECK(dlclose(library) == 0);
}

static int everything(void)
{
    struct way linked = {"linked", pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_unlock, pthread_cond_wait,
                         pthread_cond_signal};
    ways[n_ways++] = linked;
    add_way("RTLD_DEFAULT", RTLD_DEFAULT);
    add_way("RTLD_NEXT", RTLD_NEXT);
#ifdef PAST
    add_versioned_way();
#endif
    each_sees_the_others();
    with_library(RTLD_NOW);
    with_library(RTLD_LAZY);
#ifdef PAST
    with_library(RTLD_NOW | RTLD_DEEPBIND);
#endif
    // For its destructor, at the end of the process.
    doing = "a library that stays open";
    open_library(RTLD_NOW);
    return 0;
}

int main(void)
{
    watchdog();
#ifdef PAST
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid > 0) {
        int status;
        while (waitpid(pid, &status, 0) < 0) {
        }
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
            return 0;
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        return 0;
    }
    watchdog();
#endif
    return everything();
}
