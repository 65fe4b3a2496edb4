// Programs with a known culprit, by name: what `ondeck profile` is to say first. Each runs for about a second, or until it is
// killed if it hangs. The list in main has the truth.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using Clock = std::chrono::steady_clock;
using us = std::chrono::microseconds;
using Threads = std::vector<std::thread>;
static const auto end = Clock::now() + std::chrono::milliseconds(600);

// How long its threads have lived, in ns, since they were started.
static std::atomic<long> lives;
struct Life {
    Clock::time_point from;
    ~Life() { lives += std::chrono::nanoseconds(Clock::now() - from).count(); }
};

static bool goes_on() { return Clock::now() < end; }
static void compute(int n)
{
    for (auto until = Clock::now() + us(n); Clock::now() < until;) {}
}
static void rest(int n) { std::this_thread::sleep_for(us(n)); }
template <typename Body> static void start(Threads &threads, int n, Body body)
{
    for (int i = 0; i < n; i++)
        threads.emplace_back([body, from = Clock::now()] {
            Life life{from};
            body();
        });
}
template <typename Body> static void repeat(Threads &threads, int n, Body body)
{
    start(threads, n, [=] {
        for (long turn = 0; goes_on(); turn++)
            body(turn);
    });
}
// No function ends in a jump to the one that unlocks, and none is part of another.
#define SECTION(name, lock, work)                                                                                              \
    [[gnu::noinline]] static void name()                                                                                       \
    {                                                                                                                          \
        {                                                                                                                      \
            std::lock_guard guard(lock);                                                                                       \
            work;                                                                                                              \
        }                                                                                                                      \
        asm volatile("" ::: "memory");                                                                                         \
    }

static std::mutex cache, journal, registry, queue, stats, index_lock, config;
static long counter;

// One long hold among many short ones.
SECTION(lookup, cache, counter++)
SECTION(rebuild, cache, compute(2000))
static void rare(Threads &threads)
{
    repeat(threads, 4, [](long turn) { turn % 4000 == 3999 ? rebuild() : lookup(); });
}
// Now and then a function that is usually quick is not, as when a table grows.
[[gnu::noinline]] static void insert(long turn)
{
    std::lock_guard guard(queue);
    turn % 500 == 499 ? compute(2000) : (void)counter++;
}
static void grow(Threads &threads) { repeat(threads, 2, [](long turn) { insert(turn), compute(2); }); }
// All holds are long.
SECTION(render, cache, compute(300))
static void always(Threads &threads)
{
    repeat(threads, 4, [](long) { render(); });
}
// The holder sleeps.
SECTION(append, journal, counter++)
SECTION(flush, journal, rest(3000))
static void sleeper(Threads &threads)
{
    repeat(threads, 1, [](long) { flush(), rest(500); });
    repeat(threads, 3, [](long) { append(), compute(20); });
}
// The holder waits for somebody else's answer.
static int pipes[2];
[[gnu::noinline]] static void ask()
{
    std::lock_guard guard(registry);
    char answer;
    if (read(pipes[0], &answer, 1) == 1)
        counter++;
}
SECTION(resolve, registry, counter++)
static void reply(Threads &threads)
{
    repeat(threads, 1, [](long) { ask(), rest(100); });
    repeat(threads, 3, [](long) { resolve(), rest(50); });
    start(threads, 1, [] {
        while (goes_on() || counter < 0)
            rest(4000), counter += write(pipes[1], "x", 1);
        counter += write(pipes[1], "xxxx", 4);
    });
}
// The holder waits for another lock, whose holder computes.
SECTION(compact, index_lock, compute(4000))
SECTION(search, index_lock, counter++)
SECTION(serve, queue, search())
static void chain(Threads &threads)
{
    repeat(threads, 1, [](long) { compact(), rest(500); });
    repeat(threads, 4, [](long) { serve(), rest(20); });
}
// Three locks deep; the last holder sleeps.
SECTION(reload, config, rest(5000))
SECTION(lookup_config, config, counter++)
SECTION(account, stats, lookup_config())
SECTION(handle, queue, account())
static void deep(Threads &threads)
{
    repeat(threads, 1, [](long) { reload(), rest(500); });
    repeat(threads, 4, [](long) { handle(), rest(20); });
}
// Short sections that threads on all cores want all the time.
SECTION(count, stats, counter++)
static void hot(Threads &threads)
{
    repeat(threads, 4, [](long) {
        for (int i = 0; i < 1000; i++)
            count();
    });
}
// Many more threads than cores, which lose them inside.
SECTION(merge, cache, compute(5))
static void crowd(Threads &threads)
{
    repeat(threads, 16, [](long) { merge(), compute(150); });
}
// Three that wait for each other.
[[gnu::noinline]] static void first() { std::lock_guard a(cache); rest(50000); std::lock_guard b(queue); }
[[gnu::noinline]] static void second() { std::lock_guard a(queue); rest(50000); std::lock_guard b(stats); }
[[gnu::noinline]] static void third() { std::lock_guard a(stats); rest(50000); std::lock_guard b(cache); }
static void circle(Threads &threads) { start(threads, 1, first), start(threads, 1, second), start(threads, 1, third); }
// A thread has it and never comes back.
[[gnu::noinline]] static void listen_for_ever()
{
    std::lock_guard guard(registry);
    pollfd none = {pipes[0], POLLIN, 0};
    poll(&none, 1, -1);
}
static void stuck(Threads &threads)
{
    start(threads, 1, listen_for_ever);
    rest(50000);
    start(threads, 3, resolve);
}
// Two locks that cost about the same.
SECTION(draw, cache, compute(400))
SECTION(store, journal, compute(400))
static void twins(Threads &threads)
{
    repeat(threads, 2, [](long) { draw(), rest(50); });
    repeat(threads, 2, [](long) { store(), rest(50); });
}
// Many locks of one kind.
struct Account {
    std::mutex lock;
    long balance = 0;
};
static Account *accounts;
[[gnu::noinline]] static void transfer(long n)
{
    std::lock_guard guard(accounts[n % 100].lock);
    compute(500);
    accounts[n % 100].balance++;
}
static void kinds(Threads &threads)
{
    accounts = new Account[100];
    repeat(threads, 8, [](long turn) { transfer(turn * 7919 >> 4); });
}
// Writers hold a lock for readers.
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
[[gnu::noinline]] static void scan() { pthread_rwlock_rdlock(&table); counter++; pthread_rwlock_unlock(&table); }
[[gnu::noinline]] static void rewrite() { pthread_rwlock_wrlock(&table); compute(3000); pthread_rwlock_unlock(&table); }
static void readers(Threads &threads)
{
    repeat(threads, 1, [](long) { rewrite(), rest(1000); });
    repeat(threads, 3, [](long) { scan(), rest(20); });
}
// One long hold as it begins, and hardly any waiting after it.
SECTION(load, config, rest(300000))
SECTION(get, config, counter++)
static void once(Threads &threads)
{
    start(threads, 1, load);
    rest(20000);
    repeat(threads, 2, [](long) { get(), rest(1000); });
}
// Nobody waits.
static void calm(Threads &threads)
{
    repeat(threads, 1, [](long) { count(), rest(10); });
}
// A holder that waits for the end of a thread.
static std::mutex results, totals;
SECTION(collect, results, (Life{Clock::now()}, std::thread([] { rest(5000); }).join()))
SECTION(publish, results, counter++)
static void join(Threads &threads)
{
    repeat(threads, 1, [](long) { collect(), rest(500); });
    repeat(threads, 2, [](long) { publish(), rest(500); });
}
// One of an array of locks is hot.
static struct {
    std::mutex lock;
    long count;
} shards[16];
[[gnu::noinline]] static void put(int at)
{
    std::lock_guard guard(shards[at].lock);
    compute(at == 3 ? 400 : 1);
    shards[at].count++;
}
static void shard(Threads &threads)
{
    repeat(threads, 3, [](long turn) { put(turn % 2 ? 3 : int(turn / 2 % 16)), rest(10); });
}
// A function that locks what its caller has.
SECTION(add, totals, counter++)
static void again(Threads &threads)
{
    start(threads, 2, [] {
        std::lock_guard guard(totals);
        add();
    });
}
// Nobody notifies.
static std::condition_variable ready_now;
[[gnu::noinline]] static void wait_for_it()
{
    std::unique_lock guard(config);
    ready_now.wait(guard, [] { return counter < 0; });
    counter++;
}
static void lost(Threads &threads) { start(threads, 2, wait_for_it); }
// All are woken for one piece of work.
static long pieces;
[[gnu::noinline]] static void work_on_one()
{
    std::unique_lock guard(queue);
    ready_now.wait_for(guard, us(100000), [] { return pieces > 0 || !goes_on(); });
    pieces--;
}
[[gnu::noinline]] static void produce()
{
    std::lock_guard guard(queue);
    pieces++;
    ready_now.notify_all();
}
static void herd(Threads &threads)
{
    repeat(threads, 16, [](long) { work_on_one(); });
    repeat(threads, 1, [](long) { produce(), rest(50); });
}
// Threads ask until they have it.
[[gnu::noinline]] static void ask_again()
{
    while (!registry.try_lock())
        std::this_thread::yield();
    compute(300);
    registry.unlock();
}
static void tries(Threads &threads) { repeat(threads, 3, [](long) { ask_again(), compute(20); }); }

static const struct {
    const char *name;
    void (*run)(Threads &);
} CASES[] = {
    {"rare", rare},       {"grow", grow},     {"always", always}, {"sleeper", sleeper}, {"reply", reply}, {"chain", chain},
    {"deep", deep},       {"hot", hot},       {"crowd", crowd},     {"circle", circle}, {"stuck", stuck},
    {"twins", twins},     {"kinds", kinds},   {"readers", readers}, {"once", once},   {"calm", calm},
    {"join", join},       {"shard", shard},   {"again", again},     {"lost", lost},
    {"herd", herd},       {"tries", tries},
};

int main(int, char **arguments)
{
    if (pipe(pipes) != 0)
        return 2;
    for (auto &one : CASES) {
        if (!arguments[1] || strcmp(one.name, arguments[1]) != 0)
            continue;
        Threads threads;
        {
            Life life{end - std::chrono::milliseconds(600)};
            one.run(threads);
            for (auto &thread : threads)
                thread.join();
        }
        printf("its threads lived %.3f s\n", double(lives) / 1e9);
        return 0;
    }
    return 2;
}
