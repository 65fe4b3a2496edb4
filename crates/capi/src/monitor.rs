//! `ondeck_monitor_t`.

use crate::{OK, destroyed};
use libc::{EBUSY, EPERM, ETIMEDOUT};
use ondeck::WaitEnd;
use std::ffi::c_int;
use std::mem::{MaybeUninit, forget};
use std::time::Duration;

/// What `ondeck_monitor_t` is. C enters and leaves by separate calls: the guard of each level is forgotten.
#[repr(transparent)]
struct Monitor(ondeck::Monitor<()>);

impl Monitor {
    const fn new() -> Self {
        Monitor(ondeck::Monitor::new(()))
    }
}

const _: () = assert!(size_of::<Monitor>() == 32 && align_of::<Monitor>() == 8, "as the header has it");
// SAFETY: of the same size, and every pattern of bits is a number.
const WORDS: [u64; 4] = unsafe { std::mem::transmute::<Monitor, [u64; 4]>(Monitor::new()) };
const _: () = assert!(matches!(WORDS, [0, 0, 0, 0]), "ONDECK_MONITOR_INIT");

#[unsafe(no_mangle)]
extern "C" fn ondeck_monitor_init(monitor: &mut MaybeUninit<Monitor>) -> c_int {
    monitor.write(Monitor::new());
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_monitor_destroy(monitor: &Monitor) -> c_int {
    if monitor.0.is_entered() {
        return EBUSY;
    }
    let Some(entered) = monitor.0.try_enter() else { return EBUSY };
    drop(entered);
    destroyed((&raw const *monitor) as u64);
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_monitor_enter(monitor: &Monitor) -> c_int {
    forget(monitor.0.enter());
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_monitor_try_enter(monitor: &Monitor) -> c_int {
    monitor.0.try_enter().map_or(EBUSY, |entered| {
        forget(entered);
        OK
    })
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_monitor_enter_for(monitor: &Monitor, ns: u64) -> c_int {
    monitor.0.try_enter_for(Duration::from_nanos(ns)).map_or(ETIMEDOUT, |entered| {
        forget(entered);
        OK
    })
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_monitor_exit(monitor: &Monitor) -> c_int {
    if !monitor.0.is_entered() {
        return EPERM;
    }
    // SAFETY: the calling thread is inside, and every guard that there has been of this monitor is forgotten: those that
    // are not live in `ondeck_monitor_destroy` only.
    unsafe { monitor.0.force_exit() };
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_monitor_wait(monitor: &Monitor) -> c_int {
    monitor.0.wait().map_or(EPERM, |()| OK)
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_monitor_wait_for(monitor: &Monitor, ns: u64) -> c_int {
    match monitor.0.wait_for(Duration::from_nanos(ns)) {
        Ok(WaitEnd::Pulsed) => OK,
        Ok(WaitEnd::TimedOut) => ETIMEDOUT,
        Err(_) => EPERM,
    }
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_monitor_pulse(monitor: &Monitor) -> c_int {
    monitor.0.pulse().map_or(EPERM, |_| OK)
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_monitor_pulse_all(monitor: &Monitor) -> c_int {
    monitor.0.pulse_all().map_or(EPERM, |_| OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_is_told_so() {
        let monitor = Monitor::new();
        let answers = [
            ondeck_monitor_exit(&monitor),
            ondeck_monitor_wait(&monitor),
            ondeck_monitor_wait_for(&monitor, 1),
            ondeck_monitor_pulse(&monitor),
            ondeck_monitor_pulse_all(&monitor),
        ];
        assert_eq!(answers, [EPERM; 5]);
    }

    #[test]
    fn each_level_is_left_once() {
        for waits in [false, true] {
            let monitor = Monitor::new();
            for _ in 0..12 {
                assert_eq!(ondeck_monitor_enter(&monitor), OK);
            }
            if waits {
                assert_eq!(ondeck_monitor_wait_for(&monitor, 1), ETIMEDOUT);
            }
            assert_eq!(ondeck_monitor_destroy(&monitor), EBUSY);
            for _ in 0..12 {
                assert_eq!(ondeck_monitor_exit(&monitor), OK);
            }
            assert_eq!(ondeck_monitor_exit(&monitor), EPERM);
            assert_eq!(ondeck_monitor_destroy(&monitor), OK);
        }
    }
}
