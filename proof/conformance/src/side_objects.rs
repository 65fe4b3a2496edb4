//! Side objects for monitors under test: as few as a test wants, so that they are used again at once.

use crate::harness::Harness;
use core::sync::atomic::Ordering::AcqRel;
use ondeck_core::{Atomic, Hardware, Platform};
use ondeck_lineage::monitor::{Pool, RawOndeckMonitor, Side, Tuning};
use ondeck_lineage::{Defaults, TuningSource};
#[cfg(feature = "models")]
use std::cell::Cell;
use std::sync::{Mutex, OnceLock};

/// The pool of the tests, in each harness one of its own.
#[derive(Debug)]
pub struct SmallPool;

/// A harness in which monitors can be tested.
pub trait MonitorHarness: Harness<Platform: Sized> {
    /// The monitor of this harness, with the constants `C`.
    type Monitor<C: TuningSource<Tuning>>: MonitorUnderTest<Platform = Self::Platform>;

    /// Begins a test or an execution with `n` side objects.
    fn begin(n: usize);
}

/// What the properties use of a monitor, whatever its pool and constants.
pub trait MonitorUnderTest: ondeck_lineage::RawTimedLock {
    /// [`RawOndeckMonitor::wait`].
    fn wait(&self, deadline_ns: Option<u64>) -> Result<bool, ondeck_lineage::NotHeld>;
    /// [`RawOndeckMonitor::pulse`].
    fn pulse(&self) -> Result<bool, ondeck_lineage::NotHeld>;
    /// [`RawOndeckMonitor::pulse_all`].
    fn pulse_all(&self) -> Result<usize, ondeck_lineage::NotHeld>;
    /// [`RawOndeckMonitor::is_entered`].
    fn is_entered(&self) -> bool;
    /// [`RawOndeckMonitor::is_inflated`].
    fn is_inflated(&self) -> bool;
}

impl<P: Platform, S: Pool<P>, C: TuningSource<Tuning>> MonitorUnderTest for RawOndeckMonitor<P, S, C> {
    fn wait(&self, deadline_ns: Option<u64>) -> Result<bool, ondeck_lineage::NotHeld> {
        RawOndeckMonitor::wait(self, deadline_ns)
    }
    fn pulse(&self) -> Result<bool, ondeck_lineage::NotHeld> {
        RawOndeckMonitor::pulse(self)
    }
    fn pulse_all(&self) -> Result<usize, ondeck_lineage::NotHeld> {
        RawOndeckMonitor::pulse_all(self)
    }
    fn is_entered(&self) -> bool {
        RawOndeckMonitor::is_entered(self)
    }
    fn is_inflated(&self) -> bool {
        RawOndeckMonitor::is_inflated(self)
    }
}

/// Deflates as soon as nobody waits.
#[derive(Debug)]
pub struct EagerDeflation;

impl TuningSource<Tuning> for EagerDeflation {
    const TUNING: Tuning = Tuning { calm_exits: 1, look_ns: 200, ..<Defaults as TuningSource<Tuning>>::TUNING };
}

/// The same, and no thread has a number that fits into the word.
#[derive(Debug)]
pub struct NoThinOwners;

impl TuningSource<Tuning> for NoThinOwners {
    const TUNING: Tuning = Tuning { most_thin_owner: 0, ..EagerDeflation::TUNING };
}

/// The objects and which of them are free; the last one given back is the first to be handed out.
struct Store<P: Platform> {
    sides: Vec<Side<P>>,
    free: Mutex<Vec<u32>>,
    /// The order that a pool owes its users.
    order: P::U32,
}

impl<P: Platform> Store<P> {
    fn new(n: usize) -> Self {
        let sides = (0..n).map(|_| Side::new()).collect();
        Store { sides, free: Mutex::new((0..n as u32).rev().collect()), order: P::U32::new(0) }
    }

    fn take(&self) -> Option<u32> {
        let index = self.free.lock().expect("nobody panics while holding it").pop();
        self.order.fetch_add(1, AcqRel);
        index
    }

    fn give_back(&self, index: u32) {
        self.order.fetch_add(1, AcqRel);
        let mut free = self.free.lock().expect("nobody panics while holding it");
        assert!(!free.contains(&index), "given back twice");
        free.push(index);
    }
}

/// A modelled harness: its threads are coroutines of one real thread, and each execution has a store of its own, which is
/// leaked, since a pool's objects live for ever.
macro_rules! modelled {
    ($harness:ty, $platform:ty, $store:ident) => {
        #[cfg(feature = "models")]
        thread_local! {
            static $store: Cell<Option<&'static Store<$platform>>> = const { Cell::new(None) };
        }

        #[cfg(feature = "models")]
        impl Pool<$platform> for SmallPool {
            fn side(index: u32) -> &'static Side<$platform> {
                &$store.get().expect("begun").sides[index as usize]
            }
            fn take() -> Option<u32> {
                $store.get().expect("begun").take()
            }
            fn give_back(index: u32) {
                $store.get().expect("begun").give_back(index);
            }
        }

        #[cfg(feature = "models")]
        impl MonitorHarness for $harness {
            type Monitor<C: TuningSource<Tuning>> = RawOndeckMonitor<$platform, SmallPool, C>;

            fn begin(n: usize) {
                $store.set(Some(Box::leak(Box::new(Store::new(n)))));
            }
        }
    };
}

modelled!(crate::LoomHarness, crate::LoomPlatform, LOOM);
modelled!(crate::ScheduleHarness, crate::SchedulePlatform, SCHEDULE);

/// Shared by all tests that run at the same time.
static HARDWARE: OnceLock<Store<Hardware>> = OnceLock::new();

fn hardware() -> &'static Store<Hardware> {
    HARDWARE.get_or_init(|| Store::new(64))
}

impl Pool<Hardware> for SmallPool {
    fn side(index: u32) -> &'static Side<Hardware> {
        &hardware().sides[index as usize]
    }
    fn take() -> Option<u32> {
        hardware().take()
    }
    fn give_back(index: u32) {
        hardware().give_back(index);
    }
}

impl MonitorHarness for crate::HardwareHarness {
    type Monitor<C: TuningSource<Tuning>> = RawOndeckMonitor<Hardware, SmallPool, C>;

    fn begin(_n: usize) {}
}
