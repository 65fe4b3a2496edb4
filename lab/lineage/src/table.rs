//! The table of locks: one row for each, from which everything that goes through all of them comes: [`LOCKS`](crate::LOCKS),
//! the choice by name, what is measured and simulated, and the conformance tests.
//!
//! A row names file and type. What the lock promises is in the `ENTRY` of its file, and tests ask it there. Two lists are for
//! tests of what not every type can do; a conformance test compares them with the entries.

/// `for_each_lock!(each)` calls `each!(file, Type);` for each lock, in the order in which they are best read;
/// `for_each_lock!(each, timed)` for each [`RawTimedLock`](crate::RawTimedLock), and `for_each_lock!(each, reentrant)` for
/// each [`RawMonitor`](crate::RawMonitor).
#[macro_export]
macro_rules! for_each_lock {
    ($each:ident) => {
        $each!(tas, RawTas);
        $each!(ttas, RawTtas);
        $each!(ticket, RawTicket);
        $each!(mcs, RawMcs);
        $each!(go_tristate_futex, RawGoTristateFutex);
        $each!(go_tristate_sema, RawGoTristateSema);
        $each!(go_spinbit_futex, RawGoSpinbitFutex);
        $each!(go_spinbit, RawGoSpinbit);
        $each!(linux_mutex_base, RawLinuxMutexBase);
        $each!(linux_mutex_patch1, RawLinuxMutexPatch1);
        $each!(linux_mutex_patch2, RawLinuxMutexPatch2);
        $each!(linux_mutex_patch3, RawLinuxMutexPatch3);
        $each!(linux_mutex_mcs, RawLinuxMutexMcs);
        $each!(pthread_port, RawPthreadPort);
        $each!(pthread_adaptive_port, RawPthreadAdaptivePort);
        $each!(std_port, RawStdPort);
        $each!(coreclr_monitor_before, RawCoreclrMonitorBefore);
        $each!(coreclr_monitor, RawCoreclrMonitor);
        $each!(parking_lot_012_port, RawParkingLot012Port);
        $each!(parking_lot_port, RawParkingLotPort);
        $each!(ondeck, RawOndeck);
    };
    ($each:ident, timed) => {
        $each!(tas, RawTas);
        $each!(ttas, RawTtas);
        $each!(coreclr_monitor_before, RawCoreclrMonitorBefore);
        $each!(coreclr_monitor, RawCoreclrMonitor);
        $each!(ondeck, RawOndeck);
    };
    ($each:ident, reentrant) => {
        $each!(coreclr_monitor_before, RawCoreclrMonitorBefore);
        $each!(coreclr_monitor, RawCoreclrMonitor);
    };
}
