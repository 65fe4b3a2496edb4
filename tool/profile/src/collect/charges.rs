//! Why a lock was waited for: the charges, by what the holder did.
//!
//! A hold that lasts no longer than passing the lock on takes, and a pass, are no holder's fault: [`Charges::passing`]. What
//! threads wait while nobody has the lock that fell asleep because of a long hold belongs to that hold. The rest, if it is
//! long, is time in which who is to have the lock next does not run.

use super::holders::{Activity, Shares};
use crate::rules::{LATE_NS, LONG_NS};
use crate::sites::Stack;
use std::collections::BTreeMap;

/// Waiting of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) ns: f64,
    pub(crate) count: f64,
    /// Lengths, each times the waiting that it caused.
    pub(crate) weighted: f64,
}

impl Part {
    fn add(&mut self, ns: f64, count: f64, each_ns: u64) {
        self.ns += ns;
        self.count += count;
        self.weighted += ns * each_ns as f64;
    }

    pub(crate) fn merge(&mut self, other: &Part, part: f64) {
        self.ns += other.ns * part;
        self.count += other.count * part;
        self.weighted += other.weighted * part;
    }

    /// The mean length, by waiting.
    pub(crate) fn each_ns(&self) -> f64 {
        if self.ns > 0.0 { self.weighted / self.ns } else { 0.0 }
    }
}

/// What the charges of one lock add up to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Charges {
    /// Long holds by the stack, and what the holder did; `None` where no look fell into the hold.
    pub(crate) holds: BTreeMap<(Stack, Option<Activity>), Part>,
    pub(crate) passing: Part,
    pub(crate) free: Part,
    /// Without a holder, after long holds.
    after_ns: f64,
}

impl Charges {
    /// A hold that was charged so much, `weight` times.
    pub(crate) fn held(&mut self, stack: Stack, weight: f64, ns: u64, each_ns: u64, did: Option<&Shares>) {
        let ns = weight * ns as f64;
        if each_ns < LONG_NS {
            return self.passing.add(ns, weight, each_ns);
        }
        match did {
            None => self.holds.entry((stack, None)).or_default().add(ns, weight, each_ns),
            Some(did) => did.iter().for_each(|(doing, part)| {
                self.holds.entry((stack, Some(*doing))).or_default().add(ns * part, weight * part, each_ns);
            }),
        }
    }

    /// A time without a holder of `each_ns`, in which so much was waited, `caused_ns` of it because of long holds before.
    pub(crate) fn handed_on(&mut self, weight: f64, ns: u64, [each_ns, caused_ns]: [u64; 2]) {
        // Both are known to an eighth.
        let of_hold = if caused_ns.saturating_add(caused_ns / 8) >= ns { ns } else { caused_ns };
        self.after_ns += weight * of_hold as f64;
        let rest = if each_ns < LATE_NS { &mut self.passing } else { &mut self.free };
        if of_hold < ns {
            rest.add(weight * (ns - of_hold) as f64, weight, each_ns);
        }
    }

    /// Each in its place: long holds with what came after them, those that no look fell into as the others of their
    /// stack, or else of the lock.
    pub(crate) fn parts(&self) -> Charges {
        let mut parts = Charges { passing: self.passing, free: self.free, ..Charges::default() };
        let looked = |of: Option<Stack>| -> Vec<(Activity, f64)> {
            let mut sums: BTreeMap<Activity, f64> = BTreeMap::new();
            for ((stack, doing), part) in &self.holds {
                if let Some(doing) = doing.filter(|_| of.is_none_or(|of| of == *stack)) {
                    *sums.entry(doing).or_default() += part.ns;
                }
            }
            let all: f64 = sums.values().sum();
            if all > 0.0 { sums.into_iter().map(|(doing, ns)| (doing, ns / all)).collect() } else { Vec::new() }
        };
        for ((stack, doing), part) in &self.holds {
            if doing.is_some() {
                parts.holds.entry((*stack, *doing)).or_default().merge(part, 1.0);
                continue;
            }
            let mut shares = looked(Some(*stack));
            if shares.is_empty() {
                shares = looked(None);
            }
            if shares.is_empty() {
                parts.holds.entry((*stack, None)).or_default().merge(part, 1.0);
            }
            for (doing, share) in shares {
                parts.holds.entry((*stack, Some(doing))).or_default().merge(part, share);
            }
        }
        let held: f64 = parts.holds.values().map(|part| part.ns).sum();
        if held > 0.0 {
            let more = 1.0 + self.after_ns / held;
            parts.holds.values_mut().for_each(|part| (part.ns, part.weighted) = (part.ns * more, part.weighted * more));
        } else {
            parts.passing.ns += self.after_ns;
        }
        parts
    }

    /// Adds others, with the numbers that their stacks have here.
    pub(crate) fn merge(&mut self, other: &Charges, mut number: impl FnMut(u32) -> u32) {
        for ((stack, doing), part) in &other.holds {
            let stack = Stack { number: number(stack.number), ..*stack };
            self.holds.entry((stack, *doing)).or_default().merge(part, 1.0);
        }
        self.passing.merge(&other.passing, 1.0);
        self.free.merge(&other.free, 1.0);
        self.after_ns += other.after_ns;
    }

    pub(crate) fn stacks(&self) -> impl Iterator<Item = u32> {
        self.holds.keys().map(|(stack, _)| stack.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(number: u32) -> Stack {
        Stack::from(number)
    }

    fn sum(parts: &Charges) -> f64 {
        parts.passing.ns + parts.free.ns + parts.holds.values().map(|part| part.ns).sum::<f64>()
    }

    #[test]
    fn long_holds_are_not_drowned_by_short_ones() {
        let mut charges = Charges::default();
        for _ in 0..1000 {
            charges.held(stack(1), 10.0, 200, 150, None);
        }
        let did = vec![(Activity::Computing, 0.75), (Activity::NoCore, 0.25)];
        charges.held(stack(2), 1.0, 6_000_000, 3_000_000, Some(&did));
        let parts = charges.parts();
        assert_eq!((parts.passing.ns, parts.passing.each_ns()), (2e6, 150.0));
        let computing = &parts.holds[&(stack(2), Some(Activity::Computing))];
        assert_eq!((computing.ns, computing.count, computing.each_ns()), (4.5e6, 0.75, 3e6));
        assert_eq!(sum(&parts), 8e6);
    }

    #[test]
    fn a_hold_without_a_look_is_as_the_others() {
        let mut charges = Charges::default();
        let blocked = Activity::Blocked(Some(1));
        charges.held(stack(1), 1.0, 100_000, 50_000, None);
        assert_eq!(charges.parts().holds.keys().collect::<Vec<_>>(), [&(stack(1), None)]);
        charges.held(stack(2), 1.0, 100_000, 50_000, Some(&vec![(blocked, 1.0)]));
        assert!(charges.parts().holds.contains_key(&(stack(1), Some(blocked))), "as the lock's others");
        charges.held(stack(1), 1.0, 100_000, 50_000, Some(&vec![(Activity::Computing, 1.0)]));
        assert!(!charges.parts().holds.contains_key(&(stack(1), Some(blocked))), "as the stack's others");
        assert_eq!(sum(&charges.parts()), 300_000.0);
    }

    #[test]
    fn who_fell_asleep_because_of_a_hold_waits_because_of_it() {
        let mut charges = Charges::default();
        charges.held(stack(1), 1.0, 1_000_000, 1_000_000, None);
        charges.handed_on(1.0, 80_000, [40_000, 78_000]);
        assert_eq!(charges.parts().holds[&(stack(1), None)].ns, 1_080_000.0);
        // One of two that wait does not wait because of it, and runs late.
        charges.handed_on(1.0, 8_000_000, [4_000_000, 4_000_000]);
        assert_eq!((charges.parts().holds[&(stack(1), None)].ns, charges.parts().free.ns), (5_080_000.0, 4_000_000.0));
        // After short holds: a usual wake-up, and a late one.
        charges.handed_on(1.0, 30_000, [30_000, 0]);
        charges.handed_on(1.0, 500_000, [500_000, 0]);
        assert_eq!((charges.parts().passing.ns, charges.parts().free.ns), (30_000.0, 4_500_000.0));
        // Nothing to give it to.
        let mut charges = Charges::default();
        charges.handed_on(1.0, 30_000, [30_000, 30_000]);
        assert_eq!(charges.parts().passing.ns, 30_000.0);
    }
}
