//! Who keeps the speed of one thread, and who collapses.

use super::answer::{NAMED_LOCKS, UNKNOWN, numbers};
use crate::board::{Board, Setting, Spread};
use crate::row::main_metric;
use crate::wording::{list_some, threads, times};

/// Below this part of one thread's throughput we say that a lock collapses.
const COLLAPSED_BELOW: f64 = 0.5;
/// From this part on, at every number of threads, we say that a lock keeps its speed.
const KEEPS_FROM: f64 = 0.9;

/// Who keeps the speed of one thread and who collapses, in each workload; that with most numbers of threads first.
pub(super) fn kept(board: &Board) -> Vec<String> {
    let is_contended = |setting: &Setting| setting.threads > 1 && main_metric(&setting.workload).more_is_better;
    if !board.settings.iter().any(is_contended) {
        return Vec::new();
    }
    let mut workloads: Vec<&[Setting]> = board.workloads().collect();
    workloads.sort_by_key(|settings| std::cmp::Reverse(settings.len()));
    let said: Vec<String> = workloads.iter().flat_map(|settings| against_one_thread(board, settings)).collect();
    if said.is_empty() {
        return vec![format!("{UNKNOWN}no workload was run both with one thread and with more.")];
    }
    said
}

/// How a lock's throughput depends on the number of threads.
struct ScalingCurve<'a> {
    lock: &'a str,
    /// Numbers of threads above 1, ascending, with the part of one thread's throughput.
    points: Vec<(u32, Spread)>,
}

impl ScalingCurve<'_> {
    fn lowest(&self) -> (u32, Spread) {
        let by_median = |a: &(u32, Spread), b: &(u32, Spread)| a.1.median.total_cmp(&b.1.median);
        self.points.iter().copied().min_by(by_median).expect("a course has a point")
    }

    /// The rounds' range where it lies on both sides of a bound that decides what is said.
    fn doubt(&self) -> String {
        let Spread { low, high, .. } = self.lowest().1;
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
        let is_low = |point: &&(u32, Spread)| point.1.median < COLLAPSED_BELOW;
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

/// Who keeps the speed of one thread in a workload, of which these are the settings, and who does not.
fn against_one_thread(board: &Board, settings: &[Setting]) -> Vec<String> {
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
