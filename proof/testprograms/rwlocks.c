// Reader-writer locks: what the C library answers, and what it keeps.
#include "check.h"


static pthread_rwlock_t *made(int kind) {
    pthread_rwlockattr_t attributes;
    CHECK(pthread_rwlockattr_init(&attributes) == 0);
    CHECK(pthread_rwlockattr_setkind_np(&attributes, kind) == 0);
    pthread_rwlock_t *lock = malloc(sizeof *lock);
    memset(lock, 0x5a, sizeof *lock);
    CHECK(pthread_rwlock_init(lock, &attributes) == 0);
    return lock;
}

// What another thread gets.
struct attempt {
    pthread_rwlock_t *lock;
    int writes, answer;
};

static void *attempts(void *argument) {
    struct attempt *attempt = argument;
    attempt->answer = attempt->writes ? pthread_rwlock_trywrlock(attempt->lock) : pthread_rwlock_tryrdlock(attempt->lock);
    if (attempt->answer == 0) CHECK(pthread_rwlock_unlock(attempt->lock) == 0);
    return NULL;
}

static int other(pthread_rwlock_t *lock, int writes) {
    struct attempt attempt = {lock, writes, -1};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, attempts, &attempt) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return attempt.answer;
}

static void answers(pthread_rwlock_t *lock) {
    CHECK(other(lock, 0) == 0 && other(lock, 1) == 0);
    CHECK(pthread_rwlock_rdlock(lock) == 0 && pthread_rwlock_tryrdlock(lock) == 0 && pthread_rwlock_rdlock(lock) == 0);
    CHECK(other(lock, 0) == 0 && other(lock, 1) == EBUSY && pthread_rwlock_trywrlock(lock) == EBUSY);
    struct timespec soon = in_ns(CLOCK_REALTIME, 20 * MS), none = {0, 1000000000}, past = {0, 0};
    CHECK(pthread_rwlock_timedwrlock(lock, &soon) == ETIMEDOUT);
    CHECK(pthread_rwlock_timedwrlock(lock, &past) == ETIMEDOUT);
    CHECK(pthread_rwlock_timedwrlock(lock, &none) == EINVAL && pthread_rwlock_timedrdlock(lock, &none) == EINVAL);
    CHECK(pthread_rwlock_timedrdlock(lock, &past) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_rwlock_unlock(lock) == 0);
    CHECK(pthread_rwlock_wrlock(lock) == 0);
    CHECK(other(lock, 0) == EBUSY && other(lock, 1) == EBUSY);
    CHECK(pthread_rwlock_rdlock(lock) == EDEADLK && pthread_rwlock_wrlock(lock) == EDEADLK);
    CHECK(pthread_rwlock_tryrdlock(lock) == EBUSY && pthread_rwlock_trywrlock(lock) == EBUSY);
    soon = in_ns(CLOCK_REALTIME, 20 * MS);
    CHECK(pthread_rwlock_timedrdlock(lock, &soon) == EDEADLK && pthread_rwlock_timedwrlock(lock, &soon) == EDEADLK);
    CHECK(pthread_rwlock_unlock(lock) == 0);
    CHECK(other(lock, 1) == 0);
#if __GLIBC_PREREQ(2, 30)
    soon = in_ns(CLOCK_MONOTONIC, 20 * MS);
    CHECK(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &soon) == 0);
    CHECK(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
    CHECK(pthread_rwlock_clockwrlock(lock, CLOCK_PROCESS_CPUTIME_ID, &soon) == EINVAL);
    CHECK(pthread_rwlock_unlock(lock) == 0);
#endif
}

// A thread that reads may read again though a writer waits, unless its kind says otherwise.
static void *writes_once(void *lock) {
    CHECK(pthread_rwlock_wrlock(lock) == 0);
    CHECK(pthread_rwlock_unlock(lock) == 0);
    return NULL;
}

static void reads_again(pthread_rwlock_t *lock) {
    CHECK(pthread_rwlock_rdlock(lock) == 0);
    pthread_t writer;
    CHECK(pthread_create(&writer, NULL, writes_once, lock) == 0);
    usleep(20000);
    CHECK(pthread_rwlock_rdlock(lock) == 0);
    CHECK(pthread_rwlock_unlock(lock) == 0 && pthread_rwlock_unlock(lock) == 0);
    CHECK(pthread_join(writer, NULL) == 0);
}

// Readers see whole writes, of all kinds of locks, and writers get through.
enum { THREADS = 6, TIMES = 30000 };
static struct pair { pthread_rwlock_t *lock; long one, other; } pair;

static void *reads_and_writes(void *argument) {
    long number = (long)argument;
    for (long i = 0; i < TIMES; i++) {
        if ((i + number) % 1000 == 0) {
            CHECK(pthread_rwlock_wrlock(pair.lock) == 0);
            pair.one++;
            pair.other++;
        } else {
            CHECK(pthread_rwlock_rdlock(pair.lock) == 0);
            CHECK(*(volatile long *)&pair.one == *(volatile long *)&pair.other);
        }
        CHECK(pthread_rwlock_unlock(pair.lock) == 0);
    }
    return NULL;
}

static void whole_writes(pthread_rwlock_t *lock) {
    pair = (struct pair){lock, 0, 0};
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, reads_and_writes, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(pair.one == THREADS * TIMES / 1000 && pair.other == pair.one);
}

// A child has the lock as its thread has had it, and none of those that waited. The C library's waits for them, and takes a child
// that has it to write for a reader.
static void forked(pthread_rwlock_t *lock, int writes) {
    const char *name = getenv("ONDECK_LOCK");
    int is_ours = is_preloaded() && (!name || !*name || strcmp(name, "ondeck") == 0), n_waiting = is_ours ? 3 : 0;
    if (!is_ours && writes) return;
    CHECK((writes ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock)) == 0);
    pthread_t waiting[3];
    for (int i = 0; i < n_waiting; i++) CHECK(pthread_create(&waiting[i], NULL, writes_once, lock) == 0);
    usleep(20000);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(pthread_rwlock_trywrlock(lock) == EBUSY);
        CHECK(pthread_rwlock_unlock(lock) == 0);
        for (int i = 0; i < 3; i++) {
            CHECK(pthread_rwlock_wrlock(lock) == 0 && pthread_rwlock_unlock(lock) == 0);
            CHECK(pthread_rwlock_rdlock(lock) == 0 && pthread_rwlock_unlock(lock) == 0);
        }
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(pthread_rwlock_unlock(lock) == 0);
    for (int i = 0; i < n_waiting; i++) CHECK(pthread_join(waiting[i], NULL) == 0);
}

// One that is read so often that readers count themselves elsewhere goes on as any other.
static void read_often(pthread_rwlock_t *lock) {
    for (int i = 0; i < 50000; i++) CHECK(pthread_rwlock_rdlock(lock) == 0 && pthread_rwlock_unlock(lock) == 0);
}

// At rest it is plain memory: the copy is another lock.
static void copied(pthread_rwlock_t *lock) {
    for (int is_first = 0; is_first < 2; is_first++) {
        pthread_rwlock_t *copy = malloc(sizeof *copy);
        memcpy(copy, lock, sizeof *copy);
        if (!is_first) read_often(copy);
        CHECK(pthread_rwlock_rdlock(copy) == 0);
        CHECK(other(lock, 1) == 0 && other(copy, 1) == EBUSY && other(copy, 0) == 0);
        read_often(lock);
        CHECK(pthread_rwlock_unlock(copy) == 0);
        CHECK(other(copy, 1) == 0 && other(lock, 1) == 0);
        // Its memory comes to be another one's.
        memset(copy, 0, sizeof *copy);
        CHECK(other(copy, 1) == 0 && pthread_rwlock_destroy(copy) == 0);
        free(copy);
    }
}

// A static object of C++ is used on after its destructor.
static void destroyed_beside_a_reader(int kind) {
    pthread_rwlock_t *lock = made(kind);
    read_often(lock);
    CHECK(pthread_rwlock_rdlock(lock) == 0 && pthread_rwlock_destroy(lock) == 0);
    CHECK(other(lock, 1) == EBUSY && other(lock, 0) == 0);
    CHECK(pthread_rwlock_unlock(lock) == 0 && other(lock, 1) == 0);
    free(lock);
}

// What is destroyed without having been made.
static void destroyed_unmade(void) {
    pthread_rwlock_t *lock = calloc(1, sizeof *lock);
    *(uint64_t *)lock = 0x000055d12c406010;
    ((char *)lock)[16] = 0x20;
    CHECK(pthread_rwlock_destroy(lock) == 0);
    free(lock);
}

// Old binaries have other names for the same.
#ifdef __x86_64__
__asm__(".symver old_rdlock, __pthread_rwlock_rdlock@GLIBC_2.2.5");
__asm__(".symver old_wrlock, __pthread_rwlock_wrlock@GLIBC_2.2.5");
__asm__(".symver old_unlock, __pthread_rwlock_unlock@GLIBC_2.2.5");
int old_rdlock(pthread_rwlock_t *), old_wrlock(pthread_rwlock_t *), old_unlock(pthread_rwlock_t *);
#else
#define old_rdlock pthread_rwlock_rdlock
#define old_wrlock pthread_rwlock_wrlock
#define old_unlock pthread_rwlock_unlock
#endif

static void by_old_names(pthread_rwlock_t *lock) {
    CHECK(old_rdlock(lock) == 0 && other(lock, 1) == EBUSY && other(lock, 0) == 0 && pthread_rwlock_unlock(lock) == 0);
    CHECK(pthread_rwlock_wrlock(lock) == 0 && other(lock, 0) == EBUSY && old_unlock(lock) == 0);
    CHECK(old_wrlock(lock) == 0 && other(lock, 0) == EBUSY && old_unlock(lock) == 0 && other(lock, 1) == 0);
}

static pthread_mutex_t before = PTHREAD_MUTEX_INITIALIZER;

static void *reads_and_waits(void *lock) {
    CHECK(pthread_rwlock_rdlock(lock) == 0);
    usleep(150000);
    CHECK(pthread_mutex_lock(&before) == 0 && pthread_mutex_unlock(&before) == 0);
    CHECK(pthread_rwlock_unlock(lock) == 0);
    return NULL;
}

static void *writes_later(void *lock) {
    usleep(50000);
    CHECK(pthread_rwlock_wrlock(lock) == 0 && pthread_rwlock_unlock(lock) == 0);
    return NULL;
}

static void *is_waited_for_and_reads(void *lock) {
    CHECK(pthread_mutex_lock(&before) == 0);
    usleep(200000);
    CHECK(pthread_rwlock_rdlock(lock) == 0 && pthread_rwlock_unlock(lock) == 0);
    CHECK(pthread_mutex_unlock(&before) == 0);
    return NULL;
}

// A reader waits for a mutex. Who has that reads, too, beside a writer that waits: of these kinds it is let in.
static void reader_behind_a_mutex(pthread_rwlock_t *lock) {
    pthread_t threads[] = {start(reads_and_waits, lock), start(writes_later, lock), start(is_waited_for_and_reads, lock)};
    for (int i = 0; i < 3; i++) join_soon(threads[i], "a reader waits for who waits for a writer");
}

static void *reads(void *lock) {
    CHECK(pthread_rwlock_rdlock(lock) == 0);
    return NULL;
}

// Who ends another thread's reading still reads something.
static void ends_anothers_reading(pthread_rwlock_t *lock) {
    pthread_rwlock_t others = PTHREAD_RWLOCK_INITIALIZER;
    join_soon(start(reads, &others), "reads");
    CHECK(pthread_rwlock_rdlock(lock) == 0 && pthread_rwlock_unlock(&others) == 0);
    pthread_t writer = start(writes_later, lock);
    usleep(100000);
    CHECK(pthread_rwlock_rdlock(lock) == 0);
    for (int i = 0; i < 2; i++) CHECK(pthread_rwlock_unlock(lock) == 0);
    join_soon(writer, "writes");
}

int main(void) {
    watchdog();
    destroyed_unmade();
    static pthread_rwlock_t with_zeros = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_rwlock_t writers_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlock_t *locks[] = {
        &with_zeros, &writers_first, made(PTHREAD_RWLOCK_PREFER_READER_NP), made(PTHREAD_RWLOCK_PREFER_WRITER_NP),
        made(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP),
    };
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++) {
        for (int often = 0; often < 2; often++) {
            if (often) read_often(locks[i]);
            answers(locks[i]);
            if (often) read_often(locks[i]);
            if (i % 2 == 0 && i < 4) reads_again(locks[i]);
            if (often) read_often(locks[i]);
            forked(locks[i], 0);
            if (often) read_often(locks[i]);
            forked(locks[i], 1);
            whole_writes(locks[i]);
            if (often) read_often(locks[i]);
            copied(locks[i]);
            by_old_names(locks[i]);
        }
        if (i % 2 == 0 && i < 4) {
            reader_behind_a_mutex(locks[i]);
            ends_anothers_reading(locks[i]);
        }
        destroyed_beside_a_reader((int)i % 3);
        CHECK(pthread_rwlock_destroy(locks[i]) == 0);
    }
    return 0;
}
