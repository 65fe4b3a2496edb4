//! How many of our threads can run at once, and whether spinning is allowed: the cache in front of the system's answer.

use super::{clock, os};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// How old an answer may grow. Affinity and quota change rarely, and asking costs 40 to 90 microseconds on Linux (2-CPU
/// virtual machine).
const REFRESH_NS: u64 = 1_000_000_000;

/// The last answer; zero before the first. Any thread may store it, and a late one is as good as another.
static PARALLELISM: AtomicU32 = AtomicU32::new(0);
/// When the last answer was asked for, in ticks.
static ASKED_TICKS: AtomicU64 = AtomicU64::new(0);

/// Cores that may run us, at least 1. Costs one look at the tick counter while the answer is fresh.
#[inline]
pub(super) fn effective() -> u32 {
    let (answer, asked, now) = (PARALLELISM.load(Relaxed), ASKED_TICKS.load(Relaxed), clock::ticks());
    // The absolute difference: the counter of this core may be a little behind that of the core that asked.
    if answer != 0 && now.abs_diff(asked) < clock::ns_to_ticks(REFRESH_NS) {
        return answer;
    }
    refresh(answer, asked, now)
}

/// Asks again, unless another thread is doing so and there is an old answer to go on with.
#[cold]
fn refresh(answer: u32, asked: u64, now: u64) -> u32 {
    let is_ours = ASKED_TICKS.compare_exchange(asked, now, Relaxed, Relaxed).is_ok();
    if !is_ours && answer != 0 {
        return answer;
    }
    let fresh = os::parallelism().max(1);
    PARALLELISM.store(fresh, Relaxed);
    fresh
}

/// True unless one core is all we have, or `ONDECK_SPIN=0` is in the environment.
#[inline]
pub(super) fn may_spin() -> bool {
    !is_switched_off() && effective() > 1
}

/// Whether the user has switched spinning off. The environment is read once: threads that race to do it store the
/// same answer.
#[inline]
fn is_switched_off() -> bool {
    const UNKNOWN: u8 = 0;
    const ALLOWED: u8 = 1;
    const OFF: u8 = 2;
    static SPINNING: AtomicU8 = AtomicU8::new(UNKNOWN);

    let mut spinning = SPINNING.load(Relaxed);
    if spinning == UNKNOWN {
        spinning = if os::environment_is(c"ONDECK_SPIN", c"0") { OFF } else { ALLOWED };
        SPINNING.store(spinning, Relaxed);
    }
    spinning == OFF
}
