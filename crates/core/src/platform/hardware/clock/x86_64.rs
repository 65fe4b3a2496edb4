//! The time stamp counter, where it counts at a steady rate in every power state; else the monotonic clock.
//!
//! The kernel may distrust a counter that the processor calls steady (sockets out of step). We do not ask it: a
//! counter out of step makes a delay wrong for the thread that is being moved, and deadlines use the other clock.

use super::{CachePadded, ONE_PER_NS};
use crate::platform::hardware::os;
use crate::platform::hardware::processor::leaf;
use core::arch::x86_64::_rdtsc;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A nanosecond is about a tick, so every delay can be timed.
pub(super) const MIN_TICKS: u64 = 1;

/// How long the rate is measured. Both clocks together are read to within some 20 ns, so the error is about 0.1 %.
const CALIBRATION_NS: u64 = 20_000;
/// Some tenths of a second.
const MOST_TICKS: u64 = 1 << 30;
/// How many readings of both clocks the best is chosen from.
const READINGS: usize = 8;

const UNKNOWN: u8 = 0;
const COUNTER: u8 = 1;
const CLOCK: u8 = 2;

/// What ticks are. Asked once, since CPUID traps in a virtual machine (tens of microseconds); settled before the
/// first tick is given out, so that all ticks are of one kind. Threads that race to ask get the same answer.
static SOURCE: CachePadded<AtomicU8> = CachePadded(AtomicU8::new(UNKNOWN));

/// The counter.
#[inline(always)]
pub(in crate::platform::hardware) fn ticks() -> u64 {
    if SOURCE.0.load(Relaxed) == COUNTER { rdtsc() } else { other_ticks() }
}

/// The counter before it is known to be steady, or what stands in for it.
#[cold]
fn other_ticks() -> u64 {
    if source() == COUNTER { rdtsc() } else { os::now_ns() }
}

#[inline(always)]
fn rdtsc() -> u64 {
    // SAFETY: every x86-64 processor has RDTSC, and the systems we know let user space execute it.
    unsafe { _rdtsc() }
}

fn source() -> u8 {
    let mut source = SOURCE.0.load(Relaxed);
    if source == UNKNOWN {
        source = if is_steady() { COUNTER } else { CLOCK };
        SOURCE.0.store(source, Relaxed);
    }
    source
}

/// Whether the processor says that its counter is invariant: bit 8 of EDX in leaf 8000_0007, if there is that leaf.
fn is_steady() -> bool {
    const LAST_LEAF: u32 = 0x8000_0000;
    const POWER_LEAF: u32 = 0x8000_0007;
    leaf(LAST_LEAF).eax >= POWER_LEAF && leaf(POWER_LEAF).edx & (1 << 8) != 0
}

/// Measures the rate against the monotonic clock.
pub(super) fn measure_rate() -> u64 {
    if source() == CLOCK {
        return ONE_PER_NS;
    }
    let start = both_clocks();
    // Ended also where the clock stands still, as under a debugger that replays a run.
    while os::now_ns().wrapping_sub(start.ns) < CALIBRATION_NS && rdtsc().wrapping_sub(start.tick) < MOST_TICKS {
        super::pause();
    }
    let end = both_clocks();
    let elapsed = u128::from(end.tick.wrapping_sub(start.tick)) << 32;
    let rate = elapsed.checked_div(end.ns.wrapping_sub(start.ns).into());
    rate.and_then(|rate| u64::try_from(rate).ok()).unwrap_or(ONE_PER_NS)
}

/// One moment on both clocks.
struct Moment {
    ns: u64,
    tick: u64,
}

/// Reads both clocks at once, as nearly as can be had: of some readings of the clock between two of the counter, the
/// one with the least between them. One reading alone could be split by an interrupt or a preemption, and the rate
/// would be wrong by orders of magnitude until the process ends.
fn both_clocks() -> Moment {
    let mut best = Moment { ns: 0, tick: 0 };
    let mut best_gap = u64::MAX;
    for _ in 0..READINGS {
        let before = rdtsc();
        let ns = os::now_ns();
        let gap = rdtsc().wrapping_sub(before);
        if gap < best_gap {
            best_gap = gap;
            best = Moment { ns, tick: before.wrapping_add(gap / 2) };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_measurements_agree() {
        let (one, other) = (measure_rate(), measure_rate());
        assert!(one.abs_diff(other) < one / 50, "{one} and {other} differ by more than 2 %");
    }
}
