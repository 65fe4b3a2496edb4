//! What a profile comes to, found once: why each lock was waited for, and what to do first. List, page and files draw it.
//!
//! Three passes over values. None of them calls an earlier one, and only the last one has sentences. All thresholds are in
//! `rules`.
//!
//! | pass | what it does |
//! |---|---|
//! | `classify` | what was seen: the causes of each lock's waiting ([`Cause`](crate::Cause)), put together by what can be done about them; threads that hang; threads that are woken for nothing; locks that are tried until a thread has them |
//! | `rank` | what of that is said, in its order: findings, each a kind, locks and a share |
//! | `word` | a finding as a sentence, the same wherever it is shown |
//!
//! Weights are always times of waiting, never counts: one long hold keeps more threads waiting than a million short ones.

mod classify;
mod rank;
#[cfg(test)]
mod tests;
mod word;

use crate::profile::{Condition, Profile, Stuck, WaitObject};
use crate::words::{self, Known};
use crate::wrappers::Tops;
pub(crate) use classify::parts;
use classify::{AwakeTime, CauseShare, HiddenWait, StuckTogether, Waiters};
pub(crate) use word::lock_order;

/// What a profile comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// A few short sentences in one line. Names stand between backticks.
    pub verdict: String,
    /// What can be pasted to follow them.
    pub command: Option<String>,
    /// The locks that matter, by their index in [`Profile::locks`], most waiting first.
    pub locks: Vec<usize>,
    /// Stacks that belong to the verdict, each with a line above it.
    pub stacks: Vec<(String, u32)>,
    /// Whether nothing was found that holds the program back.
    pub is_nothing: bool,
}

/// Something that has a sentence.
struct Finding<'p> {
    kind: Kind<'p>,
    /// The locks that it names, by their index in [`Profile::locks`], first the one that it is about.
    locks: Vec<usize>,
    /// Of all waiting, how much is for that lock; of tries, how many times all waiting they took; where it is about none, the part of the time that threads could run in which
    /// they waited.
    share: f64,
    /// How long threads waited for that, in ns; 0 where it is about none.
    ns: f64,
}

enum Kind<'p> {
    /// Each waits for a lock of the next one, and the last for one of the first.
    Deadlock(Vec<&'p Stuck>),
    /// They wait for one that has a lock, and does something else.
    HeldUp(StuckTogether<'p>),
    /// A condition variable whose threads are woken for nothing.
    Herd(&'p Condition),
    Cause(CauseShare),
    /// A lock in the view from the kernel, which knows no holds.
    FromKernel,
    /// A lock whose waiters use CPU time.
    Spins,
    /// A lock whose holders are not known.
    UnknownHolder,
    /// Waiting for what is not recorded.
    Hidden(HiddenWait),
    /// Locks cost CPU time while nobody sleeps.
    Awake(AwakeTime),
    /// Locks that are taken in both orders.
    Order,
    /// No single lock matters, of those that were seen; for sure if that were all.
    NoLock {
        is_sure: bool,
    },
    /// Threads that still wait for what is no lock.
    Idle(StuckTogether<'p>),
    /// A lock that threads try in vain until they have it, which takes that part of their time.
    Tries {
        part: f64,
    },
    /// What is no lock was waited for, by its index in [`Profile::conditions`].
    Wait(usize, Waiters),
}

/// Finds out why threads waited, and what to do first.
pub fn findings(profile: &Profile) -> Findings {
    let tops = Tops::new(profile);
    let seen = classify::seen(profile, &tops);
    let mut locks: Vec<usize> = seen.iter().filter(|one| one.is_of_a_lock()).map(|one| one.locks[0]).collect();
    locks.dedup();
    let said = rank::ranked(seen);
    let (verdict, command) = word::verdict(profile, &tops, &said);
    let stacks = said.iter().flat_map(|finding| word::stacks(profile, finding)).collect();
    Findings { verdict, command, locks, stacks, is_nothing: rank::is_nothing(&said) }
}

/// A lock that threads wait for.
#[derive(Clone, Debug, PartialEq)]
pub struct LongWait {
    /// The process's number, and the lock's address there.
    pub lock: (u32, u64),
    /// In one line: who waits, for how long, who has the lock, and what that thread does.
    pub verdict: String,
    /// Stacks that belong to it, each with a line above it.
    pub stacks: Vec<(String, u32)>,
}

/// The locks for which threads wait as the profile ends, for so many ns or longer.
pub fn long_waits(profile: &Profile, ns: u64) -> Vec<LongWait> {
    let tops = Tops::new(profile);
    let all = classify::long_waits(profile, &tops, ns).into_iter();
    let told = all.filter_map(|stuck| {
        let WaitObject::Lock(index) = stuck.first.on else { return None };
        let lock = &profile.locks[index as usize];
        let pid = profile.processes.get(lock.process as usize)?.pid;
        let (verdict, stacks) = word::long_wait(profile, &tops, &stuck);
        Some(LongWait { lock: (pid, lock.address), verdict, stacks })
    });
    told.collect()
}

/// The sentences of a lock's causes, the largest first.
pub(crate) fn of_lock(profile: &Profile, tops: &Tops, index: usize) -> Vec<String> {
    if words::known(profile, &profile.locks[index]) == Known::Wakers {
        return Vec::new();
    }
    let said = rank::worth_a_sentence(classify::of_causes(profile, tops, index));
    said.iter().map(|finding| word::explained(profile, tops, finding)).collect()
}

impl Finding<'_> {
    /// Whether it is about what was waited for.
    fn is_waited_for(&self) -> bool {
        let is_other = matches!(self.kind, Kind::Hidden(_) | Kind::Awake(_) | Kind::Tries { .. });
        self.is_of_a_lock() || is_other || matches!(self.kind, Kind::Wait(_, Waiters::ForEachOther))
    }

    /// Whether it says why a lock was waited for.
    fn is_of_a_lock(&self) -> bool {
        matches!(self.kind, Kind::Cause(_) | Kind::FromKernel | Kind::Spins | Kind::UnknownHolder)
    }
}
