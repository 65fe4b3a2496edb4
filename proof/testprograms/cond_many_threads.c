// Waiters on condition variables after thousands of threads have come and gone, while some of the first still wait: what has
// a table for waiters, with the threads' numbers as places, finds the places of later ones taken. Who waits without one must
// be as good as others: cancelled ones keep no notification from others, and who has timed out leaves a condition variable
// alone that has been destroyed.
#include "check.h"

// The first threads, which wait until the end.
#define N_FIRST 64
// Of two threads each.
#define N_ROUNDS 6
#define N_TIMED 24
#define TIMED_RUN (150 * MS)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long n_threads;

// -- Those who are there, and those who come and go ---------------------------------------------------------------------

static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int is_waiting;

static void *wait_for_the_end(void *argument)
{
    (void)argument;
    OK(pthread_mutex_lock(&mutex));
    is_waiting = 1;
    for (;;)
        OK(pthread_cond_wait(&never, &mutex));
}

// A thread's first wait is when it is given what it needs for that.
static void *wait_shortly(void *argument)
{
    (void)argument;
    struct timespec end = {0, 1};
    GIVES(pthread_mutex_timedlock(&held, &end), ETIMEDOUT);
    return NULL;
}

static void until_waiting(const int *n, int want)
{
    for (;;) {
        OK(pthread_mutex_lock(&mutex));
        int n_now = *n;
        OK(pthread_mutex_unlock(&mutex));
        if (n_now >= want)
            return;
        sleep_ns(20000);
    }
}

static void until_so_many_threads(long want)
{
    pthread_attr_t attr;
    pthread_t thread;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, 64 * 1024));
    for (; n_threads < want; n_threads++) {
        OK(pthread_create(&thread, &attr, wait_shortly, NULL));
        OK(pthread_join(thread, NULL));
    }
    OK(pthread_attr_destroy(&attr));
}

// -- Cancelled together with a notification -----------------------------------------------------------------------------

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int n_waiting, n_tokens;

static void unlock(void *argument)
{
    OK(pthread_mutex_unlock(argument));
}

static void *wait_for_token(void *argument)
{
    (void)argument;
    OK(pthread_mutex_lock(&mutex));
    n_waiting++;
    pthread_cleanup_push(unlock, &mutex);
    while (n_tokens == 0)
        OK(pthread_cond_wait(&cond, &mutex));
    n_tokens--;
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancelled_and_notified(void)
{
    doing = "cancelled together with a notification";
    OK(pthread_mutex_lock(&mutex));
    n_waiting = n_tokens = 0;
    OK(pthread_mutex_unlock(&mutex));
    pthread_t first = start(wait_for_token, NULL);
    until_waiting(&n_waiting, 1);
    pthread_t second = start(wait_for_token, NULL);
    until_waiting(&n_waiting, 2);
    n_threads += 2;
    OK(pthread_mutex_lock(&mutex));
    n_tokens = 1;
    OK(pthread_cond_signal(&cond));
    OK(pthread_cancel(first));
    OK(pthread_mutex_unlock(&mutex));
    join_soon(first, doing);
    OK(pthread_mutex_lock(&mutex));
    // The first one may have been quick enough.
    if (n_tokens == 0)
        OK(pthread_cancel(second));
    OK(pthread_mutex_unlock(&mutex));
    join_soon(second, "the notification was for one that was cancelled, and the other one waits for ever");
}

// -- Freed while those who have timed out are on their way --------------------------------------------------------------

static pthread_cond_t begin = PTHREAD_COND_INITIALIZER;
static pthread_cond_t *freed;
static int round_number, is_set, is_over, n_inside, n_done;
static struct timespec deadline;

static void *wait_in_rounds(void *argument)
{
    wait_shortly(argument);
    OK(pthread_mutex_lock(&mutex));
    for (int round = 1;; round++) {
        n_done++;
        while (round_number != round && !is_over)
            OK(pthread_cond_wait(&begin, &mutex));
        if (is_over)
            break;
        n_inside++;
        struct timespec end = deadline;
        while (!is_set && pthread_cond_clockwait(freed, &mutex, CLOCK_MONOTONIC, &end) == 0) {
        }
    }
    OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

static void freed_after_time_out(void)
{
    doing = "freed while waiters that have timed out leave";
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    pthread_t threads[N_TIMED];
    round_number = is_over = n_done = 0;
    for (int i = 0; i < N_TIMED; i++)
        threads[i] = start(wait_in_rounds, NULL);
    n_threads += N_TIMED;
    until_waiting(&n_done, N_TIMED);
    uint64_t seed = 4711;
    for (int64_t last = now_ns(CLOCK_MONOTONIC) + TIMED_RUN; now_ns(CLOCK_MONOTONIC) < last;) {
        OK(pthread_mutex_lock(&mutex));
        // A page of its own, so that who touches it later is seen.
        freed = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(freed != MAP_FAILED);
        OK(pthread_cond_init(freed, NULL));
        is_set = n_inside = n_done = 0;
        deadline = in_ns(CLOCK_MONOTONIC, MS);
        round_number++;
        OK(pthread_cond_broadcast(&begin));
        OK(pthread_mutex_unlock(&mutex));
        until_waiting(&n_inside, N_TIMED);
        int64_t free_at = ns_of(&deadline) + (int64_t)(chance(&seed) % 300000);
        while (now_ns(CLOCK_MONOTONIC) < free_at) {
        }
        OK(pthread_mutex_lock(&mutex));
        is_set = 1;
        OK(pthread_cond_broadcast(freed));
        OK(pthread_cond_destroy(freed));
        CHECK(munmap(freed, page) == 0);
        OK(pthread_mutex_unlock(&mutex));
        until_waiting(&n_done, N_TIMED);
    }
    OK(pthread_mutex_lock(&mutex));
    is_over = 1;
    OK(pthread_cond_broadcast(&begin));
    OK(pthread_mutex_unlock(&mutex));
    for (int i = 0; i < N_TIMED; i++)
        join_soon(threads[i], doing);
}

int main(void)
{
    watchdog();
    doing = "many threads";
    OK(pthread_mutex_lock(&held));
    for (int i = 0; i < N_FIRST; i++) {
        is_waiting = 0;
        start(wait_for_the_end, NULL);
        until_waiting(&is_waiting, 1);
    }
    n_threads = N_FIRST;
    // Tables have sizes like these: then the next ones come to places that the first ones have.
    static const int sizes[] = {1024, 4096, 8192};
    for (int i = 0; i < 3; i++) {
        until_so_many_threads(sizes[i] + 4);
        for (int round = 0; round < N_ROUNDS; round++)
            cancelled_and_notified();
        freed_after_time_out();
    }
    // Without the first ones, which wait until the end.
    _exit(0);
}
