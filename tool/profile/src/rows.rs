//! What is said of one lock, row by row, so that the rows add up to the lock's totals: where the stacks do not, a row without
//! a stack has the rest.

use crate::findings::parts;
use crate::profile::{Cause, Lock, Site, State};

/// In the place of a stack that could not be recorded.
pub(crate) const UNKNOWN: &str = "[unknown stack]";
/// In the place of a holder's stack: see [`Lock::handing_on_ns`].
pub(crate) const HANDING_ON: &str = "[free: the next holder does not run yet]";
/// Less than so much missing, a count or ns, comes from adding up numbers in another order.
const REST: f64 = 1.0;

/// Whose stacks are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Who waited, and how long.
    Waiters,
    /// Who held the lock meanwhile, and how much of the waiting is charged to it.
    Holders,
}

impl Side {
    pub(crate) const BOTH: [Side; 2] = [Side::Waiters, Side::Holders];
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

/// The rows of [`Side::Holders`], each as the causes that it is made of, with the count and the time that are in this row.
/// Both add up: the parts of a row to the row, and those of a cause to the cause. A cause stands in the row of its stack.
/// Where that has no room, it also covers what threads waited after a long hold, while nobody had the lock, and the rest
/// stands where nobody is charged. What then is left of a row are short holds.
pub(crate) fn charges(lock: &Lock) -> Vec<(Place, Cause)> {
    let mut left = parts(lock).into_owned();
    // Times without a holder are no holds.
    left.iter_mut().filter(|cause| cause.state == State::Free).for_each(|cause| cause.count = 0.0);
    let mut rows: Vec<(Row, Vec<Cause>)> =
        of_side(lock, Side::Holders).into_iter().map(|row| (row, Vec::new())).collect();
    for (row, taken) in &mut rows {
        let Place::Stack(stack) = row.place else { continue };
        take(row, taken, &mut left, |cause| cause.stack == Some(stack));
    }
    for (row, taken) in rows.iter_mut().filter(|(row, _)| matches!(row.place, Place::Without(_))) {
        take(row, taken, &mut left, |cause| cause.state != State::Passing);
    }
    for (row, taken) in &mut rows {
        take(row, taken, &mut left, |_| true);
        match taken.last_mut() {
            Some(last) if row.ns < REST => {
                (last.ns, last.count) = (last.ns + row.ns, last.count + row.count);
            }
            _ => {
                let state = if row.place == Place::Without(HANDING_ON) { State::Free } else { State::Unknown };
                taken.push(Cause { state, ns: row.ns, count: row.count, ..Cause::default() });
            }
        }
    }
    rows.into_iter().flat_map(|(row, taken)| taken.into_iter().map(move |cause| (row.place, cause))).collect()
}

/// Moves as much of some causes into a row as there is room for, the same part of each.
fn take(row: &mut Row, taken: &mut Vec<Cause>, left: &mut [Cause], is_meant: impl Fn(&Cause) -> bool) {
    let mut meant: Vec<&mut Cause> = left.iter_mut().filter(|cause| is_meant(cause)).collect();
    let sum = |of: fn(&Cause) -> f64| meant.iter().map(|cause| of(cause)).sum::<f64>();
    let part = |room: f64, sum: f64| if sum > 0.0 { (room.max(0.0) / sum).min(1.0) } else { 0.0 };
    let (of_ns, of_count) = (part(row.ns, sum(|cause| cause.ns)), part(row.count, sum(|cause| cause.count)));
    for cause in &mut meant {
        let (ns, count) = (cause.ns * of_ns, cause.count * of_count);
        if ns > 0.0 || count > 0.0 {
            (cause.ns, cause.count) = (cause.ns - ns, cause.count - count);
            (row.ns, row.count) = (row.ns - ns, row.count - count);
            taken.push(Cause { ns, count, ..cause.clone() });
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
    fn charges_add_up_to_rows_and_to_causes() {
        let [long, short] = [Site { stack: 0, count: 4.0, ns: 60.0 }, Site { stack: 1, count: 6.0, ns: 20.0 }];
        let cause = |state, stack, ns, count| Cause { state, stack, ns, count, ..Cause::default() };
        let causes = vec![
            // 15 ns of it passed while the lock was free.
            cause(State::Computing, Some(0), 45.0, 2.0),
            cause(State::Blocked, Some(0), 30.0, 2.0),
            cause(State::Passing, None, 20.0, 6.0),
            cause(State::Free, None, 5.0, 1.0),
        ];
        let lock = Lock { wait_ns: 100.0, handing_on_ns: 20.0, holders: vec![long, short], causes, ..Lock::default() };
        let found: Vec<(Place, State, f64, f64)> =
            charges(&lock).into_iter().map(|(place, cause)| (place, cause.state, cause.ns, cause.count)).collect();
        let free = Place::Without(HANDING_ON);
        let expected = [
            (Place::Stack(0), State::Computing, 36.0, 2.0),
            (Place::Stack(0), State::Blocked, 24.0, 2.0),
            (Place::Stack(1), State::Passing, 20.0, 6.0),
            (free, State::Computing, 9.0, 0.0),
            (free, State::Blocked, 6.0, 0.0),
            (free, State::Free, 5.0, 0.0),
        ];
        assert_eq!(found, expected);
        // What no cause is known of is unknown.
        let lock = Lock { causes: lock.causes[..1].to_vec(), ..lock };
        let unknown = charges(&lock).into_iter().filter(|(_, cause)| cause.state == State::Unknown);
        assert_eq!(unknown.map(|(_, cause)| cause.ns).sum::<f64>(), 35.0);
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
