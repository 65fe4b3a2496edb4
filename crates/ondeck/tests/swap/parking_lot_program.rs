// The methods of `parking_lot`'s mutex and condition variable, each once.

use std::time::{Duration, Instant};

static TOTAL: Mutex<u64> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

const SHORT: Duration = Duration::from_millis(1);

#[test]
fn mutex() {
    *TOTAL.lock() += 1;
    assert!(TOTAL.try_lock().is_some() && !TOTAL.is_locked());
    assert!(TOTAL.try_lock_for(SHORT).is_some());
    assert!(TOTAL.try_lock_until(Instant::now()).is_some());
    let mut mutex = Mutex::from((1, "one"));
    *mutex.get_mut() = (2, "two");
    assert!(!mutex.data_ptr().is_null());
    let mut guard: MutexGuard<'_, (i32, &str)> = mutex.lock();
    assert_eq!(MutexGuard::unlocked(&mut guard, || 1), 1);
    assert_eq!(MutexGuard::unlocked_fair(&mut guard, || 1), 1);
    MutexGuard::bump(&mut guard);
    assert!(std::ptr::eq(MutexGuard::mutex(&guard), &mutex));
    let name: MappedMutexGuard<'_, &str> = MutexGuard::map(guard, |pair| &mut pair.1);
    MappedMutexGuard::unlock_fair(name);
    MutexGuard::unlock_fair(mutex.lock());
    assert_eq!(mutex.into_inner(), (2, "two"));
    assert_eq!(format!("{:?}", Mutex::<u8>::default()), "Mutex { data: 0 }");
}

#[test]
fn condvar() {
    let mutex = Mutex::new(0);
    assert_eq!((CHANGED.notify_one(), CHANGED.notify_all()), (false, 0));
    let mut guard = mutex.lock();
    let result: WaitTimeoutResult = CHANGED.wait_for(&mut guard, SHORT);
    assert!(Some(result).is_some_and(WaitTimeoutResult::timed_out));
    assert!(result.timed_out());
    assert!(CHANGED.wait_until(&mut guard, Instant::now() + SHORT).timed_out());
    assert!(CHANGED.wait_while_for(&mut guard, |_| true, SHORT).timed_out());
    assert!(CHANGED.wait_while_until(&mut guard, |_| true, Instant::now() + SHORT).timed_out());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *mutex.lock() += 1;
            CHANGED.notify_all();
        });
        CHANGED.wait(&mut guard);
        CHANGED.wait_while(&mut guard, |count| *count == 0);
        assert_eq!(*guard, 1);
    });
}
