//! What goes beyond `ondeck`'s own tests: the second mutex of a condition variable, the two kinds of readers, and guards
//! that know the wrapped locks.

use parking_lot::{
    Condvar, FairMutex, FairMutexGuard, Mutex, MutexGuard, Once, OnceState, ReentrantMutex, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_secs(60);

/// Waits until `is_so`, and fails if it takes too long.
#[track_caller]
fn until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LATE;
    while !is_so() {
        assert!(Instant::now() < end, "waited {LATE:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_second_mutex_is_refused_and_left_as_it_was() {
    let (first, second, changed) = (Mutex::new(false), Mutex::new(()), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut is_waiting = first.lock();
            *is_waiting = true;
            changed.wait(&mut is_waiting);
        });
        // That it has the mutex and says so means that it is on the condition variable once the mutex is free.
        until(|| *first.lock());
        let refused = catch_unwind(AssertUnwindSafe(|| changed.wait(&mut second.lock())));
        assert!(refused.is_err());
        assert!(second.try_lock().is_some(), "the guard of the refused wait was dropped");
        assert!(changed.notify_one(), "the first waiter is still there");
    });
    assert!(changed.wait_for(&mut second.lock(), SOON).timed_out(), "nobody waits with the first any more");
}

/// Those that are notified do not count, though they have not returned.
#[test]
fn whoever_has_notified_all_may_use_another_mutex_at_once() {
    let (first, second, changed) = (Mutex::new(0), Mutex::new(()), Condvar::new());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut n_waiting = first.lock();
                *n_waiting += 1;
                changed.wait(&mut n_waiting);
            });
        }
        until(|| *first.lock() == 3);
        // They cannot return before this is dropped.
        let held = first.lock();
        assert_eq!(changed.notify_all(), 3);
        assert!(changed.wait_for(&mut second.lock(), SOON).timed_out());
        drop(held);
    });
}

/// Threads that go from one mutex to the other together; a count that is off by one for a moment would refuse one.
#[test]
fn mutexes_in_turn_are_never_refused() {
    const N_TURNS: u32 = 2000;
    let (mutexes, changed) = ([Mutex::new(0_u32), Mutex::new(0)], Condvar::new());
    thread::scope(|scope| {
        let turn = |me: u32| {
            for turn in 0..N_TURNS {
                // The other thread uses the other mutex's count only after it has seen this one's.
                let mut count = mutexes[(turn % 2) as usize].lock();
                *count += 1;
                if *count % 2 == 1 {
                    let target = *count + 1;
                    changed.wait_while(&mut count, |count| *count < target);
                } else {
                    changed.notify_all();
                }
            }
            me
        };
        let both = [scope.spawn(move || turn(0)), scope.spawn(move || turn(1))];
        for one in both {
            one.join().expect("never refused");
        }
    });
}

#[test]
fn waits_end_with_their_deadline_or_their_condition() {
    let (mutex, changed) = (Mutex::new(0), Condvar::new());
    let mut guard = mutex.lock();
    let began = Instant::now();
    assert!(changed.wait_until(&mut guard, began + SOON).timed_out());
    assert!(changed.wait_while_for(&mut guard, |_| true, SOON).timed_out());
    assert!(changed.wait_while_until(&mut guard, |_| true, Instant::now() + SOON).timed_out());
    assert!(began.elapsed() >= 3 * SOON);
    assert!(!changed.wait_while_for(&mut guard, |_| false, Duration::MAX).timed_out());
    assert!(!changed.notify_one());
    assert_eq!(changed.notify_all(), 0);
}

/// A recursive reader passes by a writer that waits for readers, and a plain one does not.
#[test]
fn recursive_readers_do_not_wait_for_a_waiting_writer() {
    let lock = RwLock::new(0);
    thread::scope(|scope| {
        let first = lock.read();
        scope.spawn(|| *lock.write() += 1);
        until(|| lock.try_read().is_none());
        assert_eq!(*lock.read_recursive(), 0);
        assert!(lock.try_read_recursive().is_some());
        assert!(lock.try_read_recursive_for(SOON).is_some());
        assert!(lock.try_read_recursive_until(Instant::now() + SOON).is_some());
        assert!(lock.try_read_for(SOON).is_none());
        drop(first);
    });
    assert_eq!(lock.into_inner(), 1);
}

/// All the ways of a guard to another, and to no lock for a moment.
#[test]
fn guards_of_a_reader_writer_lock_become_others() {
    let lock = RwLock::new(0);
    let mut reads = lock.upgradable_read();
    reads.with_upgraded(|count| *count += 1);
    assert!(reads.try_with_upgraded(|count| *count += 1).is_some());
    let other = lock.read();
    assert!(reads.try_with_upgraded_for(Duration::ZERO, |count| *count += 1).is_none());
    let reads = RwLockUpgradableReadGuard::try_upgrade_for(reads, Duration::ZERO).expect_err("another reads");
    let reads = RwLockUpgradableReadGuard::try_upgrade_until(reads, Instant::now()).expect_err("another reads");
    RwLockReadGuard::unlock_fair(other);
    let mut writes = RwLockUpgradableReadGuard::try_upgrade(reads).expect("alone");
    RwLockWriteGuard::unlocked(&mut writes, || *lock.write() += 1);
    RwLockWriteGuard::unlocked_fair(&mut writes, || *lock.write() += 1);
    let reads = RwLockWriteGuard::downgrade_to_upgradable(writes);
    let mut reads = RwLockUpgradableReadGuard::downgrade(reads);
    drop(lock.try_upgradable_read_for(SOON).expect("readers only"));
    thread::scope(|scope| {
        scope.spawn(|| *lock.write() += 1);
        until(|| {
            RwLockReadGuard::bump(&mut reads);
            *reads == 5
        });
    });
    assert!(lock.is_locked() && !lock.is_locked_exclusive());
    drop(reads);
    std::mem::forget(lock.write());
    // SAFETY: locked above, and the guard is forgotten.
    unsafe { lock.force_unlock_write_fair() };
    assert!(!lock.is_locked());
}

/// A reader that has gone to sleep is woken by the writer's release, recursive or not.
#[test]
fn both_kinds_of_readers_are_woken() {
    let (lock, n_read) = (RwLock::new(()), AtomicU32::new(0));
    thread::scope(|scope| {
        let written = lock.write();
        for is_recursive in [true, false, true, false] {
            let (lock, n_read) = (&lock, &n_read);
            scope.spawn(move || {
                let _read = if is_recursive { lock.read_recursive() } else { lock.read() };
                n_read.fetch_add(1, SeqCst);
            });
        }
        thread::sleep(SOON);
        let read = RwLockWriteGuard::downgrade(written);
        until(|| n_read.load(SeqCst) == 4);
        drop(read);
    });
    assert!(lock.try_write().is_some());
}

#[test]
fn readers_and_writers_of_all_kinds_exclude_each_other() {
    let (lock, n_writes) = (RwLock::new((0, 0)), 1000);
    thread::scope(|scope| {
        for idx in 0..6 {
            let lock = &lock;
            scope.spawn(move || {
                for _ in 0..n_writes {
                    if idx < 2 {
                        let mut pair = lock.write();
                        pair.0 += 1;
                        pair.1 += 1;
                    } else {
                        let pair = if idx % 2 == 0 { lock.read() } else { lock.read_recursive() };
                        assert_eq!(pair.0, pair.1);
                    }
                }
            });
        }
    });
    assert_eq!(*lock.read(), (2 * n_writes, 2 * n_writes));
}

/// Who has the mutex when its holder gives it up and asks for it again, with a thread that has come this long before.
fn order_with(pause: Duration) -> Vec<&'static str> {
    let (mutex, is_coming) = (FairMutex::new(Vec::new()), AtomicU32::new(0));
    thread::scope(|scope| {
        let held = mutex.lock();
        scope.spawn(|| {
            is_coming.store(1, SeqCst);
            mutex.lock().push("waiter");
        });
        until(|| is_coming.load(SeqCst) == 1);
        thread::sleep(pause);
        drop(held);
        mutex.lock().push("first holder");
    });
    mutex.into_inner()
}

#[test]
fn fair_releases_give_the_mutex_away() {
    // On a busy machine it may not wait yet when the pause is over.
    let is_given = |turn| order_with(SOON * (1_u32 << turn)) == ["waiter", "first holder"];
    assert!((0..10).any(is_given), "never in pauses of up to 10 s");
}

#[test]
fn guards_of_parts_release_the_whole() {
    let mutex = Mutex::new((1, 2));
    *MutexGuard::map(mutex.lock(), |pair| &mut pair.1) += 1;
    assert_eq!(*mutex.lock(), (1, 3));
    let fair = FairMutex::new((1, 2));
    *FairMutexGuard::map(fair.lock(), |pair| &mut pair.1) += 1;
    assert_eq!(*fair.lock(), (1, 3));
}

#[test]
fn a_reentrant_mutex_knows_its_thread() {
    let mutex = ReentrantMutex::new(());
    let _outer = mutex.lock();
    let _inner = mutex.try_lock().expect("the same thread");
    thread::scope(|scope| {
        assert!(scope.spawn(|| mutex.try_lock_for(SOON).is_none()).join().expect("does not panic"));
    });
}

#[cfg(feature = "arc_lock")]
#[test]
fn guards_may_own_their_mutex() {
    let mutex = std::sync::Arc::new(Mutex::new(1));
    let guard: parking_lot::ArcMutexGuard<parking_lot::RawMutex, i32> = mutex.lock_arc();
    drop(mutex);
    assert_eq!(*guard, 1);
    let lock = std::sync::Arc::new(RwLock::new(1));
    let mut guard: parking_lot::ArcRwLockWriteGuard<parking_lot::RawRwLock, i32> = lock.write_arc();
    *guard += 1;
    drop(lock);
    assert_eq!(*parking_lot::ArcRwLockWriteGuard::downgrade(guard), 2);
}

#[cfg(feature = "send_guard")]
#[test]
fn a_guard_may_be_dropped_by_another_thread() {
    let mutex = Mutex::new(1);
    thread::scope(|scope| {
        let guard = mutex.lock();
        scope.spawn(move || drop(guard));
        drop(mutex.lock());
    });
    let lock = RwLock::new(1);
    thread::scope(|scope| {
        let guards = (lock.read(), lock.upgradable_read());
        scope.spawn(move || drop(guards));
        drop(lock.write());
    });
}

#[cfg(feature = "serde")]
#[test]
fn a_mutex_is_serialised_as_its_data() {
    let bytes = bincode::serialize(&Mutex::new(vec![1, 2])).expect("can be");
    let read: RwLock<Vec<i32>> = bincode::deserialize(&bytes).expect("can be");
    assert_eq!(*read.read(), [1, 2]);
}

/// What its page says: no circle is found.
#[cfg(feature = "deadlock_detection")]
#[test]
fn no_deadlock_is_found() {
    use parking_lot::deadlock::check_deadlock;
    // Threads in a deadlock stay until the process ends.
    let mutex: &'static Mutex<()> = Box::leak(Box::new(Mutex::new(())));
    thread::spawn(|| {
        let _first = mutex.lock();
        let _never = mutex.lock();
    });
    until(|| mutex.is_locked());
    thread::sleep(SOON);
    assert!(check_deadlock().is_empty());
}

/// The states of `Once`, as the one thread and the others see them.
#[test]
fn a_once_runs_one_closure_that_returns() {
    let (once, n_run) = (Once::new(), AtomicU32::new(0));
    assert_eq!(once.state(), OnceState::New);
    let panics = |run: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    panics(&|| once.call_once(|| panic!("in the closure")));
    assert!(once.state().poisoned());
    panics(&|| once.call_once(|| unreachable!("poisoned")));
    panics(&|| once.call_once_force(|state| panic!("{}", state.poisoned())));
    assert!(once.state().poisoned());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                once.call_once_force(|state| {
                    assert!(state.poisoned() && once.state() == OnceState::InProgress);
                    n_run.fetch_add(1, SeqCst);
                    thread::sleep(SOON);
                    assert!(!once.state().done());
                });
                assert!(once.state().done() && n_run.load(SeqCst) == 1);
            });
        }
    });
    once.call_once(|| unreachable!("done"));
    let fresh = Once::default();
    fresh.call_once_force(|state| assert_eq!(state, OnceState::New));
    assert!(fresh.state().done());
}
