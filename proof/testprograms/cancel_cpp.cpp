// Cancellation in C++: it unwinds through frames whose destructors run, and through catch (...) that rethrows; the lock of a
// std::unique_lock is held meanwhile.
#include "check.h"
#include <chrono>
#include <condition_variable>
#include <cxxabi.h>
#include <mutex>

namespace {

std::mutex mutex;
std::condition_variable condition;
int n_waiting, n_destroyed, n_caught;
int waiter_id;

struct Counted {
    ~Counted()
    {
        // Between wait and the unlock of `lock`: still ours.
        CHECK(!mutex.try_lock());
        n_destroyed++;
    }
};

template <class Wait> void wait_below(Wait wait)
{
    std::unique_lock<std::mutex> lock(mutex);
    Counted counted;
    n_waiting++;
    __atomic_store_n(&waiter_id, thread_id(), __ATOMIC_RELEASE);
    try {
        Counted inner;
        for (;;)
            wait(lock);
    } catch (const abi::__forced_unwind &) {
        n_caught++;
        throw;
    }
}

void *plain(void *)
{
    try {
        wait_below([](std::unique_lock<std::mutex> &lock) {
            // Where the library declares its wait noexcept, as libstdc++ did before version 12, a cancel in it ends the
            // program, on glibc too.
            if (noexcept(condition.wait(lock)))
                pthread_cond_wait(condition.native_handle(), lock.mutex()->native_handle());
            else
                condition.wait(lock);
        });
    } catch (...) {
        n_caught++;
        throw;
    }
    return nullptr;
}

void *with_deadline(void *)
{
    try {
        wait_below([](std::unique_lock<std::mutex> &lock) {
            condition.wait_for(lock, std::chrono::seconds(50));
        });
    } catch (...) {
        n_caught++;
        throw;
    }
    return nullptr;
}

void *on_system_clock(void *)
{
    try {
        wait_below([](std::unique_lock<std::mutex> &lock) {
            condition.wait_until(lock, std::chrono::system_clock::now() + std::chrono::seconds(50));
        });
    } catch (...) {
        n_caught++;
        throw;
    }
    return nullptr;
}

} // namespace

int main()
{
    watchdog();
    void *(*const ways[])(void *) = {plain, with_deadline, on_system_clock};
    for (int round = 0; round < 90; round++) {
        n_waiting = n_destroyed = n_caught = waiter_id = 0;
        pthread_t thread = start(ways[round % 3], nullptr);
        for (bool waits = false; !waits; give_way()) {
            std::lock_guard<std::mutex> guard(mutex);
            waits = n_waiting == 1;
        }
        // Each way once in its sleep for sure, and else wherever it is by now.
        if (round < 3)
            until_asleep(&waiter_id);
        OK(pthread_cancel(thread));
        CHECK(join_soon(thread, "a cancelled wait in C++") == PTHREAD_CANCELED);
        CHECK(n_destroyed == 2);
        CHECK(n_caught == 2);
        CHECK(mutex.try_lock());
        mutex.unlock();
    }
    return 0;
}
