// That the types are what the standard's algorithms and guards ask for: most of it by compiling, the rest by running.
//
// Prints: met
#include "check.hpp"

#include <condition_variable>
#include <mutex>
#include <ondeck.hpp>
#include <shared_mutex>
#include <thread>
#include <type_traits>

using namespace std::chrono_literals;

// ---- By compiling ---------------------------------------------------------------------------------------------------

template <class L, class = void>
struct is_lockable : std::false_type {};
template <class L>
struct is_lockable<L, std::void_t<decltype(std::declval<L&>().lock()), decltype(std::declval<L&>().unlock())>>
    : std::is_same<decltype(std::declval<L&>().try_lock()), bool> {};

// A clock that only a caller knows, with ticks that are no whole nanoseconds.
struct odd_clock {
    using rep = double;
    using period = std::ratio<1, 3>;
    using duration = std::chrono::duration<rep, period>;
    using time_point = std::chrono::time_point<odd_clock>;
    static constexpr bool is_steady = true;
    static time_point now() { return time_point(std::chrono::steady_clock::now().time_since_epoch()); }
};

template <class L, class Clock, class = void>
struct is_timed : std::false_type {};
template <class L, class Clock>
struct is_timed<L, Clock, std::void_t<decltype(std::declval<L&>().try_lock_for(typename Clock::duration()))>>
    : std::is_same<decltype(std::declval<L&>().try_lock_until(Clock::now())), bool> {};

template <class L, class = void>
struct is_shared : std::false_type {};
template <class L>
struct is_shared<L, std::void_t<decltype(std::declval<L&>().lock_shared()), decltype(std::declval<L&>().unlock_shared())>>
    : std::is_same<decltype(std::declval<L&>().try_lock_shared()), bool> {};

template <class T>
constexpr bool stays_where_it_is = !std::is_copy_constructible_v<T> && !std::is_move_constructible_v<T> &&
                                   !std::is_copy_assignable_v<T> && !std::is_move_assignable_v<T> &&
                                   std::is_nothrow_default_constructible_v<T> && std::is_standard_layout_v<T>;

static_assert(is_lockable<ondeck::mutex>::value && is_lockable<ondeck::timed_mutex>::value);
static_assert(is_lockable<ondeck::monitor>::value);
static_assert(is_lockable<ondeck::shared_mutex>::value && is_shared<ondeck::shared_mutex>::value);
static_assert(is_shared<ondeck::shared_timed_mutex>::value && !is_shared<ondeck::mutex>::value);
static_assert(!is_timed<ondeck::shared_mutex, odd_clock>::value && is_timed<ondeck::shared_timed_mutex, odd_clock>::value);
static_assert(!is_timed<ondeck::mutex, std::chrono::steady_clock>::value, "as std::mutex");
static_assert(is_timed<ondeck::timed_mutex, std::chrono::steady_clock>::value);
static_assert(is_timed<ondeck::timed_mutex, std::chrono::system_clock>::value);
static_assert(is_timed<ondeck::timed_mutex, odd_clock>::value && is_timed<ondeck::monitor, odd_clock>::value);
static_assert(stays_where_it_is<ondeck::mutex> && stays_where_it_is<ondeck::timed_mutex>);
static_assert(stays_where_it_is<ondeck::condition_variable> && stays_where_it_is<ondeck::monitor>);
static_assert(stays_where_it_is<ondeck::shared_mutex> && stays_where_it_is<ondeck::shared_timed_mutex>);
static_assert(std::is_trivially_destructible_v<ondeck::mutex>);
static_assert(!std::is_trivially_destructible_v<ondeck::shared_timed_mutex>, "it may have counters");
static_assert(std::is_trivially_destructible_v<ondeck::condition_variable>);

#if defined(__cpp_constinit)
#define CONSTANT constinit
#else
#define CONSTANT
#endif
CONSTANT static ondeck::mutex first;
CONSTANT static ondeck::timed_mutex second;
CONSTANT static ondeck::condition_variable changed;
CONSTANT static ondeck::shared_mutex table;
CONSTANT static ondeck::shared_timed_mutex timed_table;
CONSTANT static ondeck::monitor room;

// ---- By running -----------------------------------------------------------------------------------------------------

template <class Function>
static void elsewhere(Function function) {
    std::thread(function).join();
}

static void guards() {
    std::lock_guard one(first);
    std::unique_lock<ondeck::timed_mutex> two(second, std::defer_lock);
    EXPECT(two.try_lock_for(1ms));
    elsewhere([] {
        EXPECT(std::try_lock(first, second) == 0);
        EXPECT(!second.try_lock_for(1500us) && !second.try_lock_for(-1h) && !second.try_lock_for(0.25ms));
        EXPECT(!second.try_lock_until(std::chrono::steady_clock::now() + 1ms));
        EXPECT(!second.try_lock_until(std::chrono::system_clock::time_point::min()));
        const auto deadline = odd_clock::now() + 5ms;
        EXPECT(!second.try_lock_until(deadline) && odd_clock::now() >= deadline);
    });
    two.unlock();
    EXPECT(second.try_lock_for(std::chrono::hours::max()));
    second.unlock_fair();
    EXPECT(second.try_lock_until(std::chrono::steady_clock::time_point::max()));
    second.unlock();
}

// In opposite orders, which two threads survive by std::lock only.
static void several_at_once() {
    long counted = 0;
    auto work = [&counted](bool is_forth) {
        for (int i = 0; i < 20000; i++) {
            if (is_forth) {
                std::scoped_lock all(first, second, room, table);
                counted++;
            } else {
                std::lock(room, table, second, first);
                counted++;
                first.unlock(), second.unlock(), room.unlock(), table.unlock();
            }
        }
    };
    std::thread forwards(work, true), backwards(work, false);
    forwards.join();
    backwards.join();
    EXPECT(counted == 40000);
}

static void waits() {
    std::unique_lock lock(first);
    EXPECT(changed.wait_for(lock, 1ms) == std::cv_status::timeout);
    EXPECT(changed.wait_until(lock, odd_clock::now() + 1ms) == std::cv_status::timeout);
    EXPECT(!changed.wait_for(lock, 1ms, [] { return false; }));
    EXPECT(!changed.wait_until(lock, std::chrono::system_clock::now() + 1ms, [] { return false; }));
    EXPECT(changed.wait_for(lock, -1ms, [] { return true; }));
    int step = 0;
    std::thread other([&step] {
        for (int i = 0; i < 5; i++) {
            std::lock_guard guard(first);
            step++;
            step % 2 ? changed.notify_one() : changed.notify_all();
        }
    });
    changed.wait(lock, [&] { return step >= 1; });
    EXPECT(changed.wait_for(lock, std::chrono::hours::max(), [&] { return step >= 2; }));
    EXPECT(changed.wait_for(lock, 3.5h, [&] { return step >= 3; }));
    EXPECT(changed.wait_until(lock, std::chrono::system_clock::now() + 1h, [&] { return step >= 4; }));
    EXPECT(changed.wait_until(lock, std::chrono::steady_clock::time_point::max(), [&] { return step >= 5; }));
    lock.unlock();
    other.join();
}

static void readers_and_writers() {
    {
        std::shared_lock one(table);
        std::shared_lock two(timed_table);
        elsewhere([] {
            std::shared_lock beside(timed_table, 1ms);
            EXPECT(beside && std::shared_lock(table, std::try_to_lock) && !table.try_lock() && !timed_table.try_lock_for(1ms));
            EXPECT(!timed_table.try_lock_until(odd_clock::now() + 1ms) && std::try_lock(table, timed_table) == 0);
        });
    }
    std::unique_lock writer(timed_table, std::chrono::hours::max());
    EXPECT(writer.owns_lock());
    elsewhere([] {
        std::shared_lock late(timed_table, std::defer_lock);
        EXPECT(!late.try_lock() && !late.try_lock_for(1ms) && !late.try_lock_until(std::chrono::system_clock::now() + 1ms));
        const auto deadline = odd_clock::now() + 5ms;
        EXPECT(!late.try_lock_until(deadline) && odd_clock::now() >= deadline);
    });
    writer.release()->downgrade();
    std::shared_lock reader(timed_table, std::adopt_lock);
    elsewhere([] { EXPECT(std::shared_lock(timed_table, odd_clock::now() + 1h) && !timed_table.try_lock()); });
    reader.unlock();
    std::scoped_lock all(table, timed_table, first);
    elsewhere([] { EXPECT(!table.try_lock_shared() && !timed_table.try_lock_shared()); });
}

// std::condition_variable_any takes whatever can be locked.
template <class Lock>
static void waits_in_any(Lock& lock) {
    std::condition_variable_any any;
    bool is_ready = false;
    std::unique_lock guard(lock);
    std::thread other([&] {
        std::lock_guard inside(lock);
        is_ready = true;
        any.notify_one();
    });
    any.wait(guard, [&] { return is_ready; });
    guard.unlock();
    other.join();
}

static void pulses() {
    bool is_told = false;
    try {
        room.pulse();
    } catch (const std::system_error& error) {
        is_told = error.code() == std::errc::operation_not_permitted;
    }
    EXPECT(is_told);
    int step = 0;
    ondeck::monitor_guard outer(room), inside(room);
    EXPECT(room.try_lock_for(1ms) && room.try_lock_until(odd_clock::now()));
    elsewhere([] { EXPECT(!room.try_lock() && !room.try_lock_until(odd_clock::now() + 1ms)); });
    EXPECT(inside.wait_for(1ms) == std::cv_status::timeout);
    EXPECT(inside.wait_until(std::chrono::system_clock::now()) == std::cv_status::timeout);
    EXPECT(!inside.wait_for(1ms, [] { return false; }));
    std::thread other([&step] {
        for (int i = 0; i < 4; i++) {
            ondeck::monitor_guard entered(room);
            step++;
            i % 2 ? entered.pulse() : entered.pulse_all();
        }
    });
    inside.wait([&] { return step >= 1; });
    EXPECT(inside.wait_for(1h, [&] { return step >= 2; }));
    EXPECT(inside.wait_until(odd_clock::now() + 1h, [&] { return step >= 4; }));
    room.unlock();
    room.unlock();
    other.join();
}

// A lock that is only read counts its readers by core, where the machine lets it. There are counters for 1,023 locks, so
// each of these has given its own back.
static void counters_come_back() {
    bool is_first_counted = false, is_last_counted = false;
    for (int i = 0; i < 1100; i++) {
        ondeck::shared_mutex lock;
        auto is_counted = [&lock] { return (lock.native_handle()->ondeck_words[0] >> 22 & 1023) != 0; };
        for (int reads = 0; reads < 200000 && !is_counted() && (is_first_counted || i == 0); reads++) {
            std::shared_lock guard(lock);
        }
        is_last_counted = is_counted();
        is_first_counted |= i == 0 && is_last_counted;
    }
    EXPECT(is_last_counted == is_first_counted);
}

int main() {
    guards();
    several_at_once();
    waits();
    waits_in_any(first);
    waits_in_any(second);
    readers_and_writers();
    counters_come_back();
    waits_in_any(table);
    waits_in_any(room);
    pulses();
    std::cout << "met\n";
}
