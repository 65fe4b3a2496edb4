// Times at their ends, by real calls: a wait with a deadline that is far away lasts until somebody ends it, in whatever
// units the deadline is, and one that has passed is over at once, but not before its time.
//
// Prints: neither early nor late
#include "check.hpp"

#include <atomic>
#include <cerrno>
#include <cmath>
#include <limits>
#include <mutex>
#include <ondeck.hpp>
#include <thread>
#include <vector>

using namespace std::chrono;

using whole_days = duration<std::int64_t, std::ratio<86400>>;
using int_years = duration<int, std::ratio<31556952>>;
using thirds = duration<std::int64_t, std::ratio<1, 3>>;

// Seconds since the year 1, before which nanoseconds of 64 bits do not reach.
struct old_clock {
    using duration = seconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<old_clock>;
    static constexpr bool is_steady = false;
    static time_point now() {
        return time_point(floor<seconds>(system_clock::now().time_since_epoch()) + seconds(62'135'596'800));
    }
};

// Its origin is in the future, and its ticks are no whole nanoseconds.
struct future_clock {
    using duration = std::chrono::duration<double, std::ratio<1, 3>>;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<future_clock>;
    static constexpr bool is_steady = true;
    static time_point now() { return time_point(steady_clock::now().time_since_epoch() - whole_days(55'000)); }
};

// Calls `act` with deadlines that are far away, or durations up to them.
template <class Clock, class Unit, class Act>
static void with_far(Act act) {
    using point = time_point<Clock, Unit>;
    act(point::max());
    act(point::max() - Unit(1));
    for (std::int64_t n : {10'000, 100'000, 106'751, 106'752, 1'000'000}) {
        const duration<double> wanted = whole_days(n) + duration<double>(Clock::now().time_since_epoch());
        if (wanted < duration<double>(point::max().time_since_epoch())) {
            act(point(duration_cast<Unit>(wanted)));
        }
    }
}

template <class Act>
static void with_far_deadlines(Act act) {
    with_far<system_clock, nanoseconds>(act);
    with_far<system_clock, seconds>(act);
    with_far<system_clock, hours>(act);
    with_far<system_clock, whole_days>(act);
    with_far<system_clock, thirds>(act);
    with_far<system_clock, duration<float>>(act);
    with_far<steady_clock, milliseconds>(act);
    with_far<steady_clock, minutes>(act);
    with_far<steady_clock, int_years>(act);
    with_far<old_clock, seconds>(act);
    with_far<old_clock, whole_days>(act);
    with_far<future_clock, future_clock::duration>(act);
    with_far<future_clock, duration<long double, std::milli>>(act);
    act(future_clock::time_point(future_clock::duration(std::numeric_limits<double>::infinity())));
    // Where nanoseconds end.
    const auto end = floor<seconds>(system_clock::time_point::max());
    act(end - seconds(1)), act(end), act(end + seconds(1)), act(end + seconds(2));
}

template <class Act>
static void with_long_times(Act act) {
    act(nanoseconds::max()), act(seconds::max()), act(hours::max()), act(whole_days::max()), act(int_years::max());
    act(thirds::max()), act(duration<float>::max()), act(duration<double>(std::numeric_limits<double>::infinity()));
    for (int n : {80, 90, 91, 97, 98, 292, 293, 584, 585}) {
        act(int_years(n)), act(duration_cast<thirds>(int_years(n))), act(duration<double>(int_years(n)));
    }
}

template <class Act>
static void with_past_deadlines(Act act) {
    act(system_clock::time_point::min()), act(steady_clock::time_point::min()), act(old_clock::time_point::min());
    act(time_point<system_clock, hours>::min()), act(time_point<steady_clock, seconds>::min());
    act(time_point<old_clock, nanoseconds>::max()), act(time_point<system_clock, whole_days>::min() + whole_days(1));
    act(future_clock::time_point::min()), act(future_clock::time_point(future_clock::duration(std::nan(""))));
    act(system_clock::time_point()), act(time_point<system_clock, hours>(hours(-1))), act(system_clock::now());
    act(future_clock::time_point(future_clock::duration(-std::numeric_limits<double>::infinity())));
}

template <class Act>
static void with_no_time(Act act) {
    act(nanoseconds::zero()), act(nanoseconds(-1)), act(nanoseconds::min()), act(hours::min()), act(whole_days(-1));
    act(int_years::min()), act(thirds::min()), act(duration<double>(std::nan(""))), act(duration<double>(-1e300));
    act(duration<double>(-std::numeric_limits<double>::infinity()));
}

// The waits that are to last: each in a thread of its own, which says that it is over.
struct Waits {
    std::vector<std::thread> threads;
    std::atomic<int> n_begun{0}, n_over{0};

    template <class Wait>
    void add(Wait wait) {
        threads.emplace_back([this, wait] {
            n_begun++;
            EXPECT(wait());
            n_over++;
        });
    }

    // None is over before `end` was called, and all are soon after.
    template <class End>
    void all_last_until(End end) {
        while (n_begun != static_cast<int>(threads.size())) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(milliseconds(100));
        EXPECT(n_over == 0);
        end();
        for (auto& thread : threads) {
            thread.join();
        }
    }
};

template <class Lock>
static void locks() {
    Lock lock;
    lock.lock();
    Waits waits;
    with_far_deadlines([&](auto deadline) {
        waits.add([&lock, deadline] { return lock.try_lock_until(deadline) && (lock.unlock(), true); });
    });
    with_long_times([&](auto time) {
        waits.add([&lock, time] { return lock.try_lock_for(time) && (lock.unlock(), true); });
    });
    std::thread([&lock] {
        with_past_deadlines([&](auto deadline) { EXPECT(!lock.try_lock_until(deadline)); });
        with_no_time([&](auto time) { EXPECT(!lock.try_lock_for(time)); });
        for (int n = 1; n < 2000; n *= 3) {
            const auto begin = steady_clock::now();
            EXPECT(!lock.try_lock_for(nanoseconds(n)) && steady_clock::now() >= begin + nanoseconds(n));
            const auto end = time_point_cast<milliseconds>(system_clock::now()) + milliseconds(1);
            EXPECT(!lock.try_lock_until(end) && system_clock::now() >= end);
        }
    }).join();
    waits.all_last_until([&lock] { lock.unlock(); });
    with_past_deadlines([&](auto deadline) { EXPECT(lock.try_lock_until(deadline) && (lock.unlock(), true)); });
    with_no_time([&](auto time) { EXPECT(lock.try_lock_for(time) && (lock.unlock(), true)); });
}

static void conditions() {
    ondeck::mutex lock;
    ondeck::condition_variable changed;
    bool is_changed = false;
    Waits waits;
    const auto is_over = [&] { return is_changed; };
    with_far_deadlines([&](auto deadline) {
        waits.add([&, deadline] {
            std::unique_lock guard(lock);
            return is_changed || changed.wait_until(guard, deadline) == std::cv_status::no_timeout;
        });
        waits.add([&, deadline] {
            std::unique_lock guard(lock);
            return changed.wait_until(guard, deadline, is_over);
        });
    });
    with_long_times([&](auto time) {
        waits.add([&, time] {
            std::unique_lock guard(lock);
            return is_changed || changed.wait_for(guard, time) == std::cv_status::no_timeout;
        });
        waits.add([&, time] {
            std::unique_lock guard(lock);
            return changed.wait_for(guard, time, is_over);
        });
    });
    std::unique_lock other(lock);
    ondeck::condition_variable silent;
    with_past_deadlines([&](auto deadline) {
        EXPECT(silent.wait_until(other, deadline) == std::cv_status::timeout);
        EXPECT(!silent.wait_until(other, deadline, [] { return false; }));
    });
    with_no_time([&](auto time) {
        EXPECT(silent.wait_for(other, time) == std::cv_status::timeout);
        EXPECT(!silent.wait_for(other, time, [] { return false; }));
    });
    other.unlock();
    waits.all_last_until([&] {
        std::lock_guard guard(lock);
        is_changed = true;
        changed.notify_all();
    });
}

static void pulses() {
    ondeck::monitor room, silent;
    bool is_changed = false;
    Waits waits;
    with_far_deadlines([&](auto deadline) {
        waits.add([&, deadline] {
            ondeck::monitor_guard entered(room);
            return is_changed || entered.wait_until(deadline) == std::cv_status::no_timeout;
        });
    });
    with_long_times([&](auto time) {
        waits.add([&, time] {
            ondeck::monitor_guard entered(room);
            return is_changed || entered.wait_for(time) == std::cv_status::no_timeout;
        });
    });
    ondeck::monitor_guard alone(silent);
    with_past_deadlines([&](auto deadline) { EXPECT(alone.wait_until(deadline) == std::cv_status::timeout); });
    with_no_time([&](auto time) { EXPECT(alone.wait_for(time) == std::cv_status::timeout); });
    waits.all_last_until([&] {
        ondeck::monitor_guard entered(room);
        is_changed = true;
        entered.pulse_all();
    });
}

// The functions of ondeck.h.
static void in_c() {
    static ondeck_mutex_t mutex = ONDECK_MUTEX_INIT;
    static ondeck_cond_t cond = ONDECK_COND_INIT;
    static ondeck_monitor_t monitor = ONDECK_MONITOR_INIT;
    ondeck_mutex_lock(&mutex);
    ondeck_monitor_enter(&monitor);
    Waits waits;
    const time_t most = std::numeric_limits<time_t>::max(), ends = 9'223'372'036;
    for (int clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
        for (time_t seconds : {most, most - 1, 2 * ends, 2 * ends + 1, ends, ends + 1, ends - 1, time_t(1) << 40}) {
            for (long ns : {0L, 999'999'999L}) {
                waits.add([=] {
                    const timespec deadline = {seconds, ns};
                    return ondeck_mutex_timedlock(&mutex, clock, &deadline) == 0 && ondeck_mutex_unlock(&mutex) == 0;
                });
            }
        }
    }
    for (std::uint64_t ns : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX / 2 + 2}) {
        waits.add([=] { return ondeck_mutex_lock_for(&mutex, ns) == 0 && ondeck_mutex_unlock(&mutex) == 0; });
        waits.add([=] { return ondeck_monitor_enter_for(&monitor, ns) == 0 && ondeck_monitor_exit(&monitor) == 0; });
    }
    std::thread([=] {
        ondeck_mutex_t other = ONDECK_MUTEX_INIT;
        ondeck_mutex_lock(&other);
        for (int clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
            for (time_t seconds : {-most - 1, -most, -ends - 1, time_t(-1), time_t(0)}) {
                const timespec past = {seconds, 999'999'999};
                EXPECT(ondeck_mutex_timedlock(&mutex, clock, &past) == ETIMEDOUT);
                EXPECT(ondeck_cond_timedwait(&cond, &other, clock, &past) == ETIMEDOUT);
            }
        }
        for (std::uint64_t ns : {0, 1, 1000}) {
            EXPECT(ondeck_mutex_lock_for(&mutex, ns) == ETIMEDOUT);
            EXPECT(ondeck_monitor_enter_for(&monitor, ns) == ETIMEDOUT);
            EXPECT(ondeck_cond_wait_for(&cond, &other, ns) == ETIMEDOUT);
        }
    }).join();
    waits.all_last_until([] {
        ondeck_monitor_exit(&monitor);
        ondeck_mutex_unlock(&mutex);
    });
}

int main() {
    locks<ondeck::timed_mutex>();
    locks<ondeck::monitor>();
    conditions();
    pulses();
    in_c();
    std::cout << "neither early nor late\n";
}
