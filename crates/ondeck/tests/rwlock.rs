//! What users of `parking_lot::RwLock` rely on.

mod limit;

use ondeck::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any scheduling delay that is worth failing for.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(5);
const TIMES: usize = if cfg!(miri) { 20 } else { 2_000 };

static STATIC: RwLock<u32> = RwLock::new(0);

fn panics<T>(body: impl FnOnce() -> T) {
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
}

/// Waits until a thread that wants to write keeps new readers out of a lock that has readers.
fn wait_for_a_writer_that_waits<T>(lock: &RwLock<T>) {
    let begin = Instant::now();
    while lock.try_read().is_some() {
        assert!(begin.elapsed() < LONG, "no writer waits");
        thread::yield_now();
    }
    assert!(!lock.is_locked_exclusive());
}

#[test]
fn sizes_and_statics() {
    assert_eq!(size_of::<RwLock<()>>(), 16);
    *STATIC.write() += 1;
    assert_eq!(*STATIC.read(), 1);
}

#[test]
fn a_writer_is_alone_and_readers_see_whole_writes() {
    let lock = RwLock::new((0, 0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..TIMES {
                    let mut pair = lock.write();
                    pair.0 += 1;
                    pair.1 += 1;
                }
            });
            scope.spawn(|| {
                for _ in 0..TIMES {
                    let pair = lock.read();
                    assert_eq!(pair.0, pair.1);
                }
            });
            scope.spawn(|| {
                for _ in 0..TIMES {
                    let pair = lock.upgradable_read();
                    let before = pair.0;
                    let mut pair = RwLockUpgradableReadGuard::upgrade(pair);
                    assert_eq!(*pair, (before, before));
                    *pair = (before + 1, before + 1);
                    let pair = RwLockWriteGuard::downgrade(pair);
                    assert_eq!(pair.0, before + 1);
                }
            });
        }
    });
    assert!(!lock.is_locked());
    assert_eq!(lock.into_inner(), (6 * TIMES, 6 * TIMES));
}

#[test]
fn readers_are_in_together() {
    let (lock, both) = (RwLock::new(7), Barrier::new(3));
    let read = |guard: &i32| {
        both.wait();
        assert_eq!(*guard, 7);
        both.wait();
    };
    thread::scope(|scope| {
        scope.spawn(|| read(&lock.read()));
        scope.spawn(|| read(&lock.read()));
        read(&lock.upgradable_read());
    });
    assert!(!lock.is_locked());
}

#[test]
fn a_writer_gets_through_among_readers() {
    let lock = RwLock::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| while !*lock.read() {});
        }
        *lock.write() = true;
    });
    assert!(*lock.read());
}

#[test]
fn a_reader_gets_through_among_writers() {
    let (lock, has_read) = (RwLock::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !has_read.load(Relaxed) {
                    *lock.write() += 1;
                }
            });
        }
        assert!(*lock.read() >= 0);
        has_read.store(true, Relaxed);
    });
    assert!(!lock.is_locked());
}

#[test]
fn readers_wait_behind_a_writer_unless_recursive() {
    let lock = RwLock::new(0);
    thread::scope(|scope| {
        let outer = lock.read();
        scope.spawn(|| *lock.write() += 1);
        wait_for_a_writer_that_waits(&lock);
        assert!(lock.try_read_for(SHORT).is_none());
        assert!(lock.try_write().is_none() && lock.try_upgradable_read().is_none());
        assert_eq!((*lock.read_recursive(), *outer), (0, 0));
        assert!(lock.try_read_recursive().is_some());
        assert!(lock.try_read_recursive_for(LONG).is_some());
        assert!(lock.try_read_recursive_until(Instant::now()).is_some());
        assert_eq!(format!("{lock:?}"), "RwLock { data: 0 }");
        drop(outer);
    });
    assert_eq!(lock.into_inner(), 1);
}

#[test]
fn a_writer_that_gives_up_lets_readers_in() {
    let lock = RwLock::new(0);
    let outer = lock.read();
    thread::scope(|scope| {
        scope.spawn(|| assert!(lock.try_write_for(SHORT).is_none()));
        scope.spawn(|| assert_eq!(lock.try_read_for(LONG).as_deref(), Some(&0)));
    });
    drop(outer);
    assert!(lock.try_write().is_some());
}

#[test]
fn attempts_fail_while_a_writer_is_in() {
    let lock = RwLock::new(());
    let guard = lock.write();
    assert!(lock.is_locked() && lock.is_locked_exclusive());
    let soon = || Instant::now() + SHORT;
    assert!(lock.try_read().is_none() && lock.try_read_for(SHORT).is_none() && lock.try_read_until(soon()).is_none());
    assert!(lock.try_read_recursive().is_none());
    assert!(lock.try_read_recursive_for(SHORT).is_none() && lock.try_read_recursive_until(soon()).is_none());
    assert!(
        lock.try_write().is_none() && lock.try_write_for(SHORT).is_none() && lock.try_write_until(soon()).is_none()
    );
    assert!(lock.try_upgradable_read().is_none());
    assert!(lock.try_upgradable_read_for(SHORT).is_none() && lock.try_upgradable_read_until(soon()).is_none());
    let begin = Instant::now();
    assert!(lock.try_write_for(SHORT).is_none() && begin.elapsed() >= SHORT);
    drop(guard);
    assert!(!lock.is_locked());
}

#[test]
fn attempts_succeed_once_the_writer_has_left() {
    let lock = RwLock::new(0);
    let late = Instant::now() + LONG;
    let guard = lock.write();
    thread::scope(|scope| {
        scope.spawn(|| drop(lock.try_read_for(LONG).expect("in time")));
        scope.spawn(|| drop(lock.try_read_until(late).expect("in time")));
        scope.spawn(|| drop(lock.try_read_recursive_for(LONG).expect("in time")));
        scope.spawn(|| drop(lock.try_upgradable_read_for(Duration::MAX).expect("in time")));
        scope.spawn(|| drop(lock.try_upgradable_read_until(late).expect("in time")));
        scope.spawn(|| *lock.try_write_for(Duration::MAX).expect("in time") += 1);
        scope.spawn(|| *lock.try_write_until(late).expect("in time") += 1);
        drop(guard);
    });
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn upgrades_that_fail_give_the_guard_back() {
    let lock = RwLock::new(1);
    let other = lock.read();
    let guard = RwLockUpgradableReadGuard::try_upgrade(lock.upgradable_read()).expect_err("another reads");
    let guard = RwLockUpgradableReadGuard::try_upgrade_for(guard, SHORT).expect_err("another reads");
    let guard = RwLockUpgradableReadGuard::try_upgrade_until(guard, Instant::now()).expect_err("another reads");
    assert_eq!(*guard, 1);
    assert!(lock.try_read().is_some(), "the lock is open again");
    drop(other);
    let guard = RwLockUpgradableReadGuard::try_upgrade_for(guard, SHORT).expect("alone");
    assert!(lock.is_locked_exclusive());
    let guard = RwLockWriteGuard::downgrade_to_upgradable(guard);
    assert!(lock.try_upgradable_read().is_none() && lock.try_read().is_some());
    let mut guard = RwLockUpgradableReadGuard::try_upgrade_until(guard, Instant::now()).expect("alone");
    *guard += 1;
    let guard = RwLockUpgradableReadGuard::downgrade(RwLockWriteGuard::downgrade_to_upgradable(guard));
    drop(lock.try_upgradable_read().expect("nobody reads upgradably"));
    assert_eq!((*guard, lock.is_locked_exclusive()), (2, false));
    drop(guard);
    assert!(!lock.is_locked());
}

#[test]
fn nobody_writes_during_an_upgrade_or_a_downgrade() {
    let (lock, n_upgrades) = (RwLock::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let reads = lock.read();
        scope.spawn(|| {
            let guard = lock.upgradable_read();
            let before = *guard;
            let mut guard = RwLockUpgradableReadGuard::upgrade(guard);
            assert_eq!(*guard, before);
            *guard += 1;
            let guard = RwLockWriteGuard::downgrade(guard);
            assert_eq!(*guard, before + 1);
            n_upgrades.fetch_add(1, Relaxed);
        });
        wait_for_a_writer_that_waits(&lock);
        scope.spawn(|| *lock.write() += 10);
        drop(reads);
    });
    assert_eq!((n_upgrades.into_inner(), lock.into_inner()), (1, 11));
}

#[test]
fn parts() {
    let lock = RwLock::new((1, vec![2, 3]));
    let list = RwLockReadGuard::map(lock.read(), |pair| &pair.1);
    let list = MappedRwLockReadGuard::try_map(list, |list| list.get(2)).expect_err("too short");
    let three = MappedRwLockReadGuard::map(list, |list| &list[1]);
    assert_eq!((format!("{three} {three:?}"), lock.is_locked()), ("3 3".to_owned(), true));
    let three = MappedRwLockReadGuard::try_map(three, |three| Some(three)).expect("there");
    drop(three);
    assert!(!lock.is_locked());

    let guard = RwLockWriteGuard::try_map(lock.write(), |pair| pair.1.get_mut(2)).expect_err("too short");
    let list = MappedRwLockWriteGuard::map(RwLockWriteGuard::map(guard, |pair| &mut pair.1), Vec::as_mut_slice);
    let list = MappedRwLockWriteGuard::try_map(list, |list| list.get_mut(2)).expect_err("too short");
    *MappedRwLockWriteGuard::try_map(list, |list| list.get_mut(1)).expect("there") += 1;
    assert!(!lock.is_locked());
    assert_eq!(lock.into_inner(), (1, vec![2, 4]));
}

#[test]
fn a_panic_in_a_function_that_takes_the_guard_releases_once() {
    let lock = RwLock::new((1, 2));
    // A second release would take this reader's.
    let other = lock.read();
    let part = || RwLockReadGuard::map(lock.read(), |pair| &pair.1);
    panics(|| RwLockReadGuard::map(lock.read(), |_| -> &i32 { panic!() }));
    panics(|| RwLockReadGuard::try_map(lock.read(), |_| -> Option<&i32> { panic!() }));
    panics(|| MappedRwLockReadGuard::map(part(), |_| -> &i32 { panic!() }));
    panics(|| MappedRwLockReadGuard::try_map(part(), |_| -> Option<&i32> { panic!() }));
    assert!(lock.is_locked());
    drop(other);

    let part = || RwLockWriteGuard::map(lock.try_write().expect("released"), |pair| &mut pair.1);
    panics(|| RwLockWriteGuard::map(lock.write(), |_| -> &mut i32 { panic!() }));
    panics(|| RwLockWriteGuard::try_map(lock.write(), |_| -> Option<&mut i32> { panic!() }));
    panics(|| MappedRwLockWriteGuard::map(part(), |_| -> &mut i32 { panic!() }));
    panics(|| MappedRwLockWriteGuard::try_map(part(), |_| -> Option<&mut i32> { panic!() }));
    assert!(!lock.is_locked());
}

#[test]
fn a_thread_that_panics_releases_and_does_not_poison() {
    let lock = Arc::new(RwLock::new(1));
    let theirs = lock.clone();
    let thread = thread::spawn(move || {
        *theirs.write() += 1;
        let _guard = theirs.write();
        panic!("while writing");
    });
    assert!(thread.join().is_err());
    assert_eq!(*lock.try_read().expect("released"), 2);
}

#[test]
fn owners_need_no_guard() {
    let mut lock = RwLock::from("one".to_owned());
    lock.get_mut().push_str(", two");
    assert_eq!(lock.into_inner(), "one, two");
    assert_eq!(RwLock::<u8>::default().into_inner(), 0);
}

#[test]
fn debug_shows_the_data_or_that_a_thread_writes() {
    let lock: Box<RwLock<[i32]>> = Box::new(RwLock::new([1, 2]));
    assert_eq!(format!("{lock:?} {:?}", lock.upgradable_read()), "RwLock { data: [1, 2] } [1, 2]");
    let guard = lock.write();
    assert_eq!(format!("{lock:?} {guard:?}"), "RwLock { data: <locked> } [1, 2]");
}

#[test]
fn guards_that_are_forgotten_can_be_released() {
    let lock = RwLock::new(1);
    std::mem::forget(lock.write());
    assert!(lock.is_locked_exclusive());
    // SAFETY: locked above, by this thread, and the guard is forgotten.
    unsafe { lock.force_unlock_write() };
    std::mem::forget(lock.read());
    assert!(lock.try_write().is_none() && lock.try_read().is_some());
    // SAFETY: as above.
    unsafe { lock.force_unlock_read() };
    assert!(!lock.is_locked());
}

#[test]
#[cfg_attr(miri, ignore = "millions of steps")]
fn one_reader_too_many_panics_and_changes_nothing() {
    const MOST: u32 = 524_288;
    let lock = RwLock::new(());
    (0..MOST).for_each(|_| std::mem::forget(lock.read()));
    if catch_unwind(AssertUnwindSafe(|| std::mem::forget(lock.read()))).is_ok() {
        // Its readers count themselves by core, and nobody adds that up before a writer comes.
        const FAR_TOO_MANY: u32 = 655_361;
        (MOST + 1..FAR_TOO_MANY).for_each(|_| std::mem::forget(lock.read()));
        panics(|| drop(lock.write()));
        assert!(!lock.is_locked_exclusive());
        for _ in MOST..FAR_TOO_MANY {
            // SAFETY: this thread reads, and its guards are forgotten.
            unsafe { lock.force_unlock_read() };
        }
        assert!(lock.try_write().is_none());
    }
    panics(|| drop(lock.read()));
    panics(|| drop(lock.try_read()));
    panics(|| drop(lock.read_recursive()));
    // SAFETY: this thread reads, and its guards are forgotten.
    unsafe { lock.force_unlock_read() };
    std::mem::forget(lock.try_read().expect("there is room for one"));
    panics(|| drop(lock.read()));
}

/// The last one out frees the lock, also while another's release has not returned.
#[test]
fn the_last_one_out_may_free_the_lock() {
    for i in 0..TIMES / 10 {
        let lock = Arc::new(RwLock::new(0));
        let threads = [0, 1, 2].map(|k| {
            let lock = lock.clone();
            thread::spawn(move || if (i + k) % 2 == 0 { *lock.write() += 1 } else { assert!(*lock.read() <= 2) })
        });
        drop(lock);
        threads.into_iter().for_each(|thread| thread.join().expect("no assertion failed"));
    }
}
