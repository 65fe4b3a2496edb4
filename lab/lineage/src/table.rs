//! The table of locks: one row for each, from which everything that goes through all of them comes: [`LOCKS`](crate::LOCKS),
//! the choice by name, what is measured and simulated, and the conformance tests.
//!
//! A row names file and type, and what the lock can do; the rest is in the `ENTRY` of its file, which a conformance test
//! compares. Words: `timed`, `sleeps`, `reentrant` and `freeable` as in [`Promises`](crate::Promises); `ordered` if waiters
//! get in by their order at the doorway. One that is `reentrant` is a [`RawMonitor`](crate::RawMonitor).

/// `for_each_lock!(each)` calls `each!(file, Type);` for each lock, in the order in which they are best read;
/// `for_each_lock!(each, timed, freeable)` for those whose rows have these words. `not_reentrant` stands for the lack of one;
/// it comes last.
#[macro_export]
macro_rules! for_each_lock {
    ($each:ident $(, $word:ident)*) => {
        $crate::row!($each [$($word)*] tas, RawTas: timed freeable);
        $crate::row!($each [$($word)*] ttas, RawTtas: timed freeable);
        $crate::row!($each [$($word)*] ticket, RawTicket: freeable ordered);
        $crate::row!($each [$($word)*] mcs, RawMcs: freeable ordered);
        $crate::row!($each [$($word)*] go_tristate_futex, RawGoTristateFutex: sleeps freeable);
        $crate::row!($each [$($word)*] go_tristate_sema, RawGoTristateSema: sleeps freeable);
        $crate::row!($each [$($word)*] go_spinbit_futex, RawGoSpinbitFutex: sleeps freeable);
        $crate::row!($each [$($word)*] go_spinbit, RawGoSpinbit: sleeps);
        $crate::row!($each [$($word)*] linux_mutex_base, RawLinuxMutexBase: sleeps);
        $crate::row!($each [$($word)*] linux_mutex_patch1, RawLinuxMutexPatch1: sleeps);
        $crate::row!($each [$($word)*] linux_mutex_patch2, RawLinuxMutexPatch2: sleeps);
        $crate::row!($each [$($word)*] linux_mutex_patch3, RawLinuxMutexPatch3: sleeps);
        $crate::row!($each [$($word)*] linux_mutex_mcs, RawLinuxMutexMcs: sleeps);
        $crate::row!($each [$($word)*] pthread_port, RawPthreadPort: sleeps freeable);
        $crate::row!($each [$($word)*] pthread_adaptive_port, RawPthreadAdaptivePort: sleeps freeable);
        $crate::row!($each [$($word)*] std_port, RawStdPort: sleeps freeable);
        $crate::row!($each [$($word)*] coreclr_monitor_before, RawCoreclrMonitorBefore: timed sleeps reentrant);
        $crate::row!($each [$($word)*] coreclr_monitor, RawCoreclrMonitor: timed sleeps reentrant);
        $crate::row!($each [$($word)*] parking_lot_012_port, RawParkingLot012Port: sleeps);
        $crate::row!($each [$($word)*] parking_lot_port, RawParkingLotPort: sleeps);
        $crate::row!($each [$($word)*] ondeck, RawOndeck: timed sleeps freeable);
    };
}

/// Calls `each!(file, Type);` if the row has all the words in the brackets. A macro cannot compare two words, so there are
/// two arms for each: it is the next of the row, or another one is.
#[doc(hidden)]
#[macro_export]
macro_rules! row {
    ($each:ident [] $file:ident, $lock:ident: $($_has:ident)*) => { $each!($file, $lock); };
    ($each:ident [timed $($word:ident)*] $file:ident, $lock:ident: timed $($has:ident)*) => {
        $crate::row!($each [$($word)*] $file, $lock: $($has)*);
    };
    ($each:ident [sleeps $($word:ident)*] $file:ident, $lock:ident: sleeps $($has:ident)*) => {
        $crate::row!($each [$($word)*] $file, $lock: $($has)*);
    };
    ($each:ident [reentrant $($word:ident)*] $file:ident, $lock:ident: reentrant $($has:ident)*) => {
        $crate::row!($each [$($word)*] $file, $lock: $($has)*);
    };
    ($each:ident [freeable $($word:ident)*] $file:ident, $lock:ident: freeable $($has:ident)*) => {
        $crate::row!($each [$($word)*] $file, $lock: $($has)*);
    };
    ($each:ident [ordered $($word:ident)*] $file:ident, $lock:ident: ordered $($has:ident)*) => {
        $crate::row!($each [$($word)*] $file, $lock: $($has)*);
    };
    ($each:ident [not_reentrant] $file:ident, $lock:ident: reentrant $($_has:ident)*) => {};
    ($each:ident [not_reentrant] $file:ident, $lock:ident:) => { $each!($file, $lock); };
    // Words are asked for in the order in which rows have them: timed, sleeps, reentrant, freeable, ordered.
    ($each:ident [$($word:ident)+] $file:ident, $lock:ident: $_other:ident $($has:ident)*) => {
        $crate::row!($each [$($word)+] $file, $lock: $($has)*);
    };
    ($each:ident [$($word:ident)+] $file:ident, $lock:ident:) => {};
}
