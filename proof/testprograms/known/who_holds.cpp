// Who holds a lock where the stack at the unlock does not say it, or says it of the wrong function. Each case has one function
// that holds the lock for long, which is the first word of its comment.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <future>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>
#define APART __attribute__((noinline))
#define END __asm__ volatile("" ::: "memory")

static double now_of(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}
// Computes for so long of its own time.
static void computes(double us)
{
    double end = now_of(CLOCK_THREAD_CPUTIME_ID) + us * 1e-6;
    while (now_of(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
}
static long n;

// fetch. It waits for a future inside of the section.
static std::mutex registry;
static std::atomic<std::promise<int> *> asked;
static void loads()
{
    usleep(100);
    if (std::promise<int> *promise = asked.exchange(nullptr)) {
        usleep(4000);
        promise->set_value(1);
    }
}
APART static int ask()
{
    std::promise<int> promise;
    std::future<int> answer = promise.get_future();
    asked = &promise;
    int got = answer.get();
    END;
    return got;
}
APART static void fetch()
{
    {
        std::lock_guard guard(registry);
        n += ask();
    }
    END;
}
APART static void find()
{
    {
        std::lock_guard guard(registry);
        n++;
    }
    END;
}
static void futures(int thread, long)
{
    if (thread == 0) {
        fetch();
        usleep(1000);
    } else if (thread == 1) {
        loads();
    } else {
        find();
        usleep(200);
    }
}

// store. The library's own functions make, take and leave each of its locks.
struct db_mutex {
    pthread_mutex_t inner;
};
APART static db_mutex *db_mutex_new()
{
    auto *made = new db_mutex;
    pthread_mutex_init(&made->inner, nullptr);
    END;
    return made;
}
APART static void db_mutex_enter(db_mutex *mutex)
{
    pthread_mutex_lock(&mutex->inner);
    END;
}
APART static void db_mutex_leave(db_mutex *mutex) { pthread_mutex_unlock(&mutex->inner); }
APART static db_mutex *open_database()
{
    db_mutex *made = db_mutex_new();
    END;
    return made;
}
static db_mutex *database;
APART static void store()
{
    db_mutex_enter(database);
    computes(500);
    db_mutex_leave(database);
    END;
}
static void wrapped(int, long)
{
    store();
    usleep(50);
}

// merge. Others wait for its spin lock in a loop, while nobody waits for the mutex.
static std::atomic_flag merging = ATOMIC_FLAG_INIT;
static std::mutex totals;
APART static void merge()
{
    while (merging.test_and_set(std::memory_order_acquire)) {
    }
    computes(300);
    merging.clear(std::memory_order_release);
    END;
}
static void spins(int thread, long)
{
    if (thread > 1)
        return (void)usleep(1000);
    merge();
    std::lock_guard guard(totals);
    n++;
}

int main(int, char **arguments)
{
    struct {
        const char *name;
        void (*act)(int, long);
    } cases[] = {{"futures", futures}, {"wrapped", wrapped},
                 {"spins", spins}};
    database = open_database();
    for (auto &one : cases) {
        if (strcmp(one.name, arguments[1]) != 0)
            continue;
        // Who answers stays until nobody asks.
        bool is_first_last = one.act == futures;
        double end = now_of(CLOCK_MONOTONIC) + 1.2;
        std::atomic<bool> is_over{false};
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 4; thread++)
            threads.emplace_back([&, thread] {
                for (long turn = 1; !is_over; turn++) {
                    one.act(thread, turn);
                    if (now_of(CLOCK_MONOTONIC) >= end && (thread == 0 || !is_first_last))
                        is_over = true;
                }
            });
        for (auto &thread : threads)
            thread.join();
    }
}
