//! What guards promise: who holds the mutex when a function of a guard returns, fails or panics, and what the types allow.

use ondeck::{Condvar, MappedMutexGuard, Mutex, MutexGuard, RawMutex, low_latency};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

fn panics<T>(body: impl FnOnce() -> T) {
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
}

#[test]
fn a_panic_in_a_function_that_takes_the_guard_releases() {
    let mutex = Mutex::new((1, 2));
    panics(|| MutexGuard::map(mutex.lock(), |_| -> &mut i32 { panic!() }));
    assert!(!mutex.is_locked());
    panics(|| MutexGuard::try_map(mutex.lock(), |_| -> Option<&mut i32> { panic!() }));
    assert!(!mutex.is_locked());
    panics(|| MutexGuard::try_map_or_err(mutex.lock(), |_| -> Result<&mut i32, ()> { panic!() }));
    assert!(!mutex.is_locked());
    let part = || MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
    panics(|| MappedMutexGuard::map(part(), |_| -> &mut i32 { panic!() }));
    assert!(!mutex.is_locked());
    panics(|| MappedMutexGuard::try_map(part(), |_| -> Option<&mut i32> { panic!() }));
    assert!(!mutex.is_locked());
    panics(|| MappedMutexGuard::try_map_or_err(part(), |_| -> Result<&mut i32, ()> { panic!() }));
    assert!(!mutex.is_locked());
    panics(|| {
        let _part = part();
        panic!("while holding the mutex");
    });
    assert!(!mutex.is_locked());
}

#[test]
fn a_panic_in_a_function_that_borrows_the_guard_leaves_it_held() {
    let (mutex, changed) = (Mutex::new(1), Condvar::new());
    let mut guard = mutex.lock();
    panics(|| {
        MutexGuard::unlocked(&mut guard, || {
            assert!(mutex.try_lock().is_some());
            panic!()
        })
    });
    assert!(mutex.is_locked());
    panics(|| MutexGuard::unlocked_fair(&mut guard, || panic!()));
    assert!(mutex.is_locked());
    panics(|| changed.wait_while(&mut guard, |_| panic!()));
    panics(|| changed.wait_while_for(&mut guard, |_| panic!(), Duration::ZERO));
    assert!(mutex.is_locked());
    *guard += 1;
    drop(guard);
    assert_eq!(*mutex.try_lock().expect("released once"), 2);
}

#[test]
fn a_part_that_is_missing_gives_the_guard_back() {
    let mutex = Mutex::new((1, vec![2]));
    let guard = MutexGuard::try_map(mutex.lock(), |pair| pair.1.get_mut(1)).expect_err("it has one");
    assert!(mutex.is_locked());
    let list = MutexGuard::map(guard, |pair| &mut pair.1);
    let list = MappedMutexGuard::try_map(list, |list| list.get_mut(1)).expect_err("it has one");
    let (list, reason) =
        MappedMutexGuard::try_map_or_err(list, |list| list.get_mut(1).ok_or("short")).expect_err("it has one");
    assert!(mutex.is_locked());
    assert_eq!((list.len(), reason), (1, "short"));
    let mut first = MappedMutexGuard::try_map_or_err(list, |list| list.get_mut(0).ok_or(())).expect("it has one");
    *first = 3;
    drop(first);
    assert_eq!(mutex.into_inner(), (1, vec![3]));
}

#[test]
fn a_forgotten_guard_keeps_the_mutex() {
    let mutex = Mutex::new((1, 2));
    std::mem::forget(MutexGuard::map(mutex.lock(), |pair| &mut pair.1));
    assert!(mutex.try_lock().is_none());
    // SAFETY: locked above by this thread, and the guard is forgotten.
    let guard = unsafe { mutex.make_guard_unchecked() };
    assert_eq!(guard.0, 1);
    drop(guard);
    assert!(!mutex.is_locked());
}

/// Fields are dropped in their order: what a struct guards and borrows may be released by the guard before or after it.
#[test]
fn guards_are_dropped_where_they_stand() {
    struct Looks<'a>(&'a Mutex<i32>, bool);
    impl Drop for Looks<'_> {
        fn drop(&mut self) {
            assert_eq!(self.0.is_locked(), self.1);
        }
    }
    let mutex = Mutex::new(1);
    let fields = (Looks(&mutex, true), mutex.lock(), Looks(&mutex, false));
    drop(fields);
    // A guard that is a temporary lives to the end of its statement.
    let _ = (*mutex.lock(), Looks(&mutex, true));
    assert!(!mutex.is_locked());
}

#[test]
fn data_of_any_size() {
    assert_eq!(size_of::<Mutex<()>>(), size_of::<RawMutex>());
    assert_eq!(size_of::<low_latency::Mutex<u64>>(), 16);
    assert_eq!(size_of::<MutexGuard<'_, u64>>(), size_of::<usize>());
    let nothing = Mutex::new(());
    let guard = nothing.lock();
    assert!(nothing.try_lock().is_none());
    drop(guard);
    let list: Box<Mutex<[u8]>> = Box::new(Mutex::new([1, 2, 3]));
    let first = MutexGuard::map(list.lock(), |list| &mut list[..1]);
    assert_eq!(*first, [1]);
    drop(first);
    let shown: &Mutex<dyn std::fmt::Debug> = &Mutex::new(7);
    assert_eq!(format!("{shown:?}"), "Mutex { data: 7 }");
    assert_eq!(format!("{:?}", shown.lock()), "7");
    let data: MappedMutexGuard<'_, dyn std::fmt::Debug> = MutexGuard::map(shown.lock(), |data| data);
    assert_eq!(format!("{data:?} {shown:?}"), "7 Mutex { data: <locked> }");
}

#[test]
fn guards_show_their_data() {
    let mutex = Mutex::new((1, "two"));
    let part = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
    assert_eq!(format!("{part} {part:?}"), "two \"two\"");
    assert_eq!(format!("{mutex:#?}"), "Mutex {\n    data: <locked>,\n}");
}

#[test]
fn a_lock_and_its_data_go_together() {
    static RAW: low_latency::Mutex<u8> = low_latency::Mutex::new(1);
    const { assert!(size_of::<low_latency::Mutex<u8>>() == 16) };
    *RAW.lock() += 1;
    let mutex = Mutex::from_raw(RawMutex::new(), *RAW.lock());
    let (raw, data) = mutex.into_inner_with_raw();
    assert!(raw.try_lock() && data == 2);
    let taken = Mutex::from_raw(raw, data);
    assert!(taken.try_lock().is_none());
    // SAFETY: acquired above by this thread, without a guard.
    unsafe { taken.force_unlock() };
    assert!(taken.try_lock().is_some());
}

/// What the compiler must accept: a guard, and a mutex behind a reference, may be taken for one of a shorter life.
#[test]
fn lives_may_be_shortened() {
    fn guard<'a, 'b: 'a>(guard: MutexGuard<'b, String>) -> MutexGuard<'a, String> {
        guard
    }
    fn part<'a, 'b: 'a>(part: MappedMutexGuard<'b, str>) -> MappedMutexGuard<'a, str> {
        part
    }
    let mutex = Mutex::new(String::from("data"));
    assert_eq!(&*part(MutexGuard::map(guard(mutex.lock()), |text| text.as_mut_str())), "data");
}

/// Its clones and its text panic, and so does its drop.
struct Panics;

impl Clone for Panics {
    fn clone(&self) -> Self {
        panic!("in a clone")
    }
}

impl std::fmt::Debug for Panics {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("in a text")
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("in a drop");
        }
    }
}

#[test]
fn a_panic_of_the_data_or_of_a_function_for_it_releases() {
    let mutex = std::mem::ManuallyDrop::new(ondeck::Mutex::new(Panics));
    panics(|| format!("{:?}", *mutex));
    assert!(!mutex.is_locked());
    let poisons: [fn(&ondeck::poison::Mutex<Panics>); 2] =
        [|mutex| drop(mutex.get_cloned()), |mutex| drop(format!("{mutex:?}"))];
    for act in poisons {
        let mutex = std::mem::ManuallyDrop::new(ondeck::poison::Mutex::new(Panics));
        panics(|| mutex.set(Panics));
        assert!(!mutex.is_poisoned(), "the old data is dropped outside");
        panics(|| act(&mutex));
        assert!(mutex.is_poisoned());
        assert!(matches!(mutex.try_lock(), Err(std::sync::TryLockError::Poisoned(_))), "it is free");
        // What is poisoned has a text too.
        panics(|| format!("{:?}", *mutex));
    }
    let monitor = std::mem::ManuallyDrop::new(ondeck::Monitor::new(Panics));
    panics(|| format!("{:?}", *monitor));
    assert!(!monitor.is_entered());
}
