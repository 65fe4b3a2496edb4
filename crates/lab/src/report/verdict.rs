//! What the figures of a run say, in sentences. Every word that judges has a rule here and a figure beside it.

use super::FLAGSHIP;
use super::text::{count, duration_ns, list};
use crate::board::{Board, Ratio, Setting};
use crate::row::{CPUS, CTX_SWITCHES_PER_S, WAIT_MAX_NS};
use crate::stats::{geometric_mean, median};

/// Below this part of one thread's throughput we say that a lock collapses.
const COLLAPSED_BELOW: f64 = 0.5;
/// From this part on, at every number of threads, we say that a lock keeps its speed.
const KEEPS_FROM: f64 = 0.9;

/// Two to five sentences about the run. `peers` are the locks of other projects.
pub fn sentences(board: &Board, peers: &[&str]) -> Vec<String> {
    let mut said = Vec::new();
    said.extend(against_one_thread(board));
    said.extend(against_peers(board, peers));
    said.extend(after_the_spike(board));
    said.extend(longest_waits(board, peers));
    said.extend(costs(board, peers));
    if board.rounds == 1 {
        said.push("One round cannot show which differences are noise; --rounds 5 or more can.".to_string());
    }
    said
}

/// The command that says more than this run did. `command` made the run, `out` is where its results are, if anywhere.
pub fn next_command(board: &Board, command: &str, out: Option<&str>, is_disturbed: bool) -> String {
    /// As many as show a change of a few percent on a quiet machine, and the interval of a median.
    const ROUNDS: usize = 10;
    let base = without_flag(command, "--rounds");
    match out {
        _ if is_disturbed => format!("{base} --rounds {ROUNDS}    on a machine with less else to do"),
        Some(_) if board.rounds < ROUNDS => format!("{base} --rounds {ROUNDS}    to see small differences too"),
        Some(file) => format!("ondeck compare {file} FILE    with what the same command gives after a change"),
        None => format!("{base} --rounds {ROUNDS} --out FILE.csv    to compare it with another run: ondeck compare"),
    }
}

/// The command line without a flag and its value.
fn without_flag(command: &str, flag: &str) -> String {
    let mut words = Vec::new();
    let mut is_value = false;
    for word in command.split(' ') {
        if !is_value && word != flag && !word.starts_with(&format!("{flag}=")) {
            words.push(word);
        }
        is_value = word == flag;
    }
    words.join(" ")
}

/// How a lock's throughput depends on the number of threads.
struct Course<'a> {
    lock: &'a str,
    /// Numbers of threads above 1, ascending, with the part of one thread's throughput.
    points: Vec<(u32, f64)>,
}

impl<'a> Course<'a> {
    fn of(board: &'a Board, workload: &str, lock: &'a str) -> Option<Self> {
        let settings = board.settings.iter().filter(|setting| setting.workload == workload);
        let point = |setting: &Setting| Some((setting.threads, board.relative_to_one_thread(setting, lock)?.median));
        let points: Vec<(u32, f64)> = settings.filter_map(point).collect();
        (!points.is_empty()).then_some(Course { lock, points })
    }

    fn lowest(&self) -> (u32, f64) {
        self.points.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).expect("a course has a point")
    }

    /// "pthread at 4 threads and more (down to 0.19)"; `None` if it does not collapse.
    fn collapse(&self) -> Option<String> {
        let is_low = |point: &&(u32, f64)| point.1 < COLLAPSED_BELOW;
        let low: Vec<u32> = self.points.iter().filter(is_low).map(|point| point.0).collect();
        let first = *low.first()?;
        let stays = self.points.iter().filter(|point| point.0 >= first).count() == low.len();
        let is_last = self.points.last().is_some_and(|point| point.0 == first);
        let place = match (stays, is_last) {
            (true, false) => format!("from {first} threads on"),
            (true, true) => format!("at {first}"),
            (false, _) => format!("at {}", list(&low.iter().map(u32::to_string).collect::<Vec<String>>())),
        };
        let lowest = self.lowest().1;
        let lowest = if lowest < 0.01 { "below 0.01".to_string() } else { format!("down to {lowest:.2}") };
        Some(format!("{} {place} ({lowest})", self.lock))
    }
}

/// Who keeps the speed of one thread and who does not, in the workload that was run at most numbers of threads.
fn against_one_thread(board: &Board) -> Vec<String> {
    let count_of = |workload: &str| board.settings.iter().filter(|setting| setting.workload == workload).count();
    let with_one =
        board.settings.iter().filter(|setting| setting.threads == 1).map(|setting| setting.workload.as_str());
    // The first of those with most settings: `max_by_key` alone would take the last.
    let Some(workload) = with_one.rev().max_by_key(|workload| count_of(workload)) else { return Vec::new() };
    let courses: Vec<Course> = board.locks.iter().filter_map(|lock| Course::of(board, workload, lock)).collect();
    let Some(most_threads) = courses.first().and_then(|course| course.points.last()).map(|point| point.0) else {
        return Vec::new();
    };
    let keeps = courses.iter().filter(|course| course.lowest().1 >= KEEPS_FROM);
    let keeps: Vec<String> =
        keeps.map(|course| format!("{} ({:.2} or more)", course.lock, course.lowest().1)).collect();
    let between = courses.iter().filter(|course| (COLLAPSED_BELOW..KEEPS_FROM).contains(&course.lowest().1));
    let between: Vec<String> = between
        .map(|course| format!("{} (lowest {:.2}, at {} threads)", course.lock, course.lowest().1, course.lowest().0))
        .collect();
    let collapses: Vec<String> = courses.iter().filter_map(Course::collapse).collect();
    let mut said = Vec::new();
    let parts: Vec<String> = [
        (!keeps.is_empty())
            .then(|| format!("{KEEPS_FROM} of one thread's throughput or more is kept by {}", list(&keeps))),
        (!between.is_empty()).then(|| format!("between {COLLAPSED_BELOW} and {KEEPS_FROM} stay {}", list(&between))),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !parts.is_empty() {
        said.push(format!("{workload}, up to {most_threads} threads: {}.", parts.join("; ")));
    }
    if !collapses.is_empty() {
        said.push(format!("{workload}, below half of one thread's throughput: {}.", list(&collapses)));
    }
    said
}

/// The flagship beside the best peer of each row.
fn against_peers(board: &Board, peers: &[&str]) -> Option<String> {
    let mut cells: Vec<(&Setting, &str, Ratio)> = Vec::new();
    for setting in &board.settings {
        let Some(peer) = board.best(setting, |lock| peers.contains(&lock)) else { continue };
        if let Some(ratio) = board.ratio((setting, FLAGSHIP), (setting, peer)) {
            cells.push((setting, peer, ratio));
        }
    }
    let medians: Vec<f64> = cells.iter().map(|cell| cell.2.median).collect();
    let mean = geometric_mean(&medians)?;
    let (setting, peer, lowest) = cells.iter().min_by(|a, b| a.2.median.total_cmp(&b.2.median))?;
    let mut said = match cells.len() {
        1 => format!("{FLAGSHIP} / best peer ({peer}): {:.2}", lowest.median),
        n => format!(
            "{FLAGSHIP} / best peer, geometric mean of {n} rows: {mean:.2}; lowest {:.2} ({}, {}, against {peer})",
            lowest.median,
            setting.workload,
            threads(setting.threads)
        ),
    };
    let unclear = cells.iter().filter(|cell| cell.2.rounds > 1 && !cell.2.is_clear()).count();
    match (unclear, cells.len()) {
        (0, _) => {}
        (_, 1) => said += "; no difference can be told, the rounds disagree",
        (1, _) => said += "; in 1 of them no difference can be told, the rounds disagree",
        (n, _) => said += &format!("; in {n} of them no difference can be told, the rounds disagree"),
    }
    Some(said + ".")
}

/// Whether the locks have their speed back when the visitors are gone.
fn after_the_spike(board: &Board) -> Option<String> {
    let phase = |name: &str| board.settings.iter().find(|setting| setting.workload == name);
    let (before, after) = (phase("spike/before")?, phase("spike/after")?);
    let recovery = |lock: &String| Some(format!("{lock} {:.2}", board.ratio((after, lock), (before, lock))?.median));
    let shown: Vec<String> = board.locks.iter().filter_map(recovery).collect();
    (!shown.is_empty()).then(|| format!("Throughput after the spike, as a part of that before: {}.", shown.join(", ")))
}

/// Longest waits where most threads wanted the lock.
fn longest_waits(board: &Board, peers: &[&str]) -> Option<String> {
    let shown_locks = shown_locks(board, peers);
    let has_waits =
        |setting: &&Setting| shown_locks.iter().any(|lock| board.median(setting, lock, WAIT_MAX_NS).is_some());
    let setting = board.settings.iter().filter(has_waits).rev().max_by_key(|setting| setting.threads)?;
    if setting.threads < 2 {
        return None;
    }
    let wait =
        |lock: &&String| board.median(setting, lock, WAIT_MAX_NS).map(|ns| format!("{lock} {}", duration_ns(ns)));
    let shown: Vec<String> = shown_locks.iter().filter_map(wait).collect();
    Some(format!("Longest wait at {} ({}): {}.", threads(setting.threads), setting.workload, shown.join(", ")))
}

/// CPUs and context switches over all settings with more than one thread.
fn costs(board: &Board, peers: &[&str]) -> Option<String> {
    let contended: Vec<&Setting> = board.settings.iter().filter(|setting| setting.threads > 1).collect();
    let over_settings = |lock: &str, metric| {
        let values: Vec<f64> = contended.iter().filter_map(|setting| board.median(setting, lock, metric)).collect();
        median(&values)
    };
    let cost = |lock: &&String| {
        let (cpus, switches) = (over_settings(lock, CPUS)?, over_settings(lock, CTX_SWITCHES_PER_S)?);
        Some(format!("{lock} {cpus:.1} and {}", count(switches)))
    };
    let shown: Vec<String> = shown_locks(board, peers).iter().filter_map(cost).collect();
    let all = "CPUs used and context switches a second, median of all rows with more than one thread";
    (!shown.is_empty()).then(|| format!("{all}: {}.", shown.join(", ")))
}

/// The flagship and the peers, or all locks if none of them is there.
fn shown_locks<'a>(board: &'a Board, peers: &[&str]) -> Vec<&'a String> {
    let main = |lock: &&String| *lock == FLAGSHIP || peers.contains(&lock.as_str());
    let shown: Vec<&String> = board.locks.iter().filter(main).collect();
    if shown.is_empty() { board.locks.iter().collect() } else { shown }
}

fn threads(n: u32) -> String {
    if n == 1 { "1 thread".to_string() } else { format!("{n} threads") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    fn row(lock: &str, threads: u32, round: u32, mega: f64) -> Row {
        let row = Row { workload: "mutex-contention".into(), lock: lock.into(), threads, round, ..Row::default() };
        Row { ops_per_s: Some(mega * 1e6), ..row }
    }

    fn said(cells: &[(&str, u32, [f64; 3])]) -> Vec<String> {
        let rows: Vec<Row> = cells
            .iter()
            .flat_map(|(lock, threads, figures)| {
                (0..3).map(|round| row(lock, *threads, round, figures[round as usize]))
            })
            .collect();
        sentences(&Board::new(&rows, &[], &["ondeck".into()]), &["std", "pthread"])
    }

    #[test]
    fn who_keeps_and_who_collapses() {
        let said = said(&[
            ("ondeck", 1, [60.0; 3]),
            ("ondeck", 2, [57.0, 57.1, 56.9]),
            ("ondeck", 4, [58.0; 3]),
            ("std", 1, [60.0; 3]),
            ("std", 2, [9.0; 3]),
            ("std", 4, [10.0; 3]),
            ("pthread", 1, [60.0; 3]),
            ("pthread", 2, [33.0; 3]),
            ("pthread", 4, [12.0; 3]),
        ]);
        assert_eq!(
            said[0],
            "mutex-contention, up to 4 threads: 0.9 of one thread's throughput or more is kept by ondeck (0.95 or more)."
        );
        assert_eq!(
            said[1],
            "mutex-contention, below half of one thread's throughput: std from 2 threads on (down to 0.15) and pthread \
             at 4 (down to 0.20)."
        );
        assert!(
            said[2].contains("geometric mean of 3 rows: 2.03; lowest 1.00 (mutex-contention, 1 thread"),
            "{}",
            said[2]
        );
        assert!(said[2].contains("in 1 of them no difference can be told"), "{}", said[2]);
    }

    #[test]
    fn a_lock_that_recovers_is_not_said_to_stay_low() {
        let said = said(&[("std", 1, [10.0; 3]), ("std", 2, [4.0; 3]), ("std", 4, [8.0; 3])]);
        assert_eq!(said[0], "mutex-contention, below half of one thread's throughput: std at 2 (down to 0.40).");
    }

    #[test]
    fn rounds_that_disagree_say_nothing() {
        let said = said(&[("ondeck", 2, [10.0, 11.0, 9.0]), ("std", 2, [10.5, 10.0, 10.0])]);
        assert_eq!(said, ["ondeck / best peer (std): 0.95; no difference can be told, the rounds disagree."]);
    }

    #[test]
    fn the_next_command_can_be_typed() {
        let board = Board::new(&[], &[], &[]);
        let next = |out, is_disturbed| next_command(&board, "ondeck bench --rounds 2 --lock std", out, is_disturbed);
        assert!(next(None, false).starts_with("ondeck bench --lock std --rounds 10 --out FILE.csv "));
        assert!(next(Some("a.csv"), true).starts_with("ondeck bench --lock std --rounds 10 "));
        assert_eq!(without_flag("ondeck bench --rounds=2 --rounds 3", "--rounds"), "ondeck bench");
    }

    #[test]
    fn recovery_from_a_spike_is_told() {
        let phase = |name: &str, mega| Row { workload: format!("spike/{name}"), ..row("std", 2, 0, mega) };
        let rows = [phase("before", 10.0), phase("during", 2.0), phase("after", 8.0)];
        let said = sentences(&Board::new(&rows, &[], &[]), &["std"]);
        assert_eq!(said[0], "Throughput after the spike, as a part of that before: std 0.80.");
    }

    #[test]
    fn no_rows_no_sentences_but_a_hint() {
        assert_eq!(sentences(&Board::new(&[], &[], &[]), &[]), Vec::<String>::new());
        assert_eq!(sentences(&Board::new(&[row("std", 2, 0, 1.0)], &[], &[]), &["std"]).len(), 1);
    }
}
