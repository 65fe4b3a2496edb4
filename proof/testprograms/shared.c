// Mutexes and condition variables that are shared between processes, and all mixes of private and shared ones within one.
#include "check.h"

#define N_TURNS 300

struct shared {
    pthread_mutex_t mutex, owned;
    pthread_cond_t conds[2];
    int turn;
    long count;
};

static pthread_mutexattr_t mutex_attr;
static pthread_condattr_t cond_attr;

static void make_mutex(pthread_mutex_t *mutex, int type, int shared)
{
    OK(pthread_mutexattr_settype(&mutex_attr, type));
    OK(pthread_mutexattr_setpshared(&mutex_attr, shared));
    OK(pthread_mutex_init(mutex, &mutex_attr));
}

static void make_cond(pthread_cond_t *cond, clockid_t clock, int shared)
{
    OK(pthread_condattr_setclock(&cond_attr, clock));
    OK(pthread_condattr_setpshared(&cond_attr, shared));
    OK(pthread_cond_init(cond, &cond_attr));
}

static void wait_on(struct shared *shared, int which, clockid_t clock, int way)
{
    struct timespec end = in_ns(clock, 50 * SECOND);
    // Of an earlier call of the program's: no wait may take it for its own.
    errno = ETIMEDOUT;
    switch (way % 3) {
    case 0:
        OK(pthread_cond_wait(&shared->conds[which], &shared->mutex));
        break;
    case 1:
        OK(pthread_cond_timedwait(&shared->conds[which], &shared->mutex, &end));
        break;
    default:
        OK(pthread_cond_clockwait(&shared->conds[which], &shared->mutex, clock, &end));
    }
}

static void play(struct shared *shared, int me, clockid_t clock)
{
    for (int turn = 0; turn < N_TURNS; turn++) {
        OK(pthread_mutex_lock(&shared->mutex));
        while (shared->turn != me)
            wait_on(shared, me, clock, turn);
        shared->turn = !me;
        shared->count++;
        OK(turn % 2 ? pthread_cond_signal(&shared->conds[!me]) : pthread_cond_broadcast(&shared->conds[!me]));
        OK(pthread_mutex_unlock(&shared->mutex));
    }
}

struct player {
    struct shared *shared;
    clockid_t clock;
};

static void *play_second(void *argument)
{
    struct player *player = argument;
    play(player->shared, 1, player->clock);
    return NULL;
}

static void fight(struct shared *shared)
{
    for (int round = 0; round < 5000; round++) {
        OK(pthread_mutex_lock(&shared->mutex));
        shared->count++;
        if (round % 64 == 0)
            sched_yield();
        OK(pthread_mutex_unlock(&shared->mutex));
    }
}

static struct shared *new_shared(void)
{
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    return shared;
}

static void between_processes(int type, clockid_t clock)
{
    doing = "between processes";
    struct shared *shared = new_shared();
    make_mutex(&shared->mutex, type, PTHREAD_PROCESS_SHARED);
    for (int i = 0; i < 2; i++)
        make_cond(&shared->conds[i], clock, PTHREAD_PROCESS_SHARED);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        watchdog();
        // Another address for the same memory: what finds waiters by address finds none.
        struct shared *elsewhere = mremap(shared, 0, sizeof *shared, MREMAP_MAYMOVE);
        CHECK(elsewhere != MAP_FAILED && elsewhere != shared);
        play(elsewhere, 1, clock);
        fight(elsewhere);
        _exit(0);
    }
    play(shared, 0, clock);
    fight(shared);
    child_is_well(child, "two processes that take turns");
    CHECK(shared->count == 2 * N_TURNS + 2 * 5000);
    OK(pthread_mutex_destroy(&shared->mutex));
    OK(pthread_cond_destroy(&shared->conds[0]));
    OK(pthread_cond_destroy(&shared->conds[1]));
    munmap(shared, sizeof *shared);
}

static void within_one(int type, int mutex_shared, int cond_shared, clockid_t clock)
{
    doing = "within one process";
    struct shared here;
    memset(&here, 0, sizeof here);
    make_mutex(&here.mutex, type, mutex_shared);
    for (int i = 0; i < 2; i++)
        make_cond(&here.conds[i], clock, cond_shared);
    struct player player = {&here, clock};
    pthread_t second = start(play_second, &player);
    play(&here, 0, clock);
    join_soon(second, "two threads that take turns");
    OK(pthread_mutex_destroy(&here.mutex));
    OK(pthread_cond_destroy(&here.conds[0]));
    OK(pthread_cond_destroy(&here.conds[1]));
}

// What the forking thread holds, the child's thread does not: it is another thread, with another id.
static void owner_forks(int type)
{
    doing = "the child of a holder is not the holder";
    struct shared *shared = new_shared();
    make_mutex(&shared->owned, type, PTHREAD_PROCESS_SHARED);
    OK(pthread_mutex_lock(&shared->owned));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        watchdog();
        GIVES(pthread_mutex_trylock(&shared->owned), EBUSY);
        GIVES(pthread_mutex_unlock(&shared->owned), EPERM);
        struct timespec end = in_ns(CLOCK_REALTIME, MS);
        GIVES(pthread_mutex_timedlock(&shared->owned, &end), ETIMEDOUT);
        shared->turn = 1;
        OK(pthread_mutex_lock(&shared->owned));
        CHECK(shared->count == 1);
        OK(pthread_mutex_unlock(&shared->owned));
        _exit(0);
    }
    while (!__atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE) && waitpid(child, NULL, WNOHANG) == 0)
        sleep_ns(MS);
    sleep_ns(3 * MS);
    shared->count = 1;
    OK(pthread_mutex_unlock(&shared->owned));
    child_is_well(child, doing);
    munmap(shared, sizeof *shared);
}

int main(void)
{
    watchdog();
    OK(pthread_mutexattr_init(&mutex_attr));
    OK(pthread_condattr_init(&cond_attr));
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP};
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
    for (int i = 0; i < 4; i++) {
        between_processes(types[i], clocks[i % 2]);
        between_processes(types[i], clocks[1 - i % 2]);
        for (int mix = 0; mix < 8; mix++)
            within_one(types[i], mix & 1, mix >> 1 & 1, clocks[mix >> 2]);
    }
    owner_forks(PTHREAD_MUTEX_RECURSIVE);
    owner_forks(PTHREAD_MUTEX_ERRORCHECK);
    return 0;
}
