// Locks for readers and writers: C++'s and pthread's. Who reads and who writes; who waits for whom; deadlines; one on the heap;
// several readers at once, and one that processes share, of which what must be said is written down as facts.
#include "known.h"
#include <shared_mutex>

static std::shared_mutex table;
static std::shared_timed_mutex slow;
static pthread_rwlock_t timed = PTHREAD_RWLOCK_INITIALIZER, crowd = PTHREAD_RWLOCK_INITIALIZER, *made, *across;
static struct known *known_table, *known_slow, *known_timed, *known_made;
static int n_reading, must_read;

// ---- one reader or one writer

WAITS_BY(waits_to_read, known_table, (table.lock_shared(), 0), (table.unlock_shared(), 0), 0)
WAITS_BY(waits_to_write, known_table, (table.lock(), 0), (table.unlock(), 0), 0)

APART static void writes()
{
    HOLD(known_table, (table.lock(), 0), (table.unlock(), 0), waits_to_read, 1, 30 * MS);
}

APART static void reads()
{
    HOLD(known_table, (table.lock_shared(), 0), (table.unlock_shared(), 0), waits_to_write, 1, 40 * MS);
}

APART static void tries()
{
    for (int i = 0; i < 20; i++) {
        TAKE(known_table, table.try_lock() ? 0 : 1);
        CHECK(!table.try_lock_shared());
        GIVE(known_table, (table.unlock(), 0));
        TAKE(known_table, table.try_lock_shared() ? 0 : 1);
        CHECK(!table.try_lock());
        GIVE(known_table, (table.unlock_shared(), 0));
    }
}

// ---- deadlines

APART static void *gives_up(void *id)
{
    comes(static_cast<int *>(id));
    struct timespec end = in_ns(CLOCK_REALTIME, 20 * MS);
    GIVE_UP(known_timed, pthread_rwlock_timedrdlock(&timed, &end), ETIMEDOUT);
    end = in_ns(CLOCK_MONOTONIC, 20 * MS);
    GIVE_UP(known_timed, pthread_rwlock_clockwrlock(&timed, CLOCK_MONOTONIC, &end), ETIMEDOUT);
    __atomic_store_n(&must_hold, 0, __ATOMIC_RELEASE);
    end = in_ns(CLOCK_MONOTONIC, 10000 * MS);
    TAKE(known_timed, pthread_rwlock_clockrdlock(&timed, CLOCK_MONOTONIC, &end));
    GIVE(known_timed, pthread_rwlock_unlock(&timed));
    return nullptr;
}

APART static void holds_for_long()
{
    pthread_t thread;
    int id;
    must_hold = 1;
    TAKE(known_timed, pthread_rwlock_wrlock(&timed));
    GIVES(pthread_rwlock_rdlock(&timed), EDEADLK);
    start_waiters(&thread, &id, 1, gives_up);
    while (__atomic_load_n(&must_hold, __ATOMIC_ACQUIRE))
        sleep_ns(MS / 10);
    sleep_ns(20 * MS);
    GIVE(known_timed, pthread_rwlock_unlock(&timed));
    join_all(&thread, 1);
    // A deadline that is none, of a lock that is free: whatever the C library says without a recorder.
    struct timespec none = {0, -1};
    known_fact("refuses", pthread_rwlock_timedwrlock(&timed, &none));
}

#define SOON std::chrono::seconds(10)
WAITS_BY(waits_for_the_slow, known_slow, slow.try_lock_shared_for(SOON) ? 0 : 1, (slow.unlock_shared(), 0), 0)

APART static void is_slow()
{
    HOLD(known_slow, slow.try_lock_for(SOON) ? 0 : 1, (slow.unlock(), 0), waits_for_the_slow, 1, 30 * MS);
}

// ---- on the heap

WAITS_BY(waits_for_the_made, known_made, pthread_rwlock_rdlock(made), pthread_rwlock_unlock(made), 0)

APART static void makes_one()
{
    made = static_cast<pthread_rwlock_t *>(malloc(sizeof *made));
    OK(pthread_rwlock_init(made, nullptr));
}

APART static void writes_the_made()
{
    HOLD(known_made, pthread_rwlock_wrlock(made), pthread_rwlock_unlock(made), waits_for_the_made, 1, 20 * MS);
}

// ---- several at once: three readers, of whom the last reads longest, and a writer that waits for all of them

APART static void *reads_with_others(void *ms)
{
    OK(pthread_rwlock_rdlock(&crowd));
    __atomic_fetch_add(&n_reading, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&must_read, __ATOMIC_ACQUIRE))
        sleep_ns(MS / 10);
    sleep_ns(*static_cast<int *>(ms) * MS);
    OK(pthread_rwlock_unlock(&crowd));
    return nullptr;
}

static int64_t crowd_waited_ns;

APART static void *waits_for_the_crowd(void *id)
{
    comes(static_cast<int *>(id));
    int64_t want = known_now();
    OK(pthread_rwlock_wrlock(&crowd));
    crowd_waited_ns += known_now() - want;
    OK(pthread_rwlock_unlock(&crowd));
    return nullptr;
}

static void read_together()
{
    pthread_t readers[3], writer;
    int ms[3] = {10, 20, 40}, id;
    n_reading = 0;
    must_read = 1;
    for (int i = 0; i < 3; i++)
        readers[i] = start(reads_with_others, &ms[i]);
    while (__atomic_load_n(&n_reading, __ATOMIC_ACQUIRE) < 3)
        sleep_ns(MS / 10);
    start_waiters(&writer, &id, 1, waits_for_the_crowd);
    __atomic_store_n(&must_read, 0, __ATOMIC_RELEASE);
    join_all(readers, 3);
    join_all(&writer, 1);
}

// ---- one reading inside another, and one that a child of a fork begins anew

static pthread_rwlock_t nested = PTHREAD_RWLOCK_INITIALIZER;

APART static void reads_inside()
{
    OK(pthread_rwlock_rdlock(&nested));
    OK(pthread_rwlock_unlock(&nested));
}

APART static void reads_around()
{
    OK(pthread_rwlock_rdlock(&nested));
    for (int i = 0; i < 3; i++)
        reads_inside();
    sleep_ns(30 * MS);
    OK(pthread_rwlock_unlock(&nested));
}

// ---- of several processes: waits are known, holders are not

APART static void *waits_across(void *id)
{
    comes(static_cast<int *>(id));
    OK(pthread_rwlock_rdlock(across));
    OK(pthread_rwlock_unlock(across));
    return nullptr;
}

static void share_across()
{
    pthread_t thread;
    int id;
    void *place = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(place != MAP_FAILED);
    across = static_cast<pthread_rwlock_t *>(place);
    pthread_rwlockattr_t attributes;
    OK(pthread_rwlockattr_init(&attributes));
    OK(pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
    OK(pthread_rwlock_init(across, &attributes));
    OK(pthread_rwlock_wrlock(across));
    start_waiters(&thread, &id, 1, waits_across);
    sleep_ns(20 * MS);
    OK(pthread_rwlock_unlock(across));
    join_all(&thread, 1);
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_table = known_add("table", &table, 0);
    known_slow = known_add("slow", &slow, 0);
    known_timed = known_add("timed", &timed, 0);
    makes_one();
    known_made = known_add("*makes_one*", made, 0);
    for (int round = 0; round < 2; round++) {
        writes();
        reads();
        tries();
        is_slow();
        writes_the_made();
        read_together();
    }
    reads_around();
    holds_for_long();
    share_across();
    known_fact("crowd_waited_ns", static_cast<double>(crowd_waited_ns));
    known_write(arguments[1], "exit");
    return 0;
}
