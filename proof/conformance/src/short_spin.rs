//! Locks whose published spin budgets are far beyond what a model can search, with budgets of a turn or two.
//!
//! Test files of models import these names, which then hide those of `ondeck_lineage`.

use ondeck_lineage::{
    Defaults, TuningSource, coreclr_monitor, coreclr_monitor_before, parking_lot_012_port, parking_lot_port,
    pthread_adaptive_port, std_port,
};

/// The fewest turns that take every branch.
#[derive(Clone, Copy, Debug)]
pub struct ShortSpin;

/// Two pauses, of one and two, in each round, and one round on the fat form.
impl TuningSource<coreclr_monitor_before::Tuning> for ShortSpin {
    const TUNING: coreclr_monitor_before::Tuning =
        coreclr_monitor_before::Tuning { first_pauses: 1, factor: 2, most_pauses_per_core: 1, rounds: 1 };
}

/// Two turns, and relief as soon as the clock of a model shows another millisecond.
impl TuningSource<coreclr_monitor::Tuning> for ShortSpin {
    const TUNING: coreclr_monitor::Tuning = coreclr_monitor::Tuning {
        spins: 2,
        starved_after_ms: 1,
        ..<Defaults as TuningSource<coreclr_monitor::Tuning>>::TUNING
    };
}

/// Two looks.
impl TuningSource<std_port::Tuning> for ShortSpin {
    const TUNING: std_port::Tuning = std_port::Tuning { pauses: 1 };
}

/// Two peeks: a pause, and one or two that are within the budget.
impl TuningSource<pthread_adaptive_port::Tuning> for ShortSpin {
    const TUNING: pthread_adaptive_port::Tuning =
        pthread_adaptive_port::Tuning { most_pauses: 5, more_pauses: 5, most_backoff: 2 };
}

/// One round of a pause, as the yields of spinners hide schedules from models.
const ONE_PAUSE: parking_lot_port::Spins = parking_lot_port::Spins { first_pauses: 1, pause_rounds: 1, yields: 0 };

/// Relief is due at the first slow release, and then where a clock leaps.
impl TuningSource<parking_lot_012_port::Tuning> for ShortSpin {
    const TUNING: parking_lot_012_port::Tuning =
        parking_lot_012_port::Tuning { spins: ONE_PAUSE, longest_fair_gap_ns: 1_000 };
}

impl TuningSource<parking_lot_port::Tuning> for ShortSpin {
    const TUNING: parking_lot_port::Tuning = parking_lot_port::Tuning { spins: ONE_PAUSE };
}

/// The monitor after the change, spinning briefly.
pub type RawCoreclrMonitor<P> = ondeck_lineage::RawCoreclrMonitor<P, ShortSpin>;

/// The monitor before the change, spinning briefly.
pub type RawCoreclrMonitorBefore<P> = ondeck_lineage::RawCoreclrMonitorBefore<P, ShortSpin>;

/// The mutex of Rust's standard library, spinning briefly.
pub type RawStdPort<P> = ondeck_lineage::RawStdPort<P, ShortSpin>;

/// The adaptive mutex of glibc, spinning briefly.
pub type RawPthreadAdaptivePort<P> = ondeck_lineage::RawPthreadAdaptivePort<P, ShortSpin>;
/// The mutex of parking_lot 0.12, spinning briefly.
pub type RawParkingLot012Port<P> = ondeck_lineage::RawParkingLot012Port<P, ShortSpin>;

/// The mutex of parking_lot 0.13, spinning briefly.
pub type RawParkingLotPort<P> = ondeck_lineage::RawParkingLotPort<P, ShortSpin>;
