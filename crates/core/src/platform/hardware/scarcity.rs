//! Whether other programs keep the cores busy, so that a thread that is woken may get none for a time slice.
//!
//! A thread that comes up late has waited for a core. If this process has used most of the cores' time itself, its own threads
//! make each other late, and to wake more of them is no help. Else other programs do.

use super::os;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A wake-up that takes so long had no core: on an idle machine it takes 50 us at most, from deep sleep too.
const LATE_NS: u64 = 200_000;
/// How often the system is asked what this process has used.
const ASK_NS: u64 = 10_000_000;
/// How long an answer holds: a few time slices.
const SCARCE_NS: u64 = 20_000_000;

/// What is known of this process. Threads that race to find it out have answers that are as good as each other's.
static KNOWN: Scarcity = Scarcity::new();

struct Scarcity {
    /// When the system was last asked, and what this process had used then.
    asked_ns: AtomicU64,
    used_ns: AtomicU64,
    /// Until when cores are scarce; 0 if they are not.
    until_ns: AtomicU64,
}

/// One load, if they have not been scarce.
#[inline]
pub(super) fn are_cores_scarce() -> bool {
    KNOWN.is_on(os::now_ns)
}

/// A thread that was woken at `woken_ns` is up. `cores`: how many may run us, `None` not to ask the system.
#[inline]
pub(super) fn note_wake(woken_ns: u64, cores: fn() -> Option<u32>) {
    let now_ns = os::now_ns();
    if now_ns.saturating_sub(woken_ns) >= LATE_NS {
        KNOWN.note_late(now_ns, cores, os::process_time_ns);
    }
}

impl Scarcity {
    const fn new() -> Self {
        Scarcity { asked_ns: AtomicU64::new(0), used_ns: AtomicU64::new(0), until_ns: AtomicU64::new(0) }
    }

    #[inline]
    fn is_on(&self, now_ns: impl FnOnce() -> u64) -> bool {
        let until_ns = self.until_ns.load(Relaxed);
        until_ns != 0 && self.is_still_on(until_ns, now_ns())
    }

    #[cold]
    fn is_still_on(&self, until_ns: u64, now_ns: u64) -> bool {
        let is_over = now_ns >= until_ns;
        if is_over {
            self.until_ns.store(0, Relaxed);
        }
        !is_over
    }

    #[cold]
    fn note_late(&self, now_ns: u64, cores: fn() -> Option<u32>, process_time_ns: impl FnOnce() -> Option<u64>) {
        let asked_ns = self.asked_ns.load(Relaxed);
        let span_ns = now_ns.saturating_sub(asked_ns);
        if span_ns < ASK_NS {
            return;
        }
        let Some(n_cores) = cores() else { return };
        if self.asked_ns.compare_exchange(asked_ns, now_ns, Relaxed, Relaxed).is_err() {
            return;
        }
        let Some(used_ns) = process_time_ns() else { return };
        let used_ns = used_ns.saturating_sub(self.used_ns.swap(used_ns, Relaxed));
        // Less than half of the cores' time.
        if used_ns.saturating_mul(2) < span_ns.saturating_mul(u64::from(n_cores)) {
            self.until_ns.store(now_ns + SCARCE_NS, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: fn() -> Option<u32> = || Some(2);

    /// On two cores, 100 ms after the last question: what the process has used of them decides.
    #[test]
    fn cores_are_scarce_if_others_use_them() {
        for (used_ns, is_scarce) in [(0, true), (99_000_000, true), (100_000_000, false), (200_000_000, false)] {
            let known = Scarcity::new();
            known.note_late(1_000_000_000, TWO, || Some(5_000_000_000));
            assert!(!known.is_on(|| 1_000_000_000), "five seconds of one: the process has had the cores");
            known.note_late(1_100_000_000, TWO, || Some(5_000_000_000 + used_ns));
            assert_eq!(known.is_on(|| 1_100_000_000), is_scarce, "{used_ns} ns");
            assert!(!known.is_on(|| 1_100_000_000 + SCARCE_NS));
            assert!(!known.is_on(|| unreachable!("what is over needs no clock")));
        }
    }

    #[test]
    fn the_system_is_asked_seldom_and_only_if_it_may_be() {
        let known = Scarcity::new();
        known.note_late(1_000_000_000, || None, || unreachable!("it must not be asked"));
        known.note_late(1_000_000_000, TWO, || None);
        known.note_late(1_000_000_000 + ASK_NS - 1, TWO, || unreachable!("too soon"));
        assert!(!known.is_on(|| 1_000_000_000), "nothing is known");
    }
}
