//! The verdict: what to do about a program's locks, before any figure has to be read.

use super::measures::{MOST, Measures, Program};
use super::{Advice, Case, Kind, Subject};
use crate::names::{middle, shown};
use crate::words::{percent, waited};
use crate::wrappers::Tops;
use crate::{Lock, Profile};
use ondeck_report::wording::{count, counted, duration_ns, run_time, three_digits};
use std::collections::HashMap;

/// So much of a lock's name is shown.
const MOST_NAME: usize = 80;

/// What a profile comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Which of the few verdicts it is.
    pub kind: Finding,
    /// A few short sentences in one line. Names stand between backticks.
    pub text: String,
    /// What can be pasted to follow the advice.
    pub command: Option<String>,
    /// The locks that matter, by their index in [`Profile::locks`], most waiting first.
    pub locks: Vec<usize>,
}

/// Which verdict it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// No lock was seen.
    NoLocks,
    /// No thread waited for one.
    NoWaits,
    /// All waiting is too little to matter.
    Quiet,
    /// No lock matters by itself, but all of them together do.
    Spread,
    /// The lock with the most waiting matters, and this kind of advice is for it.
    Lock(Kind),
}

/// What to do. `advice` is what [`advice`](super::advice) says of the profile; what it says nothing of is judged without a
/// prediction.
pub fn verdict(profile: &Profile, advice: &[Advice]) -> Verdict {
    let matters = |lock: &Lock| !Measures::of(lock, profile).is_quiet();
    let locks: Vec<usize> =
        waited(profile).into_iter().filter(|(_, lock)| matters(lock)).map(|(index, _)| index).collect();
    let Some(first) = locks.first() else { return without_a_lock(profile) };
    let tops = Tops::new(profile);
    let case = Case::new(&profile.locks[*first], profile, None, &tops);
    let told: HashMap<usize, &Advice> = advice.iter().filter_map(|one| Some((one.subject.lock()?, one))).collect();
    let told = told.get(first).copied();
    let kind = told.map_or_else(|| case.kind(), |advice| advice.kind);
    let command = told.map_or_else(|| case.sentence(kind), |advice| advice.text.clone());
    let command = command.split_once('\n').map(|(_, command)| command.to_owned());
    let text = format!("{} {}", costs(profile, &locks, &case), case.what_to_do(kind, command.is_some()));
    Verdict { kind: Finding::Lock(kind), text, command, locks }
}

impl Subject {
    /// The index of the lock that it is.
    pub fn lock(self) -> Option<usize> {
        match self {
            Subject::Lock(index) => Some(index),
            Subject::Condition(_) => None,
        }
    }
}

/// The verdict where no single lock matters.
fn without_a_lock(profile: &Profile) -> Verdict {
    let (n_locks, length) = (counted(profile.locks.len(), "lock"), run_time(profile.seconds));
    let share = Program::of(profile).share();
    let waiting = format!("its threads waited {} of the time they could have run", percent(share));
    let (kind, text) = match () {
        () if profile.locks.is_empty() => (Finding::NoLocks, format!("No lock calls were seen in {length}.")),
        () if waited(profile).is_empty() => {
            let acquisitions = count(profile.locks.iter().map(|lock| lock.acquisitions).sum());
            let text = format!(
                "No lock holds this program back: no thread waited in {acquisitions} acquisitions of {n_locks} in {length}."
            );
            (Finding::NoWaits, text)
        }
        () if share < super::measures::QUIET => {
            (Finding::Quiet, format!("No lock holds this program back: {waiting}."))
        }
        () => {
            let text = format!(
                "No single lock holds this program back, but {n_locks} together may: {waiting}. Lock less often, or give each \
                 thread its own data."
            );
            (Finding::Spread, text)
        }
    };
    Verdict { kind, text, command: None, locks: Vec::new() }
}

/// What the waiting may cost, and which lock is meant: a sentence.
fn costs(profile: &Profile, locks: &[usize], case: &Case) -> String {
    let name = quoted_name(&case.measures.lock.name);
    let all: f64 = locks.iter().map(|index| profile.locks[*index].wait_ns).sum();
    if locks.len() == 1 || case.measures.lock.wait_ns >= MOST * all {
        let measures = &case.measures;
        let does = does(measures.share(), measures.waiting(), measures.threads, ["costs", "keeps"]);
        return format!("{name} {does}.");
    }
    let program = Program::of(profile);
    let does = does(program.share(), program.waiting(), program.threads, ["cost", "keep"]);
    format!("{} together {does}. Begin with {name}.", counted(locks.len(), "lock"))
}

/// What waiting does to a program. Where threads waited longer than they could have run, as there are more of them than
/// cores, their time is no measure of what it costs: then how many of them wait is said.
fn does(share: f64, waiting: f64, threads: u32, [cost, keep]: [&str; 2]) -> String {
    if share < 1.0 {
        return format!("{cost} up to {} of this program's time", percent(share));
    }
    // Threads that no sample has shown wait too.
    let waiting = waiting.min(f64::from(threads));
    format!("{keep} {} of {} waiting, on average", three_digits(waiting), counted(threads as usize, "thread"))
}

/// A name between backticks, which it has none of itself.
fn quoted_name(name: &str) -> String {
    format!("`{}`", middle(&shown(name), MOST_NAME).replace('`', "'"))
}

impl Case<'_> {
    /// What to do about the lock, which is "it" here. If there is a command, the last sentence leads to it.
    fn what_to_do(&self, kind: Kind, has_command: bool) -> String {
        let measures = &self.measures;
        let lock = measures.lock;
        let holder = self.heaviest(&lock.holders, |site| site.ns).map(|(place, _)| place);
        let taker = self.heaviest(&lock.takers, |site| site.count).map(|(place, _)| place);
        let most = |place: Option<String>| place.map_or(String::new(), |place| format!(", most in {place}"));
        let less_often = || format!("Lock it less often{}.", most(taker.clone()));
        match kind {
            Kind::Quiet => "Leave it as it is.".to_owned(),
            Kind::Unknown if has_command => "Too little was recorded to say more. Record more:".to_owned(),
            Kind::Unknown => "Too little was recorded to say more. Record a longer run.".to_owned(),
            Kind::Late if measures.shares_cores() => {
                let (threads, cores) = (measures.threads as usize, measures.cores as usize);
                let or = if has_command { ", or measure whether ondeck's locks help:" } else { "." };
                format!(
                    "Too few cores: mostly it was free, but the thread woken for it had no core yet. {} share {}. Use fewer \
                     threads{or}",
                    counted(threads, "thread"),
                    counted(cores, "core"),
                )
            }
            Kind::Late => {
                "Mostly it was free, but the thread woken for it did not run yet. Look for other programs, or a \
                           limit on CPU time."
                    .to_owned()
            }
            Kind::Long => {
                let known = measures.section_ns.filter(|_| measures.is_known());
                let held = duration_ns(known.unwrap_or(measures.waited_for_ns()));
                format!(
                    "It is held for {held} at a time{}. Make that section shorter. No other {} will help.",
                    most(holder),
                    if self.is_mutex() { "mutex" } else { "lock" }
                )
            }
            Kind::SometimesLong => {
                let held = duration_ns(measures.waited_for_ns());
                format!(
                    "It is usually held briefly, but threads waited for holds of {held}{}. Find what is slow there.",
                    most(holder)
                )
            }
            Kind::Woken => {
                let waker = self.heaviest(&lock.wakers, |site| site.ns).map(|(place, _)| place);
                let waker = waker.map_or(String::new(), |place| format!("{place} ends most of the waiting. "));
                format!("{waker}Make the sections shorter, or lock it less often.")
            }
            Kind::Helped => "Try ondeck's mutex:".to_owned(),
            Kind::HelpedOnMore => "With more cores, ondeck's mutex should help. Try it there:".to_owned(),
            Kind::NotHelped => format!("No other mutex will help. {}", less_often()),
            Kind::NotPredicted => "Measure whether ondeck's locks help:".to_owned(),
            Kind::OtherKind if self.is_spin() => {
                "Its waiters use CPU time while they wait. Use a mutex, or lock it less often.".to_owned()
            }
            Kind::OtherKind => format!("ondeck has no lock of this kind. {}", less_often()),
            Kind::Answered => format!("ondeck's mutex is in place already. {}", less_often()),
            Kind::Idle => unreachable!("no lock is a condition variable"),
        }
    }
}

#[cfg(test)]
mod tests;
