//! Waits, with an account for each futex and stack, in memory that has a bound.

use crate::collect::account::Account;
use crate::sites::Sum;
use ondeck_futex::{End, Release, Wait};
use std::collections::{BTreeMap, BTreeSet};

/// The number of the image, the futex and the stack that waited.
type Spot = (usize, u64, u32);

/// A process that runs for days may make and drop millions of locks and channels. So if there are more than so many cells, the
/// half of all futexes that was waited for least is kept together, by where it was waited for. What is left of a futex is whole.
#[derive(Clone)]
pub(super) struct Cells {
    cells: BTreeMap<Spot, Account>,
    most: usize,
    n_folded: u64,
}

/// The address of all futexes that are kept together.
pub(super) const FOLDED: u64 = 0;
/// That of the ends of threads: each has a futex of its own.
pub(super) const JOINED: u64 = 8;

impl Default for Cells {
    fn default() -> Self {
        /// A cell, with the line of the list that it becomes, takes up to 20 KiB.
        const MOST: usize = 4096;
        Cells { cells: BTreeMap::new(), most: MOST, n_folded: 0 }
    }
}

impl Cells {
    /// Adds a wait with its parts, of which those before it began do not count.
    pub(super) fn add(&mut self, wait: &Wait, parts: &[Release], started_ns: u64) {
        let address = if wait.joins { JOINED } else { wait.address };
        add(self.cells.entry((wait.image, address, wait.stack)).or_default(), wait, parts, started_ns);
        if self.cells.len() > self.most {
            self.fold();
        }
    }

    fn fold(&mut self) {
        let mut waited: BTreeMap<(usize, u64), f64> = BTreeMap::new();
        for ((image, address, _), cell) in
            self.cells.iter().filter(|((_, address, _), _)| ![FOLDED, JOINED].contains(address))
        {
            *waited.entry((*image, *address)).or_default() += cell.waits.sum.ns;
        }
        let mut coldest: Vec<_> = waited.into_iter().collect();
        coldest.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        coldest.truncate(coldest.len() / 2);
        self.n_folded += coldest.len() as u64;
        let coldest: BTreeSet<(usize, u64)> = coldest.into_iter().map(|(futex, _)| futex).collect();
        let folded: Vec<_> =
            self.cells.extract_if(.., |(image, address, _), _| coldest.contains(&(*image, *address))).collect();
        for (spot, cell) in folded {
            self.cells.entry((spot.0, FOLDED, spot.2)).or_default().merge(&cell, |waker| waker);
        }
        // A program may wait in many ways for few futexes. Then more has to be kept, or each wait would end here.
        if self.cells.len() > self.most / 4 * 3 {
            self.most *= 2;
        }
    }

    /// What waited from a place that is not known for a futex for which threads wait at a known one, too, is taken to be from there:
    /// if not each stack is copied, a futex's first waits have none.
    pub(super) fn with_likely_places(mut self, is_known: impl Fn(u32) -> bool) -> Self {
        let mut likely: BTreeMap<(usize, u64), (f64, u32)> = BTreeMap::new();
        for ((image, address, stack), cell) in self.cells.iter().filter(|((.., stack), _)| is_known(*stack)) {
            let place = likely.entry((*image, *address)).or_default();
            if cell.waits.sum.ns >= place.0 {
                *place = (cell.waits.sum.ns, *stack);
            }
        }
        let unknown: Vec<_> = self
            .cells
            .extract_if(.., |(image, address, stack), _| !is_known(*stack) && likely.contains_key(&(*image, *address)))
            .collect();
        for ((image, address, _), cell) in unknown {
            let (_, stack) = likely[&(image, address)];
            self.cells.entry((image, address, stack)).or_default().merge(&cell, |waker| waker);
        }
        self
    }

    /// What to say of those that are kept together.
    pub(super) fn remark(&self) -> Option<String> {
        (self.n_folded > 0).then(|| {
            format!(
                "this program has waited for very many futexes. The {} that were waited for least have no line of their \
                 own: they are added up by where the threads waited, with address 0x0",
                self.n_folded
            )
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Spot, &Account)> {
        self.cells.iter()
    }
}

fn add(account: &mut Account, wait: &Wait, parts: &[Release], started_ns: u64) {
    let ns = wait.to_ns - wait.from_ns;
    account.add_wait(wait.thread, wait.to_ns.saturating_sub(started_ns), ns);
    account.most_waiting = account.most_waiting.max(wait.waiting);
    let mut from_ns = wait.from_ns;
    for part in parts {
        if part.until_ns > from_ns {
            account.wakers.merge(part.stack, &Sum { count: 0.0, ns: (part.until_ns - from_ns) as f64 });
            from_ns = part.until_ns;
        }
    }
    if let End::Woken(Some(stack)) = wait.end {
        account.wakers.add(stack, 1.0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(address: u64, stack: u32, ns: u64) -> Wait {
        let end = End::Woken(Some(9));
        let (thread, from_ns, joins) = (address as u32, 1_000, false);
        Wait { image: 0, thread, address, stack, from_ns, to_ns: from_ns + ns, waiting: 1, end, joins }
    }

    fn filled(most: usize, waits: impl Iterator<Item = Wait>) -> Cells {
        let mut cells = Cells { most, ..Cells::default() };
        waits.for_each(|wait| cells.add(&wait, &[], 0));
        cells
    }

    #[test]
    fn what_waited_most_keeps_its_line_and_no_wait_is_lost() {
        let cells = filled(16, (1..=1000).map(|address| wait(address, 1 + address as u32 % 2, address % 500 + 1)));
        assert!(cells.cells.len() <= 16, "{}", cells.cells.len());
        let count: f64 = cells.iter().map(|(_, cell)| cell.waits.sum.count).sum();
        let ns: f64 = cells.iter().map(|(_, cell)| cell.waits.sum.ns).sum();
        assert_eq!((count, ns), (1000.0, (1..=500).sum::<u64>() as f64 * 2.0));
        assert_eq!(cells.iter().map(|(_, cell)| cell.waits.longest_ns).max(), Some(500));
        assert!(cells.iter().any(|((_, address, _), _)| *address != FOLDED), "some have their own line");
        assert!(cells.remark().is_some_and(|text| text.contains("0x0")));
    }

    #[test]
    fn a_futex_keeps_all_its_stacks_or_none() {
        let hot = (1..=3).map(|stack| wait(1, stack, 10));
        let cells = filled(6, hot.chain((2..=50).map(|address| wait(address, 9, 20))));
        let kept: Vec<_> =
            cells.iter().filter(|((_, address, _), _)| *address == 1).map(|((.., stack), _)| *stack).collect();
        assert_eq!(kept, [1, 2, 3], "30 ns together, though each has fewer than the others");
    }

    #[test]
    fn waits_from_nowhere_are_from_where_most_wait() {
        const NOWHERE: u32 = 0;
        let waits = [(5, NOWHERE, 10), (5, 1, 20), (5, 2, 30), (6, NOWHERE, 40), (6, NOWHERE, 1)];
        let cells = filled(9, waits.into_iter().map(|(address, stack, ns)| wait(address, stack, ns)));
        let cells = cells.with_likely_places(|stack| stack != NOWHERE);
        let found: Vec<_> =
            cells.iter().map(|((_, address, stack), cell)| (*address, *stack, cell.waits.sum.ns)).collect();
        assert_eq!(found, [(5, 1, 20.0), (5, 2, 40.0), (6, NOWHERE, 41.0)]);
    }

    #[test]
    fn few_are_left_as_they_are() {
        let cells = filled(4, [5, 6, 5, 7, 8].into_iter().map(|address| wait(address, 1, 10)));
        assert!(cells.remark().is_none());
        let counts: Vec<_> = cells.iter().map(|((_, address, _), cell)| (*address, cell.waits.sum.count)).collect();
        assert_eq!(counts, [(5, 2.0), (6, 1.0), (7, 1.0), (8, 1.0)]);
    }

    #[test]
    fn many_stacks_for_one_futex_end_in_a_higher_bound() {
        let cells = filled(4, (1..=100).map(|stack| wait(1 + u64::from(stack), stack, 10)));
        let count: f64 = cells.iter().map(|(_, cell)| cell.waits.sum.count).sum();
        assert_eq!((cells.cells.len(), count), (100, 100.0));
    }

    /// As when the lock's holder wakes one of several, and each of them the next one.
    #[test]
    fn each_part_of_a_wait_is_charged_to_who_ended_it() {
        let parts = [(400, 7), (1_200, 8), (1_500, 9), (1_600, 8)];
        let parts = parts.map(|(until_ns, stack)| Release { until_ns, stack });
        let mut cells = Cells::default();
        cells.add(&Wait { end: End::Woken(Some(8)), ..wait(5, 1, 600) }, &parts, 0);
        let (_, cell) = cells.iter().next().unwrap();
        let charged: Vec<_> = cell.wakers.0.iter().map(|(stack, sum)| (stack.number, sum.count, sum.ns)).collect();
        assert_eq!(charged, [(8, 1.0, 300.0), (9, 0.0, 300.0)], "what was before it is another's");
    }
}
