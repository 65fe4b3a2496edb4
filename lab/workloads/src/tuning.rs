//! Which constants a lock is measured with: what `ondeck[poll_max_ns=4000]` and `coreclr-monitor-before[no-spin]` mean.

mod flagship;
mod monitors;

pub use flagship::{TuningSlot, is_default, parse};

use crate::bench_lock::BenchLockVisitor;
use monitors::Spin;
use ondeck_lineage::ondeck::Tuning;

/// The locks that have tunings.
pub fn tuned_locks() -> Vec<&'static str> {
    [&[flagship::NAME], monitors::LOCKS].concat()
}

/// The locks that have this one.
pub fn locks_with(tuning: &str) -> Vec<&'static str> {
    tuned_locks().into_iter().filter(|name| knows(name, tuning)).collect()
}

/// Whether the lock called `name` has this tuning.
pub fn knows(name: &str, tuning: &str) -> bool {
    if name == flagship::NAME { parse(tuning).is_ok() } else { monitors::knows(name, tuning) }
}

/// Refuses a tuning that no lock has, in one line with what is accepted.
pub fn check(tuning: &str) -> Result<(), String> {
    if !locks_with(tuning).is_empty() {
        return Ok(());
    }
    let of_monitors = format!("{} (of {})", monitors::names().join(", "), monitors::LOCKS.join(", "));
    parse(tuning).map(|_| ()).map_err(|text| format!("{text}; or {of_monitors}"))
}

/// The constants that a lock is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constants {
    /// Of the flagship.
    Flagship(&'static Tuning),
    /// Of the monitor with this name.
    Monitor(&'static str, Spin),
}

impl Constants {
    /// Those that the lock called `name` has under the name `tuning`.
    ///
    /// # Errors
    /// In one line with what is accepted.
    pub(crate) fn parse(name: &'static str, tuning: &str) -> Result<Self, String> {
        if name == flagship::NAME {
            return parse(tuning).map(|tuning| Constants::Flagship(flagship::kept(tuning)));
        }
        if !monitors::LOCKS.contains(&name) {
            return Err(format!("{name} has no tunings; these locks have: {}", tuned_locks().join(", ")));
        }
        let spin = Spin::parse(tuning).map(|spin| Constants::Monitor(name, spin));
        spin.ok_or_else(|| format!("{name} has no tuning '{tuning}'; accepted: {}", monitors::names().join(", ")))
    }

    /// Does `visitor` with the lock that has these constants.
    pub(crate) fn visit<P: TuningSlot, V: BenchLockVisitor>(self, visitor: V) -> V::Output {
        match self {
            Constants::Flagship(tuning) => flagship::visit::<P, V>(tuning, visitor),
            Constants::Monitor(name, spin) => monitors::visit::<P, V>(name, spin, visitor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_lock_has_not_is_refused_with_what_it_has() {
        let refused = |name, tuning| Constants::parse(name, tuning).unwrap_err();
        assert!(refused("std", "low-latency").contains("std has no tunings; these locks have: ondeck"));
        assert!(refused("ondeck", "fast").contains("no tuning 'fast'"));
        let text = refused("coreclr-monitor-before", "low-latency");
        assert!(text.contains("accepted: default, lower-spin, no-spin"), "{text}");
    }

    #[test]
    fn a_tuning_belongs_to_the_locks_that_know_it() {
        assert_eq!(locks_with("low-latency+look_ns=0"), ["ondeck"]);
        assert_eq!(locks_with("no-spin"), monitors::LOCKS);
        assert_eq!(locks_with("default"), tuned_locks());
        assert_eq!((check("no-spin"), check("low-latency")), (Ok(()), Ok(())));
        let message = check("best").unwrap_err();
        assert!(message.contains("low-latency") && message.contains("lower-spin"), "{message}");
    }
}
