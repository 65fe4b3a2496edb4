//! The quickest look at every lock of the table: does it exclude, does it end, is nothing left behind? What it promises
//! beyond that is tested by the conformance crate.

use ondeck_core::Hardware;
use ondeck_lineage::*;
use std::cell::UnsafeCell;
use std::collections::BTreeSet;

/// Threads that count, and how far each does.
const THREADS: u64 = 4;
const INCREMENTS: u64 = 20_000;

/// A number that only the lock protects.
struct Counter<L> {
    lock: L,
    count: UnsafeCell<u64>,
}

// SAFETY: the number is accessed while the lock is held only; whether that is enough is what is tested.
unsafe impl<L: RawLock> Sync for Counter<L> {}

impl<L: RawLock> Counter<L> {
    fn increment(&self) {
        self.lock.acquire();
        // SAFETY: the lock is held, so nobody else has a reference, if the lock is right.
        unsafe { *self.count.get() += 1 };
        // SAFETY: acquired above, by this thread.
        unsafe { self.lock.release() };
    }
}

/// Several threads count together.
struct CountingThreads;

impl LockVisitor for CountingThreads {
    type Output = ();

    fn visit<L: RawLock>(self) {
        let mut counter = Counter { lock: L::new(), count: UnsafeCell::new(0) };
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..INCREMENTS).for_each(|_| counter.increment()));
            }
        });
        assert_eq!(*counter.count.get_mut(), THREADS * INCREMENTS, "{} lost updates", L::ENTRY.name);
        assert!(counter.lock.is_at_rest(), "{} left something behind", L::ENTRY.name);
    }
}

/// One thread looks at all answers that need no second one.
struct SingleThread;

impl LockVisitor for SingleThread {
    type Output = ();

    fn visit<L: RawLock>(self) {
        let name = L::ENTRY.name;
        let lock = L::new();
        assert!(lock.is_at_rest(), "{name} is not born free");
        assert!(lock.try_acquire(), "{name} is not free");
        let again = lock.try_acquire();
        assert_eq!(again, L::ENTRY.promises.reentrant, "{name} is taken twice by one thread, or refused to its holder");
        if again {
            // SAFETY: acquired a second time above, by this thread.
            unsafe { lock.release() };
        }
        assert!(!lock.is_at_rest(), "{name} does not know that it is held");
        assert_ne!(lock.shows_sleeper(), Some(true), "{name} sees a sleeper");
        // SAFETY: acquired above, by this thread.
        unsafe { lock.release() };
        lock.acquire();
        // SAFETY: acquired above, by this thread.
        unsafe { lock.release() };
        assert!(lock.is_at_rest(), "{name} left something behind");
    }
}

/// Releases a lock that nobody holds.
#[cfg(debug_assertions)]
struct ReleaseOfFreeLock;

#[cfg(debug_assertions)]
impl LockVisitor for ReleaseOfFreeLock {
    type Output = ();

    fn visit<L: RawLock>(self) {
        let outcome = std::panic::catch_unwind(|| {
            let lock = L::new();
            // SAFETY: deliberately broken. Nobody else knows the lock, and the assertion that is tested here comes
            // before the lock follows any address.
            unsafe { lock.release() };
        });
        assert!(outcome.is_err(), "{} lets itself be released while free", L::ENTRY.name);
    }
}

/// What a lock's type says of itself.
struct TypeFacts;

impl LockVisitor for TypeFacts {
    type Output = (ondeck_lineage::Entry, usize);

    fn visit<L: RawLock>(self) -> Self::Output {
        (L::ENTRY, size_of::<L>())
    }
}

#[test]
fn every_lock_works_alone() {
    for entry in LOCKS {
        with_lock::<Hardware, _>(entry.name, SingleThread).expect(entry.name);
    }
}

#[test]
fn every_lock_counts_right_and_comes_to_rest() {
    for entry in LOCKS {
        with_lock::<Hardware, _>(entry.name, CountingThreads).expect(entry.name);
    }
}

#[test]
#[cfg(debug_assertions)]
fn misuse_is_caught() {
    for entry in LOCKS {
        with_lock::<Hardware, _>(entry.name, ReleaseOfFreeLock).expect(entry.name);
    }
}

#[test]
fn the_table_and_the_types_agree() {
    for entry in LOCKS {
        assert_eq!(with_lock::<Hardware, _>(entry.name, TypeFacts), Some((*entry, entry.bytes)));
    }
    let names: BTreeSet<&str> = LOCKS.iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), LOCKS.len(), "two locks of one name");
    assert!(with_lock::<Hardware, _>("no such lock", TypeFacts).is_none());
}
