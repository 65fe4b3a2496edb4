//! The promises of the reader-writer lock. Its writers alone are a mutex ([`Writers`]), with the promises of one; what readers add
//! is here.

use crate::harness::{CheckedCell, Harness, Job};
use crate::no_yields::NoYields;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ondeck_core::{CoreCounters, RawOndeckRwLock};
use ondeck_lineage::{Entry, RawLock, RawTimedLock};
use std::sync::Arc;

type Lock<P> = RawOndeckRwLock<P, NoYields>;

/// The lock as a mutex; a quiet one at first, where there are sequences.
pub struct Writers<P: CoreCounters>(Lock<P>);

impl<P: CoreCounters> RawLock for Writers<P> {
    type Platform = P;
    const ENTRY: Entry = Entry { name: "rwlock", bytes: 16, ..ondeck_core::ondeck::ENTRY };

    fn new() -> Self {
        Writers(quiet())
    }

    fn try_acquire(&self) -> bool {
        self.0.try_write()
    }

    fn acquire(&self) {
        self.0.write();
    }

    unsafe fn release(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.release_write() };
    }

    fn is_at_rest(&self) -> bool {
        self.0.is_at_rest()
    }
}

impl<P: CoreCounters> RawTimedLock for Writers<P> {
    fn try_acquire_until(&self, deadline_ns: u64) -> bool {
        self.0.write_until(deadline_ns)
    }
}

fn quiet<P: CoreCounters>() -> Lock<P> {
    let lock = Lock::new();
    lock.hush();
    lock
}

/// What one thread does.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// Writes.
    Write,
    /// Has the next writer's hold be quiet, if the lock is free, and writes.
    Hush,
    /// Writes, if it can at once.
    TryWrite,
    /// Writes, unless the deadline is past.
    WriteUntil(u64),
    /// Reads.
    Read,
    /// Has readers count by core, and reads.
    Spread,
    /// Has readers count in the lock.
    Compact,
    /// Reads, if it can at once.
    TryRead,
    /// Reads, unless the deadline is past.
    ReadUntil(u64),
    /// Reads while it reads.
    ReadTwice,
    /// Reads upgradably, and leaves.
    Reserve,
    /// Reads upgradably, and goes on as another reader.
    Unreserve,
    /// Reads upgradably, unless the deadline is past.
    ReserveUntil(u64),
    /// Reads upgradably, and then writes.
    Upgrade,
    /// The same, if it can at once.
    TryUpgrade,
    /// The same, unless the deadline is past.
    UpgradeUntil(u64),
    /// Writes, and then reads.
    Downgrade,
    /// Writes, reads upgradably, and writes again.
    UpAndDown,
    /// Reads, and leaves fairly.
    ReadFairly,
    /// Reads upgradably, and leaves fairly.
    ReserveFairly,
    /// Writes, and leaves fairly.
    WriteFairly,
}

struct Shared<H: Harness> {
    lock: Lock<H::Platform>,
    data: H::Cell,
    n_written: AtomicU64,
}

impl<H: Harness> Shared<H> {
    fn writes(&self) {
        // SAFETY: the lock lets the caller write; that this is enough is what the property claims.
        unsafe { self.data.update(|count| count + 1) };
        self.n_written.fetch_add(1, Relaxed);
    }

    fn reads(&self) {
        // SAFETY: the lock lets the caller read; as above.
        unsafe { self.data.read() };
    }

    fn write_and_leave(&self) {
        self.writes();
        // SAFETY: the caller has the lock for writing.
        unsafe { self.lock.release_write() };
    }

    fn read_and_leave(&self) {
        self.reads();
        // SAFETY: the caller has the lock for reading.
        unsafe { self.lock.release_read() };
    }

    fn read_and_leave_as_told(&self) {
        let is_in_word = self.lock.read_by_word();
        if !is_in_word {
            return self.read_and_leave();
        }
        self.reads();
        // SAFETY: the word counts it since then.
        unsafe { self.lock.release_read_by_word() };
    }

    fn leave_upgradable(&self) {
        self.reads();
        // SAFETY: the caller has the lock for reading upgradably.
        unsafe { self.lock.release_upgradable() };
    }

    fn play(&self, role: Role) {
        let lock = &self.lock;
        match role {
            Role::Write => lock.write(),
            Role::Hush => {
                lock.hush();
                lock.write();
            }
            Role::TryWrite if lock.try_write() => {}
            Role::WriteUntil(deadline_ns) if lock.write_until(deadline_ns) => {}
            Role::Upgrade | Role::TryUpgrade | Role::UpgradeUntil(_) => return self.play_upgrade(role),
            Role::Downgrade | Role::UpAndDown => return self.play_downgrade(role),
            Role::ReadFairly | Role::ReserveFairly | Role::WriteFairly => return self.play_fairly(role),
            _ => return self.play_reader(role),
        }
        self.write_and_leave();
    }

    fn play_reader(&self, role: Role) {
        let lock = &self.lock;
        match role {
            Role::Read => return self.read_and_leave_as_told(),
            Role::Spread => {
                lock.spread();
                lock.read();
            }
            Role::Compact => return lock.compact(),
            Role::TryRead if lock.try_read() => {}
            Role::ReadUntil(deadline_ns) if lock.read_until(deadline_ns) => {}
            Role::ReadTwice => {
                lock.read();
                lock.read_recursive();
                self.read_and_leave();
            }
            Role::Unreserve => {
                lock.read_upgradable();
                // SAFETY: acquired above.
                unsafe { lock.downgrade_upgradable() };
            }
            Role::Reserve => {
                lock.read_upgradable();
                return self.leave_upgradable();
            }
            Role::ReserveUntil(deadline_ns) if lock.read_upgradable_until(deadline_ns) => {
                return self.leave_upgradable();
            }
            _ => return,
        }
        self.read_and_leave();
    }

    fn play_fairly(&self, role: Role) {
        let lock = &self.lock;
        match role {
            Role::ReadFairly => {
                lock.read();
                self.reads();
                // SAFETY: acquired above.
                unsafe { lock.release_read_fair() };
            }
            Role::ReserveFairly => {
                lock.read_upgradable();
                self.reads();
                // SAFETY: acquired above.
                unsafe { lock.release_upgradable_fair() };
            }
            _ => {
                lock.write();
                self.writes();
                // SAFETY: acquired above.
                unsafe { lock.release_write_fair() };
            }
        }
    }

    fn play_upgrade(&self, role: Role) {
        self.lock.read_upgradable();
        self.reads();
        let is_writer = match role {
            // SAFETY: acquired above.
            Role::TryUpgrade => unsafe { self.lock.try_upgrade() },
            // SAFETY: acquired above.
            Role::UpgradeUntil(deadline_ns) => unsafe { self.lock.upgrade_until(deadline_ns) },
            _ => {
                // SAFETY: acquired above.
                unsafe { self.lock.upgrade() };
                true
            }
        };
        if is_writer { self.write_and_leave() } else { self.leave_upgradable() }
    }

    fn play_downgrade(&self, role: Role) {
        self.lock.write();
        self.writes();
        if matches!(role, Role::Downgrade) {
            // SAFETY: acquired above.
            unsafe { self.lock.downgrade() };
            return self.read_and_leave();
        }
        // SAFETY: acquired above.
        unsafe { self.lock.downgrade_to_upgradable() };
        self.reads();
        // SAFETY: it is the upgradable reader.
        unsafe { self.lock.upgrade() };
        self.write_and_leave();
    }
}

/// Runs a thread for each role, which plays it so often. No two write at once, none writes while others read, nobody is left
/// behind, nothing is lost, and no flag stays.
pub fn shared<H: Harness>(roles: &[Role], rounds: usize) {
    shared_with::<H>(roles, rounds, Lock::new());
}

/// The same of a lock that is quiet at first.
pub fn shared_quiet<H: Harness>(roles: &[Role], rounds: usize) {
    shared_with::<H>(roles, rounds, quiet());
}

fn shared_with<H: Harness>(roles: &[Role], rounds: usize, lock: Lock<H::Platform>) {
    let shared = Arc::new(Shared::<H> { lock, data: H::Cell::new(0), n_written: AtomicU64::new(0) });
    let jobs = roles.iter().map(|&role| {
        let shared = shared.clone();
        Box::new(move || (0..rounds).for_each(|_| shared.play(role))) as Job
    });
    H::run(jobs.collect());
    assert!(shared.lock.is_at_rest(), "a flag is left although nobody is inside: {:?}", shared.lock);
    // SAFETY: all threads have finished.
    let count = unsafe { shared.data.read() };
    assert_eq!(count, shared.n_written.load(Relaxed), "an update was lost");
}

struct Counted<H: Harness> {
    lock: Lock<H::Platform>,
    users: H::Cell,
}

struct Reference<H: Harness>(*mut Counted<H>);

// SAFETY: what it points to is shared under its lock and kept alive by its count of users.
unsafe impl<H: Harness> Send for Reference<H> {}

impl<H: Harness> Reference<H> {
    /// Reads or upgrades, and then writes that there is one user less. The last one frees all. Nobody touches it afterwards.
    fn leaves(self, upgrades: bool) {
        let users = {
            // SAFETY: the caller is a user.
            let counted = unsafe { &*self.0 };
            if upgrades {
                counted.lock.read_upgradable();
                // SAFETY: acquired above.
                unsafe { counted.lock.upgrade() };
            } else {
                counted.lock.read();
                // SAFETY: acquired above.
                unsafe { counted.lock.release_read() };
                counted.lock.write();
            }
            // SAFETY: acquired for writing.
            let users = unsafe { counted.users.update(|users| users - 1) };
            // SAFETY: as above.
            unsafe { counted.lock.release_write() };
            users
        };
        if users == 0 {
            // SAFETY: this was the last user, and the object came from `Box::into_raw`.
            unsafe { H::free(self.0) };
        }
    }
}

/// The last of these users frees the lock right after its release.
pub fn freed<H: Harness>(n_readers: usize, n_upgrading: usize) {
    freed_with::<H>(n_readers, n_upgrading, Lock::new());
}

/// The same of a lock that is quiet at first.
pub fn freed_quiet<H: Harness>(n_readers: usize, n_upgrading: usize) {
    freed_with::<H>(n_readers, n_upgrading, quiet());
}

/// The same of a lock whose readers count by core at first.
pub fn freed_spread<H: Harness>(n_readers: usize, n_upgrading: usize) {
    let lock = Lock::new();
    assert!(lock.spread(), "there are counters");
    freed_with::<H>(n_readers, n_upgrading, lock);
}

fn freed_with<H: Harness>(n_readers: usize, n_upgrading: usize, lock: Lock<H::Platform>) {
    let n_users = n_readers + n_upgrading;
    let counted = Box::into_raw(Box::new(Counted::<H> { lock, users: H::Cell::new(n_users as u64) }));
    let jobs = (0..n_users).map(|index| {
        let reference = Reference(counted);
        Box::new(move || {
            let reference = reference;
            reference.leaves(index < n_upgrading);
        }) as Job
    });
    H::run(jobs.collect());
}
