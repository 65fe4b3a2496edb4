//! What the optional features add. Run with `cargo test -p ondeck --all-features`.

/// How often each of four threads does it.
#[cfg(any(feature = "lock_api-04", feature = "lock_api-05"))]
const TIMES: i32 = if cfg!(miri) { 20 } else { 1_000 };

#[cfg(feature = "serde")]
mod serde {
    use std::thread;

    #[test]
    fn a_mutex_is_serialised_as_its_data() {
        let text = serde_json::to_string(&ondeck::Mutex::new(vec![1, 2])).expect("plain data");
        assert_eq!(text, "[1,2]");
        let mutex: ondeck::Mutex<Vec<i32>> = serde_json::from_str(&text).expect("as written");
        assert_eq!(*mutex.lock(), [1, 2]);
    }

    #[test]
    fn so_is_a_reader_writer_lock() {
        let lock: ondeck::RwLock<Vec<i32>> = serde_json::from_str("[1,2]").expect("a list");
        let _reads = lock.read();
        assert_eq!(serde_json::to_string(&lock).expect("plain data"), "[1,2]");
        let lock: ondeck::poison::RwLock<Vec<i32>> = serde_json::from_str("[1,2]").expect("a list");
        assert_eq!(serde_json::to_string(&lock).expect("plain data"), "[1,2]");
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let _guard = lock.write();
                panic!("while writing");
            });
            assert!(writer.join().is_err());
        });
        assert!(serde_json::to_string(&lock).is_err());
    }

    #[test]
    fn so_is_one_with_poison_unless_it_is_poisoned() {
        let mutex: ondeck::poison::Mutex<Vec<i32>> = serde_json::from_str("[1,2]").expect("a list");
        assert_eq!(serde_json::to_string(&mutex).expect("plain data"), "[1,2]");
        thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let _guard = mutex.lock();
                panic!("while holding the mutex");
            });
            assert!(holder.join().is_err());
        });
        assert!(serde_json::to_string(&mutex).is_err());
    }

    #[test]
    fn a_panic_in_serialize_releases() {
        struct Panics;
        impl ::serde::Serialize for Panics {
            fn serialize<S: ::serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                panic!("in serialize")
            }
        }
        let (plain, poisons) = (ondeck::Mutex::new(Panics), ondeck::poison::Mutex::new(Panics));
        let panics = |act: &dyn Fn()| {
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).is_err());
        };
        panics(&|| drop(serde_json::to_string(&plain)));
        panics(&|| drop(serde_json::to_string(&poisons)));
        assert!(!plain.is_locked() && poisons.is_poisoned());
        let lock = ondeck::RwLock::new(Panics);
        panics(&|| drop(serde_json::to_string(&lock)));
        assert!(!lock.is_locked());
    }
}

/// What version 0.4 and version 0.5 promise of a reader-writer lock alike.
#[cfg(any(feature = "lock_api-04", feature = "lock_api-05"))]
macro_rules! tests_the_rwlock {
    ($version:ident) => {
        mod rwlock {
            use std::time::{Duration, Instant};
            use $version::{
                RawRwLockDowngrade, RawRwLockFair, RawRwLockTimed, RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair,
                RawRwLockUpgradeTimed, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
            };

            /// A writer that waits holds up plain readers, and a fair release or a bump lets it in.
            pub(super) fn holds<R>()
            where
                R: RawRwLockFair + RawRwLockDowngrade + RawRwLockTimed<Duration = Duration, Instant = Instant> + Sync,
                R: RawRwLockUpgradeFair + RawRwLockUpgradeDowngrade + RawRwLockUpgradeTimed,
            {
                let lock = $version::RwLock::<R, i32>::new(0);
                std::thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| {
                            for _ in 0..crate::TIMES / 4 {
                                *lock.write() += 1;
                                let before = lock.upgradable_read();
                                let count = *before;
                                assert_eq!(*RwLockUpgradableReadGuard::upgrade(before), count);
                            }
                        });
                    }
                });
                let guard = lock.read();
                assert!(*guard == crate::TIMES && lock.is_locked() && !lock.is_locked_exclusive());
                assert!(lock.try_write().is_none() && lock.try_write_for(Duration::from_millis(1)).is_none());
                assert!(lock.try_write_until(Instant::now()).is_none() && lock.try_read().is_some());
                let upgradable = lock.try_upgradable_read().expect("one may");
                let upgradable = RwLockUpgradableReadGuard::try_upgrade(upgradable).expect_err("another reads");
                let upgradable =
                    RwLockUpgradableReadGuard::try_upgrade_for(upgradable, Duration::ZERO).expect_err("the same");
                let upgradable =
                    RwLockUpgradableReadGuard::try_upgrade_until(upgradable, Instant::now()).expect_err("the same");
                assert!(lock.try_upgradable_read_for(Duration::ZERO).is_none());
                assert!(lock.try_upgradable_read_until(Instant::now()).is_none());
                RwLockReadGuard::unlock_fair(guard);
                let mut upgradable = upgradable;
                RwLockUpgradableReadGuard::bump(&mut upgradable);
                let writer = RwLockUpgradableReadGuard::try_upgrade(upgradable).expect("alone");
                assert!(lock.is_locked_exclusive() && lock.try_read_for(Duration::ZERO).is_none());
                assert!(lock.try_read_until(Instant::now()).is_none());
                let upgradable = RwLockWriteGuard::downgrade_to_upgradable(writer);
                drop(RwLockUpgradableReadGuard::downgrade(upgradable));
                RwLockUpgradableReadGuard::unlock_fair(lock.upgradable_read());
                let mut guard = RwLockWriteGuard::downgrade(lock.write());
                std::thread::scope(|scope| {
                    scope.spawn(|| *lock.write() = 7);
                    while *guard != 7 {
                        RwLockReadGuard::bump(&mut guard);
                    }
                });
                RwLockReadGuard::unlocked(&mut guard, || *lock.write() += 1);
                drop(guard);
                let mut guard = lock.write();
                RwLockWriteGuard::bump(&mut guard);
                assert_eq!(*guard, 8);
                RwLockWriteGuard::unlock_fair(guard);
                assert!(!lock.is_locked());
            }
        }
    };
}

#[cfg(feature = "lock_api-04")]
mod lock_api_04 {
    tests_the_rwlock!(lock_api_04);

    use lock_api_04::{RawMutex, RawMutexFair, RawMutexTimed, RawRwLockRecursiveTimed};
    use ondeck::lock_api_04::{Mutex, MutexGuard};
    use std::time::{Duration, Instant};

    fn generic<R: RawMutex + RawMutexFair + RawMutexTimed<Duration = Duration, Instant = Instant> + Sync>() {
        let mutex = lock_api_04::Mutex::<R, i32>::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..crate::TIMES {
                        *mutex.lock() += 1;
                    }
                });
            }
        });
        let mut guard = mutex.lock();
        assert!(mutex.is_locked() && mutex.try_lock().is_none());
        assert!(mutex.try_lock_for(Duration::from_millis(1)).is_none());
        assert!(mutex.try_lock_until(Instant::now()).is_none());
        lock_api_04::MutexGuard::bump(&mut guard);
        assert_eq!(*guard, 4 * crate::TIMES);
        lock_api_04::MutexGuard::unlock_fair(guard);
        assert!(!mutex.is_locked());
    }

    #[test]
    fn the_older_traits_hold() {
        generic::<ondeck::RawMutex>();
        let mutex = Mutex::new((1, 2));
        assert_eq!(*MutexGuard::map(mutex.lock(), |pair| &mut pair.1), 2);
        rwlock::holds::<ondeck::RawRwLock>();
    }

    /// Readers that read again pass by a writer that waits.
    #[test]
    fn recursive_readers_do_not_wait_for_a_waiting_writer() {
        fn holds<R: RawRwLockRecursiveTimed<Duration = Duration, Instant = Instant> + Sync>() {
            let lock = lock_api_04::RwLock::<R, i32>::new(0);
            std::thread::scope(|scope| {
                let outer = lock.read();
                scope.spawn(|| *lock.write() += 1);
                while lock.try_read().is_some() {
                    std::thread::yield_now();
                }
                assert!(*lock.read_recursive() == 0 && lock.try_read_recursive().is_some());
                assert!(lock.try_read_recursive_for(Duration::ZERO).is_some());
                assert!(lock.try_read_recursive_until(Instant::now()).is_some());
                drop(outer);
            });
            assert_eq!(lock.into_inner(), 1);
        }
        holds::<ondeck::RawRwLock>();
    }

    static LOCK: ondeck::lock_api_04::RwLock<u8> = ondeck::lock_api_04::RwLock::new(1);

    #[test]
    fn it_may_be_static_and_be_moved_while_it_is_locked() {
        assert_eq!(*LOCK.read(), 1);
        let lock = ondeck::lock_api_04::RwLock::new(String::from("moved"));
        std::mem::forget(lock.write());
        let lock = Box::new(lock);
        assert!(lock.try_read().is_none());
        assert_eq!(lock.into_inner(), "moved");
    }
}

#[cfg(feature = "lock_api-05")]
mod lock_api_05 {
    tests_the_rwlock!(lock_api_05);

    use lock_api_05::{RawCondvarTimed, RawMutexFair, RawMutexTimed};
    use ondeck::lock_api_05::{Condvar, Mutex, MutexGuard};
    use std::time::{Duration, Instant};

    fn generic<C: RawCondvarTimed + Sync>()
    where
        C::RawMutex: RawMutexFair + RawMutexTimed<Duration = Duration, Instant = Instant> + Sync,
    {
        let mutex = lock_api_05::Mutex::<C::RawMutex, i32>::new(0);
        let changed = lock_api_05::Condvar::<C>::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..crate::TIMES {
                        *mutex.lock() += 1;
                    }
                    changed.notify_all();
                });
            }
            changed.wait_while(&mut mutex.lock(), |count| *count < 4 * crate::TIMES);
        });
        let mut guard = mutex.lock();
        assert!(mutex.is_locked() && mutex.try_lock().is_none());
        assert!(mutex.try_lock_for(Duration::from_millis(1)).is_none());
        assert!(mutex.try_lock_until(Instant::now()).is_none());
        assert!(changed.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
        assert!(changed.wait_until(&mut guard, Instant::now()).timed_out());
        assert!(!changed.notify_one());
        lock_api_05::MutexGuard::bump(&mut guard);
        assert_eq!(*guard, 4 * crate::TIMES);
        lock_api_05::MutexGuard::unlock_fair(guard);
        assert!(!mutex.is_locked());
    }

    #[test]
    fn the_newer_traits_hold() {
        generic::<ondeck::RawCondvar>();
        generic::<ondeck::policy::RawCondvar<ondeck::policy::LowLatency>>();
        let mutex = Mutex::new((1, 2));
        assert_eq!(*MutexGuard::map(mutex.lock(), |pair| &mut pair.1), 2);
        assert!(!Condvar::new().notify_one());
        rwlock::holds::<ondeck::RawRwLock>();
    }

    /// Version 0.5 gives the state of its guard to an upgrade, and so has nothing to drop if that panics.
    #[test]
    #[cfg_attr(miri, ignore = "millions of steps")]
    fn an_upgrade_that_panics_has_released_the_lock() {
        use lock_api_05::RwLockUpgradableReadGuard;
        use std::panic::{AssertUnwindSafe, catch_unwind};

        // More than the lock can tell from none, if they count themselves by core.
        const FAR_TOO_MANY: u32 = 655_361;
        let lock = ondeck::lock_api_05::RwLock::new(());
        let upgradable = lock.upgradable_read();
        let read = || catch_unwind(AssertUnwindSafe(|| std::mem::forget(lock.read()))).is_ok();
        if (0..FAR_TOO_MANY).any(|_| !read()) {
            return;
        }
        let upgrade = || RwLockUpgradableReadGuard::upgrade(upgradable);
        assert!(catch_unwind(AssertUnwindSafe(|| drop(upgrade()))).is_err());
        assert!(lock.try_upgradable_read().is_some());
    }
}

#[cfg(feature = "arc_lock")]
#[test]
fn an_arc_guard_may_be_the_last_to_have_its_mutex() {
    use ondeck::{ArcMutexGuard, Mutex};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    let dropped = Arc::new(());
    let mutex = Arc::new(Mutex::new(dropped.clone()));
    let guard = mutex.lock_arc();
    assert_eq!(format!("{guard:?}"), "()");
    drop(mutex);
    assert_eq!(Arc::strong_count(&dropped), 2);
    drop(guard);
    assert_eq!(Arc::strong_count(&dropped), 1);

    let mutex: Arc<Mutex<dyn Send>> = Arc::new(Mutex::new(dropped.clone()));
    drop(ArcMutexGuard::into_arc(mutex.lock_arc()));
    drop(ArcMutexGuard::into_arc_fair(mutex.try_lock_arc().expect("released")));
    ArcMutexGuard::unlock_fair(mutex.try_lock_arc_for(Duration::ZERO).expect("released"));
    let mut guard = mutex.try_lock_arc_until(Instant::now()).expect("released");
    assert!(mutex.try_lock_arc_for(Duration::from_millis(1)).is_none());
    assert!(catch_unwind(AssertUnwindSafe(|| ArcMutexGuard::unlocked(&mut guard, || panic!()))).is_err());
    ArcMutexGuard::unlocked_fair(&mut guard, || assert!(mutex.try_lock().is_some()));
    ArcMutexGuard::bump(&mut guard);
    assert!(Arc::ptr_eq(ArcMutexGuard::mutex(&guard), &mutex) && mutex.is_locked());
    std::mem::forget(guard);
    // SAFETY: locked above by this thread, and the guard is forgotten.
    drop(unsafe { mutex.make_arc_guard_unchecked() });
    assert!(!mutex.is_locked());
    assert!(
        catch_unwind(AssertUnwindSafe(|| {
            let _guard = mutex.lock_arc();
            panic!("while holding the mutex");
        }))
        .is_err()
    );
    assert!(!mutex.is_locked());
    assert_eq!(Arc::strong_count(&mutex), 2);
    // SAFETY: the clone that the forgotten guard had.
    unsafe { Arc::decrement_strong_count(Arc::as_ptr(&mutex)) };
    drop(mutex);
    assert_eq!(Arc::strong_count(&dropped), 1);
}

#[cfg(feature = "arc_lock")]
#[test]
fn guards_that_own_an_arc() {
    let mutex = std::sync::Arc::new(ondeck::Mutex::new(1));
    let mut guard = mutex.lock_arc();
    *guard += 1;
    assert!(mutex.try_lock_arc().is_none());
    drop(guard);
    assert_eq!(*mutex.lock(), 2);
}
