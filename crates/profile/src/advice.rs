//! What the figures support that may be done about a lock: one sentence for each, which carries the figures.
//!
//! [`predict`] asks the simulator, and takes time; [`advice`] makes sentences, and takes none. Thresholds are in
//! `measures`, with their reasons; docs/profile-design.md says what the sentences rest on.

mod measures;
mod predict;
mod sentences;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod truth;
mod verdict;

pub use predict::{OnMachine, Prediction, predict, predictions};
pub use verdict::{Finding, Verdict, verdict};

use crate::words::FROM_KERNEL;
use crate::wrappers::Tops;
use crate::{Lock, LockKind, Profile};
use measures::Measures;
use serde::Serialize;

/// What may be done about a lock, or has to be known of the condition variables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// What it is about.
    pub subject: Subject,
    /// Which sentence it is.
    pub kind: Kind,
    /// Sentences that do not name the subject. If they end in a command, that is a second line.
    pub text: String,
}

/// What advice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The lock with this index in [`Profile::locks`].
    Lock(usize),
    /// The condition variable with this index in [`Profile::conditions`].
    Condition(usize),
}

/// Which advice it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The waiting is too little to matter.
    Quiet,
    /// Too little was seen.
    Unknown,
    /// Most of the waiting passes while the lock is free, and not because sections are short.
    Late,
    /// Sections are long, or as far as is known those that threads wait for.
    Long,
    /// Sections are short, but not those that threads wait for.
    SometimesLong,
    /// How long it is held is not known, but who woke its waiters.
    Woken,
    /// Sections are short, and our lock is predicted to help here.
    Helped,
    /// Sections are short, and our lock is predicted to help with more cores, but not here.
    HelpedOnMore,
    /// Sections are short, and our lock is predicted not to help.
    NotHelped,
    /// Sections are short, and nothing is predicted.
    NotPredicted,
    /// Sections are short, or not known, and it is no mutex: there is no other lock to try.
    OtherKind,
    /// Sections are short, and it is not glibc's mutex that answers: ours does already.
    Answered,
    /// Most waiting is on condition variables.
    Idle,
}

/// What all predictions leave out; to be shown once, where there is a prediction.
pub const NOTE: &str = "Simulated figures leave out other locks, condition variables and sections of other lengths. \
                        Measure before you decide.";

/// One sentence for each lock of the profile, in its order, and one about condition variables if most waiting is there.
/// `predictions` are those of the first locks, as [`predictions`] gives them; there may be fewer, or none.
pub fn advice(profile: &Profile, predictions: &[Option<Prediction>]) -> Vec<Advice> {
    // The view from the kernel knows no holds, and all advice follows from these.
    if profile.lock == FROM_KERNEL {
        return Vec::new();
    }
    let tops = Tops::new(profile);
    let of_lock = |(index, lock)| {
        let prediction = predictions.get(index).and_then(Option::as_ref);
        let case = Case::new(lock, profile, prediction, &tops);
        let kind = case.kind();
        Advice { subject: Subject::Lock(index), kind, text: case.sentence(kind) }
    };
    let of_locks = profile.locks.iter().enumerate().map(of_lock);
    of_locks.chain(sentences::of_conditions(profile)).collect()
}

/// A lock, and all that is known of it.
struct Case<'a> {
    profile: &'a Profile,
    measures: Measures<'a>,
    prediction: Option<&'a Prediction>,
    tops: &'a Tops<'a>,
}

impl<'a> Case<'a> {
    fn new(lock: &'a Lock, profile: &'a Profile, prediction: Option<&'a Prediction>, tops: &'a Tops<'a>) -> Case<'a> {
        Case { profile, measures: Measures::of(lock, profile), prediction, tops }
    }

    /// Whether ondeck has a lock of its kind.
    fn is_mutex(&self) -> bool {
        self.measures.lock.kind == LockKind::Mutex
    }

    /// Whether its waiters spin. How long it is held is not known then.
    fn is_spin(&self) -> bool {
        self.measures.lock.kind == LockKind::Spin
    }

    /// What matters most of the lock. What comes first makes what follows pointless.
    fn kind(&self) -> Kind {
        let measures = &self.measures;
        let is_late = measures.is_mostly_free();
        match () {
            () if measures.is_quiet() => Kind::Quiet,
            () if self.is_spin() => Kind::OtherKind,
            () if is_late && measures.shares_cores() => Kind::Late,
            () if !measures.is_known() && measures.waits_for_long() => Kind::Long,
            () if measures.lock.holders.is_empty() && !measures.lock.wakers.is_empty() => Kind::Woken,
            () if !measures.is_known() => Kind::Unknown,
            () if is_late && !measures.is_short() => Kind::Late,
            () if !measures.is_short() => Kind::Long,
            () if measures.waits_for_long() => Kind::SometimesLong,
            () if !self.is_mutex() => Kind::OtherKind,
            () if self.profile.lock != predict::MEASURED_WITH => Kind::Answered,
            () => match self.prediction.filter(|prediction| prediction.is_like_the_run()) {
                None => Kind::NotPredicted,
                Some(prediction) if prediction.here().is_better() => Kind::Helped,
                Some(prediction) if prediction.machines.iter().any(OnMachine::is_better) => Kind::HelpedOnMore,
                Some(_) => Kind::NotHelped,
            },
        }
    }
}
