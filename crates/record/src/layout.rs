//! The form of a recording: one file for each process image, mapped by it and by whoever reads it meanwhile.
//!
//! ```text
//! Header | modules | locks | index of stacks | stacks | threads that wait | names | ring of samples
//! ```
//!
//! The file has its whole length from the start, and holes where nothing was written. All parts but the last three only grow, and
//! an entry is complete before its number is told to anybody, so a reader may look at any time, also after the process
//! was killed in the middle of a write.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// `ondeckR` and the version of the form.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ondeckR\x06");

/// The beginning of a file.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`], written last.
    pub magic: AtomicU64,
    /// Length of the file in bytes.
    pub length: u64,
    /// The process, by the kernel's number, and its parent.
    pub pid: u32,
    /// See [`pid`](Self::pid).
    pub parent: u32,
    /// When the recording began, in ns since 1970.
    pub started_realtime_ns: u64,
    /// The same instant by the monotonic clock, which all other times are of.
    pub started_ns: u64,
    /// One of so many acquisitions is looked at.
    pub rate: u64,
    /// Name of the lock that answers, up to a zero.
    pub lock: [u8; 32],
    /// The program's file, up to a zero.
    pub program: [u8; 4096],
    /// Where the modules begin, in bytes, and for how many there is room.
    pub modules: Part,
    /// The locks.
    pub locks: Part,
    /// The index of stacks.
    pub index: Part,
    /// The stacks, in words of 8 bytes.
    pub stacks: Part,
    /// Threads that wait now.
    pub waiters: Part,
    /// Names that the program has given.
    pub names: Part,
    /// The samples.
    pub ring: Part,
    /// Samples that were begun, from the start.
    pub head: AtomicU64,
    /// Samples that the reader has taken, from the start.
    pub tail: AtomicU64,
    /// Samples that found no room.
    pub dropped_samples: AtomicU64,
    /// Stacks that found none.
    pub dropped_stacks: AtomicU64,
    /// Locks that found none.
    pub dropped_locks: AtomicU64,
    /// 1 after a regular end.
    pub has_exited: AtomicU32,
    /// Whether lock calls were seen at all.
    pub has_locked: AtomicU32,
    /// Which part of the process records, of [`source`].
    pub source: u32,
    /// So many of the slots for [`waiters`](Self::waiters) have been in use.
    pub most_waiters: AtomicU32,
}

/// A part of the file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its first byte.
    pub start: u64,
    /// For how many entries there is room.
    pub room: u64,
}

/// A file of the program, as it is loaded.
#[repr(C)]
pub struct Module {
    /// 1 once the rest is written.
    pub is_complete: AtomicU32,
    /// Length of the build id.
    pub build_id_length: u32,
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// What is added to the addresses of the file.
    pub bias: u64,
    /// The build id, as far as it has room.
    pub build_id: [u8; 32],
    /// The path, up to a zero; empty for the program itself.
    pub path: [u8; 448],
    /// What the file was at the start. Of what was loaded later, zeros: to ask for it takes a system call.
    pub stamp: Stamp,
}

/// What tells a file from another one that takes its place.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// The file system.
    pub device: u64,
    /// The file's number there; 0 if nothing is known.
    pub number: u64,
    /// Its length in bytes.
    pub size: u64,
    /// When its content was changed, in ns since 1970.
    pub modified_ns: i64,
}

/// A lock, or what else threads wait for. What each charge touches is in its first 64 bytes. The fields for accounting
/// belong to whoever holds the lock, but for [`waiting`](Self::waiting).
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Lock {
    /// Its address; 0 if the entry is not in use.
    pub address: AtomicU64,
    /// What it is, of [`kind`].
    pub kind: AtomicU32,
    /// Threads that waited as a long hold ended, and do not have the lock yet: they fell asleep because of that.
    pub victims: AtomicU32,
    /// Who waits: see `account`.
    pub waiting: AtomicU64,
    /// Up to when waiting is charged to somebody, in ns.
    pub charged_until: AtomicU64,
    /// What was waited for by who has left, and nobody was charged for.
    pub left_over: AtomicU64,
    /// When the acquisition that is looked at took place.
    pub taken_at: AtomicU64,
    /// The stack of that.
    pub taken_by: AtomicU32,
    /// Most that waited at once.
    pub most_waiting: AtomicU32,
    /// Since when a hold, or a time without a holder, is known to last: the last charge, or a waiter that asked for the next
    /// one after it. In ns.
    pub lasts_since: AtomicU64,
    /// The stack where it was initialised or first seen.
    pub origin: AtomicU32,
    /// Sleeps of its waiters, threads that its releases woke, and changes of who is on deck, where the lock tells.
    pub parks: AtomicU32,
    /// See [`parks`](Self::parks).
    pub wakes: AtomicU32,
    /// See [`parks`](Self::parks).
    pub rotations: AtomicU32,
    /// Turns of its waiters' loops.
    pub spins: AtomicU32,
}

/// What an entry among the locks is.
pub mod kind {
    /// A mutex, first seen when it was used.
    pub const SEEN: u32 = 1;
    /// A mutex that was initialised where its origin says.
    pub const INITIALISED: u32 = 2;
    /// A condition variable.
    pub const CONDITION: u32 = 3;
    /// A lock whose holders cannot be told: robust, of several processes, or with a protocol.
    pub const OPAQUE: u32 = 4;
    /// A semaphore.
    pub const SEMAPHORE: u32 = 5;
    /// A barrier.
    pub const BARRIER: u32 = 6;
    /// An initialisation that is to happen once.
    pub const ONCE: u32 = 7;
    /// A place in the program that waits for the end of threads. Its address is no address.
    pub const JOIN: u32 = 8;
    /// A lock whose waiters never sleep. Its holders cannot be told.
    pub const SPIN: u32 = 9;
    /// Added to one of the above: a lock that many may have at once to read, or one to write.
    pub const SEVERAL: u32 = 0x100;
}

/// A thread that waits, or did.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Waiter {
    /// The kernel's number of the thread; 0 if the slot is free, all bits while it is filled.
    pub thread: AtomicU32,
    /// The number of the lock it waits for; [`NONE`] for what has no holders that are known.
    pub lock: AtomicU32,
    /// The address of that.
    pub address: AtomicU64,
    /// Since when, in ns.
    pub since: AtomicU64,
    /// What it is, of [`kind`].
    pub kind: AtomicU32,
    /// Where the thread waits, if it has walked its stack.
    pub stack: AtomicU32,
}

/// A name that the program has given a lock.
#[repr(C)]
pub struct Name {
    /// Where the lock begins; 0 if the entry is not in use.
    pub address: AtomicU64,
    /// How many bytes it has; 1 if that is not known.
    pub length: AtomicU64,
    /// The name, up to a zero.
    pub text: [AtomicU64; Name::TEXT / 8],
}

impl Name {
    /// Bytes for a name, with its end.
    pub const TEXT: usize = 48;
}

/// A sample, 48 bytes.
#[repr(C)]
pub struct Slot {
    /// Its number from the start, plus 1, written last.
    pub ticket: AtomicU64,
    /// What happened, of [`event`], with two [lengths](encoded) from bits 12 and 22 on, and above them the thread's number.
    pub what: AtomicU64,
    /// The lock's number, and above it the stack's.
    pub place: AtomicU64,
    /// When it was over, in ns.
    pub at: AtomicU64,
    /// How long it took, in ns.
    pub ns: AtomicU64,
    /// How many such events it stands for, as the bits of a float of 64 bits.
    pub weight: AtomicU64,
}

/// What a sample tells.
pub mod event {
    /// A thread waited for a mutex, and got it.
    pub const WAIT: u32 = 1;
    /// A thread waited for a mutex until its time was up.
    pub const GAVE_UP: u32 = 2;
    /// A thread waited on a condition variable, or for something else that is no lock.
    pub const CONDITION: u32 = 3;
    /// A release, and what was waited during its hold.
    pub const CHARGE: u32 = 4;
    /// What was waited while the lock was free.
    pub const HANDING_ON: u32 = 5;
    /// An acquisition, and how long it was held.
    pub const TAKE: u32 = 6;
    /// A thread notifies a condition variable.
    pub const NOTIFY: u32 = 7;
    /// A thread tried to lock a mutex that another one had.
    pub const TRIED: u32 = 8;
    /// Added to one of the above: the thread has, or wants, the lock to read, with others.
    pub const READING: u32 = 0x100;
    /// Added to a wait on a condition variable: the thread was woken from one there before, and has locked nothing since.
    pub const AGAIN: u32 = 0x200;
    /// Added to a notification: it was of all that wait.
    pub const ALL: u32 = 0x400;

    /// What happened, without what is added.
    pub const fn plain(event: u32) -> u32 {
        event & 0xff
    }
}

/// Where the lengths of a sample begin among the bits of what happened; each has ten.
pub const LENGTHS_AT: [u32; 2] = [12, 22];
/// Bits of a length.
pub const LENGTH: u32 = 0x3ff;

/// A length in nine bits, an eighth of it lost at most. Shorter than 8 ns is as 0.
pub const fn encoded(ns: u64) -> u32 {
    if ns < 8 {
        return 0;
    }
    let highest = ns.ilog2();
    highest << 3 | (ns >> (highest - 3)) as u32 & 7
}

/// The middle of the lengths that are encoded so.
pub const fn decoded(code: u32) -> u64 {
    let highest = code >> 3 & 0x3f;
    if highest < 3 {
        return 0;
    }
    let from = (8 | code as u64 & 7) << (highest - 3);
    from + (1 << (highest - 3)) / 2
}

/// Which part of a process records: each has a recording of its own.
pub mod source {
    /// The library that stands in for the C library's locks.
    pub const LIBRARY: u32 = 0;
    /// The program itself, whose mutexes record.
    pub const PROGRAM: u32 = 1;
}

/// The number of no lock, and of no stack.
pub const NONE: u32 = 0;

/// Most return addresses of a stack; deeper ones are cut at their outer end.
pub const DEPTH: usize = 96;

#[cfg(test)]
mod tests {
    use super::{LENGTH, decoded, encoded};

    #[test]
    fn lengths_lose_an_eighth_at_most() {
        for ns in [0_u64, 7, 8, 9, 15, 16, 1000, 4095, 3_000_000, 1 << 40, u64::MAX] {
            let code = encoded(ns);
            assert!(code <= LENGTH);
            let again = decoded(code) as f64;
            assert!(ns < 8 && again == 0.0 || (again / ns as f64 - 1.0).abs() <= 0.125, "{ns}: {again}");
        }
    }
}
