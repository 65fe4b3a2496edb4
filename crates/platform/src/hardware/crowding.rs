//! Whether threads outnumber the cores: what yields have shown.

use super::clock::{self, OwnLine};
use super::os;
use crate::{CROWDED_FOR_NS, LONG_YIELD_NS};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// When a yield was long for the last time, in ticks; 0 before that. Any thread may store it, and a late one is as good as
/// another.
static LONG_AT: OwnLine<AtomicU64> = OwnLine(AtomicU64::new(0));

/// Yields, and takes note if another thread has run.
pub(super) fn yield_now() {
    let before = clock::ticks();
    os::yield_now();
    let after = clock::ticks();
    if after.saturating_sub(before) > clock::ns_to_ticks(LONG_YIELD_NS) {
        LONG_AT.0.store(after, Relaxed);
    }
}

/// Whether that was so a moment ago. By the absolute difference, as counters of two cores may disagree a little.
pub(super) fn is_crowded() -> bool {
    let at = LONG_AT.0.load(Relaxed);
    at != 0 && clock::ticks().abs_diff(at) < clock::ns_to_ticks(CROWDED_FOR_NS)
}
