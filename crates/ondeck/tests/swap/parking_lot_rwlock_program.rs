// The methods of `parking_lot`'s reader-writer lock, each once. Not here: `raw` and `rwlock`, which ondeck's do not have, and a
// function of `MappedRwLockReadGuard` that has another name in `lock_api` 0.5.

use std::time::{Duration, Instant};

static TOTAL: RwLock<u64> = RwLock::new(0);

const SHORT: Duration = Duration::from_millis(1);

type Pair = (i32, &'static str);

#[test]
fn acquisitions() {
    *TOTAL.write() += 1;
    assert!(*TOTAL.read() + *TOTAL.read_recursive() == 2 && !TOTAL.is_locked());
    assert!(TOTAL.try_read().is_some() && TOTAL.try_read_for(SHORT).is_some());
    assert!(TOTAL.try_read_until(Instant::now()).is_some());
    assert!(TOTAL.try_read_recursive().is_some() && TOTAL.try_read_recursive_for(SHORT).is_some());
    assert!(TOTAL.try_read_recursive_until(Instant::now()).is_some());
    assert!(TOTAL.try_write().is_some() && TOTAL.try_write_for(SHORT).is_some());
    assert!(TOTAL.try_write_until(Instant::now()).is_some());
    assert!(*TOTAL.upgradable_read() == 1 && TOTAL.try_upgradable_read().is_some());
    assert!(
        TOTAL.try_upgradable_read_for(SHORT).is_some() && TOTAL.try_upgradable_read_until(Instant::now()).is_some()
    );
    let mut lock = RwLock::from((1, "one"));
    *lock.get_mut() = (2, "two");
    assert!(!lock.data_ptr().is_null() && !lock.is_locked_exclusive());
    assert_eq!(lock.into_inner(), (2, "two"));
    assert_eq!(format!("{:?}", RwLock::<u8>::default()), "RwLock { data: 0 }");
}

#[test]
fn readers() {
    let lock = RwLock::new((2, "two"));
    let mut guard: RwLockReadGuard<'_, Pair> = lock.read();
    assert_eq!(RwLockReadGuard::unlocked(&mut guard, || 1), 1);
    assert_eq!(RwLockReadGuard::unlocked_fair(&mut guard, || 1), 1);
    RwLockReadGuard::bump(&mut guard);
    RwLockReadGuard::unlock_fair(guard);
    assert!(RwLockReadGuard::try_map(lock.read(), |_| None::<&i32>).is_err());
    assert!(RwLockReadGuard::try_map_or_err(lock.read(), |_| Err::<&i32, _>(())).is_err());
    let part: MappedRwLockReadGuard<'_, &str> = RwLockReadGuard::map(lock.read(), |pair| &pair.1);
    let part: MappedRwLockReadGuard<'_, str> = MappedRwLockReadGuard::map(part, |part| *part);
    let part = MappedRwLockReadGuard::try_map(part, |part| part.get(1..)).expect("long enough");
    assert_eq!(format!("{part} {part:?}"), "wo \"wo\"");
    MappedRwLockReadGuard::unlock_fair(part);
    assert!(!lock.is_locked());
}

#[test]
fn writers() {
    let lock = RwLock::new((2, "two"));
    let mut guard: RwLockWriteGuard<'_, Pair> = lock.write();
    assert_eq!(RwLockWriteGuard::unlocked(&mut guard, || 1), 1);
    assert_eq!(RwLockWriteGuard::unlocked_fair(&mut guard, || 1), 1);
    RwLockWriteGuard::bump(&mut guard);
    drop(RwLockWriteGuard::downgrade(guard));
    drop(RwLockWriteGuard::downgrade_to_upgradable(lock.write()));
    RwLockWriteGuard::unlock_fair(lock.write());
    assert!(RwLockWriteGuard::try_map(lock.write(), |_| None::<&mut i32>).is_err());
    assert!(RwLockWriteGuard::try_map_or_err(lock.write(), |_| Err::<&mut i32, _>(())).is_err());
    let part: MappedRwLockWriteGuard<'_, i32> = RwLockWriteGuard::map(lock.write(), |pair| &mut pair.0);
    let part = MappedRwLockWriteGuard::try_map(part, |part| Some(part)).expect("there");
    let part = MappedRwLockWriteGuard::try_map_or_err(part, |part| Ok::<_, ()>(part));
    let mut part = MappedRwLockWriteGuard::map(part.unwrap_or_else(|_| panic!("there")), |part| part);
    *part += 1;
    MappedRwLockWriteGuard::unlock_fair(part);
    assert_eq!(lock.into_inner(), (3, "two"));
}

#[test]
fn upgradable_readers() {
    let lock = RwLock::new(0);
    let mut guard: RwLockUpgradableReadGuard<'_, i32> = lock.upgradable_read();
    assert_eq!(RwLockUpgradableReadGuard::unlocked(&mut guard, || 1), 1);
    assert_eq!(RwLockUpgradableReadGuard::unlocked_fair(&mut guard, || 1), 1);
    RwLockUpgradableReadGuard::bump(&mut guard);
    guard.with_upgraded(|count| *count += 1);
    assert!(guard.try_with_upgraded(|count| *count += 1).is_some());
    assert!(guard.try_with_upgraded_for(SHORT, |count| *count += 1).is_some());
    assert!(guard.try_with_upgraded_until(Instant::now(), |count| *count += 1).is_some());
    let other = lock.read();
    let guard = RwLockUpgradableReadGuard::try_upgrade(guard).expect_err("another reads");
    let guard = RwLockUpgradableReadGuard::try_upgrade_for(guard, SHORT).expect_err("another reads");
    let guard = RwLockUpgradableReadGuard::try_upgrade_until(guard, Instant::now()).expect_err("another reads");
    drop((other, RwLockUpgradableReadGuard::downgrade(guard)));
    *RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()) += 1;
    RwLockUpgradableReadGuard::unlock_fair(lock.upgradable_read());
    assert_eq!(lock.into_inner(), 5);
}

#[test]
fn without_a_guard() {
    let lock = RwLock::new(0);
    std::mem::forget((lock.read(), lock.read(), lock.read(), lock.upgradable_read()));
    // SAFETY: this thread reads, and has forgotten the guards.
    drop(unsafe { lock.make_read_guard_unchecked() });
    // SAFETY: as above.
    unsafe { lock.force_unlock_read() };
    // SAFETY: as above.
    unsafe { lock.force_unlock_read_fair() };
    // SAFETY: as above.
    drop(unsafe { lock.make_upgradable_guard_unchecked() });
    std::mem::forget(lock.write());
    // SAFETY: this thread writes, and has forgotten the guard.
    drop(unsafe { lock.make_write_guard_unchecked() });
    std::mem::forget(lock.write());
    // SAFETY: as above.
    unsafe { lock.force_unlock_write() };
    std::mem::forget(lock.write());
    // SAFETY: as above.
    unsafe { lock.force_unlock_write_fair() };
    assert!(!lock.is_locked());
}
