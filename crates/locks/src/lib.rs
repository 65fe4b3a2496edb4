//! The algorithm of the mutex `ondeck`, and the locks that it is compared with.
//!
//! If you want a mutex around data, take the crate `ondeck`. The types here are bare locks:
//!
//! ```
//! use ondeck_locks::{RawLock, RawOndeck};
//! use ondeck_platform::Hardware;
//!
//! static LOCK: RawOndeck<Hardware> = RawOndeck::INIT;
//!
//! LOCK.acquire();
//! assert!(!LOCK.try_acquire());
//! // SAFETY: acquired above, by this thread.
//! unsafe { LOCK.release() };
//! ```
//!
//! Each algorithm is one readable file, and all files have the same sections in the same order. Read them in the order
//! of [`LOCKS`]: each adds one idea to the one before.
//!
//! The algorithms are generic over the machine that runs them. They know no operating system and no simulator, and ask
//! for everything through [`ondeck_platform::Platform`].
//!
//! # Features
//! Without features you get the parts of the library `ondeck`: [`ondeck`], [`monitor`] and [`spin_wait`].
//!
//! - `yardsticks`: adds the locks that `ondeck` is compared with. They come from textbooks and from other systems.
//!
//! # Choosing a lock by name
//!
//! ```
//! use ondeck_locks::{RawLock, Visit, with_lock};
//! use ondeck_platform::Hardware;
//!
//! struct Size;
//!
//! impl Visit for Size {
//!     type Out = usize;
//!     fn visit<L: RawLock>(self) -> usize {
//!         size_of::<L>()
//!     }
//! }
//!
//! assert_eq!(with_lock::<Hardware, _>("ondeck", Size), Some(8));
//! assert_eq!(with_lock::<Hardware, _>("no such lock", Size), None);
//! ```

// A lock knows of the machine what its platform offers.
#![cfg_attr(not(test), no_std)]

#[cfg(feature = "yardsticks")]
extern crate alloc;

pub mod monitor;
pub mod ondeck;
mod raw;
pub mod spin_wait;
mod table;
mod tuning;

// The yardsticks, and code that several of them share.
#[cfg(feature = "yardsticks")]
mod coreclr;
#[cfg(feature = "yardsticks")]
pub mod coreclr_monitor;
#[cfg(feature = "yardsticks")]
pub mod coreclr_monitor_before;
#[cfg(feature = "yardsticks")]
mod event;
#[cfg(feature = "yardsticks")]
pub mod go_spinbit;
#[cfg(feature = "yardsticks")]
pub mod go_spinbit_futex;
#[cfg(feature = "yardsticks")]
pub mod go_tristate_futex;
#[cfg(feature = "yardsticks")]
pub mod go_tristate_sema;
#[cfg(feature = "yardsticks")]
mod linux_mutex;
#[cfg(feature = "yardsticks")]
pub mod linux_mutex_base;
#[cfg(feature = "yardsticks")]
pub mod linux_mutex_mcs;
#[cfg(feature = "yardsticks")]
pub mod linux_mutex_patch1;
#[cfg(feature = "yardsticks")]
pub mod linux_mutex_patch2;
#[cfg(feature = "yardsticks")]
pub mod linux_mutex_patch3;
#[cfg(feature = "yardsticks")]
pub mod mcs;
#[cfg(feature = "yardsticks")]
mod mcs_queue;
#[cfg(feature = "yardsticks")]
pub mod mcs_spin;
#[cfg(feature = "yardsticks")]
mod parking_lot;
#[cfg(feature = "yardsticks")]
pub mod parking_lot_012_port;
#[cfg(feature = "yardsticks")]
pub mod parking_lot_port;
#[cfg(feature = "yardsticks")]
mod pthread;
#[cfg(feature = "yardsticks")]
pub mod pthread_adaptive_port;
#[cfg(feature = "yardsticks")]
pub mod pthread_port;
#[cfg(feature = "yardsticks")]
mod stack_node;
#[cfg(feature = "yardsticks")]
pub mod std_port;
#[cfg(feature = "yardsticks")]
pub mod swift;
#[cfg(feature = "yardsticks")]
pub mod tas;
#[cfg(feature = "yardsticks")]
mod thin;
#[cfg(feature = "yardsticks")]
pub mod ticket;
#[cfg(feature = "yardsticks")]
pub mod ticket_spin;
#[cfg(feature = "yardsticks")]
mod tristate;
#[cfg(feature = "yardsticks")]
pub mod ttas;
#[cfg(feature = "yardsticks")]
pub mod wait_room;
mod yields;

pub use monitor::RawOndeckMonitor;
pub use ondeck::RawOndeck;
pub use raw::{NotHeld, RawLock, RawMonitor, RawTimedLock};
pub use spin_wait::{SpinPolicy, SpinWait};
pub use tuning::{Defaults, LowerSpin, NoSpin, Tuned};

#[cfg(feature = "yardsticks")]
pub use coreclr_monitor::RawCoreclrMonitor;
#[cfg(feature = "yardsticks")]
pub use coreclr_monitor_before::RawCoreclrMonitorBefore;
#[cfg(feature = "yardsticks")]
pub use go_spinbit::RawGoSpinbit;
#[cfg(feature = "yardsticks")]
pub use go_spinbit_futex::RawGoSpinbitFutex;
#[cfg(feature = "yardsticks")]
pub use go_tristate_futex::RawGoTristateFutex;
#[cfg(feature = "yardsticks")]
pub use go_tristate_sema::RawGoTristateSema;
#[cfg(feature = "yardsticks")]
pub use linux_mutex_base::RawLinuxMutexBase;
#[cfg(feature = "yardsticks")]
pub use linux_mutex_mcs::RawLinuxMutexMcs;
#[cfg(feature = "yardsticks")]
pub use linux_mutex_patch1::RawLinuxMutexPatch1;
#[cfg(feature = "yardsticks")]
pub use linux_mutex_patch2::RawLinuxMutexPatch2;
#[cfg(feature = "yardsticks")]
pub use linux_mutex_patch3::RawLinuxMutexPatch3;
#[cfg(feature = "yardsticks")]
pub use mcs::RawMcs;
#[cfg(feature = "yardsticks")]
pub use mcs_spin::RawMcsSpin;
#[cfg(feature = "yardsticks")]
pub use parking_lot_012_port::RawParkingLot012Port;
#[cfg(feature = "yardsticks")]
pub use parking_lot_port::RawParkingLotPort;
#[cfg(feature = "yardsticks")]
pub use pthread_adaptive_port::RawPthreadAdaptivePort;
#[cfg(feature = "yardsticks")]
pub use pthread_port::RawPthreadPort;
#[cfg(feature = "yardsticks")]
pub use std_port::RawStdPort;
#[cfg(feature = "yardsticks")]
pub use swift::RawSwift;
#[cfg(feature = "yardsticks")]
pub use tas::RawTas;
#[cfg(feature = "yardsticks")]
pub use ticket::RawTicket;
#[cfg(feature = "yardsticks")]
pub use ticket_spin::RawTicketSpin;
#[cfg(feature = "yardsticks")]
pub use ttas::RawTtas;

use ondeck_platform::Platform;

/// What a lock promises. A conformance test checks each promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// An acquisition can be given up ([`RawTimedLock`]).
    pub timed: bool,
    /// Waiting threads sleep. In a lock without this, they keep their cores busy.
    pub sleeps: bool,
    /// The holder may acquire the lock again. It releases the lock as often as it has acquired it.
    pub reentrant: bool,
    /// Nothing touches the lock's memory after the releasing write.
    pub free_after_release: bool,
    /// How long or how often a waiter may be bypassed, in words. "unbounded" means that it may starve.
    pub bypass: &'static str,
    /// Who may starve, in words. "nobody" means that no waiter can. "nobody who has a place" means that no thread can
    /// that is on deck, in line or on the list.
    pub starves: &'static str,
}

/// One row of the table of locks. The command line, the benchmarks and the conformance tests know this much of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name on the command line. The file has the same name, with underscores for hyphens.
    pub name: &'static str,
    /// What the lock is, in one line.
    pub idea: &'static str,
    /// Its size, in bytes.
    pub bytes: usize,
    /// How many atomic read-modify-writes an acquisition and its release take together, when nobody else is there.
    pub rmws: u32,
    /// Which contenders are awake while the lock is held, in words.
    pub awake: &'static str,
    /// Whom a release wakes, in words.
    pub woken: &'static str,
    /// What it promises.
    pub promises: Promises,
}

impl Entry {
    /// Why the lock cannot be a program's `pthread_mutex_t`, or `None` if it can.
    ///
    /// Three conditions must hold: waiting threads sleep; a thread that gets the lock may free it at once; it fits
    /// beside the fields that the C library keeps there.
    pub const fn refusal_as_posix_mutex(&self) -> Option<&'static str> {
        if self.promises.reentrant {
            Some("it is a monitor, whose side objects have no place in a mutex")
        } else if !self.promises.sleeps {
            Some("its waiters never sleep, so they would wait for ever for a holder of lower priority")
        } else if !self.promises.free_after_release {
            Some("its release may touch a mutex that has been freed by then, as POSIX allows")
        } else if self.bytes > 16 {
            Some("it does not fit into the 16 bytes of a mutex that are free")
        } else {
            None
        }
    }
}

/// A piece of work to do with a lock whose type is chosen by name. [`with_lock`] runs it.
pub trait Visit: Sized {
    /// The result of the work.
    type Out;
    /// Does the work with a lock of type `L`.
    fn visit<L: RawLock>(self) -> Self::Out;
    /// Does the work with a lock that is a monitor.
    fn visit_monitor<L: RawMonitor>(self) -> Self::Out {
        self.visit::<L>()
    }
}

/// All locks that this crate was built with, in the order in which they are best read.
pub const LOCKS: &[Entry] = &ENTRIES;

const N_LOCKS: usize = {
    let mut n = 0;
    macro_rules! count {
        ($file:ident, $lock:ident) => {
            n += 1;
        };
    }
    for_each_lock!(count);
    n
};

const ENTRIES: [Entry; N_LOCKS] = {
    let mut entries = [ondeck::ENTRY; N_LOCKS];
    let mut n = 0;
    macro_rules! put {
        ($file:ident, $lock:ident) => {
            entries[n] = $file::ENTRY;
            n += 1;
        };
    }
    for_each_lock!(put);
    assert!(n == N_LOCKS);
    entries
};

/// Runs `visitor` with the type of the lock called `name`, on the platform `P`, with the lock's default constants.
///
/// Returns `None` if there is no such lock.
pub fn with_lock<P: Platform, V: Visit>(name: &str, visitor: V) -> Option<V::Out> {
    #[allow(unused_macros, reason = "without the yardsticks no lock is a monitor")]
    macro_rules! monitor {
        ($file:ident, $lock:ident) => {
            if name == $file::ENTRY.name {
                return Some(visitor.visit_monitor::<$lock<P>>());
            }
        };
    }
    macro_rules! lock {
        ($file:ident, $lock:ident) => {
            if name == $file::ENTRY.name {
                return Some(visitor.visit::<$lock<P>>());
            }
        };
    }
    for_each_lock!(monitor, reentrant);
    for_each_lock!(lock, not_reentrant);
    None
}

/// README.md's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
