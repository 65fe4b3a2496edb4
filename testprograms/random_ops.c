// Random calls by several threads against a model of the mutex, which says what each call may answer. The seed is in the
// message of a failure: `random_ops SEED` runs that one alone.
#include "check.h"

#define N_THREADS 4
#define N_MUTEXES 3
#define N_CALLS 3000

enum kind { NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE };

// Who holds it and how often. Written by the holder alone, right after it got it and right before it gives it up: so for
// the holder it is exact, and for anybody else it says at least whether they are the holder.
struct model {
    pthread_mutex_t mutex;
    enum kind kind;
    int owner, count, n_inside;
};

static struct model models[N_MUTEXES];
static uint64_t seed_of_all;

#define EXPECT(condition, call, code)                                                                                  \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            FAIL("seed %llu: %s of kind %d, held %d times, gave %s", (unsigned long long)seed_of_all, call,           \
                 model->kind, mine ? model->count : 0, code_name(code));                                               \
    } while (0)

static int is_mine(struct model *model, int me)
{
    return __atomic_load_n(&model->owner, __ATOMIC_RELAXED) == me;
}

static void got(struct model *model, int me, int mine)
{
    if (!mine) {
        int inside = __atomic_add_fetch(&model->n_inside, 1, __ATOMIC_RELAXED);
        EXPECT(inside == 1, "two threads inside: a lock", 0);
        __atomic_store_n(&model->owner, me, __ATOMIC_RELAXED);
        model->count = 0;
    }
    model->count++;
}

// Several mutexes are held at once: to wait without a deadline is allowed only in their order, or everybody would wait for
// everybody.
static int may_wait(int me, int which)
{
    for (int i = which; i < N_MUTEXES; i++)
        if (is_mine(&models[i], me))
            return 0;
    return 1;
}

static void acquire(struct model *model, int me, int which, uint64_t *seed)
{
    int mine = is_mine(model, me);
    int recursive = model->kind == RECURSIVE, checked = model->kind == ERRORCHECK;
    int64_t wait_ns = chance(seed) % 4 ? chance(seed) % 30000 : -SECOND;
    clockid_t clock = chance(seed) % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec end = in_ns(clock, wait_ns);
    const char *call;
    int code;
    switch (chance(seed) % 4) {
    case 0:
        call = "trylock";
        code = pthread_mutex_trylock(&model->mutex);
        EXPECT(code == 0 || code == EBUSY, call, code);
        break;
    case 1:
        call = "clocklock";
        code = pthread_mutex_clocklock(&model->mutex, clock, &end);
        EXPECT(code == 0 || code == ETIMEDOUT || (mine && checked && code == EDEADLK), call, code);
        if (code == ETIMEDOUT)
            EXPECT(now_ns(clock) >= ns_of(&end), "an early clocklock", code);
        break;
    case 2:
        call = "timedlock";
        end = in_ns(CLOCK_REALTIME, wait_ns);
        code = pthread_mutex_timedlock(&model->mutex, &end);
        EXPECT(code == 0 || code == ETIMEDOUT || (mine && checked && code == EDEADLK), call, code);
        if (code == ETIMEDOUT)
            EXPECT(now_ns(CLOCK_REALTIME) >= ns_of(&end), "an early timedlock", code);
        break;
    default:
        call = "lock";
        if (mine ? !recursive && !checked : !may_wait(me, which))
            return;
        code = pthread_mutex_lock(&model->mutex);
        EXPECT(code == (mine && checked ? EDEADLK : 0), call, code);
    }
    if (mine)
        EXPECT(recursive == (code == 0), call, code);
    if (code == 0)
        got(model, me, mine);
}

static void release(struct model *model, int me)
{
    int mine = is_mine(model, me), code;
    if (mine) {
        if (--model->count == 0) {
            __atomic_store_n(&model->owner, 0, __ATOMIC_RELAXED);
            __atomic_sub_fetch(&model->n_inside, 1, __ATOMIC_RELAXED);
        }
        code = pthread_mutex_unlock(&model->mutex);
        EXPECT(code == 0, "unlock", code);
    } else if (model->kind == RECURSIVE || model->kind == ERRORCHECK) {
        code = pthread_mutex_unlock(&model->mutex);
        EXPECT(code == EPERM, "unlock by another", code);
    }
}

static void *run(void *argument)
{
    int me = (int)(long)argument;
    uint64_t seed = seed_of_all * 0x9e3779b97f4a7c15u + (uint64_t)me;
    for (int i = 0; i < N_CALLS; i++) {
        int which = (int)(chance(&seed) % N_MUTEXES);
        struct model *model = &models[which];
        int mine = is_mine(model, me);
        uint32_t what = chance(&seed) % 16;
        if (what < 7) {
            acquire(model, me, which, &seed);
        } else if (what < 14) {
            release(model, me);
        } else if (what == 14 && mine) {
            int code = pthread_mutex_destroy(&model->mutex);
            EXPECT(code == EBUSY, "destroy", code);
        } else if (chance(&seed) % 32 == 0) {
            sched_yield();
        }
    }
    for (int i = 0; i < N_MUTEXES; i++)
        while (is_mine(&models[i], me))
            release(&models[i], me);
    return NULL;
}

static void with_seed(uint64_t seed)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP};
    seed_of_all = seed;
    static char text[60];
    snprintf(text, sizeof text, "seed %llu", (unsigned long long)seed);
    doing = text;
    uint64_t own = seed * 77 + 1;
    for (int i = 0; i < N_MUTEXES; i++) {
        memset(&models[i], 0, sizeof models[i]);
        models[i].kind = (enum kind)(chance(&own) % 4);
        pthread_mutexattr_t attr;
        OK(pthread_mutexattr_init(&attr));
        OK(pthread_mutexattr_settype(&attr, types[models[i].kind]));
        OK(pthread_mutexattr_setpshared(&attr, (int)(chance(&own) % 2)));
        OK(pthread_mutex_init(&models[i].mutex, &attr));
    }
    pthread_t threads[N_THREADS];
    for (long i = 0; i < N_THREADS; i++)
        threads[i] = start(run, (void *)(i + 1));
    for (int i = 0; i < N_THREADS; i++)
        join_soon(threads[i], doing);
    for (int i = 0; i < N_MUTEXES; i++) {
        struct model *model = &models[i];
        int mine = 0;
        int code = pthread_mutex_trylock(&model->mutex);
        EXPECT(code == 0, "trylock at the end", code);
        OK(pthread_mutex_unlock(&model->mutex));
        code = pthread_mutex_destroy(&model->mutex);
        EXPECT(code == 0, "destroy at the end", code);
    }
}

int main(int argc, char **argv)
{
    watchdog();
    if (argc > 1) {
        with_seed(strtoull(argv[1], NULL, 0));
        return 0;
    }
    for (uint64_t seed = 1; seed <= 12; seed++)
        with_seed(seed);
    return 0;
}
