// What `std::sync` has behind features in Rust 1.95: accessors, and guards of a part of the data.

use poison::{LockResult, PoisonError, TryLockError};
use std::fmt::{Debug, Display};
use std::ops::DerefMut;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// Its clone or its end may be looked at, or may panic.
struct Watched(fn(&'static str));

impl Clone for Watched {
    fn clone(&self) -> Self {
        (self.0)("clone");
        Watched(self.0)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        (self.0)("drop");
    }
}

fn panics(body: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
}

fn poisoned<T>(value: T) -> poison::Mutex<T> {
    let mutex = poison::Mutex::new(value);
    panics(|| {
        let _guard = mutex.lock();
        panic!("while holding the mutex");
    });
    assert!(mutex.is_poisoned());
    mutex
}

#[test]
fn shapes() {
    fn guards<T: Sync + RefUnwindSafe>() {}
    guards::<poison::MutexGuard<'static, u8>>();
    guards::<poison::MappedMutexGuard<'static, u8>>();
    // Not `Send` data, and a guard that is shared nevertheless.
    guards::<poison::MappedMutexGuard<'static, poison::MutexGuard<'static, u8>>>();
    fn passes_a_panic<T: UnwindSafe>() {}
    passes_a_panic::<poison::MutexGuard<'static, std::cell::Cell<u8>>>();
    fn shows<T: Debug + Display + DerefMut<Target = u8>>() {}
    shows::<poison::MappedMutexGuard<'static, u8>>();
    fn shorter<'a>(guard: poison::MappedMutexGuard<'static, u8>) -> poison::MappedMutexGuard<'a, u8> {
        guard
    }
    let _ = shorter;
    let _: fn(&poison::Mutex<u8>) -> Result<u8, PoisonError<()>> = poison::Mutex::get_cloned;
    let _: fn(&poison::Mutex<u8>, u8) -> Result<(), PoisonError<u8>> = poison::Mutex::set;
    let _: fn(&poison::Mutex<u8>, u8) -> LockResult<u8> = poison::Mutex::replace;
    let _: fn(&poison::Mutex<[u8]>) -> *mut [u8] = poison::Mutex::data_ptr;
}

#[test]
fn values_come_and_go() {
    let mutex = poison::Mutex::new(String::from("on"));
    assert_eq!(mutex.get_cloned().unwrap(), "on");
    mutex.set("deck".into()).unwrap();
    assert_eq!(mutex.replace("dugout".into()).unwrap(), "deck");
    assert_eq!(mutex.into_inner().unwrap(), "dugout");
}

#[test]
fn a_poisoned_mutex_keeps_its_value_and_gives_the_new_one_back() {
    let mutex = poisoned(1);
    let _: PoisonError<()> = mutex.get_cloned().unwrap_err();
    assert_eq!(mutex.set(2).unwrap_err().into_inner(), 2);
    assert_eq!(mutex.replace(3).unwrap_err().into_inner(), 3);
    assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))), "free");
    assert_eq!(mutex.into_inner().unwrap_err().into_inner(), 1);
}

#[test]
fn an_old_value_ends_after_the_release() {
    static MUTEX: poison::Mutex<Option<Watched>> = poison::Mutex::new(None);
    static N_DROPS: AtomicUsize = AtomicUsize::new(0);
    let look = |_| {
        assert!(MUTEX.try_lock().is_ok(), "still held");
        N_DROPS.fetch_add(1, SeqCst);
    };
    assert!(MUTEX.set(Some(Watched(look))).is_ok());
    assert!(MUTEX.set(None).is_ok());
    assert_eq!(N_DROPS.load(SeqCst), 1);
}

#[test]
fn a_panic_of_clone_poisons() {
    let fail = |what| assert_eq!(what, "drop", "a clone that fails");
    let mutex = poison::Mutex::new(Watched(fail));
    panics(|| drop(mutex.get_cloned()));
    assert!(mutex.is_poisoned());
}

#[test]
fn a_panic_with_a_mapped_guard_poisons() {
    let mutex = poison::Mutex::new((1, (2, 3)));
    panics(|| {
        let pair = poison::MutexGuard::map(mutex.lock().unwrap(), |data| &mut data.1);
        let mut last = poison::MappedMutexGuard::map(pair, |pair| &mut pair.1);
        *last = 4;
        panic!("while holding a part");
    });
    assert!(mutex.is_poisoned());
    assert_eq!(mutex.lock().unwrap_err().into_inner().1.1, 4);
    // The poison stays as it is while such a guard comes and goes.
    let guard = mutex.lock().unwrap_err().into_inner();
    mutex.clear_poison();
    drop(poison::MutexGuard::map(guard, |data| &mut data.0));
    assert!(!mutex.is_poisoned());
}

#[test]
fn a_mapped_guard_made_while_unwinding_does_not_poison() {
    static PAIR: poison::Mutex<(i32, i32)> = poison::Mutex::new((1, 2));
    panics(|| {
        let _counts = Watched(|_| *poison::MutexGuard::map(PAIR.lock().unwrap(), |pair| &mut pair.1) += 1);
        panic!("outside of the mutex");
    });
    assert_eq!(PAIR.get_cloned().unwrap(), (1, 3));
}

/// Each way to a part of the data, with a panic on it.
fn fail_on_the_way(mutex: &poison::Mutex<(i32, i32)>, way: usize) {
    let lock = || mutex.lock().unwrap();
    let part = || poison::MutexGuard::map(lock(), |pair| &mut pair.0);
    panics(|| match way {
        0 => drop(poison::MutexGuard::map(lock(), |_| -> &mut i32 { panic!("on the way") })),
        1 => drop(poison::MutexGuard::filter_map(lock(), |_| -> Option<&mut i32> { panic!("on the way") })),
        2 => drop(poison::MappedMutexGuard::map(part(), |_| -> &mut i32 { panic!("on the way") })),
        _ => drop(poison::MappedMutexGuard::filter_map(part(), |_| -> Option<&mut i32> { panic!("on the way") })),
    });
}

#[test]
fn a_panic_on_the_way_to_a_part_poisons_before_the_mutex_is_free() {
    for way in 0..4 {
        let mutex = poison::Mutex::new((1, 2));
        fail_on_the_way(&mutex, way);
        assert!(mutex.is_poisoned() && !matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)), "{way}");
    }
}

#[test]
fn who_waits_while_the_way_to_a_part_panics_sees_the_poison() {
    let enough = Instant::now() + Duration::from_millis(200);
    // Ended by the clock. The moment between release and poison, if there is one, is short.
    for round in 0.. {
        let (mutex, is_failing) = (poison::Mutex::new((1, 2)), AtomicBool::new(false));
        thread::scope(|scope| {
            let guard = mutex.lock().unwrap();
            let waiter = scope.spawn(|| {
                while !is_failing.load(SeqCst) {
                    std::hint::spin_loop();
                }
                mutex.lock().is_err()
            });
            panics(|| {
                drop(poison::MutexGuard::map(guard, |_| -> &mut i32 {
                    is_failing.store(true, SeqCst);
                    panic!("on the way");
                }));
            });
            assert!(waiter.join().unwrap(), "round {round}");
        });
        if Instant::now() > enough {
            break;
        }
    }
}

#[test]
fn a_part_that_is_not_there_leaves_the_mutex_held() {
    let mutex = poison::Mutex::new(vec![1]);
    let guard = poison::MutexGuard::filter_map(mutex.lock().unwrap(), |list| list.get_mut(1)).unwrap_err();
    assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
    let first = poison::MutexGuard::filter_map(guard, |list| list.get_mut(0)).unwrap();
    let first = poison::MappedMutexGuard::filter_map(first, |_| None::<&mut i32>).unwrap_err();
    assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
    assert_eq!(format!("{first:?} {first}"), "1 1");
    drop(first);
    assert!(mutex.try_lock().is_ok());
}
