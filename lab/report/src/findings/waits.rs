//! How long threads wait where most of them want the lock.

use super::answer::NAMED_LOCKS;
use crate::FLAGSHIP;
use crate::board::{Board, Setting, Spread};
use crate::row::{Metric, WAIT_MAX_NS, WAIT_P99_NS};
use ondeck_kit::wording::{duration_ns, list_some, threads};

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

/// Whether a lock is the flagship or a peer; always, if none of them is there.
fn is_shown(board: &Board) -> impl Fn(&str) -> bool {
    let is_main = |lock: &str| lock == FLAGSHIP || board.is_peer(lock);
    let is_any_main = board.locks.iter().any(|lock| is_main(lock));
    move |lock| !is_any_main || is_main(lock)
}
