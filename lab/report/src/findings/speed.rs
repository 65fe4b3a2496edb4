//! Who is ahead, and by how much: only where all rounds say so.

use super::answer::UNKNOWN;
use crate::board::{Board, Ratio, Setting};
use crate::row::main_metric;
use crate::sentences::{self, NAMED_LOCKS};
use crate::wording::{counted, duration_ns, list_some, threads, times};

/// So many parts of a range of threads are told apart in a sentence.
const CLAUSES: usize = 8;

/// Who keeps the speed of one thread and who collapses, in each workload; that with most numbers of threads first.
pub(super) fn kept(board: &Board) -> Vec<String> {
    let is_contended = |setting: &Setting| setting.threads > 1 && main_metric(&setting.workload).more_is_better;
    if !board.settings.iter().any(is_contended) {
        return Vec::new();
    }
    let mut workloads: Vec<&[Setting]> = board.workloads().collect();
    workloads.sort_by_key(|settings| std::cmp::Reverse(settings.len()));
    let said: Vec<String> =
        workloads.iter().flat_map(|settings| sentences::against_one_thread(board, settings)).collect();
    if said.is_empty() {
        return vec![format!("{UNKNOWN}no workload was run both with one thread and with more.")];
    }
    said
}

/// Who is ahead where more than one thread wants the lock, in each workload that is about throughput.
pub(super) fn fastest(board: &Board) -> Vec<String> {
    let throughput = board.workloads().filter(|settings| main_metric(&settings[0].workload).more_is_better);
    let said = throughput.filter_map(|settings| {
        let contended = settings.iter().filter(|setting| setting.threads > 1);
        let leads: Vec<Lead> = contended.filter_map(|setting| Lead::of(board, setting)).collect();
        let workload = leads.first().map(|lead| lead.setting.workload.as_str())?;
        let parts = || leads.chunk_by(|a, b| a.is_like(b));
        let mut clauses: Vec<String> =
            parts().take(CLAUSES).map(|alike| clause(alike, alike.len() == leads.len())).collect();
        match parts().count().saturating_sub(CLAUSES) {
            0 => {}
            more => clauses.push(format!("This changes {} after that", counted(more, "more time"))),
        }
        Some(format!("{workload}: {}.", clauses.join(". ")))
    });
    sentences::against_peers(board).into_iter().chain(said).collect()
}

/// The times of the workloads that are about the time of one operation, with who is ahead.
pub(super) fn times_of_one(board: &Board) -> Vec<String> {
    let about_time = board.settings.iter().filter(|setting| !main_metric(&setting.workload).more_is_better);
    about_time.filter_map(|setting| time_of_one(board, setting)).collect()
}

fn time_of_one(board: &Board, setting: &Setting) -> Option<String> {
    let metric = main_metric(&setting.workload);
    let locks = board.locks_in(setting).into_iter();
    let mut figures: Vec<(f64, &str)> =
        locks.filter_map(|lock| Some((board.median(setting, lock, metric)?, lock))).collect();
    figures.sort_by(|a, b| a.0.total_cmp(&b.0));
    let shown: Vec<String> = figures.iter().map(|(ns, lock)| format!("{lock} {}", duration_ns(*ns))).collect();
    let what =
        if metric.name == crate::row::WAIT_P99_NS.name { ", time that 99 of 100 waits stayed within" } else { "" };
    let untold = Lead::of(board, setting).and_then(|lead| lead.untold());
    let untold = untold.map_or(String::new(), |untold| format!(". {untold}"));
    let place = format!("{}, {}{what}", setting.workload, threads(setting.threads));
    Some(format!("{place}: {}{untold}.", list_some(&shown, NAMED_LOCKS))).filter(|_| !shown.is_empty())
}

/// Whether the speed comes back when the visitors are gone.
pub(super) fn recovery(board: &Board) -> Vec<String> {
    sentences::after_the_spike(board).into_iter().collect()
}

/// Who is ahead in one setting.
pub(super) struct Lead<'a> {
    setting: &'a Setting,
    pub(super) best: &'a str,
    /// Locks that the rounds do not agree are behind the best.
    pub(super) level: Vec<&'a str>,
    /// The best of those that are behind, and how many times as good the best is.
    pub(super) next: Option<(&'a str, Ratio)>,
}

impl<'a> Lead<'a> {
    /// `None` where no two locks can be compared.
    pub(super) fn of(board: &'a Board, setting: &'a Setting) -> Option<Self> {
        let best = board.best(setting, |_| true)?;
        let (mut level, mut next) = (Vec::new(), None::<(&str, Ratio)>);
        for lock in board.locks_in(setting).into_iter().filter(|lock| *lock != best) {
            let Some(ratio) = board.ratio((setting, best), (setting, lock)) else { continue };
            let is_behind = if ratio.rounds == 1 { ratio.median > 1.0 } else { ratio.is_clear() && ratio.low > 1.0 };
            if !is_behind {
                level.push(lock);
            } else if next.is_none_or(|(_, least)| ratio.median < least.median) {
                next = Some((lock, ratio));
            }
        }
        (next.is_some() || !level.is_empty()).then_some(Lead { setting, best, level, next })
    }

    fn is_like(&self, other: &Lead) -> bool {
        let is_one_round = |lead: &Lead| lead.next.is_some_and(|(_, ratio)| ratio.rounds == 1);
        self.best == other.best && self.level == other.level && is_one_round(self) == is_one_round(other)
    }

    /// Between whom nothing can be told; `None` if the best is ahead of all others.
    fn untold(&self) -> Option<String> {
        let names: Vec<String> =
            std::iter::once(self.best).chain(self.level.iter().copied()).map(String::from).collect();
        let text = || format!("{} do not clearly differ (the rounds disagree)", list_some(&names, NAMED_LOCKS));
        (!self.level.is_empty()).then(text)
    }
}

/// What can be said of settings in which the same locks are ahead.
fn clause(alike: &[Lead], is_all: bool) -> String {
    let place = place(alike, is_all);
    let distance = distance(alike);
    let best = alike[0].best;
    let is_one_round = alike.iter().filter_map(|lead| lead.next).any(|(_, ratio)| ratio.rounds == 1);
    match (alike[0].untold(), distance) {
        (Some(untold), None) => format!("{place} {untold}"),
        (Some(untold), Some(distance)) => format!("{place} {untold}. There, {best} has {distance}"),
        (None, distance) if is_one_round => {
            format!("{place} {best} is fastest in the only round, with {}", distance.unwrap_or_default())
        }
        (None, distance) => format!("{place} {best} is fastest, with {}", distance.unwrap_or_default()),
    }
}

fn place(alike: &[Lead], is_all: bool) -> String {
    match alike {
        [only] => format!("At {}", threads(only.setting.threads)),
        [first, _, .., last] if is_all => {
            let (first, last) = (first.setting.threads, last.setting.threads);
            format!("At all {} numbers of threads from {first} to {last}", alike.len())
        }
        _ => {
            let numbers: Vec<u32> = alike.iter().map(|lead| lead.setting.threads).collect();
            format!("At {} threads", sentences::numbers(&numbers))
        }
    }
}

/// How far the best is ahead of the first that is behind; where in several settings, the least and the most.
fn distance(alike: &[Lead]) -> Option<String> {
    let next = |lead: &Lead| lead.next.map(|(lock, ratio)| (ratio.median, lock.to_string(), lead.setting.threads));
    let mut behind: Vec<(f64, String, u32)> = alike.iter().filter_map(next).collect();
    behind.sort_by(|a, b| a.0.total_cmp(&b.0));
    match behind.as_slice() {
        [] => None,
        [(ratio, lock, _)] => Some(format!("{} times the throughput of {lock}", times(*ratio))),
        [least, .., most] => {
            let text = |(ratio, lock, at): &(f64, String, u32)| format!("{} ({lock}, {at} threads)", times(*ratio));
            Some(format!("{} to {} times the throughput of the next", text(least), text(most)))
        }
    }
}
