// ondeck.hpp: ondeck.h as C++17 has it, header only. The comments there say what holds of time, blocking, fairness, the child of
// a fork and signal handlers; it holds here too.
//
//   ondeck::mutex               is used as std::mutex is
//   ondeck::timed_mutex         as std::timed_mutex
//   ondeck::condition_variable  as std::condition_variable, with std::unique_lock<ondeck::mutex>
//   ondeck::monitor             as std::recursive_timed_mutex, with wait and pulse; ondeck::monitor_guard
//
// Each is constinit and so works as a static before main. None is copied or moved. Nothing throws but what the caller
// hands in, clocks and conditions, and the waits and pulses of a monitor that the thread is not inside of; locks are as they
// were then. What is undefined with the types of std is so here, but that to unlock a mutex that nobody holds, and to
// unlock a monitor from outside, end the process.
#ifndef ONDECK_HPP
#define ONDECK_HPP

#include <chrono>
#include <condition_variable>  // std::cv_status
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <utility>

#include "ondeck.h"

namespace ondeck {

namespace detail {

using nanoseconds = std::uint64_t;

// Rounded up: no wait is early. What lies beyond 250 years is for ever.
template <class Rep, class Period>
nanoseconds ns_of(const std::chrono::duration<Rep, Period>& timeout) {
    using seconds = std::chrono::duration<double>;
    if (!(timeout > timeout.zero())) {
        return 0;
    }
    if (std::chrono::duration_cast<seconds>(timeout) > seconds(250.0 * 365 * 86400)) {
        return std::numeric_limits<nanoseconds>::max();
    }
    return static_cast<nanoseconds>(std::chrono::ceil<std::chrono::nanoseconds>(timeout).count());
}

template <class Clock, class Duration>
nanoseconds ns_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    const auto now = Clock::now();
    return now < deadline ? ns_of(deadline - now) : 0;
}

// A clock of the caller's choice need not run as the monotonic one does: `attempt`, which gives false after so many
// nanoseconds, is made again until that clock says that it is time.
template <class Clock, class Duration, class Attempt>
bool attempt_until(const std::chrono::time_point<Clock, Duration>& deadline, Attempt attempt) {
    for (;;) {
        if (attempt(ns_until(deadline))) {
            return true;
        }
        if (Clock::now() >= deadline) {
            return false;
        }
    }
}

// After a wait that was not signalled. If it is too early by the caller's clock the caller has to look at its condition, as the
// thread has not been in the list for a moment.
template <class Clock, class Duration>
std::cv_status status_at(const std::chrono::time_point<Clock, Duration>& deadline) {
    return Clock::now() < deadline ? std::cv_status::no_timeout : std::cv_status::timeout;
}

// As the standard has it for waits with a condition, on top of a `wait` that gives a cv_status.
template <class Condition, class Wait>
bool wait_until_true(Condition& condition, Wait wait) {
    while (!condition()) {
        if (wait() == std::cv_status::timeout) {
            return condition();
        }
    }
    return true;
}

// The deadline of a wait with a condition, which may take several waits. Saturates, as the clock's last moment is for ever.
template <class Rep, class Period>
std::chrono::steady_clock::time_point deadline_in(const std::chrono::duration<Rep, Period>& timeout) {
    using clock = std::chrono::steady_clock;
    const nanoseconds ns = ns_of(timeout);
    const auto now = clock::now();
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(clock::time_point::max() - now).count();
    if (ns >= static_cast<nanoseconds>(left)) {
        return clock::time_point::max();
    }
    return now + std::chrono::ceil<clock::duration>(std::chrono::nanoseconds(static_cast<std::int64_t>(ns)));
}

}  // namespace detail

// Lets one thread in at a time. Meets the requirements of Lockable.
class mutex {
public:
    using native_handle_type = ondeck_mutex_t*;

    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() noexcept { ondeck_mutex_lock(&mutex_); }
    bool try_lock() noexcept { return ondeck_mutex_trylock(&mutex_) == 0; }
    void unlock() noexcept { ondeck_mutex_unlock(&mutex_); }

    // Unlocks, and gives the mutex to a waiter at once, if there is one.
    void unlock_fair() noexcept { ondeck_mutex_unlock_fair(&mutex_); }

    native_handle_type native_handle() noexcept { return &mutex_; }

private:
    ondeck_mutex_t mutex_ = ONDECK_MUTEX_INIT;
};

// A mutex that threads need not wait for any longer than they like. Meets the requirements of TimedLockable.
class timed_mutex : public mutex {
public:
    // Locks, and waits for at most `timeout`; true if it has locked.
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout) {
        return ondeck_mutex_lock_for(native_handle(), detail::ns_of(timeout)) == 0;
    }

    // The same, until `deadline` of any clock, be it set forward or back meanwhile: forward is noticed late.
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return detail::attempt_until(deadline, [this](detail::nanoseconds ns) {
            return ondeck_mutex_lock_for(native_handle(), ns) == 0;
        });
    }
};

// Where threads that hold an ondeck::mutex wait for each other. Without spurious returns; but a wait until a deadline of a clock that
// was set back meanwhile may say no_timeout at the time when the deadline would have been.
class condition_variable {
public:
    using native_handle_type = ondeck_cond_t*;

    constexpr condition_variable() noexcept = default;
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;

    void notify_one() noexcept { ondeck_cond_signal(&cond_); }
    void notify_all() noexcept { ondeck_cond_broadcast(&cond_); }

    // Each of these is called with `lock` held, and returns or throws with it held.
    void wait(std::unique_lock<mutex>& lock) noexcept { ondeck_cond_wait(&cond_, lock.mutex()->native_handle()); }

    template <class Condition>
    void wait(std::unique_lock<mutex>& lock, Condition condition) {
        while (!condition()) {
            wait(lock);
        }
    }

    template <class Rep, class Period>
    std::cv_status wait_for(std::unique_lock<mutex>& lock, const std::chrono::duration<Rep, Period>& timeout) {
        const bool is_signalled = wait_ns(lock, detail::ns_of(timeout));
        return is_signalled ? std::cv_status::no_timeout : std::cv_status::timeout;
    }

    template <class Rep, class Period, class Condition>
    bool wait_for(std::unique_lock<mutex>& lock, const std::chrono::duration<Rep, Period>& timeout, Condition condition) {
        return wait_until(lock, detail::deadline_in(timeout), std::move(condition));
    }

    template <class Clock, class Duration>
    std::cv_status wait_until(std::unique_lock<mutex>& lock, const std::chrono::time_point<Clock, Duration>& deadline) {
        const bool is_signalled = wait_ns(lock, detail::ns_until(deadline));
        return is_signalled ? std::cv_status::no_timeout : detail::status_at(deadline);
    }

    template <class Clock, class Duration, class Condition>
    bool wait_until(std::unique_lock<mutex>& lock, const std::chrono::time_point<Clock, Duration>& deadline,
                    Condition condition) {
        return detail::wait_until_true(condition, [&] { return wait_until(lock, deadline); });
    }

    native_handle_type native_handle() noexcept { return &cond_; }

private:
    bool wait_ns(std::unique_lock<mutex>& lock, detail::nanoseconds ns) noexcept {
        return ondeck_cond_wait_for(&cond_, lock.mutex()->native_handle(), ns) == 0;
    }

    ondeck_cond_t cond_ = ONDECK_COND_INIT;
};

// A lock that its holder may lock again, in which threads wait for each other. Meets the requirements of TimedLockable.
//
// The waits leave the monitor on all levels and enter it again as deep as before. Waits and pulses throw std::system_error with
// operation_not_permitted if the calling thread is not inside. Destroyed with a thread inside, it leaks 64 bytes at most; with a
// thread that waits, it is undefined.
class monitor {
public:
    using native_handle_type = ondeck_monitor_t*;

    constexpr monitor() noexcept = default;
    ~monitor() { ondeck_monitor_destroy(&monitor_); }
    monitor(const monitor&) = delete;
    monitor& operator=(const monitor&) = delete;

    void lock() noexcept { ondeck_monitor_enter(&monitor_); }
    bool try_lock() noexcept { return ondeck_monitor_try_enter(&monitor_) == 0; }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout) {
        return ondeck_monitor_enter_for(&monitor_, detail::ns_of(timeout)) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return detail::attempt_until(deadline, [this](detail::nanoseconds ns) {
            return ondeck_monitor_enter_for(&monitor_, ns) == 0;
        });
    }

    void unlock() noexcept {
        if (ondeck_monitor_exit(&monitor_) != 0) {
            std::terminate();
        }
    }

    void wait() { check(ondeck_monitor_wait(&monitor_)); }

    template <class Condition>
    void wait(Condition condition) {
        while (!condition()) {
            wait();
        }
    }

    template <class Rep, class Period>
    std::cv_status wait_for(const std::chrono::duration<Rep, Period>& timeout) {
        return wait_ns(detail::ns_of(timeout)) ? std::cv_status::no_timeout : std::cv_status::timeout;
    }

    template <class Rep, class Period, class Condition>
    bool wait_for(const std::chrono::duration<Rep, Period>& timeout, Condition condition) {
        return wait_until(detail::deadline_in(timeout), std::move(condition));
    }

    template <class Clock, class Duration>
    std::cv_status wait_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return wait_ns(detail::ns_until(deadline)) ? std::cv_status::no_timeout : detail::status_at(deadline);
    }

    template <class Clock, class Duration, class Condition>
    bool wait_until(const std::chrono::time_point<Clock, Duration>& deadline, Condition condition) {
        return detail::wait_until_true(condition, [&] { return wait_until(deadline); });
    }

    void pulse() { check(ondeck_monitor_pulse(&monitor_)); }
    void pulse_all() { check(ondeck_monitor_pulse_all(&monitor_)); }

    native_handle_type native_handle() noexcept { return &monitor_; }

private:
    // True if it was pulsed.
    bool wait_ns(detail::nanoseconds ns) {
        const int answer = ondeck_monitor_wait_for(&monitor_, ns);
        if (answer == static_cast<int>(std::errc::timed_out)) {
            return false;
        }
        check(answer);
        return true;
    }

    static void check(int answer) {
        if (answer == 0) {
            return;
        }
#if defined(__cpp_exceptions)
        throw std::system_error(answer, std::generic_category(), "ondeck::monitor");
#else
        std::terminate();
#endif
    }

    ondeck_monitor_t monitor_ = ONDECK_MONITOR_INIT;
};

// The calling thread's stay in a monitor, on one level, from here to the end of the block.
class monitor_guard {
public:
    [[nodiscard]] explicit monitor_guard(monitor& entered) noexcept : monitor_(entered) { monitor_.lock(); }
    ~monitor_guard() { monitor_.unlock(); }
    monitor_guard(const monitor_guard&) = delete;
    monitor_guard& operator=(const monitor_guard&) = delete;

    void wait() { monitor_.wait(); }

    template <class Condition>
    void wait(Condition condition) {
        monitor_.wait(std::move(condition));
    }

    template <class... Arguments>
    auto wait_for(Arguments&&... arguments) {
        return monitor_.wait_for(std::forward<Arguments>(arguments)...);
    }

    template <class... Arguments>
    auto wait_until(Arguments&&... arguments) {
        return monitor_.wait_until(std::forward<Arguments>(arguments)...);
    }

    void pulse() { monitor_.pulse(); }
    void pulse_all() { monitor_.pulse_all(); }

private:
    monitor& monitor_;
};

static_assert(sizeof(mutex) == 8 && alignof(mutex) == 8 && sizeof(timed_mutex) == 8, "as ondeck.h has it");
static_assert(sizeof(condition_variable) == 16 && alignof(condition_variable) == 8, "as ondeck.h has it");
static_assert(sizeof(monitor) == 4 && alignof(monitor) == 4, "as ondeck.h has it");

}  // namespace ondeck

#endif
