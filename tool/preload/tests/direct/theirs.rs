//! What a recording says only of mutexes and condition variables that stay the C library's.

use crate::common::{ProcessEnd, Recording, assert_between, is_asleep, pass, passed, tell, when};
use crate::recorded::{
    BOTH, condition, has_a_sample_for_each_way, has_a_wait, holds_each_way, in_ms, is_waited_for, lock, lock_in_time,
    make_condition, mutex, static_mutex, try_lock, unlock, wait,
};
use libc::{
    CLOCK_REALTIME, EBUSY, EDEADLK, ENOTSUP, EPERM, ETIMEDOUT, PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_ERRORCHECK,
    PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_PROTECT, PTHREAD_PROCESS_PRIVATE,
    clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec,
};
use ondeck_record::layout::{event, kind};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

unsafe extern "C" {
    fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, at: *const timespec) -> i32;
}

fn lock_by_clock(mutex: *mut pthread_mutex_t) {
    // SAFETY: it exists.
    assert_eq!(unsafe { pthread_mutex_clocklock(mutex, CLOCK_REALTIME, &in_ms(60_000)) }, 0);
}

/// What `change` makes of attributes.
fn attributes(change: impl FnOnce(*mut pthread_mutexattr_t) -> i32) -> pthread_mutexattr_t {
    let mut attributes = std::mem::MaybeUninit::uninit();
    // SAFETY: room for attributes.
    assert_eq!(unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) }, 0);
    assert_eq!(change(attributes.as_mut_ptr()), 0);
    // SAFETY: they have been made.
    unsafe { attributes.assume_init() }
}

/// A robust one, which has no room for marks.
fn robust() -> *mut pthread_mutex_t {
    let mutex = static_mutex();
    // SAFETY: they have been made.
    let robust = attributes(|it| unsafe { libc::pthread_mutexattr_setrobust(it, PTHREAD_MUTEX_ROBUST) });
    // SAFETY: it exists.
    assert_eq!(unsafe { libc::pthread_mutex_init(mutex, &robust) }, 0);
    mutex
}

/// Runs `act` in another thread, to its end.
fn elsewhere<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(act).join().unwrap())
}

/// Runs `test` beside a thread that does nothing.
fn in_company(test: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        test();
        is_over.store(true, Relaxed);
    });
}

/// Their own holds, each by another way, and what is done inside them.
#[test]
fn each_hold_of_one_thread_among_several_is_timed() {
    let name = "theirs::each_hold_of_one_thread_among_several_is_timed";
    let ended = passed(name, "glibc", Some(1), || in_company(|| holds_each_way(mutex(PTHREAD_MUTEX_NORMAL), |_| ())));
    ended.inspect(|ended| has_a_sample_for_each_way(ended, kind::INITIALISED));
}

#[test]
fn each_hold_of_an_adaptive_mutex_is_timed() {
    let name = "theirs::each_hold_of_an_adaptive_mutex_is_timed";
    let ended = passed(name, "glibc", Some(1), || holds_each_way(mutex(PTHREAD_MUTEX_ADAPTIVE_NP), |_| ()));
    ended.inspect(|ended| has_a_sample_for_each_way(ended, kind::INITIALISED));
}

/// Holds the mutex once, by `lock`, and does `inside` meanwhile.
fn one_hold(mutex: *mut pthread_mutex_t, lock: fn(*mut pthread_mutex_t), inside: impl FnOnce()) {
    tell("mutex", mutex as u64);
    let ((), taken) = when(|| lock(mutex));
    pass();
    inside();
    pass();
    let ((), released) = when(|| unlock(mutex));
    taken.tell_until(released, "hold");
}

/// There is one hold, as long as it was, and nobody has waited.
fn has_one_hold(ended: &ProcessEnd) {
    has_one_hold_in(ended, &ended.recording());
}

fn has_one_hold_in(ended: &ProcessEnd, recording: &Recording) {
    let mutex = ended.told("mutex");
    let holds = recording.samples_of(mutex, event::TAKE);
    assert_eq!(holds.len(), 1, "{holds:?}");
    assert_between(ended, "hold", holds[0].ns);
    assert!([event::WAIT, event::GAVE_UP].iter().all(|it| recording.samples_of(mutex, *it).is_empty()));
    assert_eq!(recording.lock_at(mutex).most_waiting, 0);
}

#[test]
fn a_hold_by_a_clock_is_timed() {
    let body = || one_hold(mutex(PTHREAD_MUTEX_NORMAL), lock_by_clock, || ());
    let ended = passed("theirs::a_hold_by_a_clock_is_timed", "glibc", Some(1), body);
    ended.inspect(has_one_hold);
}

/// What its owner locks and unlocks inside, and what others try to unlock, ends nothing.
#[test]
fn a_hold_of_a_recursive_mutex_lasts_until_its_last_unlock() {
    let name = "theirs::a_hold_of_a_recursive_mutex_lasts_until_its_last_unlock";
    let ended = passed(name, "glibc", Some(1), || {
        let mutex = mutex(PTHREAD_MUTEX_RECURSIVE);
        one_hold(mutex, lock, || {
            for lock in [lock as fn(_), try_lock, lock_in_time] {
                lock(mutex);
                pass();
                unlock(mutex);
            }
            let address = mutex as usize;
            // SAFETY: it exists.
            elsewhere(|| assert_eq!(unsafe { libc::pthread_mutex_unlock(address as *mut _) }, EPERM));
            lock(mutex);
            unlock(mutex);
        });
    });
    ended.inspect(has_one_hold);
}

/// Beside other threads a call to lock begins with an attempt.
#[test]
fn an_owner_does_not_wait_for_itself() {
    let ended = passed("theirs::an_owner_does_not_wait_for_itself", "glibc", Some(1), || {
        let mutex = mutex(PTHREAD_MUTEX_ERRORCHECK);
        one_hold(mutex, lock, || {
            in_company(|| {
                // SAFETY: it exists.
                assert_eq!(unsafe { libc::pthread_mutex_lock(mutex) }, EDEADLK);
            });
            let address = mutex as usize;
            // SAFETY: it exists.
            elsewhere(|| assert_eq!(unsafe { libc::pthread_mutex_unlock(address as *mut _) }, EPERM));
        });
    });
    ended.inspect(has_one_hold);
}

/// Attempts that fail do not end a hold or begin one.
#[test]
fn a_hold_outlasts_the_attempts_of_others() {
    let ended = passed("theirs::a_hold_outlasts_the_attempts_of_others", "glibc", Some(1), || {
        let mutex = mutex(PTHREAD_MUTEX_NORMAL);
        one_hold(mutex, lock, || {
            let address = mutex as usize;
            // SAFETY: it exists.
            elsewhere(|| assert_eq!(unsafe { libc::pthread_mutex_trylock(address as *mut _) }, EBUSY));
        });
    });
    ended.inspect(has_one_hold);
}

#[test]
fn a_hold_outlasts_a_wait_that_times_out() {
    let ended = passed("theirs::a_hold_outlasts_a_wait_that_times_out", "glibc", Some(1), || {
        let mutex = mutex(PTHREAD_MUTEX_NORMAL);
        one_hold(mutex, lock, || {
            let address = mutex as usize;
            // SAFETY: it exists.
            elsewhere(|| assert_eq!(unsafe { libc::pthread_mutex_timedlock(address as *mut _, &in_ms(1)) }, ETIMEDOUT));
        });
    });
    ended.inspect(|ended| {
        let (recording, mutex) = (ended.recording(), ended.told("mutex"));
        let holds = recording.samples_of(mutex, event::TAKE);
        assert_eq!((holds.len(), recording.samples_of(mutex, event::GAVE_UP).len()), (1, 1), "{holds:?}");
        assert_between(ended, "hold", holds[0].ns);
    });
}

/// Its marks are elsewhere, and its holders are known.
#[test]
fn a_wait_for_a_robust_mutex_and_its_holds_are_recorded() {
    let name = "theirs::a_wait_for_a_robust_mutex_and_its_holds_are_recorded";
    for name_of_lock in BOTH {
        let ended = passed(name, name_of_lock, Some(1), || is_waited_for(robust(), lock));
        ended.inspect(has_a_wait);
    }
}

/// A thread that is the only one may wait too: for another process, or until its time is up.
#[test]
fn a_wait_of_a_process_with_one_thread_is_recorded() {
    unsafe extern "C" {
        static mut __libc_single_threaded: std::ffi::c_char;
    }
    let name = "theirs::a_wait_of_a_process_with_one_thread_is_recorded";
    let ended = passed(name, "glibc", Some(1), || {
        // As good as true: the other thread, if there is one, sleeps until this one has ended.
        // SAFETY: nobody else looks or writes meanwhile.
        unsafe { __libc_single_threaded = 1 };
        let mutex = robust();
        lock(mutex);
        // SAFETY: it exists.
        assert_eq!(unsafe { libc::pthread_mutex_timedlock(mutex, &in_ms(1)) }, ETIMEDOUT);
        unlock(mutex);
        // SAFETY: as above.
        unsafe { __libc_single_threaded = 0 };
        tell("mutex", mutex as u64);
    });
    ended.inspect(|ended| {
        let waits = ended.recording().samples_of(ended.told("mutex"), event::GAVE_UP);
        assert_eq!(waits.len(), 1, "{waits:?}");
    });
}

/// One that is made where another was is another one.
#[test]
fn a_new_robust_mutex_has_another_number() {
    let ended = passed("theirs::a_new_robust_mutex_has_another_number", "glibc", Some(1), || {
        let mutex = robust();
        let wait = || {
            lock(mutex);
            let address = mutex as usize;
            // SAFETY: it exists.
            elsewhere(|| assert_eq!(unsafe { libc::pthread_mutex_timedlock(address as *mut _, &in_ms(1)) }, ETIMEDOUT));
            unlock(mutex);
        };
        wait();
        // SAFETY: it is free.
        assert_eq!(unsafe { libc::pthread_mutex_destroy(mutex) }, 0);
        // SAFETY: they have been made.
        let robust = attributes(|it| unsafe { libc::pthread_mutexattr_setrobust(it, PTHREAD_MUTEX_ROBUST) });
        // SAFETY: it exists.
        assert_eq!(unsafe { libc::pthread_mutex_init(mutex, &robust) }, 0);
        wait();
        tell("mutex", mutex as u64);
    });
    ended.inspect(|ended| {
        let waits = ended.recording().samples_of(ended.told("mutex"), event::GAVE_UP);
        assert!(waits.len() == 2 && waits[0].lock != waits[1].lock, "{waits:?}");
    });
}

/// What cannot be made is left as it is.
#[test]
fn a_mutex_that_is_refused_stays_as_it_was() {
    passed("theirs::a_mutex_that_is_refused_stays_as_it_was", "glibc", Some(1), || {
        let refused = attributes(|it| {
            // SAFETY: they have been made.
            unsafe { libc::pthread_mutexattr_setrobust(it, PTHREAD_MUTEX_ROBUST) };
            // SAFETY: as above.
            unsafe { libc::pthread_mutexattr_setprotocol(it, PTHREAD_PRIO_PROTECT) }
        });
        let mutex = static_mutex();
        // SAFETY: it exists.
        assert_eq!(unsafe { libc::pthread_mutex_init(mutex, &refused) }, ENOTSUP);
        // SAFETY: forty bytes.
        assert_eq!(unsafe { *mutex.cast::<[u8; 40]>() }, [0; 40]);
    });
}

/// One that is made or destroyed where another was is another one, whichever of these the program calls.
#[test]
fn each_condition_variable_has_its_number() {
    let ended = passed("theirs::each_condition_variable_has_its_number", "glibc", Some(1), || {
        let (mutex, condition) = (static_mutex(), condition(PTHREAD_PROCESS_PRIVATE));
        lock(mutex);
        wait(condition, mutex);
        make_condition(condition, PTHREAD_PROCESS_PRIVATE);
        wait(condition, mutex);
        // SAFETY: nobody waits.
        assert_eq!(unsafe { libc::pthread_cond_destroy(condition) }, 0);
        // SAFETY: as above.
        unsafe { *condition = libc::PTHREAD_COND_INITIALIZER };
        wait(condition, mutex);
        unlock(mutex);
        tell("condition", condition as u64);
    });
    ended.inspect(|ended| {
        let waits = ended.recording().samples_of(ended.told("condition"), event::CONDITION);
        let mut numbers: Vec<u32> = waits.iter().map(|wait| wait.lock).collect();
        numbers.dedup();
        assert_eq!((waits.len(), numbers.len()), (3, 3), "{waits:?}");
    });
}

/// The mutex is free during the wait, and held again behind it.
#[test]
fn a_notified_wait_is_recorded() {
    let ended = passed("theirs::a_notified_wait_is_recorded", "glibc", Some(1), || {
        let (mutex, condition) = (static_mutex(), condition(PTHREAD_PROCESS_PRIVATE));
        let (mutex_at, condition_at, waiter) = (mutex as usize, condition as usize, AtomicI32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mutex = mutex_at as *mut _;
                lock(mutex);
                pass();
                // SAFETY: always may be called.
                waiter.store(unsafe { libc::gettid() }, Relaxed);
                // SAFETY: both exist, and the mutex is this thread's.
                assert_eq!(unsafe { libc::pthread_cond_wait(condition_at as *mut _, mutex) }, 0);
                pass();
                unlock(mutex);
            });
            while !is_asleep(waiter.load(Relaxed)) {
                std::thread::yield_now();
            }
            // It sleeps in no other place.
            // SAFETY: it exists.
            assert_eq!(unsafe { libc::pthread_cond_signal(condition) }, 0);
        });
        tell("mutex", mutex as u64);
        tell("condition", condition as u64);
    });
    ended.inspect(|ended| {
        let recording = ended.recording();
        let waits = recording.samples_of(ended.told("condition"), event::CONDITION);
        assert_eq!(waits.len(), 1, "{waits:?}");
        let holds = recording.samples_of(ended.told("mutex"), event::TAKE);
        assert!(holds.len() == 2 && holds.iter().all(|hold| hold.ns >= 300_000), "{holds:?}");
    });
}

/// Nothing is waited for, and nothing held.
#[test]
fn a_refused_wait_is_not_recorded() {
    let ended = passed("theirs::a_refused_wait_is_not_recorded", "glibc", Some(1), || {
        let (mutex, condition) = (mutex(PTHREAD_MUTEX_ERRORCHECK), condition(PTHREAD_PROCESS_PRIVATE));
        // SAFETY: both exist.
        assert_eq!(unsafe { libc::pthread_cond_wait(condition, mutex) }, EPERM);
        one_hold(mutex, lock, || {
            let (mutex, condition) = (mutex as usize, condition as usize);
            elsewhere(|| {
                // SAFETY: both exist.
                let answer = unsafe { libc::pthread_cond_wait(condition as *mut _, mutex as *mut _) };
                assert_eq!(answer, EPERM);
            });
        });
        tell("condition", condition as u64);
    });
    ended.inspect(|ended| {
        let recording = ended.recording();
        has_one_hold_in(ended, &recording);
        assert!(recording.samples_of(ended.told("condition"), event::CONDITION).is_empty());
    });
}
