//! `readers`: threads that mostly read what few of them write, with the reader-writer locks of the libraries whose mutexes
//! the other workloads measure.
//!
//! Each operation takes a lock, one of some at random, to read, or once in so many to write. A reader looks at the number before
//! and after its work, so that a lock is found out that lets a writer in beside it.
//!
//! It runs on hardware only: the simulator has no reader-writer lock.

use super::spec::WorkloadSpec;
use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution, Hardware};
use crate::measure::{Job, Meter, measure};
use ondeck_report::row::Row;
use ondeck_sim::Random;
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

type Measure = fn(&WorkloadSpec, &Conditions) -> Result<Row, End>;

/// The reader-writer locks, by the names that the command line has for the mutexes beside them.
static LOCKS: [(&str, Measure); 5] = [
    ("ondeck", run_with::<ondeck::RwLock<AtomicU64>>),
    ("std", run_with::<std::sync::RwLock<AtomicU64>>),
    ("parking-lot", run_with::<parking_lot::RwLock<AtomicU64>>),
    ("parking-lot-012", run_with::<parking_lot_012::RwLock<AtomicU64>>),
    ("pthread", run_with::<PthreadLock>),
];

/// The names of those.
pub(super) fn names() -> Vec<&'static str> {
    LOCKS.iter().map(|(name, _)| *name).collect()
}

/// Measures the lock beside the mutex of that name, which is one of [`names`].
pub(super) fn run(spec: &WorkloadSpec, lock: &str, conditions: &Conditions) -> Result<Row, End> {
    LOCKS.iter().find(|(name, _)| *name == lock).expect("a lock with readers").1(spec, conditions)
}

/// A reader-writer lock around a number. It may be moved until it is first used.
pub(super) trait ReadWriteLock: Send + Sync + 'static {
    fn new() -> Self;
    fn read<R>(&self, section: impl FnOnce(&AtomicU64) -> R) -> R;
    fn write<R>(&self, section: impl FnOnce(&AtomicU64) -> R) -> R;
}

/// Libraries with an `RwLock`, whose guards come as each library gives them.
macro_rules! library {
    ($lock:ty, |$guard:ident| $come_by:expr) => {
        impl ReadWriteLock for $lock {
            fn new() -> Self {
                <$lock>::new(AtomicU64::new(0))
            }

            #[inline(always)]
            fn read<R>(&self, section: impl FnOnce(&AtomicU64) -> R) -> R {
                let $guard = <$lock>::read(self);
                section(&$come_by)
            }

            #[inline(always)]
            fn write<R>(&self, section: impl FnOnce(&AtomicU64) -> R) -> R {
                let $guard = <$lock>::write(self);
                section(&$come_by)
            }
        }
    };
}

library!(ondeck::RwLock<AtomicU64>, |guard| guard);
library!(std::sync::RwLock<AtomicU64>, |guard| guard.expect("sections do not panic"));
library!(parking_lot::RwLock<AtomicU64>, |guard| guard);
library!(parking_lot_012::RwLock<AtomicU64>, |guard| guard);

/// The C library's, of its default kind, which lets readers past writers that wait.
struct PthreadLock(UnsafeCell<libc::pthread_rwlock_t>, AtomicU64);

// SAFETY: plain bytes in its initial state, in which alone it may be moved; nothing in it belongs to a thread.
unsafe impl Send for PthreadLock {}
// SAFETY: the cell is only ever handed to the pthread functions, which are made to be called by many threads at once.
unsafe impl Sync for PthreadLock {}

impl PthreadLock {
    fn unlock(&self) {
        // SAFETY: the caller has locked it.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
    }
}

impl ReadWriteLock for PthreadLock {
    fn new() -> Self {
        PthreadLock(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER), AtomicU64::new(0))
    }

    #[inline(always)]
    fn read<R>(&self, section: impl FnOnce(&AtomicU64) -> R) -> R {
        // SAFETY: initialised, and in place from the first use on.
        unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
        let result = section(&self.1);
        self.unlock();
        result
    }

    #[inline(always)]
    fn write<R>(&self, section: impl FnOnce(&AtomicU64) -> R) -> R {
        // SAFETY: as in `read`.
        unsafe { libc::pthread_rwlock_wrlock(self.0.get()) };
        let result = section(&self.1);
        self.unlock();
        result
    }
}

struct Readers<L> {
    locks: Box<[CachePadded<L>]>,
    write_every: u32,
    cs: u32,
    out: u32,
}

/// What a thread keeps for itself.
struct Local {
    random: Random,
    n_written: u64,
    /// Reads during which somebody wrote.
    n_torn: u64,
}

impl<L: ReadWriteLock> Job for Readers<L> {
    type Local = Local;

    fn local(&self, me: u32) -> Local {
        Local { random: Hardware::random(me), n_written: 0, n_torn: 0 }
    }

    #[inline(always)]
    fn turn<M: Meter>(&self, local: &mut Local, meter: &mut M) {
        let at = if let [_] = *self.locks { 0 } else { local.random.below(self.locks.len() as u32) };
        let lock = &self.locks[at as usize].0;
        if self.write_every > 0 && local.random.below(self.write_every) == 0 {
            meter.around(|| {
                lock.write(|number| {
                    let count = number.load(Relaxed);
                    Hardware::spend(self.cs);
                    number.store(count + 1, Relaxed);
                });
            });
            local.n_written += 1;
        } else {
            local.n_torn += u64::from(meter.around(|| {
                lock.read(|number| {
                    let count = number.load(Relaxed);
                    Hardware::spend(self.cs);
                    number.load(Relaxed) != count
                })
            }));
        }
        Hardware::spend(self.out);
    }

    /// A torn read is an update that nobody finds.
    fn made(&self, local: &Local, _turns: u64) -> u64 {
        local.n_written + local.n_torn
    }

    fn updates(&self) -> u64 {
        self.locks.iter().map(|lock| lock.0.read(|number| number.load(Relaxed))).sum()
    }
}

pub(super) fn run_with<L: ReadWriteLock>(spec: &WorkloadSpec, conditions: &Conditions) -> Result<Row, End> {
    let WorkloadSpec { write_every, cs, out, .. } = *spec;
    let locks = (0..spec.locks).map(|_| CachePadded(L::new())).collect();
    measure::<Hardware, _>(conditions, Arc::new(Readers { locks, write_every, cs, out }), true)
}
