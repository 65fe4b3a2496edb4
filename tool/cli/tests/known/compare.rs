//! A profile beside what the program knows of itself.

use crate::truth::{Holder, KnownLock, Taker, Truth};
use ondeck_profile::{Condition, Frame, Lock, Profile, Site};
use std::ops::RangeInclusive;

/// How far a figure may be off.
#[derive(Clone, Copy)]
pub(crate) struct Tolerance {
    /// Of a sum of times, as a part of it.
    pub(crate) times: f64,
    /// Of each event in it besides, in ns: between the program's clock and the recorder's lies some work.
    pub(crate) event_ns: f64,
    /// One of so many acquisitions was looked at; with 1 all counts are exact.
    pub(crate) rate: u32,
    /// Of counts of waits, as a part, where not all are looked at.
    pub(crate) waits: f64,
    /// Of what is charged to each, as a part of all the waiting for the lock, where charges are sampled.
    pub(crate) charges: f64,
    /// Of a lock's figures only waits and waiting are compared.
    pub(crate) only_waits: bool,
}

/// Every acquisition is looked at: counts are exact, sums of milliseconds within a tenth.
pub(crate) const EXACT: Tolerance =
    Tolerance { times: 0.1, event_ns: 20_000.0, rate: 1, waits: 0.0, charges: 0.0, only_waits: false };

/// What is not as it should be, each with the place where.
pub(crate) struct TruthComparison<'a> {
    profile: &'a Profile,
    truth: &'a Truth,
    tolerance: Tolerance,
    pub(crate) faults: Vec<String>,
}

impl<'a> TruthComparison<'a> {
    /// Compares all that the process knows of itself.
    pub(crate) fn new(profile: &'a Profile, truth: &'a Truth, tolerance: Tolerance) -> Self {
        let mut compared = TruthComparison { profile, truth, tolerance, faults: Vec::new() };
        let Some(process) = compared.process() else {
            compared.fault(format!("the process is missing, found {:?}", profile.processes));
            return compared;
        };
        let ended = profile.processes[process as usize].ended;
        if ended != truth.ended {
            compared.fault(format!("its end: {:?} expected, {ended:?} found", truth.ended));
        }
        for known in &truth.locks {
            let is_it = |lock: &&Lock| lock.process == process && lock.address == known.address();
            let found: Vec<&Lock> = profile.locks.iter().filter(is_it).collect();
            match found[..] {
                [lock] => compared.lock(lock, known),
                // A child of a fork knows its parent's locks, and need not use them.
                [] if known.waits == 0 && known.sum(|taker| taker.acquisitions) == 0 => {}
                _ => compared.fault(format!("lock {}: found {} times", known.name, found.len())),
            }
        }
        for known in &truth.conditions {
            let found: Vec<&Condition> = profile
                .conditions
                .iter()
                .filter(|condition| condition.process == process && condition.address == known.address())
                .collect();
            match found[..] {
                [condition] => compared.condition(condition, known),
                [] if known.waits == 0 => {}
                _ => compared.fault(format!("condition variable {}: found {} times", known.name, found.len())),
            }
        }
        compared
    }

    fn fault(&mut self, what: String) {
        self.faults.push(format!("{} ({}): {what}", self.truth.program, self.truth.pid));
    }

    fn process(&self) -> Option<u32> {
        let is_it = |program: &str| program.rsplit('/').next() == Some(&self.truth.program);
        let found =
            self.profile.processes.iter().position(|process| process.pid == self.truth.pid && is_it(&process.program));
        found.and_then(|found| u32::try_from(found).ok())
    }

    fn times(&mut self, what: &str, expected: f64, found: f64, n_events: f64) {
        self.times_within(what, expected, found, n_events * self.tolerance.event_ns);
    }

    fn times_within(&mut self, what: &str, expected: f64, found: f64, slack_ns: f64) {
        let tolerance = self.tolerance.times * expected + slack_ns;
        if (found - expected).abs() > tolerance {
            let (expected, found, tolerance) = (expected / 1e6, found / 1e6, tolerance / 1e6);
            self.fault(format!(
                "{what}: {expected:.3} ms expected, {found:.3} ms found, off by at most {tolerance:.3} ms"
            ));
        }
    }

    /// `slack` is how far it may be off where not everything is looked at.
    fn count(&mut self, what: &str, expected: RangeInclusive<u64>, found: f64, slack: f64) {
        let (least, most) = (*expected.start() as f64, *expected.end() as f64);
        if found < least - slack - 1e-6 || found > most + slack + 1e-6 {
            self.fault(format!("{what}: {expected:?} expected, {found} found, off by at most {slack:.0}"));
        }
    }

    /// Six standard deviations of what one of `rate` gives, and one sample more.
    fn acquisitions_slack(&self, n: u64) -> f64 {
        let rate = f64::from(self.tolerance.rate);
        if rate <= 1.0 { 0.0 } else { 6.0 * (n as f64 * rate).sqrt() + rate }
    }

    /// Holds are timed when their acquisitions are looked at.
    fn holding(&mut self, what: &str, expected: u64, found: f64, n: u64) {
        let samples = n as f64 / f64::from(self.tolerance.rate);
        let chance = if self.tolerance.rate <= 1 { 0.0 } else { 8.0 / samples.sqrt() };
        let slack_ns = chance * expected as f64 + n as f64 * self.tolerance.event_ns;
        self.times_within(what, expected as f64, found, slack_ns);
    }

    fn lock(&mut self, lock: &Lock, known: &KnownLock) {
        let name = format!("lock {}", known.name);
        if !is_named(&lock.name, &known.name) {
            self.fault(format!("{name}: called {:?}", lock.name));
        }
        self.waits(&name, lock, known);
        if self.tolerance.only_waits {
            return;
        }
        let (n, taken_back) = (known.sum(|taker| taker.acquisitions), known.sum(|taker| taker.taken_back));
        let slack = self.acquisitions_slack(n);
        self.count(&format!("{name}, acquisitions"), n..=n + taken_back, lock.acquisitions, slack);
        let slack_ns = 5.0 * known.waits as f64 * self.tolerance.event_ns + self.charges_slack(known);
        self.times_within(&format!("{name}, handing on"), known.handing_on_ns as f64, lock.handing_on_ns, slack_ns);
        if let Some(hold_ns) = known.hold_ns() {
            self.holding(&format!("{name}, holding"), hold_ns, lock.hold_ns, n + taken_back);
        }
        if self.tolerance.rate == 1 {
            let most = u64::from(lock.most_waiting);
            self.count(&format!("{name}, most waiting"), known.most_waiting..=known.most_waiting, most as f64, 0.0);
            if known.threads > 0 {
                self.count(&format!("{name}, threads"), known.threads..=known.threads, f64::from(lock.threads), 0.0);
            }
        }
        self.takers(&name, &lock.takers, known);
        self.holders(&name, &lock.holders, known);
    }

    /// How far what is charged may be off besides.
    fn charges_slack(&self, known: &KnownLock) -> f64 {
        self.tolerance.charges * known.wait_ns as f64
    }

    fn waits(&mut self, name: &str, lock: &Lock, known: &KnownLock) {
        let unsure = known.sum(|taker| taker.taken_back + taker.unsure);
        let slack = self.tolerance.waits * known.waits as f64;
        self.count(&format!("{name}, waits"), known.waits..=known.waits + unsure, lock.waits, slack);
        let n_waits = (known.waits + unsure) as f64;
        let slack_ns = n_waits * self.tolerance.event_ns + known.sum(|taker| taker.unsure_ns) as f64;
        self.times_within(&format!("{name}, waiting"), known.wait_ns as f64, lock.wait_ns, slack_ns);
        if self.tolerance.rate == 1 {
            let expected = known.longest_ns as f64;
            self.times(&format!("{name}, longest wait"), expected, lock.longest_ns as f64, n_waits.min(5.0));
        }
        self.timeline(name, lock, known);
        self.waiters(name, &lock.waiters, known);
    }

    fn condition(&mut self, condition: &Condition, known: &KnownLock) {
        let name = format!("condition variable {}", known.name);
        if !is_named(&condition.name, &known.name) {
            self.fault(format!("{name}: called {:?}", condition.name));
        }
        self.count(&format!("{name}, waits"), known.waits..=known.waits, condition.waits, 0.0);
        self.times(&format!("{name}, waiting"), known.wait_ns as f64, condition.wait_ns, known.waits as f64);
        self.times(&format!("{name}, longest wait"), known.longest_ns as f64, condition.longest_ns as f64, 5.0);
        self.waiters(&name, &condition.waiters, known);
    }

    /// All waiting is in the time in which the program waited.
    fn timeline(&mut self, name: &str, lock: &Lock, known: &KnownLock) {
        let slice = lock.timeline.slice;
        let (from, to) = (known.waits_from - self.profile.started_at, known.waits_to - self.profile.started_at);
        for (idx, amount) in lock.timeline.amounts.iter().enumerate() {
            let (begin, end) = (idx as f64 * slice, (idx + 1) as f64 * slice);
            // 10 ms for a clock that is set meanwhile, and for the reading of two.
            if *amount > 1e5 && (end < from - 0.01 || begin > to + 0.01) {
                let ms = amount / 1e6;
                self.fault(format!("{name}: waits from {from:.3} to {to:.3} s, {ms:.3} ms found at {begin:.3} s"));
            }
        }
    }

    /// The sites of a list that belong to each of the functions, and what belongs to none.
    fn by_function(&self, sites: &[Site], functions: &[&str]) -> (Vec<Vec<Site>>, Vec<Site>) {
        let mut known = vec![Vec::new(); functions.len()];
        let mut others = Vec::new();
        for site in sites {
            let frame = self
                .profile
                .frames_of(site.stack)
                .find(|frame| functions.iter().any(|function| is_function(frame, function)) || !is_of_a_library(frame));
            let idx = frame.and_then(|frame| functions.iter().position(|function| is_function(frame, function)));
            idx.map_or(&mut others, |idx| &mut known[idx]).push(*site);
        }
        (known, others)
    }

    fn line(&mut self, name: &str, sites: &[Site], function: &str, line: u32) {
        if line == 0 {
            return;
        }
        for site in sites {
            let frame = self.profile.frames_of(site.stack).find(|frame| is_function(frame, function)).cloned();
            if let Some(frame) = frame.filter(|frame| frame.line != line) {
                self.fault(format!("{name}: line {line} expected, {}:{} found", frame.file, frame.line));
            }
        }
    }

    fn nobody_else(&mut self, name: &str, others: &[Site], least_ns: f64) {
        for site in others.iter().filter(|site| site.ns > least_ns || (least_ns < 0.0 && site.count > 0.0)) {
            let stack = stack_text(self.profile, site.stack);
            self.fault(format!(
                "{name}: {} times and {:.3} ms of nobody who is known: {stack}",
                site.count,
                site.ns / 1e6
            ));
        }
    }

    fn waiters(&mut self, name: &str, sites: &[Site], known: &KnownLock) {
        let takers: Vec<&Taker> = known.sites.iter().collect();
        let functions: Vec<&str> = takers.iter().map(|taker| taker.function.as_str()).collect();
        let (found, others) = self.by_function(sites, &functions);
        for (taker, found) in takers.iter().zip(&found) {
            let name = format!("{name}, {}", taker.function);
            let count = found.iter().map(|site| site.count).sum::<f64>() + 0.0;
            let slack = self.tolerance.waits * taker.waits as f64;
            let most = taker.waits + taker.taken_back + taker.unsure;
            self.count(&format!("{name}, waits"), taker.waits..=most, count, slack);
            let ns = found.iter().map(|site| site.ns).sum::<f64>() + 0.0;
            let slack_ns = most as f64 * self.tolerance.event_ns + taker.unsure_ns as f64;
            self.times_within(&format!("{name}, waiting"), taker.wait_ns as f64, ns, slack_ns);
            self.line(&format!("{name}, waits"), found, &taker.function, taker.line);
        }
        self.nobody_else(&format!("{name}, waiters"), &others, -1.0);
    }

    fn takers(&mut self, name: &str, sites: &[Site], known: &KnownLock) {
        let takers: Vec<&Taker> = known.sites.iter().collect();
        let functions: Vec<&str> = takers.iter().map(|taker| taker.function.as_str()).collect();
        let (found, others) = self.by_function(sites, &functions);
        for (taker, found) in takers.iter().zip(&found) {
            let name = format!("{name}, {}", taker.function);
            let count = found.iter().map(|site| site.count).sum::<f64>() + 0.0;
            let most = taker.acquisitions + taker.taken_back;
            let slack = self.acquisitions_slack(most);
            self.count(&format!("{name}, acquisitions"), taker.acquisitions..=most, count, slack);
            if let Ok(hold_ns) = u64::try_from(taker.hold_ns) {
                let ns = found.iter().map(|site| site.ns).sum::<f64>() + 0.0;
                self.holding(&format!("{name}, holding"), hold_ns, ns, most);
            }
            self.line(&format!("{name}, acquisitions"), found, &taker.function, taker.line);
        }
        self.nobody_else(&format!("{name}, takers"), &others, -1.0);
    }

    fn holders(&mut self, name: &str, sites: &[Site], known: &KnownLock) {
        let holders: Vec<&Holder> = known.holders.iter().collect();
        let functions: Vec<&str> = holders.iter().map(|holder| holder.function.as_str()).collect();
        let (found, others) = self.by_function(sites, &functions);
        for (holder, found) in holders.iter().zip(&found) {
            let name = format!("{name}, {}", holder.function);
            let ns = found.iter().map(|site| site.ns).sum::<f64>() + 0.0;
            let n_events = known.waits as f64 + holder.holds_most as f64;
            let slack_ns = n_events * self.tolerance.event_ns + self.charges_slack(known);
            self.times_within(&format!("{name}, charged"), holder.charged_ns as f64, ns, slack_ns);
            // By samples, who has not waited and was not looked at is known by the place of the release.
            if self.tolerance.rate == 1 {
                self.line(&format!("{name}, holds"), found, &holder.function, holder.line);
            }
            if self.tolerance.rate == 1 {
                let count = found.iter().map(|site| site.count).sum::<f64>() + 0.0;
                let expected = holder.holds_least..=holder.holds_most;
                self.count(&format!("{name}, holds that were waited for"), expected, count, 0.0);
            }
        }
        self.nobody_else(&format!("{name}, holders"), &others, 1e5 + self.charges_slack(known));
    }
}

/// Whether a name is as expected, where a `*` at either end stands for anything.
pub(crate) fn is_named(found: &str, expected: &str) -> bool {
    match (expected.strip_prefix('*'), expected.strip_suffix('*')) {
        (Some(_), Some(_)) => found.contains(expected.trim_matches('*')),
        (Some(end), None) => found.ends_with(end),
        (None, Some(begin)) => found.starts_with(begin),
        (None, None) => found == expected,
    }
}

/// C++'s functions have their arguments behind their names.
fn is_function(frame: &Frame, function: &str) -> bool {
    frame.is_named && frame.function.split('(').next() == Some(function)
}

/// Between a program's function and pthread's there may be a language's library.
fn is_of_a_library(frame: &Frame) -> bool {
    let is_between = |name: &&str| frame.function.starts_with(name);
    frame.function.contains("std::")
        || ["__gthread", "__glibcxx_rwlock", "(reading)", "(writing)"].iter().any(is_between)
}

/// A stack on one line, the innermost function first.
fn stack_text(profile: &Profile, stack: u32) -> String {
    let frames = profile.frames_of(stack).map(|frame| {
        let inlined = if frame.is_inlined { " (inlined)" } else { "" };
        format!("{}{inlined}", frame.function)
    });
    frames.collect::<Vec<_>>().join(" < ")
}
