// What else threads wait for: semaphores, barriers, initialisations, ends of threads, and spin locks, of which what must be said
// is written down as facts. And what the recorder must leave as it is: errno, cancellation, and what an initialisation throws.
#include "known.h"
#include <mutex>
#include <semaphore.h>

static sem_t semaphore;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static std::once_flag thrown;
static struct known *known_semaphore, *known_barrier, *known_once;
static int64_t spun_ns, joined_ns;
static int is_spinning, may_end, n_initialised;

// A wait that is none for a lock.
#define WAIT_FOR(what, call, code)                                                                                     \
    do {                                                                                                               \
        int64_t wait_for_want = known_now();                                                                           \
        GIVES(call, code);                                                                                             \
        known_note(what, WAITED_ON, wait_for_want, known_now(), __func__, __LINE__);                                   \
    } while (0)

APART static void *waits_for_the_semaphore(void *id)
{
    comes(static_cast<int *>(id));
    WAIT_FOR(known_semaphore, sem_wait(&semaphore), 0);
    struct timespec end = in_ns(CLOCK_REALTIME, 20 * MS);
    errno = 0;
    WAIT_FOR(known_semaphore, sem_timedwait(&semaphore, &end), -1);
    CHECK(errno == ETIMEDOUT);
    return nullptr;
}

static void post()
{
    pthread_t thread;
    int id;
    // No wait.
    OK(sem_post(&semaphore));
    OK(sem_wait(&semaphore));
    start_waiters(&thread, &id, 1, waits_for_the_semaphore);
    sleep_ns(30 * MS);
    OK(sem_post(&semaphore));
    join_all(&thread, 1);
}

APART static void *is_cancelled(void *id)
{
    comes(static_cast<int *>(id));
    sem_wait(&semaphore);
    return nullptr;
}

static void cancel()
{
    int id = 0;
    void *result;
    pthread_t thread = start(is_cancelled, &id);
    until_asleep(&id);
    OK(pthread_cancel(thread));
    OK(pthread_join(thread, &result));
    CHECK(result == PTHREAD_CANCELED);
}

APART static void *comes_first(void *id)
{
    comes(static_cast<int *>(id));
    int64_t want = known_now();
    pthread_barrier_wait(&barrier);
    known_note(known_barrier, WAITED_ON, want, known_now(), __func__, __LINE__ - 1);
    return nullptr;
}

APART static void comes_last()
{
    pthread_t thread;
    int id;
    start_waiters(&thread, &id, 1, comes_first);
    sleep_ns(30 * MS);
    // Who comes last does not wait. What the recorder does then is no wait, though it takes time.
    int64_t now = known_now();
    pthread_barrier_wait(&barrier);
    known_note(known_barrier, WAITED_ON, now, now, __func__, __LINE__ - 1);
    join_all(&thread, 1);
}

// Takes until both threads were seen asleep, however late that is.
static void initialise()
{
    while (!__atomic_load_n(&may_end, __ATOMIC_ACQUIRE))
        sleep_ns(MS);
    n_initialised++;
}

APART static void *initialises(void *id)
{
    comes(static_cast<int *>(id));
    OK(pthread_once(&once, initialise));
    return nullptr;
}

APART static void *waits_for_the_initialisation(void *id)
{
    comes(static_cast<int *>(id));
    WAIT_FOR(known_once, pthread_once(&once, initialise), 0);
    return nullptr;
}

static void begin_once()
{
    pthread_t threads[2];
    int ids[2];
    start_waiters(threads, ids, 1, initialises);
    start_waiters(threads + 1, ids + 1, 1, waits_for_the_initialisation);
    sleep_ns(30 * MS);
    __atomic_store_n(&may_end, 1, __ATOMIC_RELEASE);
    join_all(threads, 2);
    OK(pthread_once(&once, initialise));
    CHECK(n_initialised == 1);
}

static void throw_out()
{
    int n = 0;
    for (int i = 0; i < 3; i++) {
        try {
            std::call_once(thrown, [&] {
                if (++n < 3)
                    throw n;
            });
        } catch (int caught) {
            CHECK(caught == n);
        }
    }
    CHECK(n == 3);
}

// Memory that is one thing after the other, of which the second says nothing when it begins.
static union {
    sem_t semaphore;
    pthread_cond_t condition;
} reused;

APART static void wait_in_reused_memory()
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
    OK(sem_init(&reused.semaphore, 0, 0));
    struct timespec end = in_ns(CLOCK_REALTIME, 10 * MS);
    GIVES(sem_timedwait(&reused.semaphore, &end), -1);
    OK(sem_destroy(&reused.semaphore));
    memcpy(&reused.condition, &fresh, sizeof fresh);
    OK(pthread_mutex_lock(&mutex));
    end = in_ns(CLOCK_REALTIME, 30 * MS);
    GIVES(pthread_cond_timedwait(&reused.condition, &mutex, &end), ETIMEDOUT);
    OK(pthread_mutex_unlock(&mutex));
}

// Who comes last to a barrier does not wait, however much there is to write down.
APART static void come_alone_many_times()
{
    enum { TIMES = 20000 };
    pthread_barrier_t alone;
    OK(pthread_barrier_init(&alone, nullptr, 1));
    for (int i = 0; i < TIMES; i++)
        pthread_barrier_wait(&alone);
    OK(pthread_barrier_destroy(&alone));
}

APART static void *spins(void *)
{
    __atomic_store_n(&is_spinning, 1, __ATOMIC_RELEASE);
    int64_t want = known_now();
    OK(pthread_spin_lock(&spin));
    spun_ns += known_now() - want;
    OK(pthread_spin_unlock(&spin));
    return nullptr;
}

APART static void lets_spin()
{
    OK(pthread_spin_lock(&spin));
    pthread_t thread = start(spins, nullptr);
    while (!__atomic_load_n(&is_spinning, __ATOMIC_ACQUIRE))
        sleep_ns(MS / 10);
    sleep_ns(20 * MS);
    OK(pthread_spin_unlock(&spin));
    int64_t want = known_now();
    OK(pthread_join(thread, nullptr));
    joined_ns += known_now() - want;
}

APART static void *takes_its_time(void *)
{
    sleep_ns(30 * MS);
    return nullptr;
}

APART static void joins()
{
    pthread_t thread = start(takes_its_time, nullptr);
    int64_t want = known_now();
    OK(pthread_join(thread, nullptr));
    joined_ns += known_now() - want;
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    OK(sem_init(&semaphore, 0, 0));
    OK(pthread_barrier_init(&barrier, nullptr, 2));
    OK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    known_semaphore = KNOWN_CONDITION("semaphore", &semaphore);
    known_barrier = KNOWN_CONDITION("barrier", &barrier);
    known_once = KNOWN_CONDITION("once", &once);
    post();
    comes_last();
    begin_once();
    throw_out();
    wait_in_reused_memory();
    come_alone_many_times();
    lets_spin();
    joins();
    cancel();
    known_fact("spun_ns", static_cast<double>(spun_ns));
    known_fact("joined_ns", static_cast<double>(joined_ns));
    known_write(arguments[1], "exit");
    return 0;
}
