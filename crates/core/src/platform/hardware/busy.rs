//! Who keeps the cores busy, so that a thread that is woken may get none for a time slice.
//!
//! A thread that comes up late has waited for a core. If this process has used most of the cores' time itself, its own threads
//! make each other late, and to wake more of them is no help. Else other programs do.

use super::os;
use crate::Busy;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// A wake-up that takes so long had no core: on an idle machine nine in ten of a pool's take 55 us or less (EPYC, 2 CPUs, X41).
const LATE_NS: u64 = 200_000;
/// How often the system is asked what this process has used, at most.
const ASK_NS: u64 = 10_000_000;
/// How long an answer holds. Each thread that comes up late renews it. With a few time slices, a thread had to be held up again
/// and again before it was known again (X41).
const HOLDS_NS: u64 = 500_000_000;
/// After so many wake-ups in a row that took less, the cores are free again. Beside three busy loops on two CPUs, about one in ten
/// is late (X41).
const PROMPT_MOST: u32 = 256;

const OURS: u64 = 1;

/// What is known of this process. Threads that race to find it out have answers that are as good as each other's.
static KNOWN: Lateness = Lateness::new();

struct Lateness {
    /// When the system was last asked, and what this process had used then.
    asked_ns: AtomicU64,
    used_ns: AtomicU64,
    /// Until when the answer holds, without its lowest bit, which is set if it is this process; 0 if nobody keeps them busy.
    until_ns: AtomicU64,
    /// How many have come up in time since the last that did not, while an answer holds.
    n_prompt: AtomicU32,
}

/// One load, if nobody came up late.
#[inline]
pub(super) fn busy() -> Busy {
    KNOWN.busy(os::now_ns)
}

/// A thread that was woken at `woken_ns` is up. `cores`: how many may run us, `None` not to ask the system.
#[inline]
pub(super) fn note_wake(woken_ns: u64, cores: fn() -> Option<u32>) {
    let now_ns = os::now_ns();
    if now_ns.saturating_sub(woken_ns) >= LATE_NS {
        KNOWN.note_late(now_ns, cores, os::process_time_ns);
    } else {
        KNOWN.note_prompt();
    }
}

impl Lateness {
    const fn new() -> Self {
        Lateness {
            asked_ns: AtomicU64::new(0),
            used_ns: AtomicU64::new(0),
            until_ns: AtomicU64::new(0),
            n_prompt: AtomicU32::new(0),
        }
    }

    #[inline]
    fn busy(&self, now_ns: impl FnOnce() -> u64) -> Busy {
        let until_ns = self.until_ns.load(Relaxed);
        if until_ns == 0 { Busy::Nobody } else { self.still_busy(until_ns, now_ns()) }
    }

    #[cold]
    fn still_busy(&self, until_ns: u64, now_ns: u64) -> Busy {
        if now_ns >= until_ns {
            self.until_ns.store(0, Relaxed);
            return Busy::Nobody;
        }
        if until_ns & OURS == 0 { Busy::Others } else { Busy::Ours }
    }

    #[inline]
    fn note_prompt(&self) {
        if self.until_ns.load(Relaxed) != 0 && self.n_prompt.fetch_add(1, Relaxed) >= PROMPT_MOST {
            self.until_ns.store(0, Relaxed);
        }
    }

    #[cold]
    fn note_late(&self, now_ns: u64, cores: fn() -> Option<u32>, process_time_ns: impl FnOnce() -> Option<u64>) {
        self.n_prompt.store(0, Relaxed);
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
        // Half of the cores' time, or more.
        let are_ours = used_ns.saturating_mul(2) >= span_ns.saturating_mul(u64::from(n_cores));
        let until_ns = now_ns + HOLDS_NS;
        self.until_ns.store(if are_ours { until_ns | OURS } else { until_ns & !OURS }, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: fn() -> Option<u32> = || Some(2);

    /// On two cores, 100 ms after the last question: what the process has used of them decides.
    #[test]
    fn who_has_had_half_of_the_cores_keeps_them_busy() {
        let others =
            [(0, Busy::Others), (99_000_000, Busy::Others), (101_000_000, Busy::Ours), (200_000_000, Busy::Ours)];
        for (used_ns, busy) in others {
            let known = Lateness::new();
            assert_eq!(known.busy(|| unreachable!("nobody was late")), Busy::Nobody);
            known.note_late(1_000_000_000, TWO, || Some(5_000_000_000));
            assert_eq!(known.busy(|| 1_000_000_000), Busy::Ours, "five seconds of one, on two cores");
            known.note_late(1_100_000_001, TWO, || Some(5_000_000_000 + used_ns));
            assert_eq!(known.busy(|| 1_100_000_000), busy, "{used_ns} ns");
            assert_eq!(known.busy(|| 1_100_000_001 + HOLDS_NS), Busy::Nobody);
            assert_eq!(known.busy(|| unreachable!("what is over needs no clock")), Busy::Nobody);
        }
    }

    #[test]
    fn what_is_known_ends_with_many_that_are_not_late() {
        let known = Lateness::new();
        known.note_late(1_000_000_000, TWO, || Some(5_000_000_000));
        for _ in 0..PROMPT_MOST {
            known.note_prompt();
        }
        assert_eq!(known.busy(|| 1_000_000_001), Busy::Ours);
        known.note_late(1_000_000_002, TWO, || unreachable!("too soon"));
        for _ in 0..PROMPT_MOST {
            known.note_prompt();
        }
        assert_eq!(known.busy(|| 1_000_000_003), Busy::Ours, "one was late in between");
        known.note_prompt();
        assert_eq!(known.busy(|| 1_000_000_004), Busy::Nobody);
    }

    #[test]
    fn the_system_is_asked_seldom_and_only_if_it_may_be() {
        let known = Lateness::new();
        known.note_late(1_000_000_000, || None, || unreachable!("it must not be asked"));
        known.note_late(1_000_000_000, TWO, || None);
        known.note_late(1_000_000_000 + ASK_NS - 1, TWO, || unreachable!("too soon"));
        assert_eq!(known.busy(|| 1_000_000_000), Busy::Nobody, "nothing is known");
    }
}
