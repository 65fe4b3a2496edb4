//! What users of `std::sync::Mutex` and `Condvar` rely on beyond what `swap.rs` runs against both.

mod limit;

use ondeck::poison::{Condvar, Mutex, TryLockError};
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
}
