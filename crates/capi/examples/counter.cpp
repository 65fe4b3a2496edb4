// Four threads count to 100000 each, under one mutex, with the guards of the standard library.
//
// Prints: 400000
#include <iostream>
#include <mutex>
#include <ondeck.hpp>
#include <thread>
#include <vector>

static ondeck::mutex lock;
static long count;

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([] {
            for (int j = 0; j < 100000; j++) {
                std::lock_guard guard(lock);
                count++;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    std::cout << count << '\n';
}
