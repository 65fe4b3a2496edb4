//! Who is ahead, and by how much: only where all rounds say so.

use super::answer::{NAMED_LOCKS, numbers};
use crate::FLAGSHIP;
use crate::board::{Board, Setting, Spread};
use crate::row::main_metric;
use crate::stats::geometric_mean;
use crate::wording::{counted, duration_ns, list_some, threads, times};

/// So many parts of a range of threads are told apart in a sentence.
const CLAUSES: usize = 8;

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
    against_peers(board).into_iter().chain(said).collect()
}

/// The flagship beside the best peer of each row.
fn against_peers(board: &Board) -> Option<String> {
    let mut cells: Vec<(&Setting, &str, Spread)> = Vec::new();
    for setting in &board.settings {
        let Some(peer) = board.best(setting, |lock| board.is_peer(lock)) else { continue };
        if let Some(ratio) = board.ratio((setting, FLAGSHIP), (setting, peer)) {
            cells.push((setting, peer, ratio));
        }
    }
    let medians: Vec<f64> = cells.iter().map(|cell| cell.2.median).collect();
    let mean = geometric_mean(&medians)?;
    let (setting, peer, lowest) = cells.iter().min_by(|a, b| a.2.median.total_cmp(&b.2.median))?;
    let mut said = match cells.len() {
        1 => format!("{FLAGSHIP} is {:.2} times as fast as the best peer, {peer}.", lowest.median),
        n => format!(
            "{FLAGSHIP} is {mean:.2} times as fast as the best peer of each row (geometric mean of {n} rows). Lowest: \
             {:.2} ({}, {}, against {peer}).",
            lowest.median,
            setting.workload,
            threads(setting.threads)
        ),
    };
    let unclear = cells.iter().filter(|cell| cell.2.rounds > 1 && !cell.2.is_clear()).count();
    match (unclear, cells.len()) {
        (0, _) => {}
        (_, 1) => said += " That may be noise: the rounds disagree.",
        (1, _) => said += " In 1 row the difference may be noise: the rounds disagree.",
        (n, _) => said += &format!(" In {n} rows the difference may be noise: the rounds disagree."),
    }
    Some(said)
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

/// Whether the locks have their speed back when the visitors are gone.
pub(super) fn recovery(board: &Board) -> Option<String> {
    let phase = |name: &str| board.settings.iter().find(|setting| setting.workload == name);
    let (before, after) = (phase("spike/before")?, phase("spike/after")?);
    let ratios: Vec<(&String, Spread)> =
        board.locks.iter().filter_map(|lock| Some((lock, board.ratio((after, lock), (before, lock))?))).collect();
    let is_untold = |ratio: &Spread| ratio.rounds > 1 && !ratio.is_clear();
    let text = |(lock, ratio): &(&String, Spread)| format!("{lock} {}", times(ratio.median));
    let of = |untold: bool| {
        let named: Vec<String> = ratios.iter().filter(|(_, ratio)| is_untold(ratio) == untold).map(text).collect();
        (!named.is_empty()).then(|| list_some(&named, NAMED_LOCKS))
    };
    let after = "Throughput after the spike, relative to before";
    match (of(false), of(true)) {
        (Some(told), Some(untold)) => {
            Some(format!("{after}: {told}. Perhaps unchanged (the rounds disagree): {untold}."))
        }
        (Some(told), None) => Some(format!("{after}: {told}.")),
        (None, Some(untold)) => Some(format!("{after}, perhaps unchanged (the rounds disagree): {untold}.")),
        (None, None) => None,
    }
}

/// Who is ahead in one setting.
pub(super) struct Lead<'a> {
    setting: &'a Setting,
    pub(super) best: &'a str,
    /// Locks that the rounds do not agree are behind the best.
    pub(super) level: Vec<&'a str>,
    /// The best of those that are behind, and how many times as good the best is.
    pub(super) next: Option<(&'a str, Spread)>,
}

impl<'a> Lead<'a> {
    /// `None` where no two locks can be compared.
    pub(super) fn of(board: &'a Board, setting: &'a Setting) -> Option<Self> {
        let best = board.best(setting, |_| true)?;
        let (mut level, mut next) = (Vec::new(), None::<(&str, Spread)>);
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
            let at: Vec<u32> = alike.iter().map(|lead| lead.setting.threads).collect();
            format!("At {} threads", numbers(&at))
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
