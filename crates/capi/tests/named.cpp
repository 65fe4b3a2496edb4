// Names locks of the C++ library, by the headers alone: this links with no library too. Prints: named
#include <condition_variable>
#include <cstdio>
#include <mutex>
#if __cplusplus >= 201703L
#include <shared_mutex>
#include "ondeck.hpp"
#else
#include "ondeck.h"
#endif

int main() {
    std::mutex lock;
    std::condition_variable filled;
    ondeck_name(&lock, "lock");
    ondeck_name(&filled, "filled");
#if __cplusplus >= 201703L
    std::shared_mutex table;
    const std::mutex constant;
    ondeck::name(lock, "lock");
    ondeck::name(table, "table");
    ondeck::name(constant, "constant");
    ondeck::name(filled, "filled");
#endif
    std::lock_guard<std::mutex> held(lock);
    std::puts("named");
}
