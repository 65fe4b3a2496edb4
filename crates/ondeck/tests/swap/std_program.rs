// Every stable item of `std::sync`'s mutex and condition variable, each with its types written out.

use std::fmt::{Debug, Display};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

static TOTAL: Mutex<u64> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

const SHORT: Duration = Duration::from_millis(1);

fn bounds<T>()
where
    Mutex<T>: Send + Sync + UnwindSafe + RefUnwindSafe + Debug + Default + From<T>,
    Condvar: Send + Sync + UnwindSafe + RefUnwindSafe + Debug + Default,
    for<'a> MutexGuard<'a, T>: Debug + Display + std::ops::DerefMut<Target = T>,
    WaitTimeoutResult: Debug + Copy + Eq + Send + Sync,
{
}

#[test]
fn mutex() -> Result<(), PoisonError<MutexGuard<'static, u64>>> {
    bounds::<u64>();
    let lock: fn(&'static Mutex<u64>) -> LockResult<MutexGuard<'static, u64>> = Mutex::lock;
    *lock(&TOTAL)? += 1;
    assert_eq!(*TOTAL.lock()?, 1);
    let guard = TOTAL.lock()?;
    assert!(matches!(TOTAL.try_lock(), Err(TryLockError::WouldBlock)));
    drop(guard);
    assert!(!TOTAL.is_poisoned());
    TOTAL.clear_poison();
    let mut mutex: Mutex<u64> = Mutex::from(7);
    *mutex.get_mut().unwrap() += 1;
    assert_eq!(mutex.into_inner().unwrap(), 8);
    assert_eq!(Mutex::<u64>::default().into_inner().unwrap(), 0);
    let unsized_data: &Mutex<[u8]> = &Mutex::new([1, 2]);
    assert_eq!(unsized_data.lock().unwrap().len(), 2);
    Ok(())
}

#[test]
#[allow(deprecated)]
fn timeouts() {
    let mutex = Mutex::new(false);
    let changed = Condvar::default();
    let guard = mutex.lock().unwrap();
    let (guard, result): (MutexGuard<'_, bool>, WaitTimeoutResult) =
        changed.wait_timeout_while(guard, SHORT, |is_done| !*is_done).unwrap();
    assert!(result.timed_out());
    let (guard, _may_be_for_no_reason) = changed.wait_timeout(guard, SHORT).unwrap();
    let (guard, _may_be_for_no_reason) = changed.wait_timeout_ms(guard, 1).unwrap();
    assert!(!*guard);
    let timed_out: fn(&WaitTimeoutResult) -> bool = WaitTimeoutResult::timed_out;
    assert!(timed_out(&result));
}

#[test]
fn notifications() {
    let mutex = Mutex::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = mutex.lock().unwrap();
            while *guard == 0 {
                guard = CHANGED.wait(guard).unwrap();
            }
            *guard = 2;
            let () = CHANGED.notify_all();
        });
        *mutex.lock().unwrap() = 1;
        let () = CHANGED.notify_one();
        let guard = CHANGED.wait_while(mutex.lock().unwrap(), |state: &mut i32| *state < 2).unwrap();
        assert_eq!(*guard, 2);
    });
}

#[test]
fn poison() {
    let mutex = Mutex::new(vec![1]);
    let panicked = std::panic::catch_unwind(|| {
        let mut guard = mutex.lock().unwrap();
        guard.push(2);
        panic!("while holding the mutex");
    });
    assert!(panicked.is_err() && mutex.is_poisoned());
    let error: PoisonError<_> = mutex.lock().unwrap_err();
    assert_eq!(error.to_string(), "poisoned lock: another task failed inside");
    assert_eq!(*error.into_inner(), [1, 2]);
}
