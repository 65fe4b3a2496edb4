//! The form of a recording: one file for each process image, mapped by it and by a reader meanwhile. All other
//! modules use it, and so do those who read recordings; it uses none.
//!
//! ```text
//! Header | modules | locks | index of stacks | stacks | names | threads that wait | named addresses | nestings | ring of samples
//! ```
//!
//! The file has its whole length from the start, and holes where nothing was written. All parts but the last four only grow, and
//! an entry is complete before its number is told to anybody, so a reader may look at any time, also after the process
//! was killed in the middle of a write.

#[cfg(test)]
mod form;
pub mod in_time;
pub mod tenancy;

use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// `ondeckR` and the version of the form. A test in `layout/form.rs` fails if one changes without the other.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ondeckR\x0d");

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
    pub program: [u8; PROGRAM_BYTES],
    /// Where the modules begin, in bytes, and for how many there is room.
    pub modules: Part,
    /// The locks.
    pub locks: Part,
    /// The index of stacks.
    pub index: Part,
    /// The stacks, in words of 8 bytes.
    pub stacks: Part,
    /// Names that the program has given, each once.
    pub names: Part,
    /// Threads that wait now.
    pub waiters: Part,
    /// The addresses that have these names, as [`named`] says, in words of 8 bytes.
    pub named: Part,
    /// Pairs of locks that a thread had at once; without room unless that is asked for.
    pub nestings: Part,
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
    /// Names of locks that found none.
    pub dropped_names: AtomicU64,
    /// Acquisitions whose [nesting](Nesting) found none.
    pub dropped_nestings: AtomicU64,
    /// Waits that found no slot: nobody sees them while they last.
    pub dropped_waiters: AtomicU64,
    /// 1 after a regular end.
    pub has_exited: AtomicU32,
    /// Whether lock calls were seen at all.
    pub has_locked: AtomicU32,
    /// Which part of the process records, of [`source`].
    pub source: u32,
    /// Which recording of the process and its parents it is. Tells what belongs to it from what is left of others in memory.
    pub number: u32,
    /// So many of the slots for [`waiters`](Self::waiters) have been in use.
    pub most_waiters: AtomicU32,
    /// Whether any lock was given a name.
    pub has_names: AtomicU32,
    /// Written by a reader that gives places of locks back: the epoch of it that is now. See [`tenancy`].
    pub epoch: AtomicU32,
    /// The same: what was last used two epochs before this one may go.
    pub taken: AtomicU32,
    /// 1 if places for locks become few. The reader clears it.
    pub wants_places: AtomicU32,
    /// Threads that are in a system call of the recorder's own now, by the kernel's numbers; 0 where there is none. What such a
    /// thread does is nothing that the program does.
    pub inside: [AtomicU32; N_INSIDE],
}

/// Room for the path of a program's file, with its end.
pub const PROGRAM_BYTES: usize = 4096;
/// For so many modules there is room.
pub const MOST_MODULES: u64 = 512;
/// So many threads can tell at once that they are in the recorder.
pub const N_INSIDE: usize = 64;

/// Bytes that the header takes, in whole pages. They stay when the content of a file is given back: the process may look at them.
pub const HEADER_BYTES: u64 = (size_of::<Header>() as u64).next_multiple_of(4096);

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
    /// First address. In all three, the upper bits are the module's [place in time](in_time).
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// What is added to the addresses of the file (wrapping).
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
/// belong to the holder of the lock, but for [`waiting`](Self::waiting).
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Lock {
    /// Its address; 0 if the entry is not in use.
    pub address: AtomicU64,
    /// What it is, of [`kind`].
    pub kind: AtomicU16,
    /// Which of the modules that were at its address it lies in, of [`in_time`]; 0 also if it lies in none.
    pub module: AtomicU16,
    /// Threads that waited as a long hold ended, and do not have the lock yet: they fell asleep because of that.
    pub victims: AtomicU32,
    /// How many wait, and since when: see `charging`.
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
    /// The number of the name that it had when it was destroyed, or [`NAMELESS`](Self::NAMELESS). 0 if that is not known: then
    /// its address has the name.
    pub name: AtomicU32,
    /// The thread that has it alone, by the kernel's number; 0 if none does. Known only where nestings are noted.
    pub held_by: AtomicU32,
    /// Of [`tenancy`].
    pub tenancy: AtomicU32,
    /// If charges are sampled: the mean time between two instants, in ns.
    pub period: AtomicU64,
    /// The last instant before whose charge the number of waiters has changed, and that number.
    pub settled: AtomicU64,
    /// The longest wait that is over, recorded or not, in ns.
    pub longest: AtomicU64,
    /// The process's own: the number of its class in the statistics plus 1, above it the turn of the lock that it is of, and above that
    /// how many names had been given when it was looked up.
    pub class: AtomicU64,
}

impl Lock {
    /// In the place of a name's number: the lock had none.
    pub const NAMELESS: u32 = u32::MAX;

    /// What it is, of [`kind`].
    pub(crate) fn kind(&self) -> u32 {
        self.kind.load(Relaxed).into()
    }
}

/// What an entry among the locks is.
pub mod kind {
    /// A mutex, first seen when it was used.
    pub const SEEN: u32 = 1;
    /// A mutex that was initialised where its origin says.
    pub const INITIALISED: u32 = 2;
    /// A condition variable.
    pub const CONDITION: u32 = 3;
    /// A lock whose holders cannot be told: of several processes.
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
    /// The kernel's number of the thread; 0 if the slot is free, [`TAKEN`](Self::TAKEN) while it is filled.
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

impl Waiter {
    /// In the place of a thread's number while the slot is filled.
    pub const TAKEN: u32 = u32::MAX;
}

/// A name that the program has given a lock, or thousands of them. Its number is its index plus 1.
#[repr(C)]
pub struct Name {
    /// How many bytes from its address on a lock of that name has; 1 if that is not known, 0 if the entry is not in use. Written
    /// last.
    pub length: AtomicU64,
    /// The name, up to a zero.
    pub text: [AtomicU64; Name::TEXT / 8],
}

impl Name {
    /// Bytes for a name, with its end.
    pub const TEXT: usize = 48;
}

/// The word of an address that has a name: the lower 48 bits of the address, and below them the name's number. In one word, so
/// that nobody ever sees the one without the other.
pub mod named {
    /// The bits of an address that count. What some systems keep in those above is no part of it.
    pub const ADDRESS: u64 = u64::MAX >> NUMBER_BITS;
    const NUMBER_BITS: u32 = 16;

    /// The word; number 0 says that the address has no name any more.
    pub const fn word(address: u64, number: u16) -> u64 {
        address << NUMBER_BITS | number as u64
    }

    /// Whose word it is.
    pub const fn address(word: u64) -> u64 {
        word >> NUMBER_BITS
    }

    /// The number in it.
    pub const fn number(word: u64) -> u16 {
        word as u16
    }
}

/// A lock that a thread took while it had another one: each pair once.
#[repr(C)]
#[derive(Debug)]
pub struct Nesting {
    /// The number of the lock that was held, and above it that of the one that was taken; 0 if the entry is not in use.
    pub locks: AtomicU64,
    /// The stack that took the held one, and above it the one that took the other.
    pub stacks: AtomicU64,
    /// [`SEEN`](Self::SEEN), and up to two more locks that were held alone each time.
    pub outer: AtomicU64,
}

impl Nesting {
    /// Its outer locks are written.
    pub const SEEN: u64 = 1 << 63;
    /// In the place of locks: a thread writes another pair there.
    pub const CHANGES: u64 = u64::MAX;
    /// Bits of the number of an outer lock.
    pub const OUTER: u32 = 30;
    /// In each half of `locks`: that one was acquired to read. Others that read do not wait for it.
    pub const SHARED: u32 = 1 << 31;
    /// In the second half of `locks`: that one was only tried, after the thread had waited for another one. The held one is
    /// older than both.
    pub const TRIED: u32 = 1 << 30;

    /// The outer locks in that word, [`NONE`] where there is none.
    pub const fn outer(word: u64) -> [u32; 2] {
        const MASK: u64 = (1 << Nesting::OUTER) - 1;
        [(word & MASK) as u32, (word >> Self::OUTER & MASK) as u32]
    }

    /// The word of these outer locks.
    pub const fn word(outer: [u32; 2]) -> u64 {
        Self::SEEN | outer[0] as u64 | (outer[1] as u64) << Self::OUTER
    }
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
    /// A thread tried to lock a mutex that another one had: how much of the time until it tried again, or had it, was lost.
    pub const TRIED: u32 = 8;
    /// A thread had a mutex that another one tried to lock: for how long after that.
    pub const REFUSED: u32 = 9;
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

/// Where a `pthread_mutex_t` has the lock, if the preloaded library answers.
pub const LOCK_IN_MUTEX: u64 = 24;

/// Most return addresses of a stack; deeper ones are cut at their outer end.
pub const DEPTH: usize = 96;

/// The word [`Lock::waiting`]: how many threads wait for a lock in 16 bits, and the sum of instants above them.
pub(crate) mod waiting {
    pub(super) const BITS: u32 = 16;
    pub(super) const SUM: u64 = u64::MAX >> BITS;
    /// A difference that is more is none: the other side of it was ahead.
    const LONGEST: u64 = SUM / 2;

    pub(crate) const fn one(from: u64) -> u64 {
        (from << BITS).wrapping_add(1)
    }

    pub(crate) const fn number(word: u64) -> u64 {
        word & ((1 << BITS) - 1)
    }

    /// What they have waited until `now` and nobody was charged for.
    pub(crate) const fn area(word: u64, now: u64) -> u64 {
        let area = number(word).wrapping_mul(now).wrapping_sub(word >> BITS) & SUM;
        if area > LONGEST { 0 } else { area }
    }

    /// So many, which are charged for until now.
    pub(crate) const fn all_from(number: u64, now: u64) -> u64 {
        number.wrapping_mul(now) << BITS | number
    }

    /// What is added when so much was charged.
    pub(crate) const fn charged(area: u64) -> u64 {
        area << BITS
    }
}

/// Copies as much of `text` as there is room for, and a zero.
pub(crate) fn copy_text(text: &[u8], room: &mut [u8]) {
    let length = text.len().min(room.len() - 1);
    room[..length].copy_from_slice(&text[..length]);
    room[length] = 0;
}

#[cfg(test)]
mod tests {
    use super::waiting::{area, charged, number, one};
    use super::*;

    #[test]
    fn lengths_lose_an_eighth_at_most() {
        for ns in [0_u64, 7, 8, 9, 15, 16, 1000, 4095, 3_000_000, 1 << 40, u64::MAX] {
            let code = encoded(ns);
            assert!(code <= LENGTH);
            let again = decoded(code) as f64;
            assert!(ns < 8 && again == 0.0 || (again / ns as f64 - 1.0).abs() <= 0.125, "{ns}: {again}");
        }
    }

    #[test]
    fn each_instant_of_each_wait_is_charged_once() {
        // 5 ms in 48 bits, behind which they begin again.
        for start in [0_u64, 1 << 40, (1 << 48) - 3_000_000] {
            let at = |ms: u64| start.wrapping_add(ms * 1_000_000);
            let ms = |ms: u64| ms * 1_000_000;
            let mut word = 0_u64.wrapping_add(one(at(0))).wrapping_add(one(at(1)));
            assert_eq!(number(word), 2);
            // A release at 3 ms: 3 of the one, 2 of the other.
            assert_eq!(area(word, at(3)), ms(5));
            word = word.wrapping_add(charged(ms(5)));
            assert_eq!(area(word, at(3)), 0);
            // One acquires at 4 ms: 2 ms of nobody.
            assert_eq!(area(word, at(4)), ms(2));
            word = word.wrapping_add(charged(ms(2))).wrapping_sub(one(at(4)));
            assert_eq!((number(word), area(word, at(6))), (1, ms(2)));
            word = word.wrapping_sub(one(at(4)));
            assert_eq!((number(word), area(word, at(9))), (0, 0));
        }
    }

    /// Each step looks at the clock, and is done later: by then others may have charged more than it knows of.
    #[test]
    fn what_is_charged_late_or_twice_is_made_good_later() {
        const MASK: u64 = waiting::SUM;
        let mut chance = 1_u64;
        let mut any = |below: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (chance >> 33) % below
        };
        for round in 0..2000 {
            // Some rounds pass the end of 48 bits.
            let start = MASK - 100 * (round % 3);
            let (mut word, mut clock, mut until) = (0_u64, start + 10, start);
            let (mut charged_to_all, mut left_over, mut waited) = (0_u64, 0_u64, 0_u64);
            let mut waiters = std::vec::Vec::new();
            let mut arrivals = 6;
            while arrivals > 0 || !waiters.is_empty() {
                clock += any(5);
                let now = clock - any(4);
                match any(4) {
                    0 if arrivals > 0 => {
                        arrivals -= 1;
                        waiters.push(now);
                        word = word.wrapping_add(one(now));
                    }
                    // A release, or an acquisition by somebody who has not waited.
                    1 => {
                        let ns = area(word, now);
                        word = word.wrapping_add(charged(ns));
                        (charged_to_all, until) = (charged_to_all + ns, now);
                    }
                    2 if !waiters.is_empty() => {
                        let from = waiters.swap_remove(any(waiters.len() as u64) as usize);
                        let now = now.max(from);
                        let ns = area(word, now);
                        word = word.wrapping_add(charged(ns)).wrapping_sub(one(now));
                        (charged_to_all, until, waited) = (charged_to_all + ns, now, waited + now - from);
                    }
                    3 if !waiters.is_empty() => {
                        let from = waiters.swap_remove(any(waiters.len() as u64) as usize);
                        // As it was some time ago, or has become since it looked at the clock.
                        let since = from.max(until - any(3));
                        word = word.wrapping_sub(one(since));
                        (left_over, waited) = (left_over + now.saturating_sub(since), waited + now.max(since) - from);
                    }
                    _ => {}
                }
            }
            assert_eq!(number(word), 0);
            // What the word still has is charged less, or more, when somebody waits again.
            let to_come = 0_u64.wrapping_sub(word >> waiting::BITS);
            assert_eq!((charged_to_all + left_over).wrapping_add(to_come) & MASK, waited, "round {round}");
        }
    }

    #[test]
    fn what_seems_to_be_from_before_is_nothing() {
        assert_eq!(area(one(1000), 999), 0);
    }

    #[test]
    fn a_text_is_cut_and_ends_with_a_zero() {
        for (text, expected) in [("", "\0...."), ("abc", "abc\0."), ("abcd", "abcd\0"), ("abcdefgh", "abcd\0")] {
            let mut room = *b".....";
            copy_text(text.as_bytes(), &mut room);
            assert_eq!(room, expected.as_bytes(), "{text}");
        }
    }
}
