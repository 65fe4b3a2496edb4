// Random calls by several threads against a model, which says what each call may answer: mutexes of all kinds, waits on
// condition variables with and without deadlines, mutexes that are destroyed by whoever leaves last and whose memory is used
// again. Meanwhile threads fork, and are cancelled (even seeds) or get signals whose handler locks (odd ones).
//
//   random_ops                12 seeds
//   random_ops SEED           this seed alone: each failure says its own
//   random_ops --seconds N    seed after seed for so long, from one that the clock gives
#include "check.h"

#define N_THREADS 4
#define N_MUTEXES 3
#define N_CALLS 3000

enum kind { NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE };

// Who holds it and how often. Written by the holder alone, right after it got it and right before it gives it up: so for
// the holder it is exact, and for anybody else it says at least whether they are the holder.
struct model {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    clockid_t cond_clock;
    enum kind kind;
    int owner, count, n_inside;
};

// A thread in its place. The thread itself and who reads it use atomic operations.
struct worker {
    pthread_t thread;
    int me, n_calls, is_over;
};

static struct model models[N_MUTEXES];
static struct worker workers[N_THREADS];
static uint64_t seed_of_all;
static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                            PTHREAD_MUTEX_ADAPTIVE_NP};

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

static void gives_up(struct model *model)
{
    if (--model->count == 0) {
        __atomic_store_n(&model->owner, 0, __ATOMIC_RELAXED);
        __atomic_sub_fetch(&model->n_inside, 1, __ATOMIC_RELAXED);
    }
}

static void release(struct model *model, int me)
{
    int mine = is_mine(model, me), code;
    if (mine) {
        gives_up(model);
        code = pthread_mutex_unlock(&model->mutex);
        EXPECT(code == 0, "unlock", code);
    } else if (model->kind == RECURSIVE || model->kind == ERRORCHECK) {
        code = pthread_mutex_unlock(&model->mutex);
        EXPECT(code == EPERM, "unlock by another", code);
    }
}

// ---- waits on condition variables

struct wait {
    struct model *model;
    int me;
};

// A cancelled waiter has the mutex when its handlers run.
static void is_cancelled(void *argument)
{
    struct wait *wait = argument;
    got(wait->model, wait->me, 0);
}

// A wait without a deadline ends as the main thread notifies all again and again.
static int waits(struct wait *wait, int how, clockid_t clock, const struct timespec *end)
{
    struct model *model = wait->model;
    int code;
    pthread_cleanup_push(is_cancelled, wait);
    if (how == 0)
        code = pthread_cond_wait(&model->cond, &model->mutex);
    else if (how == 1)
        code = pthread_cond_timedwait(&model->cond, &model->mutex, end);
    else
        code = pthread_cond_clockwait(&model->cond, &model->mutex, clock, end);
    pthread_cleanup_pop(0);
    return code;
}

static void wait_on(struct model *model, int me, int which, uint64_t *seed)
{
    int mine = is_mine(model, me), how = (int)(chance(seed) % 3);
    clockid_t clock = how == 1 ? model->cond_clock : chance(seed) % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec end = in_ns(clock, chance(seed) % 4 ? chance(seed) % 60000 : -SECOND);
    struct wait wait = {model, me};
    if (!mine && (model->kind == RECURSIVE || model->kind == ERRORCHECK)) {
        int code = pthread_cond_timedwait(&model->cond, &model->mutex, &end);
        EXPECT(code == EPERM, "wait without the mutex", code);
    }
    // It ends with a lock that has no deadline, so the order of the mutexes counts for it too.
    if (!mine || model->count != 1 || !may_wait(me, which + 1))
        return;
    gives_up(model);
    int code = waits(&wait, how, clock, &end);
    got(model, me, 0);
    EXPECT(code == 0 || (how != 0 && code == ETIMEDOUT), "a wait", code);
    if (code == ETIMEDOUT)
        EXPECT(now_ns(clock) >= ns_of(&end), "an early wait", code);
}

static void notify(struct model *model, uint64_t *seed)
{
    if (chance(seed) % 2)
        OK(pthread_cond_signal(&model->cond));
    else
        OK(pthread_cond_broadcast(&model->cond));
}

// ---- mutexes that end

// Two threads use it, each once. Who leaves last destroys it, while the other may still be on its way out of its unlock.
struct life {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int n_users;
};

static struct life *mailboxes[N_THREADS];

static struct life *new_life(uint64_t *seed)
{
    struct life *life = malloc(sizeof *life);
    CHECK(life != NULL);
    memset(life, 0xa5, sizeof *life);
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, types[chance(seed) % 4]));
    OK(pthread_mutex_init(&life->mutex, &attr));
    OK(pthread_cond_init(&life->cond, NULL));
    life->n_users = 2;
    return life;
}

// With the mutex: says that it leaves, and lets go.
static void goes(void *argument)
{
    struct life *life = argument;
    int is_last = --life->n_users == 0;
    if (!is_last)
        OK(pthread_cond_signal(&life->cond));
    OK(pthread_mutex_unlock(&life->mutex));
    if (is_last) {
        OK(pthread_cond_destroy(&life->cond));
        OK(pthread_mutex_destroy(&life->mutex));
        memset(life, 0xa5, sizeof *life);
        free(life);
    }
}

// Waits for the other one to leave, but not for long. Whoever is cancelled then leaves too.
static void leave(struct life *life, int64_t wait_ns)
{
    struct timespec end = in_ns(CLOCK_REALTIME, wait_ns);
    OK(pthread_mutex_lock(&life->mutex));
    pthread_cleanup_push(goes, life);
    int code = 0;
    while (life->n_users == 2 && wait_ns > 0 && code == 0)
        code = pthread_cond_timedwait(&life->cond, &life->mutex, &end);
    CHECK(code == 0 || code == ETIMEDOUT);
    pthread_cleanup_pop(1);
}

static void live(int me, uint64_t *seed)
{
    struct life *found = __atomic_exchange_n(&mailboxes[me - 1], NULL, __ATOMIC_ACQ_REL);
    if (found)
        return leave(found, 0);
    struct life *life = new_life(seed);
    struct life *forgotten = __atomic_exchange_n(&mailboxes[chance(seed) % N_THREADS], life, __ATOMIC_ACQ_REL);
    if (forgotten)
        leave(forgotten, 0);
    leave(life, chance(seed) % 100000);
}

// ---- forks

// In the child the only thread has what it had. What others had stays locked. glibc does not let the child unlock what knows
// its owner, as the owner's number has changed.
static void is_child(int me)
{
    watchdog();
    doing = "the child of a fork";
    for (int i = 0; i < N_MUTEXES; i++) {
        struct model *model = &models[i];
        int mine = is_mine(model, me), code = 0;
        int knows_owner = model->kind == RECURSIVE || model->kind == ERRORCHECK;
        for (int n = mine ? model->count : 0; n > 0 && code == 0; n--) {
            code = pthread_mutex_unlock(&model->mutex);
            EXPECT(code == 0 || (knows_owner && code == EPERM), "unlock in the child", code);
        }
        int is_free = mine && code == 0;
        struct timespec end = in_ns(CLOCK_REALTIME, 20000);
        code = i % 2 ? pthread_mutex_trylock(&model->mutex) : pthread_mutex_timedlock(&model->mutex, &end);
        EXPECT(code == 0 || (!is_free && code == (i % 2 ? EBUSY : ETIMEDOUT)), "a lock in the child", code);
        if (code == 0)
            OK(pthread_mutex_unlock(&model->mutex));
    }
    _exit(0);
}

// `waitpid` would be a cancellation point.
static void forks(int me)
{
    int status = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        is_child(me);
    while (syscall(SYS_wait4, child, &status, 0, NULL) < 0)
        CHECK(errno == EINTR);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// ---- signals

static pthread_mutex_t handlers_mutex;
static int n_in_handler;

// Only handlers have this mutex, and no other handler comes meanwhile in the same thread.
static void handler(int number)
{
    (void)number;
    int code = errno;
    OK(pthread_mutex_lock(&handlers_mutex));
    CHECK(++n_in_handler == 1);
    n_in_handler--;
    OK(pthread_mutex_unlock(&handlers_mutex));
    errno = code;
}

// ---- the threads

static void ends(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < N_MUTEXES; i++)
        while (is_mine(&models[i], worker->me))
            release(&models[i], worker->me);
    __atomic_store_n(&worker->is_over, 1, __ATOMIC_RELEASE);
}

static void step(struct worker *worker, uint64_t *seed)
{
    int me = worker->me, which = (int)(chance(seed) % N_MUTEXES);
    struct model *model = &models[which];
    int mine = is_mine(model, me);
    uint32_t what = chance(seed) % 64;
    if (what < 26) {
        acquire(model, me, which, seed);
    } else if (what < 50) {
        release(model, me);
    } else if (what < 54) {
        wait_on(model, me, which, seed);
    } else if (what < 57) {
        notify(model, seed);
    } else if (what < 60 && mine) {
        int code = pthread_mutex_destroy(&model->mutex);
        EXPECT(code == EBUSY, "destroy", code);
    } else if (what < 62) {
        live(me, seed);
    } else if (chance(seed) % 64 == 0) {
        sched_yield();
    } else if (chance(seed) % 256 == 0) {
        forks(me);
    }
}

static void *run(void *argument)
{
    struct worker *worker = argument;
    pthread_cleanup_push(ends, worker);
    uint64_t seed = seed_of_all * 0x9e3779b97f4a7c15u + (uint64_t)(worker->me + 1000 * worker->n_calls);
    while (--worker->n_calls >= 0)
        step(worker, &seed);
    pthread_cleanup_pop(1);
    return NULL;
}

// Until all have done their calls: notifies, and sends signals or cancels. Not both: glibc makes cancellation asynchronous in a
// wait, and so a handler that interrupts one can be cancelled anywhere, even if it has disabled that: the canceller may have
// looked before. The place of a thread that was cancelled is taken again.
static void disturb(uint64_t *seed)
{
    int n_left = N_THREADS;
    while (n_left > 0) {
        sleep_ns(chance(seed) % 100000);
        for (int i = 0; i < N_MUTEXES; i++)
            OK(pthread_cond_broadcast(&models[i].cond));
        struct worker *worker = &workers[chance(seed) % N_THREADS];
        if (!worker->thread)
            continue;
        if (__atomic_load_n(&worker->is_over, __ATOMIC_ACQUIRE)) {
            void *result = join_soon(worker->thread, doing);
            int is_done = worker->n_calls < 0;
            CHECK(result == (is_done ? NULL : PTHREAD_CANCELED));
            worker->is_over = 0;
            worker->thread = is_done ? 0 : start(run, worker);
            n_left -= is_done;
        } else {
            if (seed_of_all % 2)
                OK(pthread_kill(worker->thread, SIGUSR1));
            else if (chance(seed) % 16 == 0)
                OK(pthread_cancel(worker->thread));
        }
    }
}

static void make(struct model *model, uint64_t *seed)
{
    memset(model, 0, sizeof *model);
    model->kind = (enum kind)(chance(seed) % 4);
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, types[model->kind]));
    OK(pthread_mutexattr_setpshared(&attr, (int)(chance(seed) % 2)));
    OK(pthread_mutex_init(&model->mutex, &attr));
    model->cond_clock = chance(seed) % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    pthread_condattr_t cond_attr;
    OK(pthread_condattr_init(&cond_attr));
    OK(pthread_condattr_setclock(&cond_attr, model->cond_clock));
    OK(pthread_condattr_setpshared(&cond_attr, (int)(chance(seed) % 2)));
    OK(pthread_cond_init(&model->cond, &cond_attr));
}

static void end(struct model *model)
{
    int mine = 0;
    int code = pthread_mutex_trylock(&model->mutex);
    EXPECT(code == 0, "trylock at the end", code);
    OK(pthread_mutex_unlock(&model->mutex));
    code = pthread_mutex_destroy(&model->mutex);
    EXPECT(code == 0, "destroy at the end", code);
    OK(pthread_cond_destroy(&model->cond));
}

static void with_seed(uint64_t seed)
{
    watchdog();
    seed_of_all = seed;
    static char text[60];
    snprintf(text, sizeof text, "seed %llu", (unsigned long long)seed);
    doing = text;
    uint64_t own = seed * 77 + 1;
    OK(pthread_mutex_init(&handlers_mutex, NULL));
    for (int i = 0; i < N_MUTEXES; i++)
        make(&models[i], &own);
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker){.me = i + 1, .n_calls = N_CALLS};
        workers[i].thread = start(run, &workers[i]);
    }
    disturb(&own);
    for (int i = 0; i < N_MUTEXES; i++)
        end(&models[i]);
    for (int i = 0; i < N_THREADS; i++) {
        struct life *left = mailboxes[i];
        mailboxes[i] = NULL;
        if (left)
            leave(left, 0);
    }
    OK(pthread_mutex_destroy(&handlers_mutex));
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    int is_timed = argc > 2 && strcmp(argv[1], "--seconds") == 0;
    if (argc > 1 && !is_timed) {
        with_seed(strtoull(argv[1], NULL, 0));
        return 0;
    }
    int64_t last = now_ns(CLOCK_MONOTONIC) + (is_timed ? atoll(argv[2]) * SECOND : 0);
    uint64_t seed = is_timed ? (uint64_t)now_ns(CLOCK_REALTIME) : 1;
    for (int n = 0; is_timed ? now_ns(CLOCK_MONOTONIC) < last : n < 12; n++)
        with_seed(seed++);
    return 0;
}
