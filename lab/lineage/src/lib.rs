//! The locks of others, as readable texts, and the table of all locks.
//!
//! This crate is for readers who compare locks or want to know how they work. It is not published, and no user of `ondeck`
//! downloads it. Each algorithm is one file, and all files have the same sections in the same order. Read them in the
//! order of [`LOCKS`]: each adds one idea to the one before. The last is the lock `ondeck`, whose file is in `ondeck-core`.
//!
//! The algorithms are generic over the machine that runs them. They know no operating system and no simulator, and ask
//! for everything through [`Platform`]. What [`ondeck_core`] has can be found here, too.
//!
//! Begin with these three: [`LOCKS`], the table; [`RawTas`], the shortest lock; [`LockVisitor`], a piece of work for a lock
//! that is chosen by name:
//!
//! ```
//! use ondeck_lineage::{Hardware, RawLock, LockVisitor, with_lock};
//!
//! struct Size;
//!
//! impl LockVisitor for Size {
//!     type Output = usize;
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

extern crate alloc;

mod table;

mod coreclr;
pub mod coreclr_monitor;
pub mod coreclr_monitor_before;
mod event;
pub mod go_spinbit;
pub mod go_spinbit_futex;
pub mod go_tristate_futex;
pub mod go_tristate_sema;
mod linux_mutex;
pub mod linux_mutex_base;
pub mod linux_mutex_mcs;
pub mod linux_mutex_patch1;
pub mod linux_mutex_patch2;
pub mod linux_mutex_patch3;
pub mod mcs;
mod parking_lot;
pub mod parking_lot_012_port;
pub mod parking_lot_port;
mod pthread;
pub mod pthread_adaptive_port;
pub mod pthread_port;
mod stack_node;
pub mod std_port;
pub mod tas;
mod thin;
pub mod ticket;
mod tristate;
pub mod ttas;
mod tuning;
pub mod wait_room;

pub use coreclr::{LowerSpin, NoSpin};
pub use coreclr_monitor::RawCoreclrMonitor;
pub use coreclr_monitor_before::RawCoreclrMonitorBefore;
pub use go_spinbit::RawGoSpinbit;
pub use go_spinbit_futex::RawGoSpinbitFutex;
pub use go_tristate_futex::RawGoTristateFutex;
pub use go_tristate_sema::RawGoTristateSema;
pub use linux_mutex_base::RawLinuxMutexBase;
pub use linux_mutex_mcs::RawLinuxMutexMcs;
pub use linux_mutex_patch1::RawLinuxMutexPatch1;
pub use linux_mutex_patch2::RawLinuxMutexPatch2;
pub use linux_mutex_patch3::RawLinuxMutexPatch3;
pub use mcs::RawMcs;
pub use parking_lot_012_port::RawParkingLot012Port;
pub use parking_lot_port::RawParkingLotPort;
pub use pthread_adaptive_port::RawPthreadAdaptivePort;
pub use pthread_port::RawPthreadPort;
pub use std_port::RawStdPort;
pub use tas::RawTas;
pub use ticket::RawTicket;
pub use ttas::RawTtas;
pub use tuning::{Defaults, TuningSource};

/// The flagship, under the name of its file as the others.
pub use ondeck_core::ondeck;
// Who goes through all locks needs these as well.
pub use ondeck_core::*;

/// A piece of work to do with a lock whose type is chosen by name. [`with_lock`] runs it.
pub trait LockVisitor: Sized {
    /// The result of the work.
    type Output;
    /// Does the work with a lock of type `L`.
    fn visit<L: RawLock>(self) -> Self::Output;
}

/// All locks, in the order in which they are best read.
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
pub fn with_lock<P: Platform, V: LockVisitor>(name: &str, visitor: V) -> Option<V::Output> {
    macro_rules! lock {
        ($file:ident, $lock:ident) => {
            if name == $file::ENTRY.name {
                return Some(visitor.visit::<$lock<P>>());
            }
        };
    }
    for_each_lock!(lock);
    None
}
