//! What a lock takes for its speed: CPUs, context switches, waiting, and the turns of the thread that had fewest.

use super::answer::NAMED_LOCKS;
use crate::FLAGSHIP;
use crate::board::{Board, Setting, Spread};
use crate::row::{CPUS, CTX_SWITCHES_PER_S, MIN_SHARE, Metric, WAIT_MAX_NS, WAIT_P99_NS};
use ondeck_kit::stats::median;
use ondeck_kit::wording::{count, duration_ns, list_some, threads, times};

/// CPU time of all threads for each operation that was done.
const CPU_NS_PER_OP: Metric = Metric {
    name: "cpu_ns_per_op",
    of: |row| row.cpus.zip(row.ops_per_s).map(|(cpus, ops_per_s)| cpus / ops_per_s * 1e9),
    more_is_better: false,
};

/// CPU time of an operation where most threads want the lock; CPUs and context switches everywhere.
pub(super) fn cpus(board: &Board) -> Vec<String> {
    let of_one = at_most_threads(board, "CPU time of all threads per operation", CPU_NS_PER_OP);
    of_one.into_iter().chain(costs(board)).collect()
}

/// The tail of the waits and the longest, where most threads want the lock.
pub(super) fn waits(board: &Board) -> Vec<String> {
    let tail = at_most_threads(board, "Time that 99 of 100 waits stayed within", WAIT_P99_NS);
    tail.into_iter().chain(at_most_threads(board, "Longest wait", WAIT_MAX_NS)).collect()
}

/// A time where most threads wanted the lock. `what` says which.
fn at_most_threads(board: &Board, what: &str, metric: Metric) -> Option<String> {
    let is_shown = is_shown(board);
    let waits = |setting: &Setting| -> Vec<(&str, Spread)> {
        let shown = board.locks_in(setting).into_iter().filter(|lock| is_shown(lock));
        shown.filter_map(|lock| Some((lock, board.spread(setting, lock, metric)?))).collect()
    };
    let has_waits = |setting: &&Setting| !waits(setting).is_empty();
    let setting = board.settings.iter().filter(has_waits).rev().max_by_key(|setting| setting.threads)?;
    if setting.threads < 2 {
        return None;
    }
    let wait = |(lock, spread): (&str, Spread)| {
        format!("{lock} {}{}", if spread.is_at_least { "more than " } else { "" }, duration_ns(spread.median))
    };
    let shown: Vec<String> = waits(setting).into_iter().map(wait).collect();
    let shown = list_some(&shown, NAMED_LOCKS);
    Some(format!("{what} at {} ({}): {shown}.", threads(setting.threads), setting.workload))
}

/// CPUs and context switches over all settings with more than one thread.
fn costs(board: &Board) -> Option<String> {
    let contended = board.settings.iter().filter(|setting| setting.threads > 1);
    let is_shown = is_shown(board);
    let costs = board.by_lock(contended, |setting, lock| {
        is_shown(lock).then(|| [CPUS, CTX_SWITCHES_PER_S].map(|metric| board.median(setting, lock, metric)))
    });
    let cost = |(lock, costs): &(&str, Vec<[Option<f64>; 2]>)| {
        let over_settings = |at: usize| median(&costs.iter().filter_map(|cost| cost[at]).collect::<Vec<f64>>());
        Some(format!("{lock} {:.1} / {}", over_settings(0)?, count(over_settings(1)?)))
    };
    let shown: Vec<String> = costs.iter().filter_map(cost).collect();
    let all = "CPUs used / context switches a second, median of all rows with several threads";
    (!shown.is_empty()).then(|| format!("{all}: {}.", list_some(&shown, NAMED_LOCKS)))
}

/// The smallest share that a thread had anywhere.
pub(super) fn shares(board: &Board) -> Vec<String> {
    let contended = board.settings.iter().filter(|setting| setting.threads > 1);
    let is_shown = is_shown(board);
    let shares = board.by_lock(contended, |setting, lock| {
        let share = board.median(setting, lock, MIN_SHARE).filter(|_| is_shown(lock));
        share.map(|share| (setting, share))
    });
    let smallest = |(lock, shares): (&str, Vec<(&Setting, f64)>)| {
        let (setting, share) = shares.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!("{lock} {} ({})", times(share), place(setting)))
    };
    let shown: Vec<String> = shares.into_iter().filter_map(smallest).collect();
    let what = "Smallest share of a thread, relative to an even share";
    if shown.is_empty() { Vec::new() } else { vec![format!("{what}: {}.", list_some(&shown, NAMED_LOCKS))] }
}

/// Whether a lock is the flagship or a peer; always, if none of them is there.
fn is_shown(board: &Board) -> impl Fn(&str) -> bool {
    let is_main = |lock: &str| lock == FLAGSHIP || board.is_peer(lock);
    let is_any_main = board.locks.iter().any(|lock| is_main(lock));
    move |lock| !is_any_main || is_main(lock)
}

fn place(setting: &Setting) -> String {
    format!("{}, {}", setting.workload, threads(setting.threads))
}
