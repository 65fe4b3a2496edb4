//! Statistics of the program's locks, counted while it runs: for production, and for its own metrics.
//!
//! [`start`] begins to count. [`snapshot`] gives what was counted until then, for each lock by its name, and
//! [`Snapshot::prometheus`] writes that for Prometheus. [`on_long_hold`] tells of single holds that were long.
//!
//! - **Waits are exact.** Each wait for a mutex or a reader-writer lock is counted and timed, from the first try that fails to the end. A wait on a
//!   condition variable is none, nor is the wait for the mutex at its end. Lost are a wait that is under way, or begins, at the moment
//!   in which a recording of the program begins or ends.
//! - **Holds are estimated.** One acquisition in a thousand is timed, and stands for a thousand. While an observer records the
//!   program, that recording's rate applies.
//! - **Locks are counted by their names.** Locks with one name are one line, however many there are. Locks without a name
//!   are counted by the place in the program where a thread first waited for them, or where a hold was first timed. Name your
//!   locks before they are used: what was counted before stays with the place. There is room for 511 names and places over the
//!   life of the process; what comes later is counted as `(others)`. There is room for locks at 16,000 addresses at a time. A new
//!   lock gets the place of one that nobody waits for; if there is none, its waits are counted as missed. A name
//!   covers locks inside of what was named, up to 256 bytes from its beginning.
//! - **All counts begin at [`start`].** The child of a fork begins at zero. In a program with several copies of this library,
//!   each copy counts its own locks.
//!
//! On systems that cannot be recorded [`start`] does nothing, and a snapshot is empty: all but Linux with pointers of 64 bits.

mod text;

pub use text::Labels;

#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod here;
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
use elsewhere as machine;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
use here as machine;

use crate::buckets::{LIMITS_NS, bucket_of_ns};
use std::string::String;
use std::time::Duration;
use std::vec::Vec;

/// Counts from here on, and times one acquisition in a thousand. False if that cannot be: without memory, before Linux 4.14,
/// and on other systems. A second call changes nothing.
///
/// May be called at any time, also by several threads. Costs some microseconds, and up to 0.1 s if an observer begins to record
/// the program at the same moment.
pub fn start() -> bool {
    start_at_rate(1000)
}

/// As [`start`], and times one acquisition in `rate`: 1 is each of them, a million the most. 0 is taken as 1.
pub fn start_at_rate(rate: u64) -> bool {
    machine::start(rate)
}

/// What was counted until now. Allocates memory, and asks the loader for the program's files: do not call it while you hold
/// a lock.
#[must_use]
pub fn snapshot() -> Snapshot {
    machine::snapshot()
}

/// From here on `tell` is called after each hold of at least that length that is known. A later call replaces both;
/// [`Duration::MAX`] ends it. If several threads call this at once, any of the functions may stay.
///
/// The length of a hold is known in two cases:
///
/// - It was one of the holds that are timed, one in a thousand by default: then `tell` gets its whole length.
/// - Threads waited for the lock when it was released. Then the length counts from the moment in which the first of them began
///   to wait, or in which the holder got the lock, if that was later.
///
/// A hold that is not timed, and for which nobody waits at its end, is not seen: also if others have waited for it, and given up.
/// Nor is a hold that ends in a wait on a condition variable, or as its thread goes on to read, or to write.
///
/// The thread that has released the lock calls `tell`, after the release. It may use that lock, and others that the thread cannot
/// hold at this moment: if it releases an inner lock, it still has the outer one. That includes the locks of an allocator, if these are
/// `ondeck`'s. Others may wait for what it holds: be brief. Of holds in `tell` itself it is not told.
///
/// A panic of `tell` ends in the release that has called it: the hook for panics prints its message, the release returns, and later
/// holds are told as before. With `panic = "abort"` the process ends, as with any panic.
pub fn on_long_hold(at_least: Duration, tell: fn(&LongHold)) {
    machine::on_long_hold(u64::try_from(at_least.as_nanos()).unwrap_or(u64::MAX), tell);
}

/// A hold that was long.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LongHold {
    /// How long it was, as far as that is known.
    pub held: Duration,
    /// Whether that is all of it. Else it counts from the first wait for its end.
    pub is_whole: bool,
    /// Of the lock, up to a zero; none if it is empty.
    name: [u8; 48],
    /// A return address, of a lock without a name.
    place: u64,
}

impl LongHold {
    /// The lock's name, or its place in the program, as in [`LockStatistics::lock`]. In a file that was loaded after the
    /// counting began, the place is an address.
    #[must_use]
    pub fn lock(&self) -> String {
        machine::lock_of(self)
    }
}

/// What was counted until a moment.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Snapshot {
    /// The locks that were waited for, or of which a hold was timed, by their names.
    pub locks: Vec<LockStatistics>,
    /// Waits and timed holds that were not counted, as there are too many locks.
    pub missed: u64,
}

/// What was counted of all locks with one name, or of one place.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LockStatistics {
    /// The name. Or `file+0x1234`: the place where such a lock was first seen, as `addr2line -e file 0x1234` takes it.
    pub lock: String,
    /// All waits that are over, each of them.
    pub waits: Histogram,
    /// Waits that ended without the lock, by a timeout. They are among the waits.
    pub gave_up: u64,
    /// The longest wait that is over.
    pub longest_wait: Duration,
    /// All holds that are over, as estimated from those that were timed.
    pub holds: Histogram,
    /// Holds that were timed. Divide: if there are fewer than a hundred, the estimates are coarse.
    pub timed_holds: u64,
    /// The longest hold that is known: of those that were timed, or that others waited for.
    pub longest_hold: Duration,
    /// The return addresses of who released it, the innermost first, at most 16, in the form `file+0x1234`. Of who acquired
    /// it, if an observer recorded the program then. Empty if another thread was writing one down at that moment.
    pub longest_hold_stack: Vec<String>,
    /// Threads that sleep for such a lock now: up to 1,024 of the process. Threads that slept already when a recording
    /// of the program began or ended are not among them, until they wait again.
    pub waiting: Vec<WaitingThread>,
}

/// A thread that sleeps for a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingThread {
    /// Its number, as the system shows it.
    pub thread: u32,
    /// How long it has waited.
    pub waited: Duration,
}

/// How many lengths there were between limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Histogram {
    /// How many were above the limit before, and not above that [limit](Self::limit); the last is of all longer ones.
    pub buckets: [u64; Self::BUCKETS],
    /// All of them together.
    pub sum: Duration,
}

impl Histogram {
    /// How many buckets it has.
    pub const BUCKETS: usize = LIMITS_NS.len() + 1;

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The bucket of a length.
    #[must_use]
    pub fn bucket(length: Duration) -> usize {
        bucket_of_ns(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The upper limit of a bucket: 1 us, 3 us, 10 us and so on up to 10 s. `None` for the last one.
    #[must_use]
    pub fn limit(bucket: usize) -> Option<Duration> {
        LIMITS_NS.get(bucket).map(|ns| Duration::from_nanos(*ns))
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
mod elsewhere {
    use super::{LongHold, Snapshot};

    pub(super) fn start(_: u64) -> bool {
        false
    }

    pub(super) fn snapshot() -> Snapshot {
        Snapshot::default()
    }

    pub(super) fn on_long_hold(_: u64, _: fn(&LongHold)) {}

    pub(super) fn lock_of(hold: &LongHold) -> std::string::String {
        // There is none.
        let _ = (hold.name, hold.place);
        std::string::String::new()
    }
}
