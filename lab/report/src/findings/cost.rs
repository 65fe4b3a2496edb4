//! What a lock takes for its speed: CPUs, context switches, waiting, and the turns of the thread that had fewest.

use crate::board::{Board, Setting};
use crate::row::{MIN_SHARE, Metric, WAIT_MAX_NS, WAIT_P99_NS};
use crate::sentences::{self, NAMED_LOCKS, is_shown};
use crate::wording::{list_some, threads, times};

/// CPU time of all threads for each operation that was done.
const CPU_NS_PER_OP: Metric = Metric {
    name: "cpu_ns_per_op",
    of: |row| row.cpus.zip(row.ops_per_s).map(|(cpus, ops_per_s)| cpus / ops_per_s * 1e9),
    more_is_better: false,
};

/// CPU time of an operation where most threads want the lock; CPUs and context switches everywhere.
pub(super) fn cpus(board: &Board) -> Vec<String> {
    let of_one = sentences::at_most_threads(board, "CPU time of all threads per operation", CPU_NS_PER_OP);
    of_one.into_iter().chain(sentences::costs(board)).collect()
}

/// The tail of the waits and the longest, where most threads want the lock.
pub(super) fn waits(board: &Board) -> Vec<String> {
    let tail = sentences::at_most_threads(board, "Time that 99 of 100 waits stayed within", WAIT_P99_NS);
    tail.into_iter().chain(sentences::at_most_threads(board, "Longest wait", WAIT_MAX_NS)).collect()
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

fn place(setting: &Setting) -> String {
    format!("{}, {}", setting.workload, threads(setting.threads))
}
