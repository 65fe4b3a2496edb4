//! Races of the condition variable that only many repetitions show. Each test runs for two seconds, and on a busy machine
//! until it has done enough.

mod limit;

use ondeck::{Condvar, Mutex, RawCondvar, RawMutex};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const BOX: Duration = Duration::from_secs(2);
/// How long a test goes on for what it has not seen yet.
const LONG: Duration = Duration::from_secs(60);

/// Whether a test that began at `start` may end: its time is over, and it `has_seen` what it is about.
fn is_enough(start: Instant, has_seen: bool, what: &str) -> bool {
    assert!(start.elapsed() < LONG, "waited {LONG:?} for {what}");
    start.elapsed() >= BOX && has_seen
}

/// A permit is a notification. Waiters count what they were given, so a notification that is lost, or spent on a thread
/// that reports a timeout, shows in the sum.
#[test]
fn timeouts_race_with_notifications() {
    const WAITERS: u64 = 8;
    let (is_over, changed) = (Mutex::new(false), Condvar::new());
    let (given, received) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for seed in 1..=WAITERS {
            let (is_over, changed, received) = (&is_over, &changed, &received);
            scope.spawn(move || {
                let mut random = seed;
                let mut guard = is_over.lock();
                while !*guard {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let timeout = Duration::from_nanos(random >> 46);
                    if !changed.wait_for(&mut guard, timeout).timed_out() {
                        received.fetch_add(1, Relaxed);
                    }
                }
            });
        }
        let start = Instant::now();
        while !is_enough(start, given.load(Relaxed) > 0, "a thread that is notified") {
            let n = if start.elapsed().as_nanos() % 4 == 0 {
                changed.notify_all()
            } else {
                usize::from(changed.notify_one())
            };
            given.fetch_add(n, Relaxed);
            thread::yield_now();
        }
        *is_over.lock() = true;
        given.fetch_add(changed.notify_all(), Relaxed);
    });
    assert_eq!(received.load(Relaxed), given.load(Relaxed));
    assert_eq!(changed.notify_all(), 0);
}

/// Memory that a mutex and a condition variable live in for one round, and that must stay as it is afterwards.
struct Place(MaybeUninit<(RawMutex, RawCondvar)>);

const RUBBLE: u8 = 0xA5;

// SAFETY: who may use the memory when is the test's business.
unsafe impl Sync for Place {}
// SAFETY: as above.
unsafe impl Send for Place {}

/// All waiters are notified; then the notifier buries the condition variable at once, while they are still on their way
/// to the mutex, and the last of them buries the mutex. A thread that still writes to either leaves a mark in the
/// rubble, and one that still reads acts on it.
#[test]
fn destroy_after_notify_all() {
    const WAITERS: usize = 4;
    let start = Instant::now();
    let mut rounds = 0;
    while !is_enough(start, rounds > 10, "ten rounds") {
        let mut place = Box::new(Place(MaybeUninit::new((RawMutex::new(), RawCondvar::new()))));
        let at = place.0.as_mut_ptr() as usize;
        let (n_waiting, n_back) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..WAITERS {
                scope.spawn(|| {
                    let (mutex, changed) = parts(at);
                    mutex.lock();
                    n_waiting.fetch_add(1, Relaxed);
                    // SAFETY: acquired above.
                    unsafe { changed.wait(mutex) };
                    let is_last = n_back.fetch_add(1, Relaxed) == WAITERS - 1;
                    // SAFETY: `wait` has acquired it.
                    unsafe { mutex.unlock() };
                    if is_last {
                        bury(ptr::from_ref(mutex));
                    }
                });
            }
            let (mutex, changed) = parts(at);
            loop {
                mutex.lock();
                let is_complete = n_waiting.load(Relaxed) == WAITERS;
                if is_complete {
                    assert_eq!(changed.notify_all(), WAITERS);
                    bury(ptr::from_ref(changed));
                }
                // SAFETY: acquired above. Waiters need the mutex, so the last of them is not back yet.
                unsafe { mutex.unlock() };
                if is_complete {
                    break;
                }
                thread::yield_now();
            }
        });
        // SAFETY: plain bytes now: both parts, which leave no padding, have been written over.
        let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, size_of::<Place>()) };
        assert!(bytes.iter().all(|byte| *byte == RUBBLE), "touched after its end: {bytes:x?}");
        rounds += 1;
    }
}

fn parts<'a>(at: usize) -> (&'a RawMutex, &'a RawCondvar) {
    // SAFETY: made by the test at this address, and used until the one or the other is buried.
    let place = unsafe { &*(at as *const (RawMutex, RawCondvar)) };
    (&place.0, &place.1)
}

fn bury<T>(object: *const T) {
    // SAFETY: nobody uses the object any more: that is what the test claims.
    unsafe { ptr::write_bytes(object.cast_mut(), RUBBLE, 1) };
}

/// Waves of waiters, all woken at once, over and over: every one of them comes back every time.
#[test]
fn waves() {
    const WAITERS: usize = 32;
    let (wave, changed) = (Mutex::new(0_usize), Condvar::new());
    let (n_waiting, meeting) = (AtomicUsize::new(0), Barrier::new(WAITERS + 1));
    let start = Instant::now();
    let (mut waves, is_over) = (0, Mutex::new(false));
    thread::scope(|scope| {
        for _ in 0..WAITERS {
            scope.spawn(|| {
                loop {
                    let mut guard = wave.lock();
                    let current = *guard;
                    n_waiting.fetch_add(1, Relaxed);
                    changed.wait_while(&mut guard, |wave| *wave == current);
                    drop(guard);
                    meeting.wait();
                    if *is_over.lock() {
                        return;
                    }
                }
            });
        }
        loop {
            while n_waiting.load(Relaxed) < WAITERS {
                thread::yield_now();
            }
            n_waiting.store(0, Relaxed);
            waves += 1;
            *is_over.lock() = is_enough(start, waves > 1, "a second wave");
            *wave.lock() = waves;
            changed.notify_all();
            meeting.wait();
            if *is_over.lock() {
                break;
            }
        }
    });
}
