//! What users of `parking_lot::Mutex` rely on.

mod limit;

use ondeck::policy::Policy;
use ondeck::{MappedMutexGuard, Mutex, MutexGuard, low_latency};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any scheduling delay that is worth failing for.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(5);

static STATIC: Mutex<u32> = Mutex::new(0);

#[test]
fn smoke() {
    let mutex = Mutex::new(());
    drop(mutex.lock());
    drop(mutex.lock());
    *STATIC.lock() += 1;
    assert_eq!(*STATIC.lock(), 1);
}

/// Counts with `threads` threads; the count is off if two were inside at once.
fn count<P: Policy>(threads: usize, mutex: &ondeck::policy::Mutex<usize, P>) {
    const TIMES: usize = if cfg!(miri) { 20 } else { 2_000 };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..TIMES {
                    *mutex.lock() += 1;
                }
            });
        }
    });
    assert_eq!(*mutex.lock(), threads * TIMES);
}

#[test]
fn lots_and_lots() {
    for threads in [2, 6, 32] {
        count(threads, &Mutex::new(0));
        count(threads, &low_latency::Mutex::new(0));
    }
}

#[test]
fn try_lock() {
    let mutex = Mutex::new(1);
    assert!(!mutex.is_locked());
    let guard = mutex.try_lock().expect("free");
    assert!(mutex.is_locked());
    assert!(mutex.try_lock().is_none());
    drop(guard);
    assert_eq!(*mutex.try_lock().expect("free again"), 1);
    assert!(!mutex.is_locked());
}

#[test]
fn into_inner_hands_the_value_out_and_drops_it_once() {
    struct DropCounter(Arc<AtomicUsize>);
    impl Drop for DropCounter {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let value = Mutex::new(DropCounter(drops.clone())).into_inner();
    assert_eq!(drops.load(Relaxed), 0);
    drop(value);
    assert_eq!(drops.load(Relaxed), 1);
    drop(Mutex::new(DropCounter(drops.clone())));
    assert_eq!(drops.load(Relaxed), 2);
}

#[test]
fn get_mut_and_data_ptr() {
    let mut mutex = Mutex::new(10);
    *mutex.get_mut() = 20;
    assert_eq!(mutex.data_ptr().cast_const(), &raw const *mutex.get_mut());
    assert_eq!(mutex.into_inner(), 20);
}

#[test]
fn default_from_and_debug() {
    assert_eq!(*Mutex::<u8>::default().lock(), 0);
    let mutex = Mutex::from(vec![1, 2]);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: [1, 2] }");
    let guard = mutex.lock();
    assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked> }");
    assert_eq!(format!("{guard:?}"), "[1, 2]");
    assert_eq!(Mutex::new("text").lock().to_string(), "text");
}

#[test]
fn unsized_data() {
    let mutex: &Mutex<[i32]> = &Mutex::new([1, 2, 3]);
    mutex.lock()[0] = 4;
    assert_eq!(&*mutex.lock(), &[4, 2, 3]);
    let called: Box<Mutex<dyn Fn() -> i32 + Send>> = Box::new(Mutex::new(|| 7));
    assert_eq!(called.lock()(), 7);
}

#[test]
fn a_mutex_inside_a_mutex() {
    let outer = Mutex::new(Arc::new(Mutex::new(1)));
    thread::scope(|scope| {
        scope.spawn(|| *outer.lock().lock() += 1);
    });
    assert_eq!(*outer.lock().lock(), 2);
}

#[test]
fn a_panic_releases_and_does_not_poison() {
    let mutex = Mutex::new(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut guard = mutex.lock();
        *guard = 2;
        panic!("while holding the mutex");
    }));
    assert!(panicked.is_err());
    assert_eq!(*mutex.try_lock().expect("released"), 2);
}

#[test]
fn access_while_unwinding() {
    struct Adds(Arc<Mutex<i32>>);
    impl Drop for Adds {
        fn drop(&mut self) {
            *self.0.lock() += 1;
        }
    }
    let mutex = Arc::new(Mutex::new(1));
    let inner = mutex.clone();
    let panicked = thread::spawn(move || {
        let _adds = Adds(inner);
        panic!("with a destructor that acquires");
    });
    assert!(panicked.join().is_err());
    assert_eq!(*mutex.lock(), 2);
}

#[test]
fn what_is_send_and_sync() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<Mutex<AtomicUsize>>();
    is_sync::<Mutex<std::cell::Cell<u8>>>();
    is_sync::<MutexGuard<'static, u8>>();
    is_sync::<MappedMutexGuard<'static, u8>>();
}

#[test]
fn timed_attempts_on_a_free_mutex() {
    let mutex = Mutex::new(());
    assert!(mutex.try_lock_for(Duration::ZERO).is_some());
    assert!(mutex.try_lock_for(Duration::MAX).is_some());
    assert!(mutex.try_lock_until(Instant::now()).is_some());
    assert!(mutex.try_lock_until(Instant::now() - SHORT).is_some());
}

#[test]
fn timed_attempts_on_a_taken_mutex_end_and_not_early() {
    let mutex = Mutex::new(());
    let _guard = mutex.lock();
    thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            assert!(mutex.try_lock_for(SHORT).is_none());
            assert!(start.elapsed() >= SHORT);
            let deadline = Instant::now() + SHORT;
            assert!(mutex.try_lock_until(deadline).is_none());
            assert!(Instant::now() >= deadline);
            assert!(mutex.try_lock_for(Duration::ZERO).is_none());
            assert!(mutex.try_lock_until(start).is_none());
        });
    });
}

#[test]
fn a_timed_attempt_gets_a_mutex_that_is_released_in_time() {
    let mutex = Mutex::new(0);
    let is_waiting = Barrier::new(2);
    thread::scope(|scope| {
        let guard = mutex.lock();
        let waiter = scope.spawn(|| {
            is_waiting.wait();
            *mutex.try_lock_for(LONG).expect("released in time") += 1;
        });
        is_waiting.wait();
        thread::sleep(SHORT);
        drop(guard);
        waiter.join().expect("no panic");
    });
    assert_eq!(mutex.into_inner(), 1);
}

#[test]
fn many_timed_attempts_leave_nothing_behind() {
    let mutex = Mutex::new(0_usize);
    let successes = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..16 {
            let (mutex, successes) = (&mutex, &successes);
            scope.spawn(move || {
                for turn in 0..200 {
                    let patience = Duration::from_micros((thread * turn) % 300);
                    if let Some(mut guard) = mutex.try_lock_for(patience) {
                        *guard += 1;
                        successes.fetch_add(1, Relaxed);
                        if turn % 16 == 0 {
                            thread::sleep(Duration::from_micros(50));
                        }
                    }
                }
            });
        }
    });
    assert_eq!(*mutex.try_lock().expect("nobody holds it"), successes.load(Relaxed));
}

/// Runs `give` with the guard of a mutex that another thread wants, until that one has had it once.
fn gives_way(give: impl Fn(&Mutex<bool>)) {
    let mutex = Mutex::new(false);
    let is_waiting = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            is_waiting.store(true, Relaxed);
            *mutex.lock() = true;
        });
        while !is_waiting.load(Relaxed) {
            thread::yield_now();
        }
        let start = Instant::now();
        while !*mutex.lock() {
            give(&mutex);
            assert!(start.elapsed() < LONG, "the other thread had no turn");
        }
    });
}

#[test]
fn unlock_fair_bump_and_unlocked_give_way() {
    gives_way(|mutex| MutexGuard::unlock_fair(mutex.lock()));
    gives_way(|mutex| MutexGuard::bump(&mut mutex.lock()));
    gives_way(|mutex| MutexGuard::unlocked(&mut mutex.lock(), thread::yield_now));
    gives_way(|mutex| MutexGuard::unlocked_fair(&mut mutex.lock(), || ()));
}

#[test]
fn a_fair_release_gives_the_mutex_to_the_waiter() {
    let mutex = Mutex::new(Vec::new());
    let mut guard = mutex.lock();
    thread::scope(|scope| {
        scope.spawn(|| mutex.lock().push("waiter"));
        // SAFETY: only asks whether somebody waits.
        let raw = unsafe { mutex.raw() };
        while !format!("{raw:?}").contains("has_deck: true") {
            thread::yield_now();
        }
        guard.push("holder");
        MutexGuard::unlock_fair(guard);
        mutex.lock().push("holder again");
    });
    let order = mutex.into_inner();
    assert_eq!(order.len(), 3);
    assert_eq!(order[0], "holder");
}

#[test]
fn bump_alone_keeps_the_mutex() {
    let mutex = Mutex::new(1);
    let mut guard = mutex.lock();
    MutexGuard::bump(&mut guard);
    assert!(mutex.is_locked());
    drop(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn force_unlock_after_forgetting_the_guard() {
    let mutex = Mutex::new(1);
    std::mem::forget(mutex.lock());
    assert!(mutex.is_locked());
    // SAFETY: acquired above by this thread, and the guard is forgotten.
    unsafe { mutex.force_unlock() };
    std::mem::forget(mutex.lock());
    // SAFETY: as above.
    unsafe { mutex.force_unlock_fair() };
    assert_eq!(*mutex.try_lock().expect("free"), 1);
    *MutexGuard::leak(mutex.lock()) = 2;
    assert!(mutex.is_locked());
}

#[test]
fn mapped_guards() {
    let mutex = Mutex::new(HashMap::from([("key", (1, "one"))]));
    let guard = MutexGuard::try_map(mutex.lock(), |map| map.get_mut("absent")).expect_err("not there");
    let mut value: MappedMutexGuard<'_, (i32, &str)> =
        MutexGuard::try_map(guard, |map| map.get_mut("key")).expect("there");
    value.0 = 2;
    assert!(mutex.is_locked());
    let name = MappedMutexGuard::map(value, |value| &mut value.1);
    assert_eq!(*name, "one");
    MappedMutexGuard::unlock_fair(name);
    assert_eq!(mutex.lock()["key"].0, 2);
    let (guard, error) =
        MutexGuard::try_map_or_err(mutex.lock(), |map| map.get_mut("absent").ok_or(5)).expect_err("not there");
    assert_eq!((guard.len(), error), (1, 5));
}

#[test]
fn the_last_holder_may_free_the_mutex() {
    for _ in 0..2_000 {
        let mutex = Arc::new(Mutex::new(()));
        let other = mutex.clone();
        let thread = thread::spawn(move || drop(other.lock()));
        drop(mutex.lock());
        drop(mutex);
        thread.join().expect("no panic");
    }
}
