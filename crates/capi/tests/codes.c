/* What each function answers, in each case that the header names.
 *
 * Prints: every answer is as documented
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int CLOCKS[2] = { CLOCK_MONOTONIC, CLOCK_REALTIME };

static ondeck_mutex_t lock = ONDECK_MUTEX_INIT;
static ondeck_cond_t cond = ONDECK_COND_INIT;
static ondeck_rwlock_t table = ONDECK_RWLOCK_INIT;
static ondeck_monitor_t monitor = ONDECK_MONITOR_INIT;
static int n_woken;

static void elsewhere(void *(*function)(void *), void *argument) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, function, argument), 0);
    EXPECT(pthread_join(thread, NULL), 0);
}

/* ---- Deadlines that are none, on whatever takes one ----------------------------------------------------------------- */

static void refuse(int (*attempt)(int clock, const struct timespec *deadline)) {
    struct timespec later = in_ns(CLOCK_MONOTONIC, MS);
    EXPECT(attempt(CLOCK_MONOTONIC, NULL), EINVAL);
    EXPECT(attempt(CLOCK_PROCESS_CPUTIME_ID, &later), EINVAL);
    EXPECT(attempt(-1, &later), EINVAL);
    later.tv_nsec = 1000000000;
    EXPECT(attempt(CLOCK_MONOTONIC, &later), EINVAL);
    later.tv_nsec = -1;
    EXPECT(attempt(CLOCK_REALTIME, &later), EINVAL);
}

/* The deadline comes, at the earliest when it should. */
static void time_out(int (*attempt)(int clock, const struct timespec *deadline)) {
    for (int i = 0; i < 2; i++) {
        struct timespec past = { -5, 0 }, later = in_ns(CLOCKS[i], 5 * MS);
        EXPECT(attempt(CLOCKS[i], &past), ETIMEDOUT);
        EXPECT(attempt(CLOCKS[i], &later), ETIMEDOUT);
        uint64_t end = (uint64_t)later.tv_sec * 1000000000u + (uint64_t)later.tv_nsec;
        EXPECT(now_ns(CLOCKS[i]) >= end, 1);
    }
}

/* ---- Mutex ---------------------------------------------------------------------------------------------------------- */

static int timedlock(int clock, const struct timespec *deadline) {
    return ondeck_mutex_timedlock(&lock, clock, deadline);
}

static void *find_it_taken(void *unused) {
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    EXPECT(ondeck_mutex_trylock(&lock), EBUSY);
    EXPECT(ondeck_mutex_destroy(&lock), EBUSY);
    EXPECT(ondeck_mutex_lock_for(&lock, 0), ETIMEDOUT);
    EXPECT(ondeck_mutex_lock_for(&lock, 5 * MS), ETIMEDOUT);
    EXPECT(now_ns(CLOCK_MONOTONIC) - begin >= 5 * MS, 1);
    time_out(timedlock);
    return unused;
}

static void *wait_for_it(void *unused) {
    EXPECT(ondeck_mutex_lock_for(&lock, UINT64_MAX), 0);
    EXPECT(ondeck_mutex_unlock(&lock), 0);
    return unused;
}

static void mutexes(void) {
    ondeck_mutex_t made;
    memset(&made, 0xa5, sizeof made);
    EXPECT(ondeck_mutex_init(&made), 0);
    EXPECT(ondeck_mutex_trylock(&made), 0);
    EXPECT(ondeck_mutex_unlock_fair(&made), 0);
    EXPECT(ondeck_mutex_destroy(&made), 0);

    refuse(timedlock);
    EXPECT(ondeck_mutex_lock(&lock), 0);
    refuse(timedlock);
    elsewhere(find_it_taken, NULL);
    EXPECT(ondeck_mutex_unlock(&lock), 0);
    for (int i = 0; i < 2; i++) {
        struct timespec past = { -5, 0 };
        EXPECT(timedlock(CLOCKS[i], &past), 0);
        EXPECT(ondeck_mutex_unlock(&lock), 0);
    }
    EXPECT(ondeck_mutex_lock_for(&lock, 0), 0);
    pthread_t waiter;
    EXPECT(pthread_create(&waiter, NULL, wait_for_it, NULL), 0);
    sleep_ns(5 * MS);
    EXPECT(ondeck_mutex_unlock_fair(&lock), 0);
    EXPECT(pthread_join(waiter, NULL), 0);
    EXPECT(ondeck_mutex_destroy(&lock), 0);
}

/* ---- Condition variable --------------------------------------------------------------------------------------------- */

static int timedwait(int clock, const struct timespec *deadline) {
    return ondeck_cond_timedwait(&cond, &lock, clock, deadline);
}

static void *wait_three_ways(void *how) {
    struct timespec later = in_ns(CLOCK_REALTIME, 100000 * MS);
    EXPECT(ondeck_mutex_lock(&lock), 0);
    if (how == NULL)
        EXPECT(ondeck_cond_wait(&cond, &lock), 0);
    else if (*(const char *)how == 'f')
        EXPECT(ondeck_cond_wait_for(&cond, &lock, UINT64_MAX), 0);
    else
        EXPECT(timedwait(CLOCK_REALTIME, &later), 0);
    n_woken++;
    EXPECT(ondeck_mutex_trylock(&lock), EBUSY);
    EXPECT(ondeck_mutex_unlock(&lock), 0);
    return NULL;
}

static int n_awake(void) {
    EXPECT(ondeck_mutex_lock(&lock), 0);
    int n = n_woken;
    EXPECT(ondeck_mutex_unlock(&lock), 0);
    return n;
}

static void conds(void) {
    static char how[2] = { 'f', 'u' };
    pthread_t waiters[3];
    ondeck_cond_t made;
    memset(&made, 0xa5, sizeof made);
    EXPECT(ondeck_cond_init(&made), 0);
    EXPECT(ondeck_cond_signal(&made), 0);
    EXPECT(ondeck_cond_broadcast(&made), 0);
    EXPECT(ondeck_cond_destroy(&made), 0);

    EXPECT(ondeck_mutex_lock(&lock), 0);
    refuse(timedwait);
    time_out(timedwait);
    EXPECT(ondeck_cond_wait_for(&cond, &lock, 0), ETIMEDOUT);
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    EXPECT(ondeck_cond_wait_for(&cond, &lock, 5 * MS), ETIMEDOUT);
    EXPECT(now_ns(CLOCK_MONOTONIC) - begin >= 5 * MS, 1);
    EXPECT(ondeck_mutex_unlock(&lock), 0);

    for (int i = 0; i < 3; i++)
        EXPECT(pthread_create(&waiters[i], NULL, wait_three_ways, i == 0 ? NULL : &how[i - 1]), 0);
    sleep_ns(20 * MS);
    EXPECT(n_awake(), 0);
    /* One signal wakes one; who has not begun to wait by now is late, so it is repeated. */
    while (n_awake() == 0) {
        EXPECT(ondeck_cond_signal(&cond), 0);
        sleep_ns(5 * MS);
    }
    while (n_awake() < 3) {
        EXPECT(ondeck_cond_broadcast(&cond), 0);
        sleep_ns(5 * MS);
    }
    for (int i = 0; i < 3; i++)
        EXPECT(pthread_join(waiters[i], NULL), 0);
    EXPECT(ondeck_cond_destroy(&cond), 0);
}

/* ---- Reader-writer lock --------------------------------------------------------------------------------------------- */

static int timedrdlock(int clock, const struct timespec *deadline) {
    return ondeck_rwlock_timedrdlock(&table, clock, deadline);
}

static int timedwrlock(int clock, const struct timespec *deadline) {
    return ondeck_rwlock_timedwrlock(&table, clock, deadline);
}

static void *find_it_in_use(void *is_written) {
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    EXPECT(ondeck_rwlock_trywrlock(&table), EBUSY);
    EXPECT(ondeck_rwlock_destroy(&table), EBUSY);
    EXPECT(ondeck_rwlock_wrlock_for(&table, 5 * MS), ETIMEDOUT);
    EXPECT(now_ns(CLOCK_MONOTONIC) - begin >= 5 * MS, 1);
    time_out(timedwrlock);
    begin = now_ns(CLOCK_MONOTONIC);
    if (is_written != NULL) {
        EXPECT(ondeck_rwlock_tryrdlock(&table), EBUSY);
        EXPECT(ondeck_rwlock_rdlock_for(&table, 5 * MS), ETIMEDOUT);
        EXPECT(now_ns(CLOCK_MONOTONIC) - begin >= 5 * MS, 1);
        time_out(timedrdlock);
        return NULL;
    }
    struct timespec past = { -5, 0 };
    EXPECT(ondeck_rwlock_rdlock(&table), 0);
    EXPECT(ondeck_rwlock_tryrdlock(&table), 0);
    EXPECT(ondeck_rwlock_rdlock_for(&table, 0), 0);
    EXPECT(timedrdlock(CLOCK_REALTIME, &past), 0);
    for (int i = 0; i < 4; i++)
        EXPECT(ondeck_rwlock_rdunlock(&table), 0);
    return NULL;
}

static void *wait_to_write(void *unused) {
    EXPECT(ondeck_rwlock_wrlock_for(&table, UINT64_MAX), 0);
    EXPECT(ondeck_rwlock_wrunlock(&table), 0);
    return unused;
}

static void rwlocks(void) {
    pthread_t writer;
    struct timespec past = { -5, 0 };
    ondeck_rwlock_t made;
    memset(&made, 0xa5, sizeof made);
    EXPECT(ondeck_rwlock_init(&made), 0);
    EXPECT(ondeck_rwlock_trywrlock(&made), 0);
    EXPECT(ondeck_rwlock_wrunlock(&made), 0);
    EXPECT(ondeck_rwlock_destroy(&made), 0);

    EXPECT(ondeck_rwlock_rdlock(&table), 0);
    refuse(timedrdlock);
    refuse(timedwrlock);
    elsewhere(find_it_in_use, NULL);
    /* A writer that waits holds new readers up, but no sooner than it has come. */
    EXPECT(pthread_create(&writer, NULL, wait_to_write, NULL), 0);
    while (ondeck_rwlock_tryrdlock(&table) == 0) {
        EXPECT(ondeck_rwlock_rdunlock(&table), 0);
        sleep_ns(MS);
    }
    EXPECT(ondeck_rwlock_rdlock_for(&table, MS), ETIMEDOUT);
    EXPECT(ondeck_rwlock_rdunlock(&table), 0);
    EXPECT(pthread_join(writer, NULL), 0);
    EXPECT(ondeck_rwlock_destroy(&table), 0);

    EXPECT(timedwrlock(CLOCK_REALTIME, &past), 0);
    elsewhere(find_it_in_use, &table);
    EXPECT(ondeck_rwlock_downgrade(&table), 0);
    elsewhere(find_it_in_use, NULL);
    EXPECT(ondeck_rwlock_rdunlock(&table), 0);
    EXPECT(ondeck_rwlock_wrlock(&table), 0);
    EXPECT(ondeck_rwlock_wrunlock(&table), 0);
    EXPECT(ondeck_rwlock_destroy(&table), 0);
}

/* ---- Monitor -------------------------------------------------------------------------------------------------------- */

static void *find_it_entered(void *unused) {
    EXPECT(ondeck_monitor_try_enter(&monitor), EBUSY);
    EXPECT(ondeck_monitor_enter_for(&monitor, 5 * MS), ETIMEDOUT);
    EXPECT(ondeck_monitor_exit(&monitor), EPERM);
    EXPECT(ondeck_monitor_wait(&monitor), EPERM);
    EXPECT(ondeck_monitor_wait_for(&monitor, 5 * MS), EPERM);
    EXPECT(ondeck_monitor_pulse(&monitor), EPERM);
    EXPECT(ondeck_monitor_pulse_all(&monitor), EPERM);
    EXPECT(ondeck_monitor_destroy(&monitor), EBUSY);
    return unused;
}

static void *wait_for_pulse(void *unused) {
    EXPECT(ondeck_monitor_enter(&monitor), 0);
    EXPECT(ondeck_monitor_enter(&monitor), 0);
    EXPECT(ondeck_monitor_wait(&monitor), 0);
    n_woken++;
    EXPECT(ondeck_monitor_wait_for(&monitor, UINT64_MAX), 0);
    n_woken++;
    EXPECT(ondeck_monitor_exit(&monitor), 0);
    EXPECT(ondeck_monitor_exit(&monitor), 0);
    return unused;
}

static void pulse_until(int n, int (*pulse)(ondeck_monitor_t *)) {
    for (;;) {
        EXPECT(ondeck_monitor_enter_for(&monitor, UINT64_MAX), 0);
        int is_done = n_woken >= n;
        if (!is_done)
            EXPECT(pulse(&monitor), 0);
        EXPECT(ondeck_monitor_exit(&monitor), 0);
        if (is_done)
            return;
        sleep_ns(2 * MS);
    }
}

static void monitors(void) {
    ondeck_monitor_t made;
    memset(&made, 0xa5, sizeof made);
    EXPECT(ondeck_monitor_init(&made), 0);
    EXPECT(ondeck_monitor_exit(&made), EPERM);
    EXPECT(ondeck_monitor_destroy(&made), 0);

    for (int level = 0; level < 20; level++)
        EXPECT(level % 2 ? ondeck_monitor_enter(&monitor) : ondeck_monitor_try_enter(&monitor), 0);
    elsewhere(find_it_entered, NULL);
    EXPECT(ondeck_monitor_destroy(&monitor), EBUSY);
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    EXPECT(ondeck_monitor_wait_for(&monitor, 5 * MS), ETIMEDOUT);
    EXPECT(now_ns(CLOCK_MONOTONIC) - begin >= 5 * MS, 1);
    for (int level = 0; level < 20; level++)
        EXPECT(ondeck_monitor_exit(&monitor), 0);
    elsewhere(wait_for_it, NULL);
    EXPECT(ondeck_monitor_exit(&monitor), EPERM);

    pthread_t waiter;
    n_woken = 0;
    EXPECT(pthread_create(&waiter, NULL, wait_for_pulse, NULL), 0);
    pulse_until(1, ondeck_monitor_pulse);
    pulse_until(2, ondeck_monitor_pulse_all);
    EXPECT(pthread_join(waiter, NULL), 0);
    EXPECT(ondeck_monitor_destroy(&monitor), 0);
    EXPECT(ondeck_monitor_enter(&monitor), 0);
    EXPECT(ondeck_monitor_exit(&monitor), 0);
}

/* ---- Misuse that is seen --------------------------------------------------------------------------------------------- */

static void unlock_free(void) { ondeck_mutex_unlock(&lock); }
static void unlock_fair_free(void) { ondeck_mutex_unlock_fair(&lock); }
static void wait_free(void) { ondeck_cond_wait(&cond, &lock); }
static void wait_for_free(void) { ondeck_cond_wait_for(&cond, &lock, 1); }
static void timedwait_free(void) {
    struct timespec later = in_ns(CLOCK_MONOTONIC, MS);
    timedwait(CLOCK_MONOTONIC, &later);
}
static void rdunlock_free(void) { ondeck_rwlock_rdunlock(&table); }
static void wrunlock_free(void) { ondeck_rwlock_wrunlock(&table); }
static void downgrade_free(void) { ondeck_rwlock_downgrade(&table); }
static void rdunlock_written(void) {
    ondeck_rwlock_wrlock(&table);
    ondeck_rwlock_rdunlock(&table);
}
static void wrunlock_read(void) {
    ondeck_rwlock_rdlock(&table);
    ondeck_rwlock_wrunlock(&table);
}
static void read_too_often(void) {
    for (int i = 0; i <= 655360; i++)
        ondeck_rwlock_rdlock(&table);
    /* If readers count themselves by core, the writer finds them. */
    ondeck_rwlock_wrlock(&table);
}

/* In a child, which has to end by abort and to say why. */
static void dies(void (*misuse)(void), const char *why) {
    int ends[2], status;
    char said[2000] = "";
    EXPECT(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        misuse();
        _exit(0);
    }
    close(ends[1]);
    EXPECT(waitpid(child, &status, 0), child);
    EXPECT(read(ends[0], said, sizeof said - 1) > 0, 1);
    close(ends[0]);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, 1);
    EXPECT(strstr(said, why) != NULL, 1);
}

int main(void) {
    void (*misuses[])(void) = { unlock_free,   unlock_fair_free, wait_free,      wait_for_free,    timedwait_free,
                                rdunlock_free, wrunlock_free,    downgrade_free, rdunlock_written, wrunlock_read };
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++)
        dies(misuses[i], "nobody holds");
    dies(read_too_often, "524288 readers");
    EXPECT(sizeof(ondeck_mutex_t), 8);
    EXPECT(sizeof(ondeck_cond_t), 16);
    EXPECT(sizeof(ondeck_rwlock_t), 16);
    EXPECT(sizeof(ondeck_monitor_t), 32);
    EXPECT(strchr(ondeck_version(), '.') != NULL, 1);
    errno = 77;
    mutexes();
    conds();
    rwlocks();
    monitors();
    EXPECT(errno, 77);
    puts("every answer is as documented");
    return 0;
}
