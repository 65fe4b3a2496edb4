// Waits with a deadline: never early on their own clock, not hung, and what is answered for times that are past, wrong,
// negative, centuries away, or not there at all.
#include "check.h"

enum call { TIMEDLOCK, CLOCKLOCK, TIMEDWAIT, CLOCKWAIT, N_CALLS };

static const char *const names[] = {"timedlock", "clocklock", "cond_timedwait", "cond_clockwait"};

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t conds[2];

// Waits for what does not come, by one of the calls on one of the clocks.
static int wait_until(enum call call, clockid_t clock, const struct timespec *end)
{
    switch (call) {
    case TIMEDLOCK:
        return pthread_mutex_timedlock(&taken, end);
    case CLOCKLOCK:
        return pthread_mutex_clocklock(&taken, clock, end);
    case TIMEDWAIT:
        return pthread_cond_timedwait(&conds[clock == CLOCK_MONOTONIC], &mine, end);
    default:
        // The clock of the call counts, not the one of the condition variable: take the other one's.
        return pthread_cond_clockwait(&conds[clock != CLOCK_MONOTONIC], &mine, clock, end);
    }
}

static int is_cond(enum call call)
{
    return call == TIMEDWAIT || call == CLOCKWAIT;
}

static void still_mine(enum call call)
{
    if (is_cond(call))
        GIVES(pthread_mutex_trylock(&mine), EBUSY);
}

static void never_early(enum call call, clockid_t clock, int64_t ns)
{
    for (;;) {
        struct timespec end = in_ns(clock, ns);
        int code = wait_until(call, clock, &end);
        int64_t late = now_ns(clock) - ns_of(&end);
        still_mine(call);
        // Condition variables may wake spuriously, and then nothing is to be seen.
        if (is_cond(call) && code == 0)
            continue;
        if (code != ETIMEDOUT)
            FAIL("%s: %s and not ETIMEDOUT", names[call], code_name(code));
        if (late < 0)
            FAIL("%s: %lld ns early", names[call], (long long)-late);
        if (late > LATEST)
            FAIL("%s: %lld ms late", names[call], (long long)(late / MS));
        return;
    }
}

static void past(enum call call, clockid_t clock)
{
    struct timespec end = in_ns(clock, -SECOND);
    GIVES(wait_until(call, clock, &end), ETIMEDOUT);
    end = to_timespec(0);
    GIVES(wait_until(call, clock, &end), ETIMEDOUT);
    end.tv_sec = -1;
    end.tv_nsec = 500;
    GIVES(wait_until(call, clock, &end), ETIMEDOUT);
    end.tv_sec = (time_t)INT64_MIN;
    GIVES(wait_until(call, clock, &end), ETIMEDOUT);
    still_mine(call);
}

static void wrong(enum call call, clockid_t clock)
{
    static const long wrong_ns[] = {-1, 1000000000, LONG_MAX, LONG_MIN};
    for (int i = 0; i < 4; i++) {
        struct timespec end = in_ns(clock, 50 * SECOND);
        end.tv_nsec = wrong_ns[i];
        GIVES(wait_until(call, clock, &end), EINVAL);
        // Wrong and past at once is wrong.
        end.tv_sec = 0;
        GIVES(wait_until(call, clock, &end), EINVAL);
    }
    if (call == CLOCKLOCK || call == CLOCKWAIT) {
        static const clockid_t clocks[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW,
                                           CLOCK_BOOTTIME, 4711, -1};
        for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
            struct timespec end = in_ns(CLOCK_MONOTONIC, 50 * SECOND);
            GIVES(wait_until(call, clocks[i], &end), EINVAL);
        }
    }
    still_mine(call);
}

static void *hold(void *argument)
{
    sem_t *sems = argument;
    OK(pthread_mutex_lock(&taken));
    sem_post(&sems[0]);
    while (sem_wait(&sems[1]) != 0) {
    }
    OK(pthread_mutex_unlock(&taken));
    return NULL;
}

struct far {
    enum call call;
    clockid_t clock;
    struct timespec end;
    int id, is_over;
};

static pthread_mutex_t far_taken = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t far_cond = PTHREAD_COND_INITIALIZER;

static void *wait_far(void *argument)
{
    struct far *far = argument;
    __atomic_store_n(&far->id, thread_id(), __ATOMIC_RELEASE);
    if (far->call == TIMEDLOCK)
        OK(pthread_mutex_timedlock(&far_taken, &far->end));
    else if (far->call == CLOCKLOCK)
        OK(pthread_mutex_clocklock(&far_taken, far->clock, &far->end));
    else
        OK(pthread_mutex_lock(&far_taken));
    while (is_cond(far->call) && !far->is_over) {
        if (far->call == TIMEDWAIT)
            OK(pthread_cond_timedwait(&far_cond, &far_taken, &far->end));
        else
            OK(pthread_cond_clockwait(&far_cond, &far_taken, far->clock, &far->end));
    }
    OK(pthread_mutex_unlock(&far_taken));
    return NULL;
}

// Centuries away, and as far as the kernel's own times go: waits, and is woken as usual.
static void far_away(enum call call, clockid_t clock, int64_t seconds)
{
    struct far far = {.call = call, .clock = clock};
    far.end.tv_sec = (time_t)seconds;
    far.end.tv_nsec = 999999999;
    if (!is_cond(call))
        OK(pthread_mutex_lock(&far_taken));
    pthread_t thread = start(wait_far, &far);
    until_asleep(&far.id);
    if (is_cond(call))
        OK(pthread_mutex_lock(&far_taken));
    far.is_over = 1;
    OK(pthread_cond_broadcast(&far_cond));
    OK(pthread_mutex_unlock(&far_taken));
    join_soon(thread, "a wait until far in the future, woken");
}

// The headers forbid it. The C library takes the null of a reader-writer lock for no deadline, and looks at that of a mutex only
// if it has to wait.
static void without_a_deadline(void)
{
    const struct timespec *volatile none = NULL;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    OK(pthread_rwlock_timedrdlock(&lock, none));
    OK(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, none));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_timedwrlock(&lock, none));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, none));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_mutex_timedlock(&taken, none));
    OK(pthread_mutex_unlock(&taken));
}

int main(void)
{
    watchdog();
    pthread_condattr_t attr;
    OK(pthread_condattr_init(&attr));
    OK(pthread_cond_init(&conds[0], &attr));
    OK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    OK(pthread_cond_init(&conds[1], &attr));

    sem_t sems[2];
    sem_init(&sems[0], 0, 0);
    sem_init(&sems[1], 0, 0);
    pthread_t holder = start(hold, sems);
    while (sem_wait(&sems[0]) != 0) {
    }
    OK(pthread_mutex_lock(&mine));
    for (enum call call = 0; call < N_CALLS; call++) {
        for (int i = 0; i < 2; i++) {
            clockid_t clock = i ? CLOCK_MONOTONIC : CLOCK_REALTIME;
            if (call == TIMEDLOCK && clock == CLOCK_MONOTONIC)
                continue;
            doing = names[call];
            for (int64_t ns = 1000; ns < 40 * MS; ns *= 4)
                never_early(call, clock, ns);
            past(call, clock);
            wrong(call, clock);
            far_away(call, clock, 20000000000);
            far_away(call, clock, INT64_MAX / SECOND);
            far_away(call, clock, INT64_MAX);
        }
    }
    sem_post(&sems[1]);
    join(holder);
    OK(pthread_mutex_unlock(&mine));

    doing = "a deadline that is not there";
    without_a_deadline();
    // Each word is whole after all that.
    OK(pthread_mutex_trylock(&taken));
    OK(pthread_mutex_unlock(&taken));
    OK(pthread_mutex_destroy(&taken));
    OK(pthread_mutex_destroy(&mine));
    OK(pthread_cond_destroy(&conds[0]));
    OK(pthread_cond_destroy(&conds[1]));
    return 0;
}
