//! What the optional features add. Run with `cargo test -p ondeck --all-features`.

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
    }
}

#[cfg(feature = "lock_api-04")]
mod lock_api_04 {
    use lock_api_04::{RawMutex, RawMutexFair, RawMutexTimed};
    use ondeck::lock_api_04::{Mutex, MutexGuard};
    use std::time::{Duration, Instant};

    fn generic<R: RawMutex + RawMutexFair + RawMutexTimed<Duration = Duration, Instant = Instant> + Sync>() {
        let mutex = lock_api_04::Mutex::<R, i32>::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
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
        assert_eq!(*guard, 4_000);
        lock_api_04::MutexGuard::unlock_fair(guard);
        assert!(!mutex.is_locked());
    }

    #[test]
    fn the_older_traits_hold() {
        generic::<ondeck::RawMutex>();
        let mutex = Mutex::new((1, 2));
        assert_eq!(*MutexGuard::map(mutex.lock(), |pair| &mut pair.1), 2);
    }
}

#[cfg(feature = "lock_api-05")]
mod lock_api_05 {
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
                    for _ in 0..1_000 {
                        *mutex.lock() += 1;
                    }
                    changed.notify_all();
                });
            }
            changed.wait_while(&mut mutex.lock(), |count| *count < 4_000);
        });
        let mut guard = mutex.lock();
        assert!(mutex.is_locked() && mutex.try_lock().is_none());
        assert!(mutex.try_lock_for(Duration::from_millis(1)).is_none());
        assert!(mutex.try_lock_until(Instant::now()).is_none());
        assert!(changed.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
        assert!(changed.wait_until(&mut guard, Instant::now()).timed_out());
        assert!(!changed.notify_one());
        lock_api_05::MutexGuard::bump(&mut guard);
        assert_eq!(*guard, 4_000);
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
