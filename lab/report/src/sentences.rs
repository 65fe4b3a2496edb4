//! What the figures of a run say, in sentences. Every word that judges has a rule here and a figure beside it.

use crate::FLAGSHIP;
use crate::board::{Board, Ratio, Setting, Spread};
use crate::row::{CPUS, CTX_SWITCHES_PER_S, Metric, WAIT_MAX_NS, main_unit};
use crate::stats::{geometric_mean, median};
use crate::wording::{count, duration_ns, list_some, threads, three_digits, times};

/// Below this part of one thread's throughput we say that a lock collapses.
const COLLAPSED_BELOW: f64 = 0.5;
/// From this part on, at every number of threads, we say that a lock keeps its speed.
const KEEPS_FROM: f64 = 0.9;
/// So many locks are named in one breath.
pub(super) const NAMED_LOCKS: usize = 8;
/// So many figures on which seeds do not agree.
const NAMED_CELLS: usize = 4;
/// From this ratio on we say that seeds do not agree.
const FAR: f64 = 1.1;
/// So many numbers of threads stand in a sentence.
const NAMED_NUMBERS: usize = 16;

/// What a run of one round cannot say.
pub(super) const ONE_ROUND: &str = "One round cannot show which differences are noise. Use --rounds 5 or more.";

/// Two to five sentences about the run.
pub(super) fn sentences(board: &Board) -> Vec<String> {
    let mut said = Vec::new();
    said.extend(widest_workload(board).into_iter().flat_map(|settings| against_one_thread(board, settings)));
    said.extend(against_peers(board));
    said.extend(after_the_spike(board));
    said.extend(at_most_threads(board, "Longest wait", WAIT_MAX_NS));
    said.extend(costs(board));
    said.extend(between_seeds(board));
    if board.rounds == 1 {
        said.push(ONE_ROUND.to_string());
    }
    said
}

/// How far the seeds of simulated runs lie apart: nothing but chance is between them.
pub(super) fn between_seeds(board: &Board) -> Option<String> {
    let cells =
        board.settings.iter().flat_map(|setting| board.locks_in(setting).into_iter().map(move |lock| (setting, lock)));
    let spread = |(setting, lock)| Some((setting, lock, board.seeds(setting, lock)?));
    let mut cells: Vec<(&Setting, &str, Spread)> = cells.filter_map(spread).collect();
    cells.sort_by(|a, b| b.2.width().total_cmp(&a.2.width()));
    let n_far = cells.iter().filter(|cell| cell.2.width() >= FAR).count();
    let (_, _, widest) = cells.first()?;
    if n_far == 0 {
        return Some(format!("No figure differs between seeds by more than {:.1} %.", (widest.width() - 1.0) * 100.0));
    }
    let told = |(setting, lock, spread): &(&Setting, &str, Spread)| {
        let unit = main_unit(&setting.workload);
        let [low, high] = [spread.low, spread.high].map(|value| three_digits(value / unit.size));
        let bistable = if spread.is_bistable { ", bistable" } else { "" };
        format!("{lock} {low} to {high} {} ({}, {}{bistable})", unit.name, setting.workload, threads(setting.threads))
    };
    let told: Vec<String> = cells[..n_far].iter().map(told).collect();
    let (of, told) = (cells.len(), list_some(&told, NAMED_CELLS));
    Some(format!("Seeds differ by 10 % or more in {n_far} of {of} figures: {told}."))
}

/// How a lock's throughput depends on the number of threads.
struct ScalingCurve<'a> {
    lock: &'a str,
    /// Numbers of threads above 1, ascending, with the part of one thread's throughput.
    points: Vec<(u32, Ratio)>,
}

impl ScalingCurve<'_> {
    fn lowest(&self) -> (u32, Ratio) {
        let by_median = |a: &(u32, Ratio), b: &(u32, Ratio)| a.1.median.total_cmp(&b.1.median);
        self.points.iter().copied().min_by(by_median).expect("a course has a point")
    }

    /// The rounds' range where it lies on both sides of a bound that decides what is said.
    fn doubt(&self) -> String {
        let Ratio { low, high, .. } = self.lowest().1;
        let is_crossed = [COLLAPSED_BELOW, KEEPS_FROM].iter().any(|bound| (low..high).contains(bound));
        if is_crossed { format!("; in rounds {} to {}", times(low), times(high)) } else { String::new() }
    }

    /// "ondeck (at least 0.95 of one thread)"; `None` if it is lower somewhere.
    fn keeps(&self) -> Option<String> {
        let (_, lowest) = self.lowest();
        let text = || format!("{} (at least {} of one thread{})", self.lock, times(lowest.median), self.doubt());
        (lowest.median >= KEEPS_FROM).then(text)
    }

    /// "std (0.62 at 4 threads)"; `None` if it keeps its speed or collapses.
    fn between(&self) -> Option<String> {
        let (at, lowest) = self.lowest();
        let text = || format!("{} ({} at {}{})", self.lock, times(lowest.median), threads(at), self.doubt());
        (COLLAPSED_BELOW..KEEPS_FROM).contains(&lowest.median).then(text)
    }

    /// "pthread from 4 threads on (down to 0.19)"; `None` if it does not collapse.
    fn collapse(&self) -> Option<String> {
        let is_low = |point: &&(u32, Ratio)| point.1.median < COLLAPSED_BELOW;
        let low: Vec<u32> = self.points.iter().filter(is_low).map(|point| point.0).collect();
        let first = *low.first()?;
        let stays = self.points.iter().filter(|point| point.0 >= first).count() == low.len();
        let is_last = self.points.last().is_some_and(|point| point.0 == first);
        let place = match (stays, is_last) {
            (true, false) => format!("from {first} threads on"),
            (true, true) => format!("at {first} threads"),
            (false, _) => format!("at {}", numbers(&low)),
        };
        let (_, lowest) = self.lowest();
        let lowest =
            if lowest.median < 0.01 { times(lowest.median) } else { format!("down to {}", times(lowest.median)) };
        Some(format!("{} {place} ({lowest}{})", self.lock, self.doubt()))
    }
}

/// Numbers of threads as in a sentence; of many, the first.
pub(super) fn numbers(threads: &[u32]) -> String {
    list_some(&threads.iter().map(u32::to_string).collect::<Vec<String>>(), NAMED_NUMBERS)
}

/// The settings of the workload that was run with one thread and at most numbers of threads.
fn widest_workload<'a>(board: &'a Board) -> Option<&'a [Setting]> {
    let with_one = board.workloads().filter(|settings| settings.iter().any(|setting| setting.threads == 1));
    // The first of those with most settings: `max_by_key` alone would take the last.
    with_one.rev().max_by_key(|settings| settings.len())
}

/// Who keeps the speed of one thread in a workload, of which these are the settings, and who does not.
pub(super) fn against_one_thread(board: &Board, settings: &[Setting]) -> Vec<String> {
    let point = |setting: &Setting, lock: &str| Some((setting.threads, board.relative_to_one_thread(setting, lock)?));
    let courses = board.by_lock(settings.iter(), point).into_iter();
    let courses: Vec<ScalingCurve> = courses.map(|(lock, points)| ScalingCurve { lock, points }).collect();
    let workload = settings.first().map_or("", |setting| &setting.workload);
    let Some(most_threads) = courses.iter().filter_map(|course| course.points.last()).map(|point| point.0).max() else {
        return Vec::new();
    };
    let place = format!("up to {most_threads} threads ({workload})");
    let kept = match (named(&courses, ScalingCurve::keeps), named(&courses, ScalingCurve::between)) {
        (Some(all), Some(half)) => Some(format!("Keeps its speed {place}: {all}. Keeps half or more: {half}.")),
        (Some(all), None) => Some(format!("Keeps its speed {place}: {all}.")),
        (None, Some(half)) => Some(format!("Keeps half or more of its speed {place}: {half}.")),
        (None, None) => None,
    };
    let collapses = named(&courses, ScalingCurve::collapse);
    let collapses = collapses.map(|locks| format!("Falls below half of one thread's speed ({workload}): {locks}."));
    kept.into_iter().chain(collapses).collect()
}

/// The locks of which there is that to say.
fn named<'a>(courses: &[ScalingCurve<'a>], what: impl Fn(&ScalingCurve<'a>) -> Option<String>) -> Option<String> {
    let named: Vec<String> = courses.iter().filter_map(what).collect();
    (!named.is_empty()).then(|| list_some(&named, NAMED_LOCKS))
}

/// The flagship beside the best peer of each row.
pub(super) fn against_peers(board: &Board) -> Option<String> {
    let mut cells: Vec<(&Setting, &str, Ratio)> = Vec::new();
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

/// Whether the locks have their speed back when the visitors are gone.
pub(super) fn after_the_spike(board: &Board) -> Option<String> {
    let phase = |name: &str| board.settings.iter().find(|setting| setting.workload == name);
    let (before, after) = (phase("spike/before")?, phase("spike/after")?);
    let ratios: Vec<(&String, Ratio)> =
        board.locks.iter().filter_map(|lock| Some((lock, board.ratio((after, lock), (before, lock))?))).collect();
    let is_untold = |ratio: &Ratio| ratio.rounds > 1 && !ratio.is_clear();
    let text = |(lock, ratio): &(&String, Ratio)| format!("{lock} {}", times(ratio.median));
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

/// A time where most threads wanted the lock. `what` says which.
pub(super) fn at_most_threads(board: &Board, what: &str, metric: Metric) -> Option<String> {
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
pub(super) fn costs(board: &Board) -> Option<String> {
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

/// Whether a lock is the flagship or a peer; always, if none of them is there.
pub(super) fn is_shown(board: &Board) -> impl Fn(&str) -> bool {
    let is_main = |lock: &str| lock == FLAGSHIP || board.is_peer(lock);
    let is_any_main = board.locks.iter().any(|lock| is_main(lock));
    move |lock| !is_any_main || is_main(lock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
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
        sentences(&Board::new(&rows, &Catalogue::new(&[], &["ondeck"], &["std", "pthread"])))
    }

    #[test]
    fn seeds_that_differ_are_named() {
        let seeds = |platform: &str, figures: [f64; 3]| {
            let row = |lock, figures: [f64; 3]| {
                figures.into_iter().zip(0..).map(move |(mega, round)| row(lock, 4, round, mega)).collect::<Vec<Row>>()
            };
            let mut rows = [row("ondeck", [60.0, 60.0, 61.0]), row("tas", figures)].concat();
            rows.iter_mut().for_each(|row| row.platform = platform.into());
            between_seeds(&Board::new(&rows, &Catalogue::default()))
        };
        let told = "Seeds differ by 10 % or more in 1 of 2 figures: tas 5.00 to 20.0 M/s (mutex-contention, 4 threads, \
                    bistable).";
        assert_eq!(seeds("sim", [5.0, 20.0, 20.1].map(|mega: f64| mega.floor())).as_deref(), Some(told));
        let near = "No figure differs between seeds by more than 1.7 %.";
        assert_eq!(seeds("sim", [10.0, 10.0, 10.1]).as_deref(), Some(near));
        assert_eq!(seeds("hardware", [5.0, 20.0, 20.0]), None);
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
            "Keeps its speed up to 4 threads (mutex-contention): ondeck (at least 0.95 of one thread)."
        );
        assert_eq!(
            said[1],
            "Falls below half of one thread's speed (mutex-contention): std from 2 threads on (down to 0.15) and pthread at 4 threads \
             (down to 0.20)."
        );
        assert!(
            said[2].contains("2.03 times as fast") && said[2].contains("Lowest: 1.00 (mutex-contention, 1 thread"),
            "{}",
            said[2]
        );
        assert!(said[2].contains("In 1 row the difference may be noise"), "{}", said[2]);
    }

    #[test]
    fn a_lock_that_recovers_is_not_said_to_stay_low() {
        let said = said(&[("std", 1, [10.0; 3]), ("std", 2, [4.0; 3]), ("std", 4, [8.0; 3])]);
        assert_eq!(said[0], "Falls below half of one thread's speed (mutex-contention): std at 2 (down to 0.40).");
    }

    #[test]
    fn rounds_that_disagree_say_nothing() {
        let said = said(&[("ondeck", 2, [10.0, 11.0, 9.0]), ("std", 2, [10.5, 10.0, 10.0])]);
        assert_eq!(
            said,
            ["ondeck is 0.95 times as fast as the best peer, std. That may be noise: the rounds disagree."]
        );
    }

    #[test]
    fn recovery_from_a_spike_is_told() {
        let phase = |name: &str, mega| Row { workload: format!("spike/{name}"), ..row("std", 2, 0, mega) };
        let rows = [phase("before", 10.0), phase("during", 2.0), phase("after", 8.0)];
        let said = sentences(&Board::new(&rows, &Catalogue::new(&[], &[], &["std"])));
        assert_eq!(said[0], "Throughput after the spike, relative to before: std 0.80.");
    }

    #[test]
    fn no_rows_no_sentences_but_a_hint() {
        assert_eq!(sentences(&Board::new(&[], &Catalogue::default())), Vec::<String>::new());
        assert_eq!(sentences(&Board::new(&[row("std", 2, 0, 1.0)], &Catalogue::default())).len(), 1);
    }
}
