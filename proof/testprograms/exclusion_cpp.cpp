// The mutexes and condition variables of C++ under contention: libstdc++ inlines calls of pthread functions, among them
// clocklock and clockwait, which older interposers miss.
#include "check.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;
using System = std::chrono::system_clock;

namespace {

constexpr int N_THREADS = 5;
constexpr int N_ROUNDS = 4000;

template <class Run> void in_threads(Run run)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < N_THREADS; i++)
        threads.emplace_back(run, i);
    for (auto &thread : threads)
        thread.join();
}

template <class Mutex> void excludes()
{
    Mutex mutex;
    long count = 0;
    std::atomic<long> entered{0};
    in_threads([&](int index) {
        for (int round = 0; round < N_ROUNDS; round++) {
            std::unique_lock<Mutex> lock(mutex, std::defer_lock);
            if ((round + index) % 3 == 0) {
                if (!lock.try_lock())
                    continue;
            } else {
                lock.lock();
            }
            volatile long seen = count;
            dally(20);
            count = seen + 1;
            entered++;
        }
    });
    CHECK(count == entered);
}

template <class Mutex> void excludes_with_deadlines()
{
    Mutex mutex;
    long count = 0;
    std::atomic<long> entered{0};
    in_threads([&](int index) {
        for (int round = 0; round < N_ROUNDS / 2; round++) {
            bool inside = false;
            bool near = round % 8 == 0;
            auto wait = near ? std::chrono::nanoseconds(20us) : std::chrono::nanoseconds(50s);
            auto steady = Steady::now() + wait;
            auto system = System::now() + std::chrono::duration_cast<System::duration>(wait);
            switch ((round + index) % 3) {
            case 0:
                inside = mutex.try_lock_for(wait);
                break;
            case 1:
                inside = mutex.try_lock_until(steady);
                break;
            default:
                inside = mutex.try_lock_until(system);
            }
            CHECK(inside || near);
            if (!inside)
                continue;
            volatile long seen = count;
            dally(20);
            count = seen + 1;
            entered++;
            mutex.unlock();
        }
    });
    CHECK(count == entered);
}

template <class Mutex> void is_recursive()
{
    Mutex mutex;
    for (int i = 0; i < 100; i++)
        mutex.lock();
    CHECK(mutex.try_lock());
    bool got = true;
    std::thread([&] { got = mutex.try_lock(); }).join();
    CHECK(!got);
    for (int i = 0; i < 101; i++)
        mutex.unlock();
    std::thread([&] {
        got = mutex.try_lock();
        mutex.unlock();
    }).join();
    CHECK(got);
}

template <class Condition, class Mutex> void waits()
{
    Mutex mutex;
    Condition condition;
    int turn = 0;
    bool late = false;
    in_threads([&](int index) {
        for (int round = 0; round < 300; round++) {
            std::unique_lock<Mutex> lock(mutex);
            auto mine = [&] { return turn % N_THREADS == index; };
            switch (round % 3) {
            case 0:
                condition.wait(lock, mine);
                break;
            case 1:
                late |= !condition.wait_for(lock, 50s, mine);
                break;
            default:
                late |= !condition.wait_until(lock, System::now() + 50s, mine);
            }
            turn++;
            condition.notify_all();
        }
    });
    CHECK(!late);
    CHECK(turn == 300 * N_THREADS);

    std::unique_lock<Mutex> lock(mutex);
    auto end = Steady::now() + 3ms;
    while (condition.wait_until(lock, end) == std::cv_status::no_timeout) {
    }
    CHECK(Steady::now() >= end);
    auto system_end = System::now() + 3ms;
    while (condition.wait_until(lock, system_end) == std::cv_status::no_timeout) {
    }
    CHECK(System::now() >= system_end);
}

void several_at_once()
{
    std::mutex a, b;
    std::timed_mutex c;
    long count = 0;
    in_threads([&](int index) {
        for (int round = 0; round < N_ROUNDS / 2; round++) {
            if ((index + round) % 2) {
                std::scoped_lock lock(a, b, c);
                count++;
            } else {
                std::scoped_lock lock(c, b, a);
                count++;
            }
        }
    });
    CHECK(count == N_THREADS * (N_ROUNDS / 2));
}

// The lock goes from the thread to its end: it is released after the thread's other destructors, in the thread.
void at_thread_exit()
{
    for (int round = 0; round < 50; round++) {
        std::mutex mutex;
        std::condition_variable condition;
        bool done = false;
        std::thread thread([&] {
            std::unique_lock<std::mutex> lock(mutex);
            done = true;
            std::notify_all_at_thread_exit(condition, std::move(lock));
        });
        {
            std::unique_lock<std::mutex> lock(mutex);
            condition.wait(lock, [&] { return done; });
        }
        thread.join();
    }
}

void once_and_futures()
{
    for (int round = 0; round < 100; round++) {
        std::once_flag flag;
        int n_calls = 0;
        in_threads([&](int index) {
            try {
                std::call_once(flag, [&] {
                    // The first ones fail: somebody else has to try then.
                    if (index == 0)
                        throw 1;
                    n_calls++;
                });
            } catch (int) {
            }
        });
        CHECK(n_calls == 1);
    }
    auto future = std::async(std::launch::async, [] { return 42; });
    CHECK(future.get() == 42);
}

} // namespace

int main()
{
    watchdog();
    doing = "std::mutex";
    excludes<std::mutex>();
    doing = "std::recursive_mutex";
    excludes<std::recursive_mutex>();
    is_recursive<std::recursive_mutex>();
    doing = "std::timed_mutex";
    excludes<std::timed_mutex>();
    excludes_with_deadlines<std::timed_mutex>();
    doing = "std::recursive_timed_mutex";
    excludes_with_deadlines<std::recursive_timed_mutex>();
    is_recursive<std::recursive_timed_mutex>();
    doing = "std::condition_variable";
    waits<std::condition_variable, std::mutex>();
    doing = "std::condition_variable_any";
    waits<std::condition_variable_any, std::mutex>();
    waits<std::condition_variable_any, std::recursive_mutex>();
    waits<std::condition_variable_any, std::timed_mutex>();
    doing = "std::scoped_lock";
    several_at_once();
    doing = "notify_all_at_thread_exit";
    at_thread_exit();
    doing = "call_once";
    once_and_futures();
    return 0;
}
