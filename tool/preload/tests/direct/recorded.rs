//! What a recording says of mutexes and condition variables that are ondeck's, or stay the C library's.

use crate::common::{ProcessEnd, Recording, assert_between, is_asleep, pass, passed, tell, when};
use libc::{
    CLOCK_REALTIME, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PROCESS_PRIVATE,
    PTHREAD_PROCESS_SHARED, pthread_cond_t, pthread_mutex_t, timespec,
};
use ondeck_record::layout::{event, kind};
use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// A mutex of that type. Never freed.
pub(crate) fn mutex(kind: i32) -> *mut pthread_mutex_t {
    let mutex: &mut pthread_mutex_t = Box::leak(Box::new(libc::PTHREAD_MUTEX_INITIALIZER));
    initialise(mutex, kind);
    mutex
}

pub(crate) fn initialise(mutex: *mut pthread_mutex_t, kind: i32) {
    let mut attributes = std::mem::MaybeUninit::uninit();
    // SAFETY: room for attributes, which are made before they are used; the mutex exists.
    let answers = unsafe {
        [
            libc::pthread_mutexattr_init(attributes.as_mut_ptr()),
            libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), kind),
            libc::pthread_mutex_init(mutex, attributes.as_ptr()),
        ]
    };
    assert_eq!(answers, [0; 3]);
}

/// A mutex that nobody has initialised but with zeros.
pub(crate) fn static_mutex() -> *mut pthread_mutex_t {
    Box::leak(Box::new(libc::PTHREAD_MUTEX_INITIALIZER))
}

pub(crate) fn make_condition(condition: *mut pthread_cond_t, shared: i32) {
    let mut attributes = std::mem::MaybeUninit::uninit();
    // SAFETY: room for attributes, which are made before they are used; the condition variable exists.
    let answers = unsafe {
        [
            libc::pthread_condattr_init(attributes.as_mut_ptr()),
            libc::pthread_condattr_setpshared(attributes.as_mut_ptr(), shared),
            libc::pthread_cond_init(condition, attributes.as_ptr()),
        ]
    };
    assert_eq!(answers, [0; 3]);
}

pub(crate) fn condition(shared: i32) -> *mut pthread_cond_t {
    let condition: &mut pthread_cond_t = Box::leak(Box::new(libc::PTHREAD_COND_INITIALIZER));
    make_condition(condition, shared);
    condition
}

pub(crate) fn lock(mutex: *mut pthread_mutex_t) {
    // SAFETY: it exists.
    assert_eq!(unsafe { libc::pthread_mutex_lock(mutex) }, 0);
}

pub(crate) fn try_lock(mutex: *mut pthread_mutex_t) {
    // SAFETY: it exists.
    assert_eq!(unsafe { libc::pthread_mutex_trylock(mutex) }, 0);
}

pub(crate) fn in_ms(ms: i64) -> timespec {
    let mut at = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for a time.
    unsafe { libc::clock_gettime(CLOCK_REALTIME, &mut at) };
    let ns = at.tv_nsec + ms * 1_000_000;
    timespec { tv_sec: at.tv_sec + ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }
}

pub(crate) fn lock_in_time(mutex: *mut pthread_mutex_t) {
    // SAFETY: it exists.
    assert_eq!(unsafe { libc::pthread_mutex_timedlock(mutex, &in_ms(60_000)) }, 0);
}

pub(crate) fn unlock(mutex: *mut pthread_mutex_t) {
    // SAFETY: it exists, and is the calling thread's.
    assert_eq!(unsafe { libc::pthread_mutex_unlock(mutex) }, 0);
}

/// Waits for a moment, until the deadline: nobody notifies.
pub(crate) fn wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) {
    // SAFETY: both exist, and the mutex is the calling thread's.
    let answer = unsafe { libc::pthread_cond_timedwait(condition, mutex, &in_ms(1)) };
    assert_eq!(answer, libc::ETIMEDOUT);
}

/// Holds of a mutex that nobody waits for, each by another way.
pub(crate) fn holds_each_way(mutex: *mut pthread_mutex_t, inside: fn(*mut pthread_mutex_t)) {
    tell("mutex", mutex as u64);
    for (name, lock) in [("lock", lock as fn(_)), ("try", try_lock), ("timed", lock_in_time)] {
        let ((), taken) = when(|| lock(mutex));
        inside(mutex);
        pass();
        let ((), released) = when(|| unlock(mutex));
        taken.tell_until(released, name);
    }
}

pub(crate) fn has_a_sample_for_each_way(ended: &ProcessEnd, how: u32) {
    let recording = ended.recording();
    let mutex = ended.told("mutex");
    let holds = recording.samples_of(mutex, event::TAKE);
    assert_eq!(holds.len(), 3, "{holds:?}");
    for (name, hold) in ["lock", "try", "timed"].into_iter().zip(holds) {
        assert_between(ended, name, hold.ns);
    }
    let lock = recording.lock_at(mutex);
    assert_eq!((lock.kind, lock.most_waiting), (how, 0), "nobody waits for it");
    assert!(recording.samples_of(mutex, event::WAIT).is_empty());
}

/// The locks that a program may have.
pub(crate) const BOTH: [&str; 2] = ["ondeck", "glibc"];

#[test]
fn each_hold_of_a_normal_mutex_is_timed() {
    let body = || holds_each_way(mutex(PTHREAD_MUTEX_NORMAL), |_| ());
    let ended = passed("recorded::each_hold_of_a_normal_mutex_is_timed", "ondeck", Some(1), body);
    ended.inspect(|ended| has_a_sample_for_each_way(ended, kind::INITIALISED));
}

#[test]
fn each_hold_of_a_static_mutex_is_timed() {
    for lock in BOTH {
        let body = || holds_each_way(static_mutex(), |_| ());
        let ended = passed("recorded::each_hold_of_a_static_mutex_is_timed", lock, Some(1), body);
        ended.inspect(|ended| has_a_sample_for_each_way(ended, kind::SEEN));
    }
}

/// And what its owner does inside is no hold of its own.
#[test]
fn each_hold_of_a_recursive_mutex_is_timed() {
    let body = || {
        holds_each_way(mutex(PTHREAD_MUTEX_RECURSIVE), |mutex| {
            lock(mutex);
            try_lock(mutex);
            unlock(mutex);
            unlock(mutex);
        });
    };
    let ended = passed("recorded::each_hold_of_a_recursive_mutex_is_timed", "ondeck", Some(1), body);
    ended.inspect(|ended| has_a_sample_for_each_way(ended, kind::INITIALISED));
}

/// Most acquisitions are only counted: a sample stands for as many as the rate says.
#[test]
fn samples_stand_for_acquisitions_of_a_plain_mutex() {
    const N: u32 = 10_000;
    let body = || {
        let mutex = static_mutex();
        tell("mutex", mutex as u64);
        for _ in 0..N {
            lock(mutex);
            unlock(mutex);
        }
    };
    let ended = passed("recorded::samples_stand_for_acquisitions_of_a_plain_mutex", "ondeck", Some(10), body);
    ended.inspect(|ended| {
        let recording = ended.recording();
        let holds = recording.samples_of(ended.told("mutex"), event::TAKE);
        let all: f64 = holds.iter().map(|hold| hold.weight).sum();
        // A thousand samples by chance: a fifth more or less is six standard deviations.
        assert!((0.8..1.2).contains(&(all / f64::from(N))), "{} samples, {all}", holds.len());
        assert_eq!(recording.lock_at(ended.told("mutex")).most_waiting, 0);
    });
}

/// A thread waits for it, by `lock`, while it is held.
pub(crate) fn is_waited_for(mutex: *mut pthread_mutex_t, lock_there: fn(*mut pthread_mutex_t)) {
    tell("mutex", mutex as u64);
    lock(mutex);
    let (address, thread) = (mutex as usize, AtomicI32::new(0));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            // SAFETY: always may be called.
            thread.store(unsafe { libc::gettid() }, Relaxed);
            let ((), waited) = when(|| lock_there(address as *mut pthread_mutex_t));
            unlock(address as *mut pthread_mutex_t);
            waited
        });
        while !is_asleep(thread.load(Relaxed)) {
            std::thread::yield_now();
        }
        let ((), seen) = when(pass);
        unlock(mutex);
        let waited = other.join().unwrap();
        // From when it was asleep to when it has come back, at least and at most.
        waited.tell_around(seen, "wait");
    });
}

/// And the hold of each thread.
pub(crate) fn has_a_wait(ended: &ProcessEnd) {
    let recording = ended.recording();
    let mutex = ended.told("mutex");
    let waits = recording.samples_of(mutex, event::WAIT);
    assert_eq!(waits.len(), 1, "{waits:?}");
    assert_between(ended, "wait", waits[0].ns);
    assert_eq!(recording.lock_at(mutex).most_waiting, 1);
    assert!(!recording.samples_of(mutex, event::CHARGE).is_empty(), "somebody is charged");
    assert_eq!(recording.samples_of(mutex, event::TAKE).len(), 2);
}

#[test]
fn a_wait_for_a_plain_mutex_is_recorded() {
    let name = "recorded::a_wait_for_a_plain_mutex_is_recorded";
    for name_of_lock in BOTH {
        let ended = passed(name, name_of_lock, Some(1), || is_waited_for(static_mutex(), lock));
        ended.inspect(has_a_wait);
    }
}

#[test]
fn a_timed_wait_for_a_mutex_that_looks_for_its_owner_is_recorded() {
    let name = "recorded::a_timed_wait_for_a_mutex_that_looks_for_its_owner_is_recorded";
    for lock in BOTH {
        let ended = passed(name, lock, Some(1), || is_waited_for(mutex(PTHREAD_MUTEX_ERRORCHECK), lock_in_time));
        ended.inspect(has_a_wait);
    }
}

unsafe extern "C-unwind" {
    fn pthread_exit(value: *mut c_void) -> !;
    fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        run: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> i32;
}

static WHO_LEAVES: AtomicI32 = AtomicI32::new(0);

extern "C-unwind" fn leaves(_: i32) {
    // SAFETY: no frame of this thread has anything to drop.
    unsafe { pthread_exit(std::ptr::null_mut()) };
}

extern "C-unwind" fn waits_in_vain(mutex: *mut c_void) -> *mut c_void {
    // SAFETY: always may be called.
    WHO_LEAVES.store(unsafe { libc::gettid() }, Relaxed);
    // SAFETY: it exists.
    unsafe { libc::pthread_mutex_lock(mutex.cast()) };
    mutex
}

/// A thread ends by a signal handler while it waits for a mutex. Later that is held again.
fn is_waited_for_in_vain(mutex: *mut pthread_mutex_t) {
    tell("mutex", mutex as u64);
    lock(mutex);
    let mut thread = 0;
    let action = leaves as extern "C-unwind" fn(i32);
    // SAFETY: the handler takes a number.
    unsafe { libc::signal(libc::SIGUSR1, action as usize) };
    // SAFETY: the mutex outlives the thread.
    let answer = unsafe { pthread_create(&mut thread, std::ptr::null(), waits_in_vain, mutex.cast()) };
    assert_eq!(answer, 0);
    while !is_asleep(WHO_LEAVES.load(Relaxed)) {
        std::thread::yield_now();
    }
    // SAFETY: it has not been joined.
    assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR1) }, 0);
    // SAFETY: as above.
    assert_eq!(unsafe { libc::pthread_join(thread, std::ptr::null_mut()) }, 0);
    unlock(mutex);
    for _ in 0..2 {
        lock(mutex);
        pass();
        unlock(mutex);
    }
}

fn has_a_wait_in_vain(ended: &ProcessEnd) {
    let recording = ended.recording();
    let mutex = ended.told("mutex");
    let waits = recording.samples_of(mutex, event::GAVE_UP);
    assert_eq!((waits.len(), recording.samples_of(mutex, event::WAIT).len()), (1, 0), "{waits:?}");
    // Nobody waits for those that came after.
    let charged: u64 = recording.samples_of(mutex, event::CHARGE).iter().map(|sample| sample.ns).sum();
    assert!(charged <= waits[0].ns, "{charged} of {}", waits[0].ns);
    assert_eq!(recording.samples_of(mutex, event::TAKE).len(), 3);
}

#[test]
fn who_does_not_come_back_from_a_wait_waits_no_longer() {
    let name = "recorded::who_does_not_come_back_from_a_wait_waits_no_longer";
    for lock in ["ondeck", "glibc"] {
        let ended = passed(name, lock, Some(1), || is_waited_for_in_vain(static_mutex()));
        ended.as_ref().inspect(|ended| has_a_wait_in_vain(ended));
    }
}

/// Three waits on a condition variable, between the second and the third of which it is destroyed and made anew.
fn waits_on_condition(shared: i32) {
    let (mutex, condition) = (static_mutex(), condition(shared));
    tell("mutex", mutex as u64);
    tell("condition", condition as u64);
    let ((), first) = when(|| lock(mutex));
    pass();
    for name in ["first", "second", "third"] {
        if name == "third" {
            // SAFETY: nobody waits.
            assert_eq!(unsafe { libc::pthread_cond_destroy(condition) }, 0);
            make_condition(condition, shared);
        }
        let ((), waited) = when(|| wait(condition, mutex));
        waited.tell_itself(name);
        pass();
    }
    let ((), last) = when(|| unlock(mutex));
    first.tell_until(last, "all");
}

fn has_waits_and_the_holds_between(ended: &ProcessEnd) {
    let recording: Recording = ended.recording();
    let (mutex, condition) = (ended.told("mutex"), ended.told("condition"));
    let waits = recording.samples_of(condition, event::CONDITION);
    assert_eq!(waits.len(), 3, "{waits:?}");
    // Nothing is locked between them: who was woken waits again at once.
    assert_eq!(waits.iter().map(|wait| wait.event & event::AGAIN != 0).collect::<Vec<bool>>(), [false, true, true]);
    for (name, wait) in ["first", "second", "third"].into_iter().zip(&waits) {
        assert!(wait.ns <= ended.told(&format!("{name}_most")), "{name}: {wait:?}");
    }
    let numbers: Vec<u32> = waits.iter().map(|wait| wait.lock).collect();
    assert!(numbers[0] == numbers[1] && numbers[1] != numbers[2], "it was destroyed: {numbers:?}");
    assert!(recording.locks_at(condition).iter().all(|lock| lock.kind == kind::CONDITION));
    // One before each wait, and one behind the last.
    let holds = recording.samples_of(mutex, event::TAKE);
    assert_eq!(holds.len(), 4, "{holds:?}");
    let held: u64 = holds.iter().map(|hold| hold.ns).sum();
    assert!((4 * 300_000..=ended.told("all_most")).contains(&held), "{holds:?}");
    assert_eq!(recording.lock_at(mutex).most_waiting, 0, "nobody waits for the mutex");
}

#[test]
fn waits_on_a_condition_variable_are_recorded() {
    let name = "recorded::waits_on_a_condition_variable_are_recorded";
    for lock in BOTH {
        let ended = passed(name, lock, Some(1), || waits_on_condition(PTHREAD_PROCESS_PRIVATE));
        ended.inspect(has_waits_and_the_holds_between);
    }
}

#[test]
fn waits_on_a_shared_condition_variable_are_recorded() {
    let name = "recorded::waits_on_a_shared_condition_variable_are_recorded";
    let ended = passed(name, "ondeck", Some(1), || waits_on_condition(PTHREAD_PROCESS_SHARED));
    ended.inspect(has_waits_and_the_holds_between);
}
