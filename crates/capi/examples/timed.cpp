// A lock that is not waited for any longer than one likes: for so long, or until then.
//
// Prints: not within 10 ms, not by the deadline, then locked
#include <chrono>
#include <iostream>
#include <ondeck.hpp>
#include <thread>

int main() {
    using namespace std::chrono_literals;
    ondeck::timed_mutex lock;
    lock.lock();
    std::thread([&] {
        if (!lock.try_lock_for(10ms)) {
            std::cout << "not within 10 ms, ";
        }
        if (!lock.try_lock_until(std::chrono::system_clock::now() + 10ms)) {
            std::cout << "not by the deadline, ";
        }
    }).join();
    lock.unlock();
    if (std::unique_lock guard(lock, 0s); guard.owns_lock()) {
        std::cout << "then locked\n";
    }
}
