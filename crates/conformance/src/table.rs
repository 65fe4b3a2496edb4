//! Which locks there are to test, and which of them claim what: `tests/api.rs` holds these lists against the table in
//! `ondeck-locks`.
//!
//! The lists are macros because a test function per lock and property must exist by name. Each calls the given macro
//! as `register!(module_name, RawType);`, the type being generic over its platform.

/// Every lock.
#[macro_export]
macro_rules! for_each_lock {
    ($register:ident) => {
        $register!(tas, RawTas);
        $register!(ttas, RawTtas);
        $register!(ticket, RawTicket);
        $register!(mcs, RawMcs);
        $register!(go_tristate_futex, RawGoTristateFutex);
        $register!(go_tristate_sema, RawGoTristateSema);
        $register!(go_spinbit_futex, RawGoSpinbitFutex);
        $register!(go_spinbit, RawGoSpinbit);
        $register!(linux_mutex_base, RawLinuxMutexBase);
        $register!(linux_mutex_patch1, RawLinuxMutexPatch1);
        $register!(linux_mutex_patch2, RawLinuxMutexPatch2);
        $register!(linux_mutex_patch3, RawLinuxMutexPatch3);
        $register!(linux_mutex_mcs, RawLinuxMutexMcs);
        $register!(coreclr_monitor_before, RawCoreclrMonitorBefore);
        $register!(coreclr_monitor, RawCoreclrMonitor);
        $register!(ondeck, RawOndeck);
    };
}

/// Locks whose waiters sleep.
#[macro_export]
macro_rules! for_each_sleeping_lock {
    ($register:ident) => {
        $register!(go_tristate_futex, RawGoTristateFutex);
        $register!(go_tristate_sema, RawGoTristateSema);
        $register!(go_spinbit_futex, RawGoSpinbitFutex);
        $register!(go_spinbit, RawGoSpinbit);
        $register!(linux_mutex_base, RawLinuxMutexBase);
        $register!(linux_mutex_patch1, RawLinuxMutexPatch1);
        $register!(linux_mutex_patch2, RawLinuxMutexPatch2);
        $register!(linux_mutex_patch3, RawLinuxMutexPatch3);
        $register!(linux_mutex_mcs, RawLinuxMutexMcs);
        $register!(coreclr_monitor_before, RawCoreclrMonitorBefore);
        $register!(coreclr_monitor, RawCoreclrMonitor);
        $register!(ondeck, RawOndeck);
    };
}

/// Locks whose acquisition can be given up.
#[macro_export]
macro_rules! for_each_timed_lock {
    ($register:ident) => {
        $register!(tas, RawTas);
        $register!(ttas, RawTtas);
        $register!(coreclr_monitor_before, RawCoreclrMonitorBefore);
        $register!(coreclr_monitor, RawCoreclrMonitor);
        $register!(ondeck, RawOndeck);
    };
}

/// Locks that nothing touches after the releasing write.
#[macro_export]
macro_rules! for_each_freeable_lock {
    ($register:ident) => {
        $register!(tas, RawTas);
        $register!(ttas, RawTtas);
        $register!(ticket, RawTicket);
        $register!(mcs, RawMcs);
        $register!(go_tristate_futex, RawGoTristateFutex);
        $register!(go_tristate_sema, RawGoTristateSema);
        $register!(go_spinbit_futex, RawGoSpinbitFutex);
        $register!(ondeck, RawOndeck);
    };
}

/// Locks that are both: those whose waiters may come and go around a free.
#[macro_export]
macro_rules! for_each_timed_freeable_lock {
    ($register:ident) => {
        $register!(tas, RawTas);
        $register!(ttas, RawTtas);
        $register!(ondeck, RawOndeck);
    };
}

/// Locks that let waiters in by their order at the doorway.
#[macro_export]
macro_rules! for_each_ordered_lock {
    ($register:ident) => {
        $register!(ticket, RawTicket);
        $register!(mcs, RawMcs);
    };
}

/// Locks that their holder may acquire again. They are monitors too: [`RawMonitor`](ondeck_locks::RawMonitor).
#[macro_export]
macro_rules! for_each_reentrant_lock {
    ($register:ident) => {
        $register!(coreclr_monitor_before, RawCoreclrMonitorBefore);
        $register!(coreclr_monitor, RawCoreclrMonitor);
    };
}
