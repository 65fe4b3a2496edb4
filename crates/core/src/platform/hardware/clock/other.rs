//! Processors whose counter we do not know how to read: ticks are nanoseconds of the monotonic clock.

use super::ONE_PER_NS;
pub(in crate::platform::hardware) use crate::platform::hardware::os::now_ns as ticks;

/// A nanosecond is about a tick, so every delay can be timed.
pub(super) const MIN_TICKS: u64 = 1;

/// One tick a nanosecond, by definition.
pub(super) fn measure_rate() -> u64 {
    ONE_PER_NS
}
