// Eight threads use everything at once, by the guards of the standard library; what they have counted has to be there.
//
// Prints: nothing lost
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <ondeck.hpp>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

constexpr long n_threads = 8, n_turns = 4000;

struct Shared {
    ondeck::mutex lock;
    ondeck::timed_mutex timed_lock;
    ondeck::monitor monitor;
    ondeck::condition_variable changed;
    std::condition_variable_any any_changed;
    long plain = 0, timed = 0, n_timed_out = 0, both = 0, turn = 0, any_turn = 0, entered = 0;
};

static void work(Shared& shared, long id) {
    for (long i = 0; i < n_turns; i++) {
        {
            std::lock_guard guard(shared.lock);
            shared.plain++;
        }
        std::unique_lock timed(shared.timed_lock, std::defer_lock);
        if (i % 2 ? timed.try_lock_for(1us) : timed.try_lock_until(std::chrono::system_clock::now() + 1us)) {
            shared.timed++;
            timed.unlock();
        } else {
            std::lock_guard guard(shared.lock);
            shared.n_timed_out++;
        }
        std::scoped_lock all(shared.lock, shared.timed_lock);
        shared.both++;
    }
    for (long i = 0; i < n_turns / 8; i++) {
        std::unique_lock guard(shared.lock);
        while (!shared.changed.wait_for(guard, 100us, [&] { return shared.turn % n_threads == id; })) {
        }
        shared.turn++;
        shared.changed.notify_all();
    }
    for (long i = 0; i < n_turns / 8; i++) {
        std::unique_lock guard(shared.timed_lock);
        shared.any_changed.wait(guard, [&] { return shared.any_turn % n_threads == id; });
        shared.any_turn++;
        shared.any_changed.notify_all();
    }
    for (long i = 0; i < n_turns / 8; i++) {
        ondeck::monitor_guard outer(shared.monitor), inner(shared.monitor);
        inner.wait([&] { return shared.entered % n_threads == id; });
        shared.entered++;
        inner.pulse_all();
    }
}

int main() {
    Shared shared;
    std::vector<std::thread> threads;
    for (long id = 0; id < n_threads; id++) {
        threads.emplace_back([&shared, id] { work(shared, id); });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    const long all = n_threads * n_turns;
    const bool is_whole = shared.plain == all && shared.timed + shared.n_timed_out == all && shared.both == all &&
                          shared.turn == all / 8 && shared.any_turn == all / 8 && shared.entered == all / 8;
    std::cout << (is_whole ? "nothing lost\n" : "something lost\n");
    return is_whole ? EXIT_SUCCESS : EXIT_FAILURE;
}
