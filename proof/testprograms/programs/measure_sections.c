/* How long a program holds its mutexes and stays away from them: preloaded, with ONDECK_SECTIONS=FILE in the environment.
 *
 * Stands before glibc's functions and calls them. At the end of each process, and when it gets SIGUSR2, FILE.PID has a line for
 * each of the five mutexes whose mean section, times acquisitions, is longest, of those that several threads take often.
 *
 * A section lasts from the return of one function that acquires to the call of the next one that releases, condition
 * variables' waits among them; a thread is outside from the return of unlock to its next attempt, so neither has a wait in it.
 * Both are means of all but the longest hundredth. After a condition variable's wait nothing is known of the time outside.
 *
 * What the measuring itself costs where a thread takes other mutexes meanwhile is known from a try at the beginning, and left
 * out. All threads run on one CPU, so that nobody waits for a cache line of another one: what that costs depends on the
 * machine, and is added by who predicts for one. */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MUTEXES = 4096, PROBES = 16, VISITS = 128, BUCKETS = 192, SHOWN = 5, OFTEN = 100, FILE_MOST = 512 };

/* Times of one kind, in ticks: four buckets for each power of two, and their sum in all. */
struct times {
    atomic_uint counts[BUCKETS];
    atomic_ullong total;
};

/* What is known of one mutex. An address that is used again for another mutex goes on with the same figures. */
struct mutex {
    _Atomic(void *) address;
    void *user;
    atomic_ullong acquisitions, contended, blocked, users;
    struct times section, outside;
};

/* A thread's last dealings with a mutex. Two mutexes at one place disturb each other: the later one is not measured. */
struct visit {
    void *address;
    void *user;
    uint64_t arrived, acquired, released;
    /* How many acquisitions of any mutex the thread had left behind when it last had this one, and gave it back. */
    uint64_t pairs_when_acquired, pairs_when_released;
    unsigned depth, times;
    bool was_contended;
};

/* Static, as an allocation may lock, and the first lock may be an allocator's before any constructor has run. */
static struct mutex mutexes[MUTEXES];
static _Thread_local struct visit visits[VISITS] __attribute__((tls_model("initial-exec")));
static _Thread_local uint64_t pairs __attribute__((tls_model("initial-exec")));
static uint64_t first_tick, first_ns, least_gap, ticks_per_pair;
static char file[FILE_MOST];

static struct {
    int (*lock)(pthread_mutex_t *), (*trylock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *);
    int (*timedlock)(pthread_mutex_t *, const struct timespec *);
    int (*clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
    int (*wait)(pthread_cond_t *, pthread_mutex_t *);
    int (*timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    int (*clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
} real;

static uint64_t monotonic_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t ticks(void) {
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return monotonic_ns();
#endif
}

/* glibc has a second, older kind of condition variable, which a search without a version may find first. */
static void *cond_function(const char *name) {
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
}

/* Finds glibc's functions before the first of them is called; the last one says that all are there. While this thread looks
 * for them, it is the only one there is, and whatever it locks needs no lock. */
static bool is_ready(void) {
    static _Thread_local bool is_looking __attribute__((tls_model("initial-exec")));
    if (__builtin_expect(__atomic_load_n(&real.lock, __ATOMIC_ACQUIRE) != NULL, 1)) return true;
    if (is_looking) return false;
    is_looking = true;
    first_ns = monotonic_ns(), first_tick = ticks(), least_gap = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t from = ticks(), gap = ticks() - from;
        if (gap < least_gap) least_gap = gap;
    }
    real.trylock = dlsym(RTLD_NEXT, "pthread_mutex_trylock"), real.unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    real.timedlock = dlsym(RTLD_NEXT, "pthread_mutex_timedlock"), real.clocklock = dlsym(RTLD_NEXT, "pthread_mutex_clocklock");
    real.wait = cond_function("pthread_cond_wait"), real.timedwait = cond_function("pthread_cond_timedwait");
    real.clockwait = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
    __atomic_store_n(&real.lock, dlsym(RTLD_NEXT, "pthread_mutex_lock"), __ATOMIC_RELEASE);
    is_looking = false;
    return true;
}

static size_t place_of(const void *address, size_t n) {
    return (size_t)(((uintptr_t)address >> 3) * 0x9E3779B97F4A7C15u >> 40) % n;
}

/* The mutex's entry, made if there is none; NULL where the table is full. */
static struct mutex *entry_of(void *address, void *user) {
    for (size_t i = 0, at = place_of(address, MUTEXES); i < PROBES; i++, at = (at + 1) % MUTEXES) {
        void *there = atomic_load_explicit(&mutexes[at].address, memory_order_relaxed);
        if (!there && atomic_compare_exchange_strong(&mutexes[at].address, &there, address)) {
            mutexes[at].user = user;
            return &mutexes[at];
        }
        if (there == address) return &mutexes[at];
    }
    return NULL;
}

static void add(atomic_ullong *to, uint64_t n) {
    atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

/* `n_pairs` is how many other acquisitions lay in between. A thread may have changed to a CPU whose clock lags. */
static void record(struct times *times, uint64_t from, uint64_t to, uint64_t n_pairs) {
    uint64_t own = least_gap + n_pairs * ticks_per_pair, time = to > from + own ? to - from - own : 0;
    unsigned power = time < 4 ? 1 : 63 - (unsigned)__builtin_clzll(time);
    unsigned bucket = time < 4 ? (unsigned)time : (power - 1) * 4 + (unsigned)(time >> (power - 2) & 3);
    atomic_fetch_add_explicit(&times->counts[bucket < BUCKETS ? bucket : BUCKETS - 1], 1, memory_order_relaxed);
    add(&times->total, time);
}

/* Of all but the longest hundredth: who lost its CPU, or waited for work, was away for milliseconds. A median would not do: a
 * thread that takes its mutex twice in quick succession, and then goes away, is away for the short time by it. */
static double mean(const struct times *times) {
    double n = 0, seen = 0, sum = 0;
    for (unsigned i = 0; i < BUCKETS; i++) n += times->counts[i];
    for (unsigned i = 0; i < BUCKETS && seen < n * 0.99; i++) {
        double left = n * 0.99 - seen, taken = times->counts[i] < left ? times->counts[i] : left;
        double middle = i < 4 ? i : ((double)(4 + i % 4) + 0.5) * (double)(1ull << (i / 4 - 1));
        seen += taken, sum += taken * middle;
    }
    return n > 0 ? sum / seen : 0;
}

static struct visit *visit_of(void *address) {
    struct visit *visit = &visits[place_of(address, VISITS)];
    if (visit->address == address) return visit;
    if (visit->depth) return NULL;
    *visit = (struct visit){ .address = address };
    return visit;
}

/* The calling thread has the mutex from now on, unless `result` says otherwise. Gives `result`. */
static int entered(struct visit *visit, int result, uint64_t arrived, bool was_contended, void *user) {
    if (!visit || (result != 0 && result != EOWNERDEAD) || visit->depth++) return result;
    visit->arrived = arrived, visit->was_contended = was_contended, visit->user = user;
    visit->pairs_when_acquired = pairs;
    visit->acquired = ticks();
    return result;
}

/* Counts what ended at `released`. After an unlock, as whoever comes next shall not wait for it. */
static void left(struct visit *visit, uint64_t released, bool is_for_a_wait) {
    if (!visit || !visit->depth || --visit->depth) return;
    struct mutex *entry = entry_of(visit->address, visit->user);
    if (entry) {
        add(&entry->acquisitions, 1);
        if (++visit->times == OFTEN) add(&entry->users, 1);
        record(&entry->section, visit->acquired, released, pairs - visit->pairs_when_acquired);
        if (visit->released && visit->arrived) {
            record(&entry->outside, visit->released, visit->arrived, visit->pairs_when_acquired - visit->pairs_when_released);
        }
        if (visit->was_contended) add(&entry->contended, 1), add(&entry->blocked, visit->acquired - visit->arrived);
    }
    visit->pairs_when_released = ++pairs;
    visit->released = is_for_a_wait ? 0 : ticks();
}

/* One that is free is acquired by trylock, so that the others are known to be contended. With a robust mutex whose state is
 * lost for good glibc 2.36 hangs then; no program that is measured has one. */
#define ACQUIRE(call)                                                                                                          \
    do {                                                                                                                       \
        if (!is_ready()) return 0;                                                                                             \
        uint64_t arrived = ticks();                                                                                            \
        struct visit *visit = visit_of(mutex);                                                                                 \
        int result = real.trylock(mutex);                                                                                      \
        bool was_contended = result == EBUSY;                                                                                  \
        if (was_contended) result = (call);                                                                                    \
        return entered(visit, result, arrived, was_contended, __builtin_return_address(0));                                    \
    } while (0)

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    ACQUIRE(real.lock(mutex));
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    ACQUIRE(EBUSY);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline) {
    ACQUIRE(real.timedlock(mutex, deadline));
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline) {
    /* A clock that is none is an error even where the mutex is free, so this call cannot begin with trylock. */
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && is_ready()) return real.clocklock(mutex, clock, deadline);
    ACQUIRE(real.clocklock(mutex, clock, deadline));
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    if (!is_ready()) return 0;
    uint64_t released = ticks();
    int result = real.unlock(mutex);
    struct visit *visit = visit_of(mutex);
    if (result == 0) left(visit, released, false);
    return result;
}

/* Comes back with the mutex whatever the result is. */
#define WAIT(call)                                                                                                             \
    do {                                                                                                                       \
        if (!is_ready()) return 0;                                                                                             \
        struct visit *visit = visit_of(mutex);                                                                                 \
        if (visit && !visit->depth) visit = NULL;                                                                              \
        left(visit, ticks(), true);                                                                                            \
        int result = (call);                                                                                                   \
        entered(visit, 0, 0, false, __builtin_return_address(0));                                                              \
        return result;                                                                                                         \
    } while (0)

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    WAIT(real.wait(cond, mutex));
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *deadline) {
    WAIT(real.timedwait(cond, mutex, deadline));
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline) {
    WAIT(real.clockwait(cond, mutex, clock, deadline));
}

static void write_line(int to, const struct mutex *mutex, double ps_per_tick, bool may_ask_loader) {
    char line[512];
    Dl_info info;
    bool is_known = may_ask_loader && dladdr(mutex->user, &info);
    const char *user = !is_known ? "" : info.dli_sname ? info.dli_sname : info.dli_fname;
    int n = snprintf(line, sizeof line, "%p,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%.200s\n", mutex->address, mutex->users,
                     mutex->acquisitions, mutex->contended, (unsigned long long)((double)mutex->section.total * ps_per_tick / 1e3),
                     (unsigned long long)((double)mutex->blocked * ps_per_tick / 1e3),
                     (unsigned long long)(mean(&mutex->section) * ps_per_tick),
                     (unsigned long long)(mean(&mutex->outside) * ps_per_tick), user);
    if (n > 0 && write(to, line, (size_t)n) < 0) return;
}

/* Allocates nothing and locks nothing, so that a signal's handler may do it; the loader would. */
static void write_all(bool may_ask_loader) {
    char name[FILE_MOST + 16];
    snprintf(name, sizeof name, "%s.%d", file, (int)getpid());
    int to = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (to < 0) return;
    static const char head[] = "mutex,users,acquisitions,contended,held_ns,blocked_ns,section_ps,outside_ps,user\n";
    if (write(to, head, sizeof head - 1) < 0) return;
    double ps_per_tick = (double)(monotonic_ns() - first_ns) * 1e3 / (double)(ticks() - first_tick);
    double limit = 1e300;
    for (int shown = 0; shown < SHOWN; shown++) {
        const struct mutex *most = NULL;
        double longest = 0;
        for (size_t i = 0; i < MUTEXES; i++) {
            /* Who has a mutex for itself waits for nobody, however many others there are. */
            if (mutexes[i].users < 2) continue;
            double all = mean(&mutexes[i].section) * (double)mutexes[i].acquisitions;
            if (all < limit && all > longest) most = &mutexes[i], longest = all;
        }
        if (!most) break;
        limit = longest;
        write_line(to, most, ps_per_tick, may_ask_loader);
    }
    close(to);
}

static void on_signal(int signal) {
    (void)signal;
    int before = errno;
    write_all(false);
    errno = before;
}

/* What the parent did is the parent's. */
static void begin_anew(void) {
    for (size_t i = 0; i < MUTEXES; i++) {
        if (mutexes[i].address) memset(&mutexes[i], 0, sizeof mutexes[i]);
    }
}

/* The least that so many acquisitions take. */
static uint64_t try_pairs(int (*lock)(pthread_mutex_t *), int (*unlock)(pthread_mutex_t *)) {
    enum { TRIES = 20, PAIRS = 200 };
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    uint64_t least = UINT64_MAX;
    for (int try = 0; try < TRIES; try++) {
        uint64_t from = ticks();
        for (int i = 0; i < PAIRS; i++) lock(&mutex), unlock(&mutex);
        uint64_t took = (ticks() - from) / PAIRS;
        if (took < least) least = took;
    }
    return least;
}

__attribute__((constructor)) static void begin(void) {
    is_ready();
    uint64_t ours = try_pairs(pthread_mutex_lock, pthread_mutex_unlock), theirs = try_pairs(real.lock, real.unlock);
    ticks_per_pair = ours > theirs ? ours - theirs : 0;
    begin_anew();
    const char *name = getenv("ONDECK_SECTIONS");
    struct sigaction action;
    if (!name || strlen(name) >= sizeof file) return;
    strcpy(file, name);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_atfork(NULL, NULL, begin_anew);
    if (sigaction(SIGUSR2, NULL, &action) != 0 || action.sa_handler != SIG_DFL) return;
    action = (struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigaction(SIGUSR2, &action, NULL);
}

__attribute__((destructor)) static void end(void) {
    if (file[0]) write_all(true);
}
