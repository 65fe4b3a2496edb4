//! The reader-writer lock on real threads. Its writers alone are in stress.rs.

use ondeck_conformance::rwlock::Role::*;
use ondeck_conformance::rwlock::{freed, shared};
use ondeck_conformance::{HardwareHarness, depth, within};
use ondeck_core::{Hardware, Platform, RawOndeckRwLock};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::scope;
use std::time::Duration;

type H = HardwareHarness;
type Lock = RawOndeckRwLock<Hardware>;

/// How long anything may take: far more than ever seen on a loaded machine of two cores.
const PATIENCE: Duration = Duration::from_secs(60);

fn rounds() -> usize {
    if depth::is_whole() { 20_000 } else { 2_000 }
}

#[test]
fn all_roles() {
    let soon = Hardware::now_ns() + 2_000_000;
    let roles = [
        Read,
        Write,
        Hush,
        Spread,
        ReadTwice,
        Upgrade,
        Downgrade,
        UpAndDown,
        TryRead,
        TryWrite,
        TryUpgrade,
        Reserve,
        Unreserve,
        ReadFairly,
        ReserveFairly,
        WriteFairly,
        ReadUntil(soon),
        WriteUntil(soon),
        UpgradeUntil(soon),
        ReserveUntil(soon),
    ];
    within(PATIENCE, "all roles", move || shared::<H>(&roles, rounds()));
    within(PATIENCE, "mostly readers", || shared::<H>(&[Read, Read, Read, Read, Read, Read, Read, Write], rounds()));
    within(PATIENCE, "quiet holds", || shared::<H>(&[Hush, Hush, Read, WriteUntil(1), TryWrite, Upgrade], rounds()));
    within(PATIENCE, "by counters", || shared::<H>(&[Spread, Read, Spread, Read, ReadTwice, Write], rounds()));
}

/// Deadlines that pass while others are on their way.
#[test]
fn deadlines_all_the_time() {
    for after_us in [0, 5, 50, 500] {
        within(PATIENCE, "deadlines", move || {
            for _ in 0..rounds() / 50 {
                let soon = Hardware::now_ns() + after_us * 1_000;
                let timed = [WriteUntil(soon), ReadUntil(soon), UpgradeUntil(soon), Write, Read, Read];
                shared::<H>(&timed, 3);
            }
        });
    }
}

#[test]
fn the_last_user_frees_it() {
    within(PATIENCE, "freeing", || (0..rounds() / 10).for_each(|_| freed::<H>(3, 2)));
}

/// Each of these threads does its part of `others` for ever, while this one does `mine` a hundred times.
fn beside(n: usize, others: impl Fn(&Lock) + Sync, mine: impl Fn(&Lock)) {
    let (lock, is_over, n_begun) = (Lock::new(), AtomicBool::new(false), AtomicU64::new(0));
    scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| {
                n_begun.fetch_add(1, Relaxed);
                while !is_over.load(Relaxed) {
                    others(&lock);
                }
            });
        }
        while n_begun.load(Relaxed) < n as u64 {
            std::thread::yield_now();
        }
        (0..100).for_each(|_| mine(&lock));
        is_over.store(true, Relaxed);
    });
    assert!(lock.is_at_rest());
}

fn reads(lock: &Lock) {
    lock.read();
    Hardware::pause_ns(1_000);
    // SAFETY: acquired above.
    unsafe { lock.release_read() };
}

fn writes(lock: &Lock) {
    lock.write();
    Hardware::pause_ns(1_000);
    // SAFETY: acquired above.
    unsafe { lock.release_write() };
}

/// Readers that never pause overlap, so that some reader always has the lock.
#[test]
fn writers_get_through() {
    within(PATIENCE, "a writer among readers", || beside(15, reads, writes));
    within(PATIENCE, "an upgrade among readers", || {
        beside(7, reads, |lock| {
            lock.read_upgradable();
            // SAFETY: acquired above.
            unsafe { lock.upgrade() };
            // SAFETY: as above.
            unsafe { lock.release_write() };
        });
    });
}

#[test]
fn readers_get_through() {
    within(PATIENCE, "a reader among writers", || beside(15, writes, reads));
    within(PATIENCE, "an upgradable reader among writers", || {
        beside(7, writes, |lock| {
            lock.read_upgradable();
            // SAFETY: acquired above.
            unsafe { lock.release_upgradable() };
        });
    });
}

/// Two that read at once wait for each other inside.
#[test]
fn readers_are_inside_together() {
    let lock = Lock::new();
    let both = std::sync::Barrier::new(2);
    within(PATIENCE, "two readers", move || {
        scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    lock.read();
                    both.wait();
                    // SAFETY: acquired above.
                    unsafe { lock.release_read() };
                });
            }
        });
        assert!(lock.is_at_rest());
    });
}

/// A thread that waits to read upgradably has closed the lock against a writer, which then reads upgradably itself.
/// Whoever waits, and for whomever.
#[test]
fn it_is_known_that_somebody_waits() {
    type Act = unsafe fn(&Lock);
    type Case = (fn(&Lock), Act, Act);
    let upgrades: Act = |lock| {
        lock.read_upgradable();
        // SAFETY: acquired above.
        unsafe { lock.upgrade() };
        // SAFETY: the caller writes now.
        unsafe { lock.release_write() };
    };
    let reserves: Act = |lock| {
        lock.read_upgradable();
        // SAFETY: acquired above.
        unsafe { lock.release_upgradable() };
    };
    let cases: [Case; 5] = [
        (Lock::write, Lock::release_write, reads),
        (Lock::write, Lock::release_write, writes),
        (Lock::read, Lock::release_read, writes),
        (Lock::read, Lock::release_read, upgrades),
        (Lock::read_upgradable, Lock::release_upgradable, reserves),
    ];
    for (acquire, release, wait) in cases {
        within(PATIENCE, "it is seen", move || {
            let lock = &Lock::new();
            acquire(lock);
            assert!(!lock.is_contended());
            scope(|scope| {
                // SAFETY: it owes nothing.
                scope.spawn(move || unsafe { wait(lock) });
                while !lock.is_contended() {
                    Hardware::yield_now();
                }
                // SAFETY: acquired above.
                unsafe { release(lock) };
            });
            assert!(!lock.is_contended() && lock.is_at_rest());
        });
    }
}

#[test]
fn who_waits_to_reserve_holds_up_no_reader() {
    within(PATIENCE, "a reader beside two upgradable ones", || {
        let lock = Lock::new();
        lock.write();
        scope(|scope| {
            scope.spawn(|| {
                lock.read_upgradable();
                // SAFETY: acquired above.
                unsafe { lock.release_upgradable() };
            });
            // Until then it has closed the lock, most likely: if not, this shows nothing.
            std::thread::sleep(Duration::from_millis(20));
            // SAFETY: acquired above.
            unsafe { lock.downgrade_to_upgradable() };
            while !lock.try_read() {
                std::thread::yield_now();
            }
            // SAFETY: acquired above.
            unsafe { lock.release_read() };
            // SAFETY: it is the upgradable reader.
            unsafe { lock.release_upgradable() };
        });
    });
}
