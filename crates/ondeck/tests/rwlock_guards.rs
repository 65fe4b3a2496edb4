//! What the guards of a reader-writer lock let others do while they are alive, and those that own an `Arc`.

mod limit;

use ondeck::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

fn panics<T>(body: impl FnOnce() -> T) {
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
}

/// Does it again and again, until it is so.
#[track_caller]
fn until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LONG, "no end");
    }
}

#[test]
fn others_come_in_while_it_is_unlocked() {
    let lock = RwLock::new(0);
    let adds = || *lock.try_write().expect("free") += 1;
    let mut guard = lock.read();
    RwLockReadGuard::unlocked(&mut guard, adds);
    RwLockReadGuard::unlocked_fair(&mut guard, adds);
    panics(|| RwLockReadGuard::unlocked(&mut guard, || panic!()));
    assert!(*guard == 2 && lock.try_write().is_none() && lock.try_upgradable_read().is_some());
    drop(guard);

    let mut guard = lock.upgradable_read();
    RwLockUpgradableReadGuard::unlocked(&mut guard, adds);
    RwLockUpgradableReadGuard::unlocked_fair(&mut guard, adds);
    panics(|| RwLockUpgradableReadGuard::unlocked(&mut guard, || panic!()));
    assert!(*guard == 4 && lock.try_upgradable_read().is_none() && lock.try_read().is_some());
    drop(guard);

    let mut guard = lock.write();
    RwLockWriteGuard::unlocked(&mut guard, adds);
    RwLockWriteGuard::unlocked_fair(&mut guard, adds);
    panics(|| RwLockWriteGuard::unlocked(&mut guard, || panic!()));
    assert!(*guard == 6 && lock.try_read().is_none());
    drop(guard);
    assert!(!lock.is_locked());
}

#[test]
fn an_upgradable_reader_writes_for_a_moment() {
    let lock = RwLock::new(0);
    let mut guard = lock.upgradable_read();
    let adds = |count: &mut i32| {
        assert!(lock.is_locked_exclusive());
        *count += 1;
        *count
    };
    assert_eq!(guard.with_upgraded(adds), 1);
    assert_eq!(guard.try_with_upgraded(adds), Some(2));
    assert_eq!(guard.try_with_upgraded_for(Duration::ZERO, adds), Some(3));
    assert_eq!(guard.try_with_upgraded_until(Instant::now(), adds), Some(4));
    panics(|| guard.with_upgraded(|_| panic!()));
    panics(|| guard.try_with_upgraded(|_| panic!()));
    let other = lock.try_read().expect("it reads upgradably");
    assert!(guard.try_with_upgraded(adds).is_none());
    assert!(guard.try_with_upgraded_for(Duration::ZERO, adds).is_none());
    assert!(guard.try_with_upgraded_until(Instant::now(), adds).is_none());
    assert_eq!((*guard, *other, lock.try_upgradable_read().is_some()), (4, 4, false));
}

#[test]
fn a_part_that_is_missing_comes_with_a_reason() {
    let lock = RwLock::new((1, Ok::<i32, &str>(2)));
    let guard = RwLockReadGuard::try_map_or_err(lock.read(), |_| Err::<&i32, _>("why"));
    let (guard, why) = guard.expect_err("refused");
    let part = RwLockReadGuard::try_map_or_err(guard, |pair| Ok::<_, ()>(&pair.1)).expect("there");
    let part = MappedRwLockReadGuard::try_map_or_err(part, |part| part.as_ref().map_err(drop)).expect("a number");
    let (part, _) = MappedRwLockReadGuard::try_map_or_err(part, |_| Err::<&i32, _>(())).expect_err("refused");
    assert_eq!((*part, why), (2, "why"));
    drop(part);
    let guard = RwLockWriteGuard::try_map_or_err(lock.try_write().expect("free"), |_| Err::<&mut i32, _>("why"));
    let (guard, _) = guard.expect_err("refused");
    let part = RwLockWriteGuard::try_map_or_err(guard, |pair| Ok::<_, ()>(&mut pair.1)).expect("there");
    let part = MappedRwLockWriteGuard::try_map_or_err(part, |part| part.as_mut().map_err(drop)).expect("a number");
    let (mut part, _) = MappedRwLockWriteGuard::try_map_or_err(part, |_| Err::<&mut i32, _>(())).expect_err("refused");
    *part += 1;
    drop(part);
    assert_eq!(lock.into_inner(), (1, Ok(3)));
}

#[test]
fn guards_are_made_anew_of_forgotten_ones() {
    let lock = RwLock::new(());
    std::mem::forget((lock.read(), lock.upgradable_read()));
    // SAFETY: this thread reads, and the guard is forgotten.
    drop(unsafe { lock.make_read_guard_unchecked() });
    assert!(lock.try_upgradable_read().is_none());
    // SAFETY: this thread reads upgradably, and the guard is forgotten.
    drop(unsafe { lock.make_upgradable_guard_unchecked() });
    std::mem::forget(lock.try_write().expect("free"));
    // SAFETY: this thread writes, and the guard is forgotten.
    std::mem::forget(unsafe { lock.make_write_guard_unchecked() });
    // SAFETY: as above.
    unsafe { lock.force_unlock_write_fair() };
    std::mem::forget(lock.read());
    assert!(lock.try_write().is_none());
    // SAFETY: this thread reads, and the guard is forgotten.
    unsafe { lock.force_unlock_read_fair() };
    assert!(!lock.is_locked());
}

/// The guard is never dropped meanwhile.
#[test]
fn a_bump_lets_in_who_waits() {
    let lock = RwLock::new(0);
    thread::scope(|scope| {
        let mut guard = lock.write();
        scope.spawn(|| *lock.write() += 1);
        until(|| {
            RwLockWriteGuard::bump(&mut guard);
            *guard == 1
        });
        let mut guard = RwLockWriteGuard::downgrade(guard);
        scope.spawn(|| *lock.write() += 1);
        until(|| {
            RwLockReadGuard::bump(&mut guard);
            *guard == 2
        });
    });
    let is_read = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut guard = lock.upgradable_read();
        scope.spawn(|| {
            let _guard = lock.upgradable_read();
            is_read.store(true, Relaxed);
        });
        scope.spawn(|| *lock.write() += 1);
        until(|| {
            RwLockUpgradableReadGuard::bump(&mut guard);
            *guard == 3 && is_read.load(Relaxed)
        });
        // Nobody waits any more.
        RwLockUpgradableReadGuard::bump(&mut guard);
    });
    assert!(!lock.is_locked());
}

#[test]
fn fair_releases_release() {
    let lock = RwLock::new((1, 2));
    RwLockReadGuard::unlock_fair(lock.read());
    RwLockWriteGuard::unlock_fair(lock.try_write().expect("free"));
    RwLockUpgradableReadGuard::unlock_fair(lock.try_upgradable_read().expect("free"));
    MappedRwLockReadGuard::unlock_fair(RwLockReadGuard::map(lock.read(), |pair| &pair.0));
    MappedRwLockWriteGuard::unlock_fair(RwLockWriteGuard::map(lock.write(), |pair| &mut pair.0));
    assert!(!lock.is_locked());
}

/// The guard that was unlocked cannot have its lock again. It must not be dropped: that would release another one's.
#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(miri, ignore = "runs a program")]
fn a_guard_that_cannot_have_its_lock_again_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;

    const CHILD: &str = "ONDECK_TEST_TOO_MANY";
    const MOST: usize = 524_288;
    if std::env::var_os(CHILD).is_some() {
        let lock = RwLock::new(());
        let mut others: Vec<_> = (1..MOST).map(|_| lock.read()).collect();
        let mut guard = lock.read();
        RwLockReadGuard::unlocked(&mut guard, || {
            others.push(lock.read());
            // Has the readers counted in the lock, if they were by core.
            assert!(lock.try_write().is_none());
        });
        return;
    }
    let mut program = std::process::Command::new(std::env::current_exe().expect("it runs"));
    let arguments = ["--exact", "a_guard_that_cannot_have_its_lock_again_ends_the_process"];
    let output = program.args(arguments).env(CHILD, "1").output().expect("it runs again");
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
}

#[cfg(feature = "arc_lock")]
mod arc {
    use super::{AtomicBool, LONG, Relaxed, RwLock, panics, until};
    use ondeck::{ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard, ArcRwLockWriteGuard};
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn a_guard_may_be_the_last_to_have_its_lock() {
        let dropped = Arc::new(());
        let make = || Arc::new(RwLock::new(dropped.clone()));
        let is_last = |guard: &dyn Fn() -> Box<dyn std::fmt::Debug>| {
            let guard = guard();
            assert_eq!((Arc::strong_count(&dropped), format!("{guard:?}")), (2, "()".to_owned()));
            drop(guard);
            assert_eq!(Arc::strong_count(&dropped), 1);
        };
        is_last(&|| Box::new(make().read_arc()));
        is_last(&|| Box::new(make().write_arc()));
        is_last(&|| Box::new(make().upgradable_read_arc()));
        is_last(&|| Box::new(ArcRwLockWriteGuard::downgrade(make().write_arc())));
        is_last(&|| Box::new(ArcRwLockUpgradableReadGuard::upgrade(make().upgradable_read_arc())));
        ArcRwLockReadGuard::unlock_fair(make().read_arc());
        ArcRwLockWriteGuard::unlock_fair(make().write_arc());
        ArcRwLockUpgradableReadGuard::unlock_fair(make().upgradable_read_arc());
        assert_eq!(Arc::strong_count(&dropped), 1);
    }

    #[test]
    fn the_lock_comes_back_free() {
        let lock: Arc<RwLock<dyn Send + Sync>> = Arc::new(RwLock::new(1));
        let is_free = |back: Arc<_>| assert!(Arc::ptr_eq(&back, &lock) && !lock.is_locked());
        is_free(ArcRwLockReadGuard::into_arc(lock.read_arc()));
        is_free(ArcRwLockReadGuard::into_arc_fair(lock.read_arc_recursive()));
        is_free(ArcRwLockWriteGuard::into_arc(lock.write_arc()));
        is_free(ArcRwLockWriteGuard::into_arc_fair(lock.write_arc()));
        is_free(ArcRwLockUpgradableReadGuard::into_arc(lock.upgradable_read_arc()));
        is_free(ArcRwLockUpgradableReadGuard::into_arc_fair(lock.upgradable_read_arc()));
        panics(|| {
            let _guard = lock.write_arc();
            panic!("while writing");
        });
        assert_eq!((lock.is_locked(), Arc::strong_count(&lock)), (false, 1));
    }

    #[test]
    fn attempts() {
        let lock = Arc::new(RwLock::new(1));
        let soon = || Instant::now() + Duration::from_millis(1);
        let guard = lock.write_arc();
        assert!(lock.try_read_arc().is_none() && lock.try_read_recursive_arc().is_none());
        assert!(lock.try_read_arc_for(Duration::ZERO).is_none() && lock.try_read_arc_until(soon()).is_none());
        assert!(lock.try_read_arc_recursive_for(Duration::ZERO).is_none());
        assert!(lock.try_read_arc_recursive_until(soon()).is_none());
        assert!(lock.try_write_arc().is_none() && lock.try_write_arc_for(Duration::ZERO).is_none());
        assert!(lock.try_write_arc_until(soon()).is_none() && lock.try_upgradable_read_arc().is_none());
        assert!(lock.try_upgradable_read_arc_for(Duration::ZERO).is_none());
        assert!(lock.try_upgradable_read_arc_until(soon()).is_none());
        drop(guard);
        drop(lock.try_write_arc_for(LONG).expect("free"));
        drop(lock.try_write_arc_until(Instant::now()).expect("free"));
        drop(lock.try_write_arc().expect("free"));
        let readers = (lock.try_read_arc(), lock.try_read_arc_for(LONG), lock.try_read_arc_until(Instant::now()));
        assert!(readers.0.is_some() && readers.1.is_some() && readers.2.is_some());
        let again = (lock.try_read_recursive_arc(), lock.try_read_arc_recursive_for(LONG));
        assert!(again.0.is_some() && again.1.is_some());
        assert_eq!(lock.try_read_arc_recursive_until(Instant::now()).as_deref(), Some(&1));
        drop(lock.try_upgradable_read_arc_for(LONG).expect("readers only"));
        drop(lock.try_upgradable_read_arc_until(Instant::now()).expect("readers only"));
        assert!(lock.try_upgradable_read_arc().is_some() && lock.try_write_arc().is_none());
    }

    #[test]
    fn upgrades_and_downgrades() {
        let lock = Arc::new(RwLock::new(1));
        let other = lock.read();
        let guard = ArcRwLockUpgradableReadGuard::try_upgrade(lock.upgradable_read_arc()).expect_err("another reads");
        let guard = ArcRwLockUpgradableReadGuard::try_upgrade_for(guard, Duration::ZERO).expect_err("another reads");
        let guard = ArcRwLockUpgradableReadGuard::try_upgrade_until(guard, Instant::now()).expect_err("another reads");
        assert!(lock.try_read().is_some() && lock.try_upgradable_read().is_none());
        drop(other);
        let mut guard = ArcRwLockUpgradableReadGuard::try_upgrade_for(guard, LONG).expect("alone");
        *guard += 1;
        let guard = ArcRwLockWriteGuard::downgrade_to_upgradable(guard);
        let guard = ArcRwLockUpgradableReadGuard::try_upgrade_until(guard, Instant::now()).expect("alone");
        let guard = ArcRwLockWriteGuard::downgrade_to_upgradable(guard);
        assert!(lock.try_read().is_some() && lock.try_upgradable_read().is_none());
        let guard = ArcRwLockUpgradableReadGuard::downgrade(guard);
        assert!(lock.try_upgradable_read().is_some() && lock.try_write().is_none());
        assert_eq!((*guard, Arc::strong_count(&lock)), (2, 2));
        let mut upgradable = lock.upgradable_read_arc();
        assert!(upgradable.try_with_upgraded(|_| ()).is_none());
        assert!(Arc::ptr_eq(ArcRwLockReadGuard::rwlock(&guard), &lock));
    }

    #[test]
    fn guards_are_made_anew_of_forgotten_ones() {
        let lock = Arc::new(RwLock::new(0));
        std::mem::forget((lock.read(), lock.upgradable_read()));
        // SAFETY: this thread reads, and the guard is forgotten.
        drop(unsafe { lock.make_arc_read_guard_unchecked() });
        // SAFETY: this thread reads upgradably, and the guard is forgotten.
        let mut guard = unsafe { lock.make_upgradable_arc_guard_unchecked() };
        guard.with_upgraded(|count| *count += 1);
        drop(guard);
        std::mem::forget(lock.try_write().expect("free"));
        // SAFETY: this thread writes, and the guard is forgotten.
        assert_eq!(*unsafe { lock.make_arc_write_guard_unchecked() }, 1);
        assert!(!lock.is_locked() && Arc::strong_count(&lock) == 1);
    }

    #[test]
    fn others_come_in_meanwhile() {
        let lock = Arc::new(RwLock::new(0));
        let adds = || *lock.try_write().expect("free") += 1;
        let mut guard = lock.read_arc();
        ArcRwLockReadGuard::unlocked(&mut guard, adds);
        panics(|| ArcRwLockReadGuard::unlocked_fair(&mut guard, || panic!()));
        drop(guard);
        let mut guard = lock.upgradable_read_arc();
        ArcRwLockUpgradableReadGuard::unlocked_fair(&mut guard, adds);
        drop(guard);
        let mut guard = lock.write_arc();
        ArcRwLockWriteGuard::unlocked(&mut guard, adds);
        assert_eq!(*guard, 3);
        let is_read = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _guard = lock.read();
                is_read.store(true, Relaxed);
            });
            until(|| {
                ArcRwLockWriteGuard::bump(&mut guard);
                is_read.load(Relaxed)
            });
        });
        assert!(lock.is_locked_exclusive());
    }
}
