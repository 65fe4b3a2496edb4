//! Mutexes that the C library's own functions have touched behind ondeck's back, which these tests imitate by writing what those
//! write; and locks that stand in for ondeck's.

use crate::common::{ProcessEnd, ended, is_asleep, passed, tell};
use libc::{PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, pthread_mutex_t};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// The words of a mutex: the C library's lock, how often it is locked again, and the owner.
const THEIRS: usize = 0;
const COUNT: usize = 1;
const OWNER: usize = 2;

fn word<'a>(mutex: *mut pthread_mutex_t, number: usize) -> &'a AtomicU32 {
    // SAFETY: the mutexes here are never freed, have ten words, and whoever else changes those does so atomically.
    unsafe { &*mutex.cast::<AtomicU32>().add(number) }
}

fn kept(mutex: pthread_mutex_t) -> *mut pthread_mutex_t {
    Box::leak(Box::new(mutex))
}

fn lock(mutex: *mut pthread_mutex_t) {
    // SAFETY: it exists.
    assert_eq!(unsafe { libc::pthread_mutex_lock(mutex) }, 0);
}

fn unlock(mutex: *mut pthread_mutex_t) {
    // SAFETY: it exists.
    assert_eq!(unsafe { libc::pthread_mutex_unlock(mutex) }, 0);
}

/// The C library's function locks it while it is ondeck's.
fn locked_twice(mutex: pthread_mutex_t) {
    let mutex = kept(mutex);
    lock(mutex);
    lock(kept(PTHREAD_MUTEX_INITIALIZER));
    word(mutex, THEIRS).store(1, Relaxed);
    println!("about to unlock");
    unlock(mutex);
}

/// It has locked it before.
fn locked_before(mutex: pthread_mutex_t) {
    let mutex = kept(mutex);
    // What a first lock does must be over.
    lock(mutex);
    unlock(mutex);
    word(mutex, THEIRS).store(1, Relaxed);
    println!("about to lock");
    lock(mutex);
    println!("locked");
    unlock(mutex);
}

#[track_caller]
fn complains(ended: &ProcessEnd, after: &str) {
    let is_said =
        ended.text.contains("ondeck: a mutex is locked by the C library's own functions and by ondeck's at once");
    assert!(is_said && ended.signal == Some(libc::SIGABRT), "{:?}: {}", ended.signal, ended.text);
    assert!(ended.text.contains(after), "{}", ended.text);
}

#[test]
fn an_unlock_finds_that_a_plain_mutex_is_locked_twice() {
    let name = "bypassed::an_unlock_finds_that_a_plain_mutex_is_locked_twice";
    for lock in ["ondeck", "std-port"] {
        let ended = ended(name, lock, None, || locked_twice(PTHREAD_MUTEX_INITIALIZER));
        ended.inspect(|ended| complains(ended, "about to unlock"));
    }
}

#[test]
fn an_unlock_finds_that_a_recursive_mutex_is_locked_twice() {
    let name = "bypassed::an_unlock_finds_that_a_recursive_mutex_is_locked_twice";
    for lock in ["ondeck", "std-port"] {
        let ended = ended(name, lock, None, || locked_twice(PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP));
        ended.inspect(|ended| complains(ended, "about to unlock"));
    }
}

/// Where a lock takes the longer way it looks too, and ends the process before the program is inside.
#[test]
fn a_lock_finds_that_a_mutex_is_locked() {
    let name = "bypassed::a_lock_finds_that_a_mutex_is_locked";
    let ended = ended(name, "std-port", None, || locked_before(PTHREAD_MUTEX_INITIALIZER));
    ended.inspect(|ended| {
        complains(ended, "about to lock");
        assert!(!ended.text.contains("locked\n"), "{}", ended.text);
    });
}

/// The C library has unlocked it, and nobody else does anything.
#[test]
fn an_unlock_finds_a_mutex_that_has_lost_its_owner() {
    let name = "bypassed::an_unlock_finds_a_mutex_that_has_lost_its_owner";
    let ended = ended(name, "ondeck", None, || {
        let mutex = kept(PTHREAD_MUTEX_INITIALIZER);
        lock(mutex);
        word(mutex, OWNER).store(0, Relaxed);
        unlock(mutex);
    });
    ended.inspect(|ended| complains(ended, ""));
}

/// Undefined by POSIX, and some programs do it.
#[test]
fn a_free_mutex_may_be_unlocked() {
    let name = "bypassed::a_free_mutex_may_be_unlocked";
    passed(name, "ondeck", None, || {
        let mutex = kept(PTHREAD_MUTEX_INITIALIZER);
        unlock(mutex);
        lock(mutex);
        unlock(mutex);
        unlock(mutex);
    });
}

/// A thread waits on a condition variable with a normal mutex that it does not hold, and whoever holds it has not written its
/// number yet: that one keeps it.
#[test]
fn a_wait_leaves_a_mutex_to_a_new_owner() {
    let name = "bypassed::a_wait_leaves_a_mutex_to_a_new_owner";
    passed(name, "ondeck", None, || {
        let mutex = kept(PTHREAD_MUTEX_INITIALIZER);
        MUTEX.store(mutex, Relaxed);
        lock(mutex);
        word(mutex, OWNER).store(0, Relaxed);
        let (thread, is_over) = (AtomicI32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: always may be called.
                thread.store(unsafe { libc::gettid() }, Relaxed);
                let (mutex, mut condition) = (MUTEX.load(Relaxed), libc::PTHREAD_COND_INITIALIZER);
                let long_ago = libc::timespec { tv_sec: 1, tv_nsec: 0 };
                // SAFETY: all of them exist.
                let answer = unsafe { libc::pthread_cond_timedwait(&mut condition, mutex, &long_ago) };
                is_over.store(true, Relaxed);
                assert_eq!(answer, libc::ETIMEDOUT);
                unlock(mutex);
            });
            let mut n_asleep = 0;
            while n_asleep < 20 && !is_over.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
                n_asleep = if is_asleep(thread.load(Relaxed)) { n_asleep + 1 } else { 0 };
            }
            assert!(!is_over.load(Relaxed), "it has the mutex while another thread does");
            // SAFETY: always may be called.
            word(mutex, OWNER).store(unsafe { libc::gettid() } as u32, Relaxed);
            unlock(mutex);
        });
    });
}

/// As the C library says it: a count that cannot go on.
#[test]
fn a_recursive_mutex_is_not_locked_without_end() {
    let name = "bypassed::a_recursive_mutex_is_not_locked_without_end";
    passed(name, "ondeck", None, || {
        let mutex = kept(PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP);
        lock(mutex);
        word(mutex, COUNT).store(u32::MAX - 1, Relaxed);
        // SAFETY: it exists.
        assert_eq!(unsafe { libc::pthread_mutex_lock(mutex) }, libc::EAGAIN);
        // SAFETY: it exists.
        assert_eq!(unsafe { libc::pthread_mutex_trylock(mutex) }, libc::EAGAIN);
        word(mutex, COUNT).store(0, Relaxed);
        unlock(mutex);
        lock(mutex);
    });
}

static MUTEX: AtomicPtr<pthread_mutex_t> = AtomicPtr::new(std::ptr::null_mut());

/// Calls `handler` in the calling thread, in 5 ms.
fn soon(handler: extern "C" fn(i32)) {
    let time = libc::timeval { tv_sec: 0, tv_usec: 5_000 };
    let timer = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: time };
    // SAFETY: the handler does nothing that a handler may not do, and the timer is a time.
    unsafe {
        libc::signal(libc::SIGALRM, handler as *const () as libc::sighandler_t);
        assert_eq!(libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()), 0);
    }
}

/// A locked mutex without an owner is unlocked, and `handler` runs while that is looked at: the unlock naps fifty times for a
/// millisecond, so however busy the machine is, the handler's time comes before the last of them is over.
fn unlocked_while(handler: extern "C" fn(i32)) -> *mut pthread_mutex_t {
    let mutex = kept(PTHREAD_MUTEX_INITIALIZER);
    MUTEX.store(mutex, Relaxed);
    lock(mutex);
    word(mutex, OWNER).store(0, Relaxed);
    soon(handler);
    unlock(mutex);
    mutex
}

extern "C" fn writes_the_owner(_: i32) {
    // SAFETY: always may be called.
    word(MUTEX.load(Relaxed), OWNER).store(unsafe { libc::gettid() } as u32, Relaxed);
}

/// Whoever has just locked it writes its number soon.
#[test]
fn an_unlock_lets_a_new_owner_write_its_number() {
    let name = "bypassed::an_unlock_lets_a_new_owner_write_its_number";
    passed(name, "ondeck", None, || {
        let mutex = unlocked_while(writes_the_owner);
        // SAFETY: it exists.
        assert_eq!(unsafe { libc::pthread_mutex_trylock(mutex) }, libc::EBUSY);
    });
}

extern "C" fn unlocks_and_locks(_: i32) {
    let mutex = MUTEX.load(Relaxed);
    writes_the_owner(0);
    // SAFETY: it exists, and is this thread's.
    unsafe {
        libc::pthread_mutex_unlock(mutex);
        libc::pthread_mutex_lock(mutex);
    }
    word(mutex, OWNER).store(0, Relaxed);
}

/// If it has been released meanwhile, it had an owner.
#[test]
fn an_unlock_sees_that_a_mutex_was_released_meanwhile() {
    let name = "bypassed::an_unlock_sees_that_a_mutex_was_released_meanwhile";
    passed(name, "ondeck", None, || {
        unlocked_while(unlocks_and_locks);
    });
}

/// What a mutex has where ondeck's lock would be, while it is held. One of std's is a word that is 1.
#[test]
fn another_lock_is_the_one_that_was_asked_for() {
    let name = "bypassed::another_lock_is_the_one_that_was_asked_for";
    for (lock_name, is_stds) in [("std-port", true), ("ondeck", false)] {
        let ended = passed(name, lock_name, None, || {
            let mutex = kept(PTHREAD_MUTEX_INITIALIZER);
            lock(mutex);
            tell("low", u64::from(word(mutex, 6).load(Relaxed)));
            tell("high", u64::from(word(mutex, 7).load(Relaxed)));
        });
        ended.inspect(|ended| assert_eq!((ended.told("low"), ended.told("high")) == (1, 0), is_stds, "{lock_name}"));
    }
}

#[test]
fn each_lock_that_sleeps_and_is_small_can_be_chosen() {
    let name = "bypassed::each_lock_that_sleeps_and_is_small_can_be_chosen";
    for lock_name in ["ondeck", "std-port", "go-tristate-sema", "go-tristate-futex", "go-spinbit-futex"] {
        passed(name, lock_name, None, || lock(kept(PTHREAD_MUTEX_INITIALIZER)));
    }
}

#[test]
fn a_lock_that_cannot_be_chosen_ends_the_process_with_the_reason() {
    let name = "bypassed::a_lock_that_cannot_be_chosen_ends_the_process_with_the_reason";
    for (lock_name, reason) in [("tas", "its waiters never sleep"), ("no-such-lock", "there is no lock of this name")] {
        let ended = ended(name, lock_name, None, || ());
        ended.inspect(|ended| {
            let words = format!("ondeck: ONDECK_LOCK={lock_name} is not possible: {reason}");
            assert!(ended.text.contains(&words) && ended.signal == Some(libc::SIGABRT), "{}", ended.text);
        });
    }
}
