//! What a profile comes to, found once: why each lock was waited for, and what to do first. List, page and files draw it.
//!
//! The causes of a lock's waiting ([`Cause`]) are put together by what can be done about them ([`CauseShare`]). Each of these has
//! one sentence, wherever it is shown. Weights are always times of waiting, never counts: one long hold keeps more threads
//! waiting than a million short ones.
//!
//! | file | what is in it |
//! |---|---|
//! | `causes` | the causes of one lock, put together |
//! | `texts` | their sentences |
//! | `stuck` | threads that wait for each other in a circle, or for one that does not come back |
//! | `conditions` | condition variables whose threads are woken for nothing |
//! | `lock_order` | locks that are taken in both orders |
//! | `tries` | locks that threads try to lock in a loop |
//! | `measures` | how much waiting matters |

mod causes;
mod conditions;
pub(crate) mod lock_order;
mod measures;
mod stuck;
#[cfg(test)]
mod tests;
mod texts;
mod tries;

use crate::names::base;
use crate::profile::{LockKind, Profile};
use crate::runtimes;
use crate::words::{self, FROM_KERNEL, percent, waited};
use crate::wrappers::Tops;
pub(crate) use causes::parts;
use measures::{Program, QUIET, is_quiet};
use ondeck_report::wording::{counted, run_time, whole_of};
use texts::CauseText;

/// A lock with this part of all waiting is named first, or beside the first.
const MATTERS_BESIDE: f64 = 1.0 / 3.0;
/// Causes with less of a lock's waiting have no sentence.
const WORTH_A_SENTENCE: f64 = 0.05;

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

/// Finds out why threads waited, and what to do first.
pub fn findings(profile: &Profile) -> Findings {
    let tops = Tops::new(profile);
    let locks: Vec<usize> =
        waited(profile).into_iter().filter(|(_, lock)| !is_quiet(lock, profile)).map(|(index, _)| index).collect();
    if let Some(found) = stuck::found(profile, &tops) {
        return Findings { locks, ..found };
    }
    if let Some(verdict) = conditions::woken_for_nothing(profile, &tops) {
        return Findings { verdict, locks, ..Findings::default() };
    }
    if locks.is_empty() {
        let more = stuck::idle(profile, &tops)
            .or_else(|| tries::in_vain(profile, &tops))
            .or_else(|| conditions::no_lock(profile, &tops));
        // What has not happened yet comes before what holds nothing back.
        let order = lock_order::verdict(profile, &tops).filter(|_| waited(profile).is_empty());
        let is_nothing = order.is_none() && more.is_none() && Program::of(profile).share() < QUIET;
        let first = order.unwrap_or_else(|| without_a_lock(profile));
        let verdict = [first].into_iter().chain(more).collect::<Vec<_>>().join(" ");
        return Findings { verdict, is_nothing, ..Findings::default() };
    }
    let all = profile.wait_ns();
    let named = |place: usize, index: &usize| place == 0 || profile.locks[*index].wait_ns >= MATTERS_BESIDE * all;
    let named: Vec<usize> = locks.iter().enumerate().filter(|(at, one)| named(*at, one)).map(|(_, one)| *one).collect();
    let mut verdict = String::new();
    let mut command = None;
    let mut told: Vec<usize> = Vec::new();
    for index in named {
        // As the lock that another one's holder waits for.
        if told.contains(&index) {
            continue;
        }
        for said in first_of(profile, &tops, index) {
            verdict += &if verdict.is_empty() { said.text } else { format!(" Also: {}", said.text) };
            told.extend(said.names);
            command = command.or_else(|| said.tries.then(|| trial(profile)));
        }
    }
    if command.is_some() {
        verdict += match profile.is_stopped {
            true => " Start it with ondeck's locks, and compare what it does under the same load:",
            false => " Measure whether ondeck's locks help:",
        };
    }
    Findings { verdict, command, locks, ..Findings::default() }
}

/// What shows whether ondeck's locks help. What does not end by itself, as a server, cannot be run again and again.
fn trial(profile: &Profile) -> String {
    let how = if profile.is_stopped { "run" } else { "profile --try" };
    format!("ondeck {how} -- {}", words::command(profile))
}

/// The sentences of a lock's causes, the largest first.
pub(crate) fn of_lock(profile: &Profile, tops: &Tops, index: usize) -> Vec<String> {
    if profile.lock == FROM_KERNEL {
        return Vec::new();
    }
    let whys = causes::whys(profile, tops, index);
    let worth = whys.iter().filter(|why| why.part >= WORTH_A_SENTENCE);
    let sentences = worth.map(|why| texts::sentence(profile, tops, index, why));
    let helps = match profile.is_stopped {
        true => " ondeck's locks may help (`ondeck run`).",
        false => " ondeck's locks may help (`--try`).",
    };
    sentences.map(|said| said.text + if said.tries { helps } else { "" }).collect()
}

/// What is said of a lock first: its largest cause, and the next if it has as much as would be named of a lock.
fn first_of(profile: &Profile, tops: &Tops, index: usize) -> Vec<CauseText> {
    let lock = &profile.locks[index];
    let name = texts::lock_name(lock);
    let only = |text: String| vec![CauseText { text, names: vec![index], tries: false }];
    if profile.lock == FROM_KERNEL {
        return only(texts::seen_from_the_kernel(tops, profile, lock));
    }
    if lock.kind == LockKind::Spin {
        return only(format!(
            "The waiters of {name} use CPU time while they wait. Use a mutex, or lock it less often."
        ));
    }
    let whys = causes::whys(profile, tops, index);
    if whys.is_empty() {
        let share = words::share(profile, lock.wait_ns);
        return only(match base(&lock.name, lock.address) {
            "GIL" => format!(
                "Threads wait for {name}, which Python code needs to run: {} of the waiting. Use processes, or calls that \
                 release it.",
                percent(share)
            ),
            _ => format!(
                "Threads wait for {name}: {} of the waiting. Who holds it meanwhile is not known.",
                percent(share)
            ),
        });
    }
    let is_named = |at: usize, part: f64| at == 0 || at == 1 && part >= MATTERS_BESIDE;
    let named = whys.iter().enumerate().filter(|(at, why)| is_named(*at, why.part));
    named.map(|(_, why)| texts::sentence(profile, tops, index, why)).collect()
}

/// The verdict where no single lock matters.
fn without_a_lock(profile: &Profile) -> String {
    let (n_locks, length) = (counted(profile.locks.len(), "lock"), run_time(profile.seconds));
    let share = Program::of(profile).share();
    let waiting = format!("its threads waited {} of the time they could have run", percent(share));
    if let Some(runtime) = runtimes::of(profile) {
        return runtime.without_a_lock(&waiting);
    }
    match () {
        () if profile.locks.is_empty() && profile.conditions.is_empty() => words::without_locks(profile) + ".",
        () if profile.locks.is_empty() => format!("No lock was waited for in {length}."),
        () if waited(profile).is_empty() => {
            let acquisitions = whole_of(profile.locks.iter().map(|lock| lock.acquisitions).sum(), "acquisition");
            format!("No lock holds this program back: no thread waited in {acquisitions} of {n_locks} in {length}.")
        }
        () if share < QUIET => format!("No lock holds this program back: {waiting}."),
        () => format!(
            "No single lock holds this program back, but {n_locks} together may: {waiting}. Lock less often, or give each \
             thread its own data."
        ),
    }
}
