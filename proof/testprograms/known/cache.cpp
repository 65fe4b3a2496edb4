/* `rebuild` sleeps with the cache, which `look_up` waits for. `reindex` writes the catalogue and goes on to read it; `find` waits to
   read it, and `add` to write it. Nobody waits for the other locks. Prints how often it looked up, for how many ns that was, how often it waited for
   the condition, and for how many ns; and for how many ns it found, and added. */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <unistd.h>
#include "ondeck.hpp"

using Clock = std::chrono::steady_clock;
static long ns_since(Clock::time_point from) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - from).count();
}

static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static ondeck::mutex queue_lock;
static ondeck::condition_variable filled;
static ondeck::shared_timed_mutex catalogue;
static int n_queued;
static long looked_up, look_up_ns, waits, wait_ns, find_ns, add_ns;
static std::atomic<bool> is_over;

[[gnu::noinline]] static void rebuild(ondeck::mutex &cache) {
    std::lock_guard<ondeck::mutex> held(cache);
    usleep(5000);
}
[[gnu::noinline]] static void reindex() {
    catalogue.lock();
    usleep(2000);
    catalogue.downgrade();
    usleep(2000);
    catalogue.unlock_shared();
}
[[gnu::noinline]] static void find() {
    auto from = Clock::now();
    std::shared_lock<ondeck::shared_timed_mutex> read(catalogue);
    find_ns += ns_since(from);
}
[[gnu::noinline]] static void add() {
    auto from = Clock::now();
    std::unique_lock<ondeck::shared_timed_mutex> written(catalogue, std::chrono::seconds(100));
    add_ns += ns_since(from);
}
[[gnu::noinline]] static void look_up(ondeck::mutex &cache) {
    auto from = Clock::now();
    std::lock_guard<ondeck::mutex> held(cache);
    looked_up++;
    look_up_ns += ns_since(from);
}
[[gnu::noinline]] static void consume() {
    std::unique_lock<ondeck::mutex> held(queue_lock);
    for (int n = 0; n < 20; n++) {
        auto from = Clock::now();
        filled.wait(held, [] { waits += n_queued == 0; return n_queued > 0; });
        wait_ns += ns_since(from);
        n_queued--;
    }
}
[[gnu::noinline]] static void produce() {
    usleep(5000);
    pthread_mutex_lock(&journal);
    pthread_mutex_unlock(&journal);
    { std::lock_guard<ondeck::mutex> held(queue_lock); n_queued++; }
    filled.notify_one();
}
int main() {
    auto cache = std::make_unique<ondeck::mutex>();
    ondeck::name(*cache, "cache");
    // The recording begins here, with nobody beside.
    { std::lock_guard<ondeck::mutex> first(queue_lock); }
    std::thread reader([&] { while (!is_over) { look_up(*cache); usleep(500); } });
    std::thread consumer(consume);
    for (int round = 0; round < 20; round++) { rebuild(*cache); produce(); }
    consumer.join();
    ondeck::name(catalogue, "catalogue");
    std::atomic<bool> is_indexed{false};
    std::thread finder([&] { while (!is_indexed) { find(); usleep(500); } });
    std::thread adder([&] { while (!is_indexed) { add(); usleep(500); } });
    for (int round = 0; round < 10; round++) { reindex(); usleep(2000); }
    is_indexed = true;
    finder.join();
    adder.join();
    is_over = true;
    reader.join();
    std::printf("%ld %ld %ld %ld %ld %ld\n", looked_up, look_up_ns, waits, wait_ns, find_ns, add_ns);
}
