//! What is said of one lock, row by row, so that the rows add up to the lock's totals: where the stacks do not, a row without
//! a stack has the rest.

use crate::profile::{Lock, Profile, Site};
use ondeck_report::wording::plain;

/// In the place of a stack that could not be recorded.
pub(crate) const UNKNOWN: &str = "[unknown stack]";
/// In the place of a holder's stack: see [`Lock::handing_on_ns`].
pub(crate) const HANDING_ON: &str = "[free: the next holder does not run yet]";
/// Less than so much missing, a count or ns, comes from adding up numbers in another order.
const REST: f64 = 1.0;

/// Whose stacks are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Who waited, and how long.
    Waiters,
    /// Who held the lock meanwhile, and how much of the waiting is charged to it.
    Holders,
}

/// What one stack stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) place: Place,
    pub(crate) count: f64,
    pub(crate) ns: f64,
}

/// A stack, or what stands in its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    Stack(u32),
    Without(&'static str),
}

/// What one side of a lock did; its times add up to all waiting for the lock.
pub(crate) fn of_side(lock: &Lock, side: Side) -> Vec<Row> {
    match side {
        Side::Waiters => with_rest(&lock.waiters, lock.waits, lock.wait_ns),
        Side::Holders => {
            let charged = lock.wait_ns - lock.handing_on_ns;
            // How many holds were waited for stands nowhere else.
            let mut rows = with_rest(&lock.holders, 0.0, charged);
            if lock.handing_on_ns > 0.0 {
                rows.push(Row { place: Place::Without(HANDING_ON), count: 0.0, ns: lock.handing_on_ns });
            }
            rows
        }
    }
}

/// Who acquired it, and how long they held it.
pub(crate) fn of_takers(lock: &Lock) -> Vec<Row> {
    with_rest(&lock.takers, lock.acquisitions, lock.hold_ns)
}

/// The sites, and what is missing to the totals.
pub(crate) fn with_rest(sites: &[Site], count: f64, ns: f64) -> Vec<Row> {
    let row = |site: &Site| Row { place: Place::Stack(site.stack), count: site.count, ns: site.ns };
    let mut rows: Vec<Row> = sites.iter().map(row).collect();
    let rest = |total: f64, of: fn(&Site) -> f64| {
        let rest = total - sites.iter().map(of).sum::<f64>();
        if rest >= REST { rest } else { 0.0 }
    };
    let (count, ns) = (rest(count, |site| site.count), rest(ns, |site| site.ns));
    if count > 0.0 || ns > 0.0 {
        rows.push(Row { place: Place::Without(UNKNOWN), count, ns });
    }
    rows
}

/// The functions of a place, the innermost first, each in one line; never none.
pub(crate) fn functions(profile: &Profile, place: Place) -> Vec<String> {
    let names: Vec<String> = match place {
        Place::Stack(stack) => profile.frames_of(stack).map(|frame| plain(&frame.function)).collect(),
        Place::Without(name) => vec![name.to_string()],
    };
    if names.is_empty() { vec![UNKNOWN.to_string()] } else { names }
}

/// Whether the name is that of a function, and does not stand in the place of one.
pub(crate) fn is_function(name: &str) -> bool {
    ![UNKNOWN, HANDING_ON].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::toy;

    #[test]
    fn both_sides_add_up_to_all_waiting() {
        for lock in &toy().locks {
            for side in [Side::Waiters, Side::Holders] {
                let sum: f64 = of_side(lock, side).iter().map(|row| row.ns).sum();
                assert_eq!(sum, lock.wait_ns, "{} {side:?}", lock.name);
            }
        }
    }

    #[test]
    fn what_is_missing_has_a_row_and_rounding_has_none() {
        let site = Site { stack: 0, count: 2.0, ns: 10.0 };
        assert_eq!(with_rest(&[site], 2.0, 10.5).len(), 1);
        let rest = Row { place: Place::Without(UNKNOWN), count: 3.0, ns: 90.0 };
        assert_eq!(with_rest(&[site], 5.0, 100.0)[1], rest);
        assert_eq!(with_rest(&[site], 1.0, 1.0).len(), 1, "more than the total is not made less");
    }
}
