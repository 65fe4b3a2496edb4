// Four threads for each CPU with short sections: everybody gets on, and the total is right. Nothing is said about speed.
#include "check.h"

#define RUN (400 * MS)
#define MOST_THREADS 256

static struct {
    pthread_mutex_t mutex;
    volatile long count;
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int is_over;

struct worker {
    long entered;
    int64_t longest_ns;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    int64_t before = now_ns(CLOCK_MONOTONIC);
    do {
        OK(pthread_mutex_lock(&shared.mutex));
        int64_t now = now_ns(CLOCK_MONOTONIC);
        if (now - before > worker->longest_ns)
            worker->longest_ns = now - before;
        shared.count++;
        dally(100);
        OK(pthread_mutex_unlock(&shared.mutex));
        worker->entered++;
        dally(100);
        before = now_ns(CLOCK_MONOTONIC);
    } while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE));
    return NULL;
}

int main(void)
{
    watchdog();
    long n_threads = 4 * sysconf(_SC_NPROCESSORS_ONLN);
    if (n_threads > MOST_THREADS)
        n_threads = MOST_THREADS;
    static struct worker workers[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    doing = "four threads for each CPU";
    for (long i = 0; i < n_threads; i++)
        threads[i] = start(work, &workers[i]);
    sleep_ns(RUN);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    long entered = 0;
    for (long i = 0; i < n_threads; i++) {
        join_soon(threads[i], doing);
        entered += workers[i].entered;
        if (workers[i].longest_ns > LATEST)
            FAIL("a thread starved for %lld ms", (long long)(workers[i].longest_ns / MS));
    }
    if (shared.count != entered)
        FAIL("%ld entries, but %ld counted", entered, shared.count);
    CHECK(entered > 0);
    return 0;
}
