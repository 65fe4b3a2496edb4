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
        let mutex: ondeck::nonpoison::Mutex<Vec<i32>> = serde_json::from_str(&text).expect("as written");
        assert_eq!(serde_json::to_string(&mutex).expect("plain data"), text);
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
