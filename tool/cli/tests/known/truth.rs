//! What a program of `proof/testprograms/known` wrote of itself; its README has the form.

use ondeck_profile::ProcessEnd;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One process image.
#[derive(Debug, Deserialize)]
pub(crate) struct Truth {
    pub(crate) program: String,
    pub(crate) pid: u32,
    pub(crate) ended: ProcessEnd,
    pub(crate) locks: Vec<KnownLock>,
    pub(crate) conditions: Vec<KnownLock>,
    pub(crate) facts: BTreeMap<String, u64>,
}

/// A mutex or a condition variable.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct KnownLock {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) waits: u64,
    pub(crate) wait_ns: u64,
    pub(crate) longest_ns: u64,
    pub(crate) handing_on_ns: u64,
    pub(crate) threads: u64,
    pub(crate) most_waiting: u64,
    /// Seconds since 1970.
    pub(crate) waits_from: f64,
    pub(crate) waits_to: f64,
    pub(crate) sites: Vec<Taker>,
    pub(crate) holders: Vec<Holder>,
}

/// What one function did that acquires.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Taker {
    pub(crate) function: String,
    /// 0 where there are several.
    pub(crate) line: u32,
    pub(crate) acquisitions: u64,
    /// At the end of a wait on a condition variable; whether these count as acquisitions is left open.
    pub(crate) taken_back: u64,
    pub(crate) waits: u64,
    pub(crate) wait_ns: u64,
    /// Acquisitions that were slow, and may have been waits.
    pub(crate) unsure: u64,
    pub(crate) unsure_ns: u64,
    /// -1 where it is not known.
    pub(crate) hold_ns: i64,
}

/// What is charged to one function for what it held.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Holder {
    pub(crate) function: String,
    /// 0 where there are several.
    pub(crate) line: u32,
    pub(crate) charged_ns: u64,
    /// Holds in which somebody certainly waited.
    pub(crate) holds_least: u64,
    /// Those and the holds in which somebody perhaps waited.
    pub(crate) holds_most: u64,
}

impl KnownLock {
    pub(crate) fn address(&self) -> u64 {
        let digits = self.address.trim_start_matches("0x");
        u64::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("{}: not an address", self.address))
    }

    pub(crate) fn sum(&self, of: impl Fn(&Taker) -> u64) -> u64 {
        self.sites.iter().map(of).sum()
    }

    pub(crate) fn charged_ns(&self) -> u64 {
        self.holders.iter().map(|holder| holder.charged_ns).sum()
    }

    /// `None` where a part is not known.
    pub(crate) fn hold_ns(&self) -> Option<u64> {
        self.sites.iter().map(|taker| u64::try_from(taker.hold_ns).ok()).sum()
    }

    /// What cannot be: then the program is wrong, and not the profile.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut must = |is_so: bool, what: &str| {
            if !is_so {
                faults.push(format!("{} at {}: {what}", self.name, self.address));
            }
        };
        must(self.sum(|taker| taker.waits) == self.waits, "its sites have not its waits");
        must(self.sum(|taker| taker.wait_ns) == self.wait_ns, "its sites have not its waiting");
        must(self.longest_ns <= self.wait_ns, "one wait is longer than all");
        must(self.waits == 0 || self.wait_ns >= self.waits * 1000, "waits of no length");
        must((self.waits == 0) == (self.most_waiting == 0), "its waits and how many waited at once");
        let is_cut = self.waits_to - self.waits_from + 1e-3 < self.longest_ns as f64 / 1e9;
        must(!is_cut, "a wait is longer than the time of waits");
        must(self.holders.iter().all(|holder| holder.holds_least <= holder.holds_most), "its holds");
        must(self.charged_ns() + self.handing_on_ns == self.wait_ns, "charges and what is left are not the waiting");
        faults
    }
}

impl Truth {
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = self.locks.iter().flat_map(KnownLock::faults).collect();
        for known in &self.conditions {
            let waiting = known.charged_ns() == 0 && known.handing_on_ns == known.wait_ns;
            if !waiting || known.sum(|taker| taker.waits) != known.waits || known.sum(|taker| taker.acquisitions) > 0 {
                faults.push(format!("{}: it is used as a lock", known.name));
            }
        }
        faults
    }
}
