// What the programs share whose use of locks is known: they write down what they do with their locks, by their own clock, and
// at the end what a profile has to say of it. README.md has the form.
//
// A wait is one whose beginning lies in somebody's hold, by the times that were written down, or one that takes longer than
// KNOWN_LONGEST_NS, as one does whose beginning lies in a gap between two others' holds; what of it lies in a hold is
// charged to the function that acquired the lock for this hold. So nothing here depends on who gets a lock first, and programs only see to it
// that threads wait for long.
//
// Nothing in here calls a mutex.
#ifndef KNOWN_H
#define KNOWN_H

#include "../check.h"

// A function with a name, a frame and instructions of its own, whatever the compiler would like to do.
#define APART __attribute__((noinline, noclone, noipa))

#define KNOWN_LOCKS 4096
#define KNOWN_RECORDS (1 << 18)
#define KNOWN_SITES 64
#ifndef KNOWN_LONGEST_NS
#define KNOWN_LONGEST_NS INT64_MAX
#endif
// Waits and holds that overlap by less may or may not count: between our reading of the clock and the lock lies some time.
#define KNOWN_BLUR (200 * 1000LL)

// A mutex or a condition variable.
struct known {
    // As the profile is to call it; a `*` at either end stands for anything.
    const char *name;
    const volatile void *address;
    int is_condition;
    // The record of the hold in progress, -1 without; changed by holders alone.
    int holding;
};

enum known_kind {
    TOOK,
    // At the end of a wait on a condition variable.
    TOOK_BACK,
    // Waited for a lock and did not get it.
    GAVE_UP,
    // Waited for a lock that another process had, of whose holds nothing is known here.
    TOOK_FROM_OUTSIDE,
    // A wait on a condition variable.
    WAITED_ON,
    // So many acquisitions without waiting, of whose holds nothing is known.
    COUNTED,
};

// What was done with a lock once: wanted, had or given up, given back. In ns of CLOCK_MONOTONIC.
struct known_record {
    struct known *what;
    int64_t want, have, until;
    const char *function;
    int line;
    int thread;
    enum known_kind kind;
};

static struct known known_all[KNOWN_LOCKS];
static int known_n_all;
static struct known_record known_records[KNOWN_RECORDS];
static int known_n_records;
static char known_facts[1024];
static __thread int known_thread;

UNUSED static int64_t known_now(void)
{
    return now_ns(CLOCK_MONOTONIC);
}

// Before any other thread uses it.
UNUSED static struct known *known_add(const char *name, const volatile void *address, int is_condition)
{
    CHECK(known_n_all < KNOWN_LOCKS);
    struct known *what = &known_all[known_n_all++];
    what->name = name;
    what->address = address;
    what->is_condition = is_condition;
    what->holding = -1;
    return what;
}

#define KNOWN_MUTEX(name, mutex) known_add(name, mutex, 0)
#define KNOWN_CONDITION(name, condition) known_add(name, condition, 1)

// Something else that a check needs, from a single thread.
UNUSED static void known_fact(const char *name, double number)
{
    size_t length = strlen(known_facts), left = sizeof known_facts - length;
    CHECK((size_t)snprintf(known_facts + length, left, "%s\"%s\":%.0f", length ? "," : "", name, number) < left);
}

UNUSED static int known_note(struct known *what, enum known_kind kind, int64_t want, int64_t have, const char *function, int line)
{
    int place = __atomic_fetch_add(&known_n_records, 1, __ATOMIC_RELAXED);
    CHECK(place < KNOWN_RECORDS);
    if (known_thread == 0)
        known_thread = (int)thread_id();
    struct known_record *record = &known_records[place];
    record->what = what;
    record->want = want;
    record->have = have;
    record->until = kind == TOOK || kind == TOOK_BACK || kind == TOOK_FROM_OUTSIDE ? INT64_MAX : have;
    record->function = function;
    record->line = line;
    record->thread = known_thread;
    record->kind = kind;
    return place;
}

UNUSED static void known_took(struct known *what, enum known_kind kind, int64_t want, const char *function, int line)
{
    int64_t have = known_now();
    CHECK(what->holding == -1);
    what->holding = known_note(what, kind, want, have, function, line);
}

UNUSED static void known_gives(struct known *what)
{
    CHECK(what->holding != -1);
    struct known_record *record = &known_records[what->holding];
    what->holding = -1;
    record->until = known_now();
}

// TAKE(lock, call): the call acquires the lock. GIVE(lock, call): it releases it. TAKE is on one line, which is the line of the
// call.
#define TAKE(what, call)                                                                                               \
    do {                                                                                                               \
        int64_t take_want = known_now();                                                                               \
        OK(call);                                                                                                      \
        known_took(what, TOOK, take_want, __func__, __LINE__);                                                         \
    } while (0)
#define GIVE(what, call)                                                                                               \
    do {                                                                                                               \
        known_gives(what);                                                                                             \
        OK(call);                                                                                                      \
    } while (0)
#define TAKE_MUTEX(what) pthread_mutex_lock((pthread_mutex_t *)(what)->address)
#define GIVE_MUTEX(what) pthread_mutex_unlock((pthread_mutex_t *)(what)->address)
#define LOCK(what) TAKE(what, TAKE_MUTEX(what))
#define UNLOCK(what) GIVE(what, GIVE_MUTEX(what))

// The call waits for the lock and gives up, with this code.
#define GIVE_UP(what, call, code)                                                                                      \
    do {                                                                                                               \
        int64_t give_up_want = known_now();                                                                            \
        GIVES(call, code);                                                                                             \
        known_note(what, GAVE_UP, give_up_want, known_now(), __func__, __LINE__);                                      \
    } while (0)

// The call waits on the condition variable, giving the lock back meanwhile.
#define WAIT_ON(condition, what, call, code)                                                                           \
    do {                                                                                                               \
        known_gives(what);                                                                                             \
        int64_t wait_on_want = known_now();                                                                            \
        GIVES(call, code);                                                                                             \
        int64_t wait_on_have = known_now();                                                                            \
        known_note(condition, WAITED_ON, wait_on_want, wait_on_have, __func__, __LINE__);                              \
        known_took(what, TOOK_BACK, wait_on_have, __func__, __LINE__);                                                 \
    } while (0)

// So many acquisitions of a lock that nobody else wants, by this function.
#define COUNT(what, n) known_note(what, COUNTED, known_now(), n, __func__, 0)

// ---- who waits

// Says who waits next: to be called by a thread before it does, with what until_asleep is then called with.
UNUSED static void comes(int *id)
{
    __atomic_store_n(id, (int)thread_id(), __ATOMIC_RELEASE);
}

// Starts threads that say `comes` to an id each and then wait for something, one after the other.
UNUSED static void start_waiters(pthread_t *threads, int *ids, int n, void *(*run)(void *))
{
    for (int i = 0; i < n; i++) {
        __atomic_store_n(&ids[i], 0, __ATOMIC_RELAXED);
        threads[i] = start(run, &ids[i]);
        until_asleep(&ids[i]);
    }
}

UNUSED static void join_all(const pthread_t *threads, int n)
{
    for (int i = 0; i < n; i++)
        join_soon(threads[i], "a waiter");
}

// A thread's function that waits for the lock, and then has it for so long.
#define WAITS_BY(name, lock, take, give, ns)                                                                           \
    APART static void *name(void *id)                                                                                  \
    {                                                                                                                  \
        comes((int *)id);                                                                                              \
        TAKE(lock, take);                                                                                              \
        if ((ns) > 0)                                                                                                  \
            sleep_ns(ns);                                                                                              \
        GIVE(lock, give);                                                                                              \
        return NULL;                                                                                                   \
    }
#define WAITS(name, lock, ns) WAITS_BY(name, lock, TAKE_MUTEX(lock), GIVE_MUTEX(lock), ns)

// Whether who holds a lock is to hold on: somebody who waits still has something to try.
UNUSED static int must_hold;

// Holds the lock until n threads wait for it, and for so long after that.
#define HOLD(lock, take, give, waits, n, ns)                                                                           \
    do {                                                                                                               \
        pthread_t hold_threads[n];                                                                                     \
        int hold_ids[n];                                                                                               \
        TAKE(lock, take);                                                                                              \
        start_waiters(hold_threads, hold_ids, n, waits);                                                               \
        while (__atomic_load_n(&must_hold, __ATOMIC_ACQUIRE))                                                          \
            sleep_ns(MS / 10);                                                                                         \
        sleep_ns(ns);                                                                                                  \
        GIVE(lock, give);                                                                                              \
        join_all(hold_threads, n);                                                                                     \
    } while (0)

UNUSED APART static void holds(struct known *lock, void *(*waits)(void *), int n, int64_t ns)
{
    HOLD(lock, TAKE_MUTEX(lock), GIVE_MUTEX(lock), waits, n, ns);
}

// ---- the recorder's first steps

// What a recorder does at the first lock of a process, and at the first stack, is no part of what is known here: both happen
// with a lock of their own.
static pthread_mutex_t known_first = PTHREAD_MUTEX_INITIALIZER;

UNUSED static void *known_waits_first(void *id)
{
    comes((int *)id);
    OK(pthread_mutex_lock(&known_first));
    OK(pthread_mutex_unlock(&known_first));
    return NULL;
}

UNUSED static void known_begin(void)
{
    pthread_t thread;
    int id;
    watchdog();
    OK(pthread_mutex_lock(&known_first));
    start_waiters(&thread, &id, 1, known_waits_first);
    OK(pthread_mutex_unlock(&known_first));
    join_all(&thread, 1);
}

#include "truth.h"

#endif
