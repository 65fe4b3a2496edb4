// ondeck.hpp: ondeck's locks for C++17, header only, with the interface of the standard library's types.
//
//   ondeck::mutex               like std::mutex
//   ondeck::timed_mutex         like std::timed_mutex
//   ondeck::condition_variable  like std::condition_variable, with std::unique_lock<ondeck::mutex>
//   ondeck::shared_mutex        like std::shared_mutex; it can be downgraded
//   ondeck::shared_timed_mutex  like std::shared_timed_mutex
//   ondeck::monitor             like std::recursive_timed_mutex, with wait and pulse; see ondeck::monitor_guard
//
// The comments in ondeck.h about time, blocking, fairness, the child of a fork and signal handlers hold here too.
//
// Each type is constinit, and so works as a static before main. No type can be copied or moved.
//
// Only two things may throw: clocks and conditions that the caller hands in, and the waits and pulses of a monitor that
// the thread is not inside of. The locks are then as they were.
//
// What is undefined with the types of std is undefined here too, with two exceptions that end the process: to unlock a
// lock that nobody holds in this way, and to unlock a monitor from outside.
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

// Gives a lock the name by which `ondeck profile` shows it: see ondeck_name in ondeck.h.
template <class Lock>
void name(const Lock& lock, const char* name) noexcept {
    ondeck_name(&lock, name);
}

namespace detail {

using nanoseconds = std::uint64_t;

// Rounds up, so that no wait is early. More than 90 years means for ever: as many fit into thirds of nanoseconds.
template <class Rep, class Period>
nanoseconds ns_of(const std::chrono::duration<Rep, Period>& timeout) {
    using seconds = std::chrono::duration<long double>;
    if (!(timeout > timeout.zero())) {
        return 0;
    }
    if (seconds(timeout) > seconds(90.0L * 365 * 86400)) {
        return std::numeric_limits<nanoseconds>::max();
    }
    return static_cast<nanoseconds>(std::chrono::ceil<std::chrono::nanoseconds>(timeout).count());
}

// What is left until the deadline, 0 if it has passed. In the units of the clock a far deadline of coarser units may
// overflow. So a rough look comes first: what lies beyond those units is for ever, or has passed.
template <class Clock, class Duration>
nanoseconds ns_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    using exact = std::common_type_t<Duration, typename Clock::duration>;
    using rough = std::chrono::duration<long double, typename exact::period>;
    const auto now = Clock::now();
    const rough end = deadline.time_since_epoch(), left = end - rough(now.time_since_epoch());
    // A little less, as floating-point numbers are not exact.
    const rough most(static_cast<long double>(exact::max().count()) * (1 - 1e-9L));
    if (end < most && end > -most && left < most) {
        return now < deadline ? ns_of(deadline - now) : 0;
    }
    return left > left.zero() ? std::numeric_limits<nanoseconds>::max() : 0;
}

// Calls `attempt`, which returns false after so many nanoseconds, until the caller's clock says that it is time. That
// clock need not run like the monotonic one, so one attempt may not be enough.
template <class Clock, class Duration, class Attempt>
bool attempt_until(const std::chrono::time_point<Clock, Duration>& deadline, Attempt attempt) {
    for (;;) {
        if (attempt(ns_until(deadline))) {
            return true;
        }
        if (ns_until(deadline) == 0) {
            return false;
        }
    }
}

// The result of a wait that was not signalled. It may be too early by the caller's clock. Then the caller has to check
// its condition, because the thread was not in the list of waiters for a moment.
template <class Clock, class Duration>
std::cv_status status_at(const std::chrono::time_point<Clock, Duration>& deadline) {
    return ns_until(deadline) == 0 ? std::cv_status::timeout : std::cv_status::no_timeout;
}

// A wait with a condition, as the standard describes it, made from a `wait` that returns a cv_status.
template <class Condition, class Wait>
bool wait_until_true(Condition& condition, Wait wait) {
    while (!condition()) {
        if (wait() == std::cv_status::timeout) {
            return condition();
        }
    }
    return true;
}

// The deadline of a wait with a condition, which may take several waits. It saturates: the clock's last moment means
// for ever.
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

// A lock that lets one thread in at a time. Meets the requirements of Lockable.
class mutex {
public:
    using native_handle_type = ondeck_mutex_t*;

    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() noexcept { ondeck_mutex_lock(&mutex_); }
    bool try_lock() noexcept { return ondeck_mutex_trylock(&mutex_) == 0; }
    void unlock() noexcept { ondeck_mutex_unlock(&mutex_); }

    // Unlocks, and gives the mutex to a waiting thread at once, if there is one.
    void unlock_fair() noexcept { ondeck_mutex_unlock_fair(&mutex_); }

    native_handle_type native_handle() noexcept { return &mutex_; }

private:
    ondeck_mutex_t mutex_ = ONDECK_MUTEX_INIT;
};

// A mutex with timeouts. Meets the requirements of TimedLockable.
class timed_mutex : public mutex {
public:
    // Locks, and waits for at most `timeout`. Returns whether it has locked.
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout) {
        return ondeck_mutex_lock_for(native_handle(), detail::ns_of(timeout)) == 0;
    }

    // Locks, and waits at most until `deadline`, of any clock. The clock may be set during the call. If it is set
    // forward, that is noticed late.
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return detail::attempt_until(deadline, [this](detail::nanoseconds ns) {
            return ondeck_mutex_lock_for(native_handle(), ns) == 0;
        });
    }
};

// A condition variable: threads that hold an ondeck::mutex wait here for each other. A wait never returns for no
// reason, with one exception: its deadline is of a clock that was set back meanwhile. Then it may return no_timeout at
// the time when the deadline would have been.
class condition_variable {
public:
    using native_handle_type = ondeck_cond_t*;

    constexpr condition_variable() noexcept = default;
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;

    void notify_one() noexcept { ondeck_cond_signal(&cond_); }
    void notify_all() noexcept { ondeck_cond_broadcast(&cond_); }

    // Call each of these with `lock` held. It is held again when the call returns or throws.
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

// A lock for many readers or one writer. Meets the requirements of SharedLockable and Lockable: use it with
// std::shared_lock and std::unique_lock. ondeck.h says how readers and writers take turns. The destructor gives back what
// the lock has on each core. Threads that use a static lock after that are not harmed.
class shared_mutex {
public:
    using native_handle_type = ondeck_rwlock_t*;

    constexpr shared_mutex() noexcept = default;
    ~shared_mutex() { ondeck_rwlock_destroy(&lock_); }
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;

    void lock() noexcept { ondeck_rwlock_wrlock(&lock_); }
    bool try_lock() noexcept { return ondeck_rwlock_trywrlock(&lock_) == 0; }
    void unlock() noexcept { ondeck_rwlock_wrunlock(&lock_); }

    void lock_shared() noexcept { ondeck_rwlock_rdlock(&lock_); }
    bool try_lock_shared() noexcept { return ondeck_rwlock_tryrdlock(&lock_) == 0; }
    void unlock_shared() noexcept { ondeck_rwlock_rdunlock(&lock_); }

    // Makes the writer a reader, with nobody writing in between. Unlock with unlock_shared.
    void downgrade() noexcept { ondeck_rwlock_downgrade(&lock_); }

    native_handle_type native_handle() noexcept { return &lock_; }

private:
    ondeck_rwlock_t lock_ = ONDECK_RWLOCK_INIT;
};

// A shared_mutex with timeouts. Meets the requirements of SharedTimedLockable and TimedLockable.
class shared_timed_mutex : public shared_mutex {
public:
    // As those of timed_mutex.
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout) {
        return ondeck_rwlock_wrlock_for(native_handle(), detail::ns_of(timeout)) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return detail::attempt_until(deadline, [this](detail::nanoseconds ns) {
            return ondeck_rwlock_wrlock_for(native_handle(), ns) == 0;
        });
    }

    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& timeout) {
        return ondeck_rwlock_rdlock_for(native_handle(), detail::ns_of(timeout)) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return detail::attempt_until(deadline, [this](detail::nanoseconds ns) {
            return ondeck_rwlock_rdlock_for(native_handle(), ns) == 0;
        });
    }
};

// A lock that its holder may lock again, and in which threads wait for each other. Meets the requirements of
// TimedLockable.
//
// A wait leaves the monitor on all levels, and enters it again as deep as before. Waits and pulses throw
// std::system_error with operation_not_permitted if the calling thread is not inside. A monitor that is destroyed while
// a thread is inside leaks at most 64 bytes. To destroy it while a thread waits in it is undefined.
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
    // Returns true after a pulse.
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

// The calling thread's stay in a monitor, on one level, until the end of the block.
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
static_assert(sizeof(shared_mutex) == 16 && alignof(shared_mutex) == 8, "as ondeck.h has it");
static_assert(sizeof(shared_timed_mutex) == 16, "as ondeck.h has it");
static_assert(sizeof(monitor) == 32 && alignof(monitor) == 8, "as ondeck.h has it");

}  // namespace ondeck

#endif
