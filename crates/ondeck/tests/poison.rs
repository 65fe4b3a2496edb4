//! What users of `std::sync::Mutex`, `RwLock` and `Condvar` rely on beyond what `swap.rs` runs against both.

mod limit;

use ondeck::poison::{Condvar, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(2);

fn poison<T: Send>(mutex: &Mutex<T>) {
    let panicked = thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let _guard = mutex.lock();
            panic!("while holding the mutex");
        });
        holder.join().is_err()
    });
    assert!(panicked && mutex.is_poisoned());
}

#[test]
fn a_poisoned_mutex_gives_its_guard_in_an_error() {
    let mutex = Mutex::new(1);
    poison(&mutex);
    assert_eq!(**mutex.lock().expect_err("poisoned").get_ref(), 1);
    match mutex.try_lock() {
        Err(TryLockError::Poisoned(poison)) => assert_eq!(*poison.into_inner(), 1),
        other => panic!("{other:?}"),
    };
    assert!(mutex.try_lock().is_err(), "still poisoned, and free");
}

#[test]
fn a_taken_mutex_would_block_poisoned_or_not() {
    let mutex = Mutex::new(1);
    poison(&mutex);
    let _guard = mutex.lock();
    assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
}

#[test]
fn clear_poison() {
    let mutex = Mutex::new(1);
    poison(&mutex);
    mutex.clear_poison();
    assert!(mutex.lock().is_ok() && !mutex.is_poisoned());
}

#[test]
fn into_inner_and_get_mut_tell() {
    let mut mutex = Mutex::new(1);
    poison(&mutex);
    assert_eq!(**mutex.get_mut().expect_err("poisoned").get_ref(), 1);
    assert_eq!(mutex.into_inner().expect_err("poisoned").into_inner(), 1);
}

#[test]
fn a_guard_made_while_unwinding_does_not_poison() {
    struct Locks(Arc<Mutex<i32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            *self.0.lock().expect("not poisoned") += 1;
        }
    }
    let mutex = Arc::new(Mutex::new(1));
    let locks = Locks(mutex.clone());
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _locks = locks;
        panic!("outside of the mutex");
    }));
    assert!(panicked.is_err());
    assert_eq!(*mutex.lock().expect("not poisoned"), 2);
}

#[test]
fn waits_tell_of_poison() {
    let (mutex, changed) = (Mutex::new(0), Condvar::new());
    poison(&mutex);
    let guard = mutex.lock().expect_err("poisoned").into_inner();
    let (guard, result) = changed.wait_timeout(guard, SHORT).expect_err("poisoned").into_inner();
    assert!(result.timed_out());
    let (guard, result) = changed.wait_timeout_while(guard, SHORT, |_| true).expect_err("poisoned").into_inner();
    assert!(result.timed_out());
    drop(changed.wait_while(guard, |_| false).expect("did not wait, so did not ask"));
}

#[test]
fn a_panic_of_the_notifier_reaches_the_waiter() {
    let (mutex, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut guard = mutex.lock().expect("not poisoned yet");
            *guard = true;
            changed.wait(guard).is_err()
        });
        let notifier = scope.spawn(|| {
            loop {
                let guard = mutex.lock().expect("not poisoned yet");
                if *guard {
                    changed.notify_one();
                    panic!("while holding the mutex");
                }
                drop(guard);
                thread::yield_now();
            }
        });
        assert!(notifier.join().is_err());
        assert!(waiter.join().expect("no panic"));
    });
}

#[test]
fn text() {
    let mutex = Mutex::new(1);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 1, poisoned: false, .. }");
    let guard = mutex.lock().expect("not poisoned");
    assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked>, poisoned: false, .. }");
    assert_eq!(format!("{guard:?} {guard}"), "1 1");
    drop(guard);
    poison(&mutex);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 1, poisoned: true, .. }");
    assert_eq!(format!("{:?}", Condvar::default()), "Condvar { .. }");
}

#[test]
fn auto_traits_are_those_of_std() {
    fn holds<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    holds::<Mutex<std::cell::Cell<u8>>>();
    holds::<Condvar>();
    holds::<RwLock<u8>>();
    fn passes_a_panic<T: UnwindSafe + RefUnwindSafe>() {}
    passes_a_panic::<RwLock<std::cell::Cell<u8>>>();
    passes_a_panic::<RwLockWriteGuard<'static, std::cell::Cell<u8>>>();
    passes_a_panic::<RwLockReadGuard<'static, u8>>();
}

fn poison_by_writing<T: Send + Sync>(lock: &RwLock<T>) {
    let panicked = catch_unwind(|| {
        let _guard = lock.write();
        panic!("while writing");
    });
    assert!(panicked.is_err() && lock.is_poisoned());
}

#[test]
fn a_panic_of_a_writer_poisons_for_readers_and_writers() {
    let lock = RwLock::new(1);
    poison_by_writing(&lock);
    let reads = lock.read().expect_err("poisoned").into_inner();
    assert_eq!((*reads, **lock.read().expect_err("poisoned").get_ref()), (1, 1));
    drop(reads);
    *lock.write().expect_err("poisoned").into_inner() += 1;
    assert_eq!(*lock.write().expect_err("a release in order does not clear it").into_inner(), 2);
}

#[test]
fn a_panic_of_a_reader_does_not_poison() {
    let lock = RwLock::new(1);
    let panicked = catch_unwind(|| {
        let _guard = lock.read();
        panic!("while reading");
    });
    assert!(panicked.is_err() && !lock.is_poisoned());
    assert!(lock.try_write().is_ok(), "free, and not poisoned");
}

#[test]
fn clear_poison_of_a_rwlock() {
    let lock = RwLock::new(1);
    poison_by_writing(&lock);
    lock.clear_poison();
    assert!(!lock.is_poisoned() && lock.read().is_ok());
    assert!(lock.write().is_ok());
}

#[test]
fn attempts_at_a_rwlock_tell_taken_from_poisoned() {
    let lock = RwLock::new(1);
    poison_by_writing(&lock);
    let reads = match lock.try_read() {
        Err(TryLockError::Poisoned(poison)) => poison.into_inner(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))));
    assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    drop(reads);
    let writes = match lock.try_write() {
        Err(TryLockError::Poisoned(poison)) => poison.into_inner(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
    assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    drop(writes);
}

#[test]
fn into_inner_and_get_mut_of_a_rwlock_tell() {
    let mut lock = RwLock::new(1);
    poison_by_writing(&lock);
    assert_eq!(**lock.get_mut().expect_err("poisoned").get_ref(), 1);
    assert_eq!(lock.into_inner().expect_err("poisoned").into_inner(), 1);
}

#[test]
fn get_cloned_set_and_replace_of_a_rwlock() {
    let lock = RwLock::from("on");
    lock.set("deck").expect("not poisoned");
    assert_eq!(lock.replace("dugout").expect("not poisoned"), "deck");
    assert_eq!(lock.get_cloned().expect("not poisoned"), "dugout");
    poison_by_writing(&lock);
    assert!(lock.get_cloned().is_err());
    assert_eq!(lock.set("bat").expect_err("poisoned").into_inner(), "bat");
    assert_eq!(lock.replace("bat").expect_err("poisoned").into_inner(), "bat");
    assert_eq!(lock.into_inner().expect_err("poisoned").into_inner(), "dugout");
}

#[test]
fn a_downgraded_guard_reads_and_does_not_poison() {
    let lock = RwLock::new(1);
    let panicked = catch_unwind(|| {
        let mut writes = lock.write().expect("not poisoned");
        *writes += 1;
        let reads = RwLockWriteGuard::downgrade(writes);
        assert_eq!((*reads, *lock.read().expect("not poisoned")), (2, 2));
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        panic!("while reading");
    });
    assert!(panicked.is_err() && !lock.is_poisoned());
    assert!(lock.try_write().is_ok());
}

#[test]
fn a_downgrade_by_a_panic_poisons_before_readers_come_in() {
    struct Downgrades<'a>(Option<RwLockWriteGuard<'a, i32>>, &'a RwLock<i32>);
    impl Drop for Downgrades<'_> {
        fn drop(&mut self) {
            let _reads = self.0.take().map(RwLockWriteGuard::downgrade);
            assert!(self.1.try_read().is_err());
        }
    }
    let lock = RwLock::new(1);
    let panicked = catch_unwind(|| {
        let _downgrades = Downgrades(Some(lock.write().expect("not poisoned")), &lock);
        panic!("while writing");
    });
    assert!(panicked.is_err() && lock.is_poisoned());
    assert!(lock.try_write().is_err_and(|error| matches!(error, TryLockError::Poisoned(_))));
}

#[test]
fn a_write_guard_made_while_unwinding_does_not_poison() {
    struct Writes<'a>(&'a RwLock<i32>);
    impl Drop for Writes<'_> {
        fn drop(&mut self) {
            *self.0.write().expect("not poisoned") += 1;
        }
    }
    let lock = RwLock::new(1);
    let panicked = catch_unwind(|| {
        let _writes = Writes(&lock);
        panic!("outside of the lock");
    });
    assert!(panicked.is_err());
    assert_eq!(*lock.read().expect("not poisoned"), 2);
}

#[test]
fn text_of_a_rwlock() {
    let lock = RwLock::new(1);
    let reads = lock.read().expect("not poisoned");
    assert_eq!(format!("{lock:?} {reads:?} {reads}"), "RwLock { data: 1, poisoned: false, .. } 1 1");
    drop(reads);
    let writes = lock.write().expect("not poisoned");
    assert_eq!(format!("{lock:?} {writes:?} {writes}"), "RwLock { data: <locked>, poisoned: false, .. } 1 1");
    drop(writes);
    poison_by_writing(&lock);
    assert_eq!(format!("{lock:?}"), "RwLock { data: 1, poisoned: true, .. }");
    assert!(!RwLock::<bool>::default().into_inner().expect("not poisoned"));
}
