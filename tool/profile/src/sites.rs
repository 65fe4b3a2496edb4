//! What was counted at places of the program, by the stack.

use crate::profile::Site;
use std::collections::BTreeMap;

/// How often, and how long.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) count: f64,
    pub(crate) ns: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, weight: f64, ns: u64) {
        self.count += weight;
        self.ns += weight * ns as f64;
    }

    pub(crate) fn merge(&mut self, other: &Sum) {
        (self.count, self.ns) = (self.count + other.count, self.ns + other.ns);
    }
}

/// A stack of a recording, and whether the thread had, or wanted, the lock to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stack {
    pub(crate) number: u32,
    pub(crate) is_reading: bool,
}

impl From<u32> for Stack {
    fn from(number: u32) -> Stack {
        Stack { number, is_reading: false }
    }
}

/// By the stack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites(pub(crate) BTreeMap<Stack, Sum>);

impl Sites {
    pub(crate) fn add(&mut self, stack: impl Into<Stack>, weight: f64, ns: u64) {
        self.0.entry(stack.into()).or_default().add(weight, ns);
    }

    pub(crate) fn merge(&mut self, stack: impl Into<Stack>, sum: &Sum) {
        self.0.entry(stack.into()).or_default().merge(sum);
    }

    /// As sites, those of most ns first, with the numbers that `number` gives; without those that have no stack.
    pub(crate) fn sites(&self, mut number: impl FnMut(Stack) -> Option<u32>) -> Vec<Site> {
        let site = |(stack, sum): (&Stack, &Sum)| Some(Site { stack: number(*stack)?, count: sum.count, ns: sum.ns });
        let mut sites: Vec<Site> = self.0.iter().filter_map(site).collect();
        sites.sort_by(|a, b| b.ns.total_cmp(&a.ns).then(b.count.total_cmp(&a.count)).then(a.stack.cmp(&b.stack)));
        sites
    }
}
