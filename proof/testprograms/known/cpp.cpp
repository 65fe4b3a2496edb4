// C++'s own mutexes and condition variables, which are those of pthread below some functions of the library.
#include "known.h"
#include <chrono>
#include <condition_variable>
#include <mutex>

using namespace std::chrono_literals;

static std::mutex plain;
static std::timed_mutex timed;
static std::recursive_mutex recursive;
static std::condition_variable condition;
static bool is_ready;
static int must_hold;
static struct known *known_plain, *known_timed, *known_recursive, *known_condition;

APART static void *waits_for_the_plain(void *id)
{
    comes(static_cast<int *>(id));
    int64_t want = known_now();
    std::lock_guard<std::mutex> guard(plain);
    known_took(known_plain, TOOK, want, __func__, __LINE__ - 1);
    known_gives(known_plain);
    return nullptr;
}

APART static void *waits_for_the_timed(void *id)
{
    comes(static_cast<int *>(id));
    GIVE_UP(known_timed, timed.try_lock_for(20ms) ? 1 : 0, 0);
    __atomic_store_n(&must_hold, 0, __ATOMIC_RELEASE);
    TAKE(known_timed, timed.try_lock_for(10s) ? 0 : 1);
    GIVE(known_timed, (timed.unlock(), 0));
    return nullptr;
}

APART static void *waits_for_the_recursive(void *id)
{
    comes(static_cast<int *>(id));
    TAKE(known_recursive, (recursive.lock(), 0));
    recursive.lock();
    recursive.unlock();
    GIVE(known_recursive, (recursive.unlock(), 0));
    return nullptr;
}

template <class Mutex> APART static void holds(Mutex &mutex, struct known *known, void *(*waits)(void *))
{
    pthread_t thread;
    int id;
    TAKE(known, (mutex.lock(), 0));
    start_waiters(&thread, &id, 1, waits);
    while (__atomic_load_n(&must_hold, __ATOMIC_ACQUIRE))
        sleep_ns(MS / 10);
    sleep_ns(30 * MS);
    GIVE(known, (mutex.unlock(), 0));
    join_all(&thread, 1);
}

APART static void *waits_for_news(void *id)
{
    TAKE(known_plain, (plain.lock(), 0));
    std::unique_lock<std::mutex> lock(plain, std::adopt_lock);
    comes(static_cast<int *>(id));
    while (!is_ready)
        WAIT_ON(known_condition, known_plain, (condition.wait(lock), 0), 0);
    is_ready = false;
    bool is_late = false;
    WAIT_ON(known_condition, known_plain, (is_late = condition.wait_for(lock, 30ms) == std::cv_status::timeout, 0), 0);
    CHECK(is_late);
    lock.release();
    GIVE(known_plain, (plain.unlock(), 0));
    return nullptr;
}

APART static void tells_news(void)
{
    pthread_t thread;
    int id;
    start_waiters(&thread, &id, 1, waits_for_news);
    sleep_ns(50 * MS);
    TAKE(known_plain, (plain.lock(), 0));
    is_ready = true;
    GIVE(known_plain, (plain.unlock(), 0));
    condition.notify_one();
    join_all(&thread, 1);
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_plain = KNOWN_MUTEX("plain", &plain);
    known_timed = KNOWN_MUTEX("timed", &timed);
    known_recursive = KNOWN_MUTEX("recursive", &recursive);
    known_condition = KNOWN_CONDITION("condition", &condition);
    for (int round = 0; round < 2; round++) {
        holds(plain, known_plain, waits_for_the_plain);
        must_hold = 1;
        holds(timed, known_timed, waits_for_the_timed);
        holds(recursive, known_recursive, waits_for_the_recursive);
        tells_news();
    }
    known_write(arguments[1], "exit");
    return 0;
}
