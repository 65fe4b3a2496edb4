//! The processor's own counter, and delays in nanoseconds made from it.
//!
//! PAUSE takes from 10 to 140 cycles depending on the model, so a delay is never a count of pauses: it is a loop of
//! pauses until the counter has advanced far enough. The counter's rate is measured once, on first use, against the
//! monotonic clock; that costs [`CALIBRATION_NS`] and neither allocates nor takes a lock.

use super::os;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How long the rate of the counter is measured: reading both clocks takes some 50 ns, so the error is below 0.3 %.
#[cfg(not(target_arch = "aarch64"))]
const CALIBRATION_NS: u64 = 20_000;

/// Ticks per nanosecond in 32.32 fixed point; zero until measured. Threads that race to measure store the same value
/// within the error, so either may stand.
static RATE: AtomicU64 = AtomicU64::new(0);

/// The counter. Falls back to the monotonic clock where the processor has none that counts at a steady rate.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(super) fn ticks() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 processor, and Linux, macOS and Windows let user space execute it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The counter: the generic timer's virtual count, which every operating system we know lets user space read.
#[inline(always)]
#[cfg(target_arch = "aarch64")]
pub(super) fn ticks() -> u64 {
    let count: u64;
    // SAFETY: reads a register, touches neither memory nor flags.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags)) };
    count
}

/// The counter: the monotonic clock itself.
#[inline]
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn ticks() -> u64 {
    os::now_ns()
}

/// How many ticks pass in `ns` nanoseconds.
#[inline]
pub(super) fn ns_to_ticks(ns: u64) -> u64 {
    ((u128::from(ns) * u128::from(rate())) >> 32) as u64
}

/// Spends about `ns` nanoseconds in pauses. The counter of some aarch64 machines ticks every 40 ns only; there a
/// delay is rounded up to whole ticks.
#[inline]
pub(super) fn pause_ns(ns: u32) {
    let start = ticks();
    let wanted = ns_to_ticks(u64::from(ns)).max(1);
    loop {
        pause();
        if ticks().wrapping_sub(start) >= wanted {
            return;
        }
    }
}

/// One hint that this is a spin loop. On aarch64 `spin_loop` is an ISB, which waits; YIELD would be a no-op there.
#[inline(always)]
fn pause() {
    core::hint::spin_loop();
}

#[inline]
fn rate() -> u64 {
    match RATE.load(Relaxed) {
        0 => measure_rate(),
        rate => rate,
    }
}

/// Reads the rate from the register that states it.
#[cold]
#[cfg(target_arch = "aarch64")]
fn measure_rate() -> u64 {
    let hz: u64;
    // SAFETY: reads a register, touches neither memory nor flags.
    unsafe { core::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack, preserves_flags)) };
    let rate = ((u128::from(hz) << 32) / 1_000_000_000) as u64;
    RATE.store(rate.max(1), Relaxed);
    rate.max(1)
}

/// Measures the rate against the monotonic clock.
#[cold]
#[cfg(not(target_arch = "aarch64"))]
fn measure_rate() -> u64 {
    let (ns_start, tick_start) = (os::now_ns(), ticks());
    let (mut ns, mut tick) = (ns_start, tick_start);
    while ns.wrapping_sub(ns_start) < CALIBRATION_NS {
        core::hint::spin_loop();
        (ns, tick) = (os::now_ns(), ticks());
    }
    let elapsed = u128::from(tick.wrapping_sub(tick_start));
    let rate = ((elapsed << 32) / u128::from(ns - ns_start)) as u64;
    RATE.store(rate.max(1), Relaxed);
    rate.max(1)
}
