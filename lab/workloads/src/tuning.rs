//! Which constants a lock is measured with: what `ondeck[poll_max_ns=4000]` and `coreclr-monitor-before[no-spin]` mean.

mod flagship;
mod monitors;

pub(crate) use flagship::TuningSlot;
use flagship::parse;

use crate::bench_lock::BenchLockVisitor;
use monitors::Spin;
use ondeck_lineage::ondeck::Tuning;

/// The locks that have tunings.
fn tuned_locks() -> Vec<&'static str> {
    [&[flagship::NAME], monitors::LOCKS].concat()
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
}
