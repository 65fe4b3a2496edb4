//! A counter that is cheap enough to read on every poll, and delays in nanoseconds made from it.
//!
//! PAUSE takes from 10 to 140 cycles depending on the model, so a delay is never a count of pauses: it is a loop of
//! pauses until the counter has advanced far enough. One file per processor reads the counter (`ticks`), finds its
//! rate (`measure_rate`) and says below how many ticks it is too coarse to time a delay (`MIN_TICKS`).

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod aarch64;
#[cfg(all(target_arch = "aarch64", not(miri)))]
use aarch64 as counter;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use x86_64 as counter;

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod other;
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use other as counter;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(super) use counter::ticks;

/// The rate of a counter that ticks once a nanosecond: rates are ticks per nanosecond in 32.32 fixed point.
#[cfg(any(miri, not(target_arch = "aarch64")))]
const ONE_PER_NS: u64 = 1 << 32;

/// The least that a pause of the processors we know takes; see [`pause_ns`].
const MIN_PAUSE_NS: u32 = 10;

/// The counter's rate; zero until measured. Threads that race to measure it find the same within the error of the
/// measurement and store a whole value each, so either may stand.
static RATE: CachePadded<AtomicU64> = CachePadded(AtomicU64::new(0));

/// Keeps what every poll reads away from the variables of others: one that is written often would slow each poll down.
#[repr(align(128))]
pub(super) struct CachePadded<T>(pub(super) T);

/// How many ticks pass in `ns` nanoseconds, at most `u64::MAX`: a load, a multiplication and a shift.
#[inline]
pub(super) fn ns_to_ticks(ns: u64) -> u64 {
    let rate = match RATE.0.load(Relaxed) {
        0 => find_rate(),
        rate => rate,
    };
    u64::try_from((u128::from(ns) * u128::from(rate)) >> 32).unwrap_or(u64::MAX)
}

#[cold]
fn find_rate() -> u64 {
    // Zero means unknown, so a clock that stands still is given the slowest rate there is.
    let rate = counter::measure_rate().max(1);
    RATE.0.store(rate, Relaxed);
    rate
}

/// Spends `ns` nanoseconds in pauses, and at most one pause more.
///
/// A counter that ticks too seldom for the delay cannot time it; pauses are counted then, each taken for the shortest
/// known, so that the delay may be up to twice what was asked, but not less. A thread that is moved to a core whose
/// counter is behind comes back early.
#[inline]
pub(super) fn pause_ns(ns: u32) {
    let start = ticks();
    // One more than the conversion says: `start` may lie anywhere inside its tick.
    let wanted = ns_to_ticks(u64::from(ns)).saturating_add(1);
    if wanted < counter::MIN_TICKS {
        return (0..ns.div_ceil(MIN_PAUSE_NS)).for_each(|_| pause());
    }
    loop {
        pause();
        if ticks().wrapping_sub(start) >= wanted {
            return;
        }
    }
}

/// One hint that this is a spin loop: PAUSE on x86; on aarch64 an ISB, which takes some 10 ns, where YIELD takes none.
#[inline(always)]
pub(super) fn pause() {
    core::hint::spin_loop();
}
