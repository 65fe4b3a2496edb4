// A program whose clocks tell another time than the kernel's, as tests have them that fake the time: it starts, and waits with a
// deadline last as long as that clock says, or for what passes in truth where it stands. (The C library gives such a deadline to
// the kernel as it is, so with it they end at once or never; who stands in for it can do better.)
// variant: stands -DSTANDS
// variant: ahead -DAHEAD
// variant: locks -DLOCKS
#include "check.h"

#define DAY 86400

static int64_t true_ns(void)
{
    struct timespec at;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &at);
    return at.tv_sec * SECOND + at.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
#if defined STANDS
    *at = (struct timespec){clock == CLOCK_REALTIME ? 1000000000 : 1000, 0};
    return 0;
#elif defined AHEAD
    int result = (int)syscall(SYS_clock_gettime, clock, at);
    at->tv_sec += 10 * DAY;
    return result;
#else
#ifdef LOCKS
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&mutex));
#endif
    int result = (int)syscall(SYS_clock_gettime, clock, at);
    at->tv_sec -= 10 * DAY;
#ifdef LOCKS
    OK(pthread_mutex_unlock(&mutex));
#endif
    return result;
#endif
}

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

enum { TIMEDLOCK, CLOCKLOCK, TIMEDWAIT, CLOCKWAIT, N_CALLS };

static int wait_by(int call, const struct timespec *real, const struct timespec *monotonic)
{
    switch (call) {
    case TIMEDLOCK:
        return pthread_mutex_timedlock(&taken, real);
    case CLOCKLOCK:
        return pthread_mutex_clocklock(&taken, CLOCK_MONOTONIC, monotonic);
    case TIMEDWAIT:
        return pthread_cond_timedwait(&never, &mine, real);
    default:
        return pthread_cond_clockwait(&never, &mine, CLOCK_MONOTONIC, monotonic);
    }
}

static struct timespec in_fake_ns(clockid_t clock, int64_t ns)
{
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_sec += ns / SECOND;
    at.tv_nsec += ns % SECOND;
    if (at.tv_nsec >= SECOND)
        at.tv_sec++, at.tv_nsec -= SECOND;
    return at;
}

static void *wait_all(void *unused)
{
    const int64_t length = 30 * MS;
    for (int call = 0; call < N_CALLS; call++) {
        int64_t before = true_ns();
        struct timespec real = in_fake_ns(CLOCK_REALTIME, length), monotonic = in_fake_ns(CLOCK_MONOTONIC, length);
        OK(pthread_mutex_lock(&mine));
        int code = wait_by(call, &real, &monotonic);
        OK(pthread_mutex_unlock(&mine));
        int64_t took = true_ns() - before;
        if (code != ETIMEDOUT)
            FAIL("call %d: %s", call, code_name(code));
        if (took < length || took > LATEST)
            FAIL("call %d took %lld us of %lld", call, (long long)(took / 1000), (long long)(length / 1000));
        struct timespec past = in_fake_ns(CLOCK_REALTIME, 0), at_first = {0, 0};
        past.tv_sec--;
        OK(pthread_mutex_lock(&mine));
        if (call != CLOCKLOCK && call != CLOCKWAIT)
            GIVES(wait_by(call, &past, &at_first), ETIMEDOUT);
        OK(pthread_mutex_unlock(&mine));
    }
    return unused;
}

int main(void)
{
    watchdog();
    OK(pthread_mutex_lock(&taken));
    // Recorded only, the C library itself waits.
    const char *lock = getenv("ONDECK_LOCK");
    if (is_preloaded() && !(lock && strcmp(lock, "glibc") == 0))
        join(start(wait_all, NULL));
    OK(pthread_mutex_unlock(&taken));
    return 0;
}
