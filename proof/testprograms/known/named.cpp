/* As named.c, with the types of the C++ library. */
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include "ondeck.hpp"

static constexpr int SHARDS = 3000;
static std::unique_ptr<std::mutex[]> shards;

static void use_shards() {
    for (int i = 0; i < SHARDS; i++) std::lock_guard<std::mutex> held(shards[i]);
}
static void use(std::mutex &lock) {
    for (int i = 0; i < 20; i++) {
        { std::lock_guard<std::mutex> held(lock); usleep(1000); }
        usleep(100);
    }
}
template <class Act>
static void twice(Act act) {
    std::thread other(act);
    act();
    other.join();
}
int main() {
    shards = std::make_unique<std::mutex[]>(SHARDS);
    for (int i = 0; i < SHARDS; i++) ondeck::name(shards[i], "shard");
    auto cache = std::make_unique<std::mutex>(), journal = std::make_unique<std::mutex>();
    auto table = std::make_unique<std::shared_mutex>();
    auto filled = std::make_unique<std::condition_variable[]>(2);
    ondeck::name(*cache, "cache");
    ondeck::name(*journal, "journal");
    ondeck::name(*table, "table");
    for (int i = 0; i < 2; i++) ondeck::name(filled[i], "filled");
    twice([&] { use(*cache); });
    twice(use_shards);
    { std::lock_guard<std::shared_mutex> held(*table); }
    for (int i = 0; i < 2; i++) {
        std::unique_lock<std::mutex> held(*cache);
        filled[i].wait_for(held, std::chrono::milliseconds(5));
    }
    if (fork() == 0) {
        twice([&] { use(*journal); });
        twice(use_shards);
        _exit(0);
    }
    wait(nullptr);
}
