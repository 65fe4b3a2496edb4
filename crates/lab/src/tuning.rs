//! Which constants a lock is measured with: what `ondeck[poll_max_ns=4000]` and `coreclr-monitor-before[no-spin]` mean.

mod flagship;
mod monitors;

pub use flagship::{ForAll, PerRun, Place, parse};

use crate::lock::{Ground, VisitLock};

/// Name and tuning of a lock spelled `NAME` or `NAME[TUNING]`.
pub fn split(lock: &str) -> (&str, Option<&str>) {
    match lock.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((name, tuning)) => (name, Some(tuning)),
        None => (lock, None),
    }
}

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

/// Whether it names the constants that locks have anyway.
pub fn is_default(tuning: &str) -> bool {
    flagship::is_default(tuning)
}

/// Refuses a tuning that no lock has, in one line with what is accepted.
pub fn check(tuning: &str) -> Result<(), String> {
    if !locks_with(tuning).is_empty() {
        return Ok(());
    }
    let of_monitors = format!("{} (of {})", monitors::TUNINGS.join(", "), monitors::LOCKS.join(", "));
    parse(tuning).map(|_| ()).map_err(|text| format!("{text}; or {of_monitors}"))
}

/// What is wrong with asking for the lock called `name` with `tuning`, in one line.
pub fn fault(name: &str, tuning: &str) -> Option<String> {
    match name {
        flagship::NAME => flagship::fault(tuning),
        _ if monitors::knows(name, tuning) => None,
        _ if monitors::LOCKS.contains(&name) => {
            Some(format!("{name} has no tuning '{tuning}'; accepted: {}", monitors::TUNINGS.join(", ")))
        }
        _ => Some(format!("{name} has no tunings; these locks have: {}", tuned_locks().join(", "))),
    }
}

/// Does `visitor` with the lock called `name` with `tuning`; `None` where [`fault`] says why.
pub(crate) fn with_tuning<G: Ground, V: VisitLock>(name: &str, tuning: &str, visitor: V) -> Option<V::Out> {
    match name {
        flagship::NAME => flagship::with_tuning::<G, V>(tuning, visitor),
        _ => monitors::with_tuning::<G, V>(name, tuning, visitor),
    }
}

/// The tuning that a lock is visited with if none is asked for, of those that are more than the table of the family says:
/// it does not know of their larger form.
pub(crate) fn own_default(name: &str) -> Option<&'static str> {
    monitors::LOCKS.contains(&name).then_some(monitors::TUNINGS[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_of_a_tuned_lock() {
        assert_eq!(split("ondeck"), ("ondeck", None));
        assert_eq!(split("ondeck[throughput]"), ("ondeck", Some("throughput")));
        assert_eq!(split("ondeck[]"), ("ondeck", Some("")));
        assert_eq!(split("ondeck[throughput"), ("ondeck[throughput", None));
    }

    #[test]
    fn what_cannot_be_measured_has_a_fault() {
        assert_eq!(fault("ondeck", "throughput"), None);
        assert_eq!(fault("coreclr-monitor-before", "no-spin"), None);
        assert!(fault("std", "throughput").unwrap().contains("std has no tunings; these locks have: ondeck"));
        assert!(fault("ondeck", "fast").unwrap().contains("no tuning 'fast'"));
        assert!(
            fault("coreclr-monitor-before", "throughput").unwrap().contains("accepted: default, lower-spin, no-spin")
        );
    }

    #[test]
    fn a_tuning_belongs_to_the_locks_that_know_it() {
        assert_eq!(locks_with("throughput+look_ns=0"), ["ondeck"]);
        assert_eq!(locks_with("no-spin"), monitors::LOCKS);
        assert_eq!(locks_with("default"), tuned_locks());
        assert_eq!((check("no-spin"), check("low-latency")), (Ok(()), Ok(())));
        let message = check("best").unwrap_err();
        assert!(message.contains("low-latency") && message.contains("lower-spin"), "{message}");
    }
}
