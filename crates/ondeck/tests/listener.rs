//! A function that is told of long holds may panic, lock, and unlock: no guard is alive then without its lock. Safe code only. Run
//! with `cargo test -p ondeck --features stats,arc_lock,lock_api-04,lock_api-05 --test listener`.
#![cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
#![forbid(unsafe_code)]

use ondeck::stats::{LongHold, on_long_hold, start_at_rate};
use ondeck::{Condvar, MappedMutexGuard, Monitor, MonitorGuard, Mutex, MutexGuard};
use ondeck::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::{scope, sleep};
use std::time::Duration;

static N_TOLD: AtomicU64 = AtomicU64::new(0);

/// Runs `act` while `tell` is told of each hold, and returns how often it was. There is one listener in a process, so one test at
/// a time is in here, and none locks outside.
fn told<R>(tell: fn(&LongHold), act: impl FnOnce() -> R) -> (R, u64) {
    static ONE_TEST: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE_TEST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    assert!(start_at_rate(1));
    N_TOLD.store(0, SeqCst);
    on_long_hold(Duration::ZERO, tell);
    let result = catch_unwind(AssertUnwindSafe(act));
    on_long_hold(Duration::MAX, |_| {});
    (result.expect("no panic of the listener comes out of a lock"), N_TOLD.load(SeqCst))
}

fn panics(_: &LongHold) {
    N_TOLD.fetch_add(1, SeqCst);
    panic!("the listener");
}

/// Whether another thread finds the lock taken.
fn is_shut_out(try_lock: impl Fn() -> bool + Sync) -> bool {
    !scope(|scope| scope.spawn(&try_lock).join().unwrap())
}

/// What a thread waits for a mutex whose guard outlives it.
const SHORT: Duration = Duration::from_millis(1);

/// Calls `bump` with a guard of a mutex while another thread is inside of `lock`, which gives up.
fn bump_with_a_waiter(lock: impl Fn() + Sync, mut bump: impl FnMut()) {
    let is_over = AtomicBool::new(false);
    scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(SeqCst) {
                lock();
            }
        });
        let before = N_TOLD.load(SeqCst);
        // More than the waiter's own releases are told.
        for _ in 0..100 {
            sleep(Duration::from_micros(200));
            bump();
        }
        assert!(N_TOLD.load(SeqCst) > before);
        is_over.store(true, SeqCst);
    });
}

#[test]
fn a_guard_that_was_unlocked_holds_its_mutex() {
    static LOCK: Mutex<u64> = Mutex::new(0);
    let ((), n) = told(panics, || {
        let mut guard = LOCK.lock();
        assert_eq!(MutexGuard::unlocked(&mut guard, || 7), 7);
        assert!(is_shut_out(|| LOCK.try_lock().is_some()));
        assert_eq!(MutexGuard::unlocked_fair(&mut guard, || 8), 8);
        assert!(is_shut_out(|| LOCK.try_lock().is_some()));
        drop(guard);
        assert!(!LOCK.is_locked());
        MutexGuard::unlock_fair(LOCK.lock());
        assert!(!LOCK.is_locked());
    });
    // The two, and what was released at the end, twice.
    assert_eq!(n, 4, "a listener is told also after it has panicked");
}

#[test]
fn a_guard_that_let_another_thread_in_holds_its_mutex() {
    static LOCK: Mutex<u64> = Mutex::new(0);
    told(panics, || {
        let mut guard = LOCK.lock();
        bump_with_a_waiter(
            || drop(LOCK.try_lock_for(SHORT)),
            || {
                MutexGuard::bump(&mut guard);
                assert!(LOCK.is_locked());
                let seen = *guard;
                std::hint::black_box(&guard);
                assert_eq!(*guard, seen);
                MutexGuard::unlocked(&mut guard, || sleep(Duration::from_micros(50)));
            },
        );
        assert!(is_shut_out(|| LOCK.try_lock().is_some()));
    });
}

#[test]
fn mapped_guards_release_once() {
    static LOCK: Mutex<(u64, u64)> = Mutex::new((0, 0));
    let ((), n) = told(panics, || {
        drop(MutexGuard::map(LOCK.lock(), |pair| &mut pair.1));
        assert!(!LOCK.is_locked());
        MappedMutexGuard::unlock_fair(MutexGuard::map(LOCK.lock(), |pair| &mut pair.0));
        assert!(!LOCK.is_locked());
        let maps = || drop(MutexGuard::map(LOCK.lock(), |_| -> &mut u64 { panic!("the closure") }));
        let panicked = catch_unwind(maps);
        assert!(panicked.is_err() && !LOCK.is_locked(), "of the closure, through a listener that panics meanwhile");
    });
    assert_eq!(n, 3);
}

#[cfg(feature = "arc_lock")]
#[test]
fn a_guard_with_an_arc_holds_its_mutex() {
    use ondeck::ArcMutexGuard;
    use std::sync::Arc;
    let mutex = Arc::new(Mutex::new(0));
    let ((), n) = told(panics, || {
        let mut guard = mutex.lock_arc();
        ArcMutexGuard::unlocked(&mut guard, || ());
        assert!(is_shut_out(|| mutex.try_lock().is_some()));
        ArcMutexGuard::unlocked_fair(&mut guard, || ());
        assert!(is_shut_out(|| mutex.try_lock().is_some()));
        assert!(!ArcMutexGuard::into_arc(guard).is_locked());
        ArcMutexGuard::unlock_fair(mutex.lock_arc());
        assert_eq!(Arc::strong_count(&mutex), 1);
    });
    assert_eq!(n, 4);
    told(panics, || {
        let mut guard = mutex.lock_arc();
        bump_with_a_waiter(
            || drop(mutex.try_lock_for(SHORT)),
            || {
                ArcMutexGuard::bump(&mut guard);
                assert!(mutex.is_locked());
                ArcMutexGuard::unlocked(&mut guard, || sleep(Duration::from_micros(50)));
            },
        );
    });
}

/// What those wrappers do after a release is not ours, so it has to return.
macro_rules! wrappers_of_lock_api {
    ($($feature:literal $test:ident $module:ident),*) => {$(
        #[cfg(feature = $feature)]
        #[test]
        fn $test() {
            use ondeck::$module::{Mutex, MutexGuard};
            static LOCK: Mutex<u64> = Mutex::new(0);
            let ((), n) = told(panics, || {
                let mut guard = LOCK.lock();
                MutexGuard::unlocked(&mut guard, || ());
                assert!(is_shut_out(|| LOCK.try_lock().is_some()));
                MutexGuard::unlocked_fair(&mut guard, || ());
                assert!(is_shut_out(|| LOCK.try_lock().is_some()));
                drop(MutexGuard::map(guard, |data| data));
                assert!(!LOCK.is_locked());
            });
            assert_eq!(n, 3);
            told(panics, || {
                let mut guard = LOCK.lock();
                bump_with_a_waiter(
                    || drop(LOCK.try_lock_for(SHORT)),
                    || {
                        MutexGuard::bump(&mut guard);
                        assert!(LOCK.is_locked());
                        MutexGuard::unlocked(&mut guard, || sleep(Duration::from_micros(50)));
                    },
                );
            });
        }
    )*};
}
wrappers_of_lock_api!(
    "lock_api-04" the_wrappers_of_lock_api_04_hold_their_mutex lock_api_04,
    "lock_api-05" the_wrappers_of_lock_api_05_hold_their_mutex lock_api_05
);

#[test]
fn a_wait_ends_with_the_mutex() {
    static LOCK: Mutex<bool> = Mutex::new(false);
    static CHANGED: Condvar = Condvar::new();
    let ((), n) = told(panics, || {
        let mut guard = LOCK.lock();
        assert!(CHANGED.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
        assert!(is_shut_out(|| LOCK.try_lock().is_some()));
        scope(|scope| {
            scope.spawn(|| {
                *LOCK.lock() = true;
                CHANGED.notify_all();
            });
            CHANGED.wait_while(&mut guard, |is_ready| !*is_ready);
            assert!(is_shut_out(|| LOCK.try_lock().is_some()));
        });
    });
    // The other thread's, and this one's at the end: a hold that ends in a wait is not told.
    assert_eq!(n, 2);
    assert!(!LOCK.is_locked());
}

#[test]
fn a_panic_of_the_listener_poisons_nothing() {
    static LOCK: ondeck::poison::Mutex<u64> = ondeck::poison::Mutex::new(0);
    static CHANGED: ondeck::poison::Condvar = ondeck::poison::Condvar::new();
    let ((), n) = told(panics, || {
        *LOCK.lock().unwrap() += 1;
        let guard = LOCK.lock().unwrap();
        let (guard, result) = CHANGED.wait_timeout(guard, Duration::from_millis(1)).unwrap();
        assert!(result.timed_out() && is_shut_out(|| LOCK.try_lock().is_ok()));
        drop(guard);
    });
    assert_eq!(n, 2);
    assert!(!LOCK.is_poisoned());
    assert!(told(|_| {}, || LOCK.try_lock().is_ok()).0);
}

#[test]
fn a_monitor_calls_nothing() {
    let monitor = Monitor::new(Cell::new(0));
    let (_, n) = told(panics, || {
        let mut entered = monitor.enter();
        assert!(MonitorGuard::wait_for(&mut entered, Duration::ZERO).is_ok());
        assert!(monitor.is_entered() && is_shut_out(|| monitor.try_enter().is_some()));
        assert_eq!(monitor.pulse(), Ok(false));
        MonitorGuard::bump(&mut entered);
        assert!(is_shut_out(|| monitor.try_enter().is_some()));
    });
    assert_eq!(n, 0, "its holds are not counted");
}

/// Its drop panics, and so does what that panics with.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Bomb(self.0 - 1));
        }
    }
}

#[test]
fn what_the_listener_panics_with_may_panic_when_it_is_dropped() {
    static LOCK: Mutex<u64> = Mutex::new(0);
    fn throws(_: &LongHold) {
        N_TOLD.fetch_add(1, SeqCst);
        panic_any(Bomb(3));
    }
    let ((), n) = told(throws, || {
        let mut guard = LOCK.lock();
        MutexGuard::unlocked(&mut guard, || ());
        assert!(is_shut_out(|| LOCK.try_lock().is_some()));
    });
    assert_eq!(n, 2);
}

#[test]
fn a_listener_may_panic_while_its_thread_unwinds() {
    static LOCK: Mutex<u64> = Mutex::new(0);
    let (message, n) = told(panics, || {
        let unwinds = || {
            let _guard = LOCK.lock();
            panic!("the program");
        };
        let payload = catch_unwind(AssertUnwindSafe(unwinds)).expect_err("it panics");
        *payload.downcast::<&str>().expect("a literal")
    });
    assert_eq!((message, n, LOCK.is_locked()), ("the program", 1, false));
}

#[test]
fn a_listener_may_lock_unlock_and_wait_and_is_not_told_of_that() {
    static LOCK: Mutex<u64> = Mutex::new(0);
    static OTHER: Mutex<u64> = Mutex::new(0);
    static CHANGED: Condvar = Condvar::new();
    static MONITOR: Monitor<()> = Monitor::new(());
    fn locks(_: &LongHold) {
        N_TOLD.fetch_add(1, SeqCst);
        let mut guard = LOCK.lock();
        *guard += 1;
        MutexGuard::unlocked(&mut guard, || *OTHER.lock() += 1);
        CHANGED.wait_for(&mut guard, Duration::from_micros(10));
        MutexGuard::bump(&mut guard);
        let _entered = MONITOR.enter();
        assert!(MONITOR.wait_for(Duration::ZERO).is_ok());
        panic!("with all of them held");
    }
    let ((), n) = told(locks, || {
        let mut guard = LOCK.lock();
        MutexGuard::unlocked(&mut guard, || ());
        assert_eq!(*guard, 1);
        assert!(is_shut_out(|| LOCK.try_lock().is_some()));
        assert!(!OTHER.is_locked() && !MONITOR.is_entered());
    });
    let (values, _) = told(|_| {}, || (*LOCK.lock(), *OTHER.lock()));
    assert_eq!((n, values), (2, (2, 2)));
}

/// It is told after each release, and not while the thread goes on to read, or to write.
#[test]
fn who_reads_or_writes_has_the_lock_until_it_is_released() {
    let ((), n_told) = told(panics, || {
        let lock = RwLock::new(0);
        let is_free = || !is_shut_out(|| lock.try_write().is_some());
        drop(lock.read());
        *lock.write() += 1;
        assert_eq!((N_TOLD.load(SeqCst), is_free()), (2, true));
        let guard = RwLockWriteGuard::downgrade(lock.write());
        assert!(is_shut_out(|| lock.try_write().is_some()) && N_TOLD.load(SeqCst) == 3);
        drop(guard);
        let guard = RwLockUpgradableReadGuard::upgrade(lock.upgradable_read());
        assert!(is_shut_out(|| lock.try_read().is_some()) && N_TOLD.load(SeqCst) == 4);
        drop(guard);
        assert!(is_free());
    });
    // Those of the two threads that have found it free are among them.
    assert_eq!(n_told, 6);
}
