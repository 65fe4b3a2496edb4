//! Who is at bat, awake and asleep: a part of a trace that can be taken in at a glance.

use crate::trace::Place;
use crate::trace::{Span, Trace};
use ondeck_kit::Grid;
use ondeck_kit::wording::{counted, duration_ns, list, plain, three_digits};
use std::collections::BTreeMap;

/// More lanes than these become too thin to follow.
const MOST_LANES: usize = 24;
/// So many acquisitions can be told apart on a page.
const ACQUISITIONS: usize = 40;
/// Where one thread keeps the lock for long, more of them are shown until it has changed hands so often.
const CHANGES: usize = 8;
/// But not more than so many.
const MOST_ACQUISITIONS: usize = 50_000;

/// A part of a trace, with a lane for each thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Lanes {
    /// Name for links and files, unique in a report.
    pub id: String,
    /// What is shown, in one line.
    pub title: String,
    /// Which part of which run is shown.
    pub caption: String,
    /// What is seen, for those who do not see it.
    pub text: String,
    /// Begin and end of the part, in nanoseconds since the start of the run.
    pub window: (u64, u64),
    /// The lanes, by the threads' numbers.
    pub lanes: Vec<Lane>,
}

/// What a thread does in the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// The thread.
    pub name: String,
    /// Where it is, cut at the ends of the window.
    pub spans: Vec<Span>,
    /// How often it acquires the lock in the window.
    pub acquisitions: usize,
}

impl Lane {
    /// How long the thread is at a place, as a part of the window.
    pub fn share(&self, place: Place, (from_ns, to_ns): (u64, u64)) -> f64 {
        let spans = self.spans.iter().filter(|span| span.place == place);
        let ns: u64 = spans.map(|span| span.to_ns - span.from_ns).sum();
        ns as f64 / (to_ns - from_ns).max(1) as f64
    }
}

/// How many threads are where, over a time.
struct Census {
    /// How much of the time the lock is held.
    held: f64,
    awake: f64,
    most_awake: usize,
    dugout: f64,
    acquisitions: usize,
    /// How often the next one to acquire is another thread.
    changes: usize,
}

impl Lanes {
    /// The picture of a trace; `None` if no thread wants a lock in it. Without a place of its own in a report, its id is
    /// `timeline`.
    pub fn new(trace: &Trace) -> Option<Lanes> {
        let contenders = contenders(trace);
        let window = window(&contenders)?;
        let within: Vec<(u32, Vec<Span>)> =
            contenders.iter().map(|(thread, spans)| (*thread, cut(spans, window))).collect();
        let census = Census::new(&within, window);
        let mut lanes: Vec<(u32, Lane)> =
            within.into_iter().map(|(thread, spans)| (thread, lane(thread, spans))).collect();
        let n_threads = lanes.len();
        // The busiest, and those in the order of their numbers.
        let idle = |lane: &Lane| lane.share(Place::Outside, window) + lane.share(Place::Dugout, window);
        lanes.sort_by(|(_, one), (_, other)| idle(one).total_cmp(&idle(other)));
        lanes.truncate(MOST_LANES);
        lanes.sort_by_key(|(thread, _)| *thread);
        let lanes: Vec<Lane> = lanes.into_iter().map(|(_, lane)| lane).collect();
        Some(Lanes {
            id: "timeline".to_string(),
            title: plain(&format!("Who is at bat, awake and asleep: {}", trace.header.subject.lock)),
            caption: plain(&caption(trace, window, lanes.len(), n_threads)),
            text: plain(&text(&census, &lanes, window)),
            window,
            lanes,
        })
    }

    /// What is shown, in numbers: a row for each lane, with its acquisitions and parts of the time.
    pub fn table(&self) -> Grid {
        let mut grid = Grid::new(["thread"], ["acquisitions", "at bat", "awake", "dugout", "outside"]);
        for lane in &self.lanes {
            let share = |place| format!("{:.1}%", lane.share(place, self.window) * 100.0);
            grid.row([lane.name.clone(), lane.acquisitions.to_string()].into_iter().chain(Place::ALL.map(share)));
        }
        grid
    }
}

/// What a trace says as a whole, in sentences.
pub(super) fn sentences(trace: &Trace) -> Vec<String> {
    let contenders = contenders(trace);
    let ends = contenders.iter().flat_map(|(_, spans)| spans.last()).map(|span| span.to_ns).max();
    let (Some(begin), Some(end)) = (all_here(&contenders), ends) else { return Vec::new() };
    let within: Vec<(u32, Vec<Span>)> =
        contenders.iter().map(|(thread, spans)| (*thread, cut(spans, (begin, end)))).collect();
    let census = Census::new(&within, (begin, end));
    let subject = &trace.header.subject;
    vec![
        plain(&format!(
            "{}, {}, {} on a simulated {}: on average {} and {} sleep{}.",
            subject.lock,
            subject.workload,
            counted(subject.threads as usize, "thread"),
            subject.machine,
            awake(census.awake),
            three_digits(census.dugout),
            if census.dugout == 1.0 { "s" } else { "" },
        )),
        format!(
            "This covers {} from when all threads had wanted the lock, with {}.",
            duration_ns((end - begin) as f64),
            counted(census.acquisitions, "acquisition"),
        ),
    ]
}

fn threads(n: f64) -> String {
    if n == 1.0 { "1 thread".to_string() } else { format!("{} threads", three_digits(n)) }
}

/// The threads that want the lock at some time.
fn contenders(trace: &Trace) -> Vec<(u32, &[Span])> {
    let wants = |spans: &&Vec<Span>| spans.iter().any(|span| span.place != Place::Outside);
    trace.threads.iter().filter(|(_, spans)| wants(spans)).map(|(thread, spans)| (*thread, spans.as_slice())).collect()
}

/// When each of them has wanted it once.
fn all_here(contenders: &[(u32, &[Span])]) -> Option<u64> {
    let first = |spans: &[Span]| spans.iter().find(|span| span.place != Place::Outside).map(|span| span.from_ns);
    contenders.iter().filter_map(|(_, spans)| first(spans)).max()
}

/// The acquisitions, in the order of time, and by whom.
fn acquisitions<'s>(threads: impl Iterator<Item = (u32, &'s [Span])>) -> Vec<(u64, u32)> {
    let mut all: Vec<(u64, u32)> = Vec::new();
    for (thread, spans) in threads {
        let at_bat = spans.iter().filter(|span| span.place == Place::AtBat);
        all.extend(at_bat.map(|span| (span.from_ns, thread)));
    }
    all.sort_unstable();
    all
}

/// What is shown: from the middle of the record on, as by then all have found their place, so many acquisitions that each
/// can be seen.
fn window(contenders: &[(u32, &[Span])]) -> Option<(u64, u64)> {
    let all = acquisitions(contenders.iter().map(|(thread, spans)| (*thread, *spans)));
    let here = all_here(contenders)?;
    let end = contenders.iter().filter_map(|(_, spans)| spans.last()).map(|span| span.to_ns).max()?;
    let middle = all.partition_point(|(at, _)| *at < here.midpoint(end));
    let first = middle.min(all.len().saturating_sub(ACQUISITIONS + 1));
    let mut changes = 0;
    let mut last = first;
    while last + 1 < all.len() && last - first < MOST_ACQUISITIONS {
        if last - first >= ACQUISITIONS && changes >= CHANGES {
            break;
        }
        changes += usize::from(all[last].1 != all[last + 1].1);
        last += 1;
    }
    let whole = (contenders.iter().filter_map(|(_, spans)| spans.first()).map(|span| span.from_ns).min()?, end);
    match (all.get(first), all.get(last)) {
        (Some((from, _)), Some((to, _))) if from < to => Some((*from, *to)),
        // So few acquisitions that all of the record can be shown.
        _ => Some(whole),
    }
}

/// The spans within the window.
fn cut(spans: &[Span], (from, to): (u64, u64)) -> Vec<Span> {
    let cut = spans.iter().map(|span| Span { from_ns: span.from_ns.max(from), to_ns: span.to_ns.min(to), ..*span });
    cut.filter(|span| span.from_ns < span.to_ns).collect()
}

fn lane(thread: u32, spans: Vec<Span>) -> Lane {
    let acquisitions = spans.iter().filter(|span| span.place == Place::AtBat).count();
    Lane { name: format!("thread {thread}"), spans, acquisitions }
}

impl Census {
    fn new(threads: &[(u32, Vec<Span>)], (from, to): (u64, u64)) -> Census {
        let spans = || threads.iter().flat_map(|(_, spans)| spans);
        let mean = |place: Place| {
            let of_place = spans().filter(|span| span.place == place);
            let ns: u64 = of_place.map(|span| span.to_ns - span.from_ns).sum();
            ns as f64 / (to - from).max(1) as f64
        };
        let acquisitions = acquisitions(threads.iter().map(|(thread, spans)| (*thread, spans.as_slice())));
        let at_bat = spans().filter(|span| span.place == Place::AtBat);
        Census {
            held: covered(at_bat) as f64 / (to - from).max(1) as f64,
            awake: mean(Place::Awake),
            most_awake: most_at_once(spans().filter(|span| span.place == Place::Awake)),
            dugout: mean(Place::Dugout),
            acquisitions: acquisitions.len(),
            changes: acquisitions.windows(2).filter(|pair| pair[0].1 != pair[1].1).count(),
        }
    }
}

/// How long there is at least one span, in nanoseconds. A thread is at bat until its unlock has returned, so the next one
/// may be there before.
fn covered<'s>(spans: impl Iterator<Item = &'s Span>) -> u64 {
    let mut all: Vec<(u64, u64)> = spans.map(|span| (span.from_ns, span.to_ns)).collect();
    all.sort_unstable();
    let (mut sum, mut reached) = (0, 0);
    for (from, to) in all {
        sum += to.saturating_sub(from.max(reached));
        reached = reached.max(to);
    }
    sum
}

/// How many spans there are at most at one time. One that ends when another begins does not meet it.
fn most_at_once<'s>(spans: impl Iterator<Item = &'s Span>) -> usize {
    let mut steps: BTreeMap<u64, i64> = BTreeMap::new();
    for span in spans {
        *steps.entry(span.from_ns).or_default() += 1;
        *steps.entry(span.to_ns).or_default() -= 1;
    }
    let running = steps.values().scan(0, |now, step| {
        *now += step;
        Some(*now)
    });
    running.max().unwrap_or(0) as usize
}

fn caption(trace: &Trace, (from, to): (u64, u64), shown: usize, n_threads: usize) -> String {
    let subject = &trace.header.subject;
    let some = match n_threads - shown {
        0 => String::new(),
        _ => format!(" The {shown} busiest of {n_threads} threads are shown."),
    };
    format!(
        "{} with {} on a simulated {}, seed {}: {} of the run, from {} after its start.{some}",
        subject.workload,
        counted(subject.threads as usize, "thread"),
        subject.machine,
        subject.seed,
        duration_ns((to - from) as f64),
        duration_ns(from as f64),
    )
}

fn text(census: &Census, lanes: &[Lane], (from, to): (u64, u64)) -> String {
    let most = lanes.iter().map(|lane| lane.acquisitions).max().unwrap_or(0);
    let names: Vec<String> =
        lanes.iter().filter(|lane| lane.acquisitions == most).map(|lane| lane.name.clone()).collect();
    let busiest = match most {
        0 => "Nobody acquires the lock.".to_string(),
        _ if names.len() > 3 => format!("No thread acquires it more often than {}.", counted(most, "time")),
        _ => format!("Most often, {}, it is acquired by {}.", counted(most, "time"), list(&names)),
    };
    format!(
        "In the {} shown, the lock is acquired {} and goes from one thread to another {}. It is held {:.0} % of the time. \
         On average, {}, {} at most, and {} in the dugout. {busiest}",
        duration_ns((to - from) as f64),
        counted(census.acquisitions, "time"),
        counted(census.changes, "time"),
        census.held * 100.0,
        awake(census.awake),
        census.most_awake,
        three_digits(census.dugout),
    )
}

fn awake(n: f64) -> String {
    let (are, want) = if n == 1.0 { ("is", "wants") } else { ("are", "want") };
    format!("{} {are} awake and {want} the lock", threads(n))
}

/// Gives a number to each id that is taken.
pub(super) fn make_ids_unique(all: &mut [Lanes]) {
    for (index, lanes) in all.iter_mut().enumerate().skip(1) {
        lanes.id = format!("{}-{}", lanes.id, index + 1);
    }
}

#[cfg(test)]
mod tests;
