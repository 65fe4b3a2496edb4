//! The charts of a report: throughput and waits over numbers of threads, for each workload that has several.

#[cfg(test)]
mod tests;
mod words;

use crate::FLAGSHIP;
use crate::board::{Board, Spread};
use crate::catalogue::Catalogue;
use crate::inputs::Source;
use crate::row::{Metric, WAIT_P99_NS, is_simulated, machine, main_metric, main_unit};
use ondeck_kit::figure::{Axis, Figure, Point, Scale, Series, Unit};
use ondeck_kit::palette::HUES;
use ondeck_kit::wording::{counted_that, threads};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use words::{list_some, rounds, short, shown, slug};

/// More charts than this nobody looks at.
const MOST_CHARTS: usize = 60;
/// More points than this make the page slow, and larger than can be sent around.
const MOST_POINTS: usize = 4000;
/// More series than this cannot be told apart.
const MOST_SERIES: usize = 24;
/// From this ratio of the largest value to the smallest on, the small ones cannot be seen on a linear axis.
const DECADES: f64 = 100.0;
/// Names that a sentence about machines lists.
const MOST_LISTED: usize = 8;

/// The charts of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Charts {
    /// The charts, in the order in which they are shown.
    pub figures: Vec<Figure>,
    /// How many charts there could be more, and how to see them, in a sentence; `None` if all are there.
    pub left_out: Option<String>,
}

/// What a chart shows of each lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Throughput,
    Waits,
}

/// What a chart is made from.
struct Data<'a> {
    boards: &'a [Board<'a>],
    /// Names of the files, as the legend has them.
    labels: Vec<String>,
    styles: HashMap<&'a str, usize>,
}

/// Where a workload was run.
type Places = BTreeSet<(u32, usize)>;

/// The charts that the files have figures for, by workload.
pub fn figures(sources: &[Source], catalogue: &Catalogue) -> Charts {
    let boards: Vec<Board> = sources.iter().map(|source| source.board(catalogue)).collect();
    let mut styles = HashMap::from([(FLAGSHIP, 0)]);
    for lock in boards.iter().flat_map(|board| &board.locks) {
        let next = styles.len();
        styles.entry(lock.as_str()).or_insert(next);
    }
    let data = Data { boards: &boards, labels: sources.iter().map(|source| short(&source.label)).collect(), styles };
    let (mut figures, mut points, mut left_out) = (Vec::new(), 0, 0);
    for (workload, places) in workloads(&boards) {
        for figure in [What::Throughput, What::Waits].iter().filter_map(|what| data.figure(*what, workload, &places)) {
            let more: usize = figure.series.iter().map(|series| series.points.len()).sum();
            if figures.len() == MOST_CHARTS || points + more > MOST_POINTS {
                left_out += 1;
            } else {
                points += more;
                figures.push(figure);
            }
        }
    }
    make_ids_unique(&mut figures);
    Charts { figures, left_out: (left_out > 0).then(|| sentence(left_out)) }
}

/// The workloads that were run with several numbers of threads, in the order in which they first appear.
fn workloads<'a>(boards: &'a [Board<'a>]) -> Vec<(&'a str, Places)> {
    let mut names: Vec<&str> = Vec::new();
    let mut places: HashMap<&str, Places> = HashMap::new();
    for (source, board) in boards.iter().enumerate() {
        for setting in &board.settings {
            let of_workload = places.entry(&setting.workload).or_insert_with(|| {
                names.push(&setting.workload);
                Places::new()
            });
            of_workload.insert((setting.threads, source));
        }
    }
    let all = names.into_iter().map(|name| (name, places.remove(name).unwrap_or_default()));
    all.filter(|(_, places)| places.iter().any(|(threads, _)| Some(threads) != places.first().map(|at| &at.0)))
        .collect()
}

fn sentence(left_out: usize) -> String {
    let charts = counted_that(left_out, "chart", ["is", "are"]);
    format!(
        "{charts} left out, so that the page stays readable: ondeck report --markdown has all figures, and a report of \
         fewer files or workloads shows more of each."
    )
}

/// Gives a number to each id that an earlier figure has.
fn make_ids_unique(figures: &mut [Figure]) {
    let mut taken: HashSet<String> = HashSet::new();
    for figure in figures {
        let plain = figure.id.clone();
        let mut number = 1;
        while !taken.insert(figure.id.clone()) {
            number += 1;
            figure.id = format!("{plain}-{number}");
        }
    }
}

impl What {
    /// The figure, if the workload has it.
    fn metric(self, workload: &str) -> Option<Metric> {
        match self {
            What::Throughput => Some(main_metric(workload)).filter(|metric| metric.more_is_better),
            What::Waits => Some(WAIT_P99_NS),
        }
    }

    fn name(self) -> &'static str {
        match self {
            What::Throughput => "throughput",
            What::Waits => "waits",
        }
    }

    /// What runs upwards, with the size of its unit. Millions are left to the writing of each number.
    fn label(self, workload: &str) -> (&'static str, f64) {
        match (self, main_unit(workload)) {
            (What::Waits, _) => ("wait that 99 of 100 did not exceed", 1.0),
            (What::Throughput, unit) if unit.name == "M/s" => ("operations a second", 1.0),
            (What::Throughput, unit) => (unit.meaning, unit.size),
        }
    }

    fn unit(self) -> Unit {
        if self == What::Waits { Unit::Ns } else { Unit::Count }
    }
}

impl Data<'_> {
    /// The figure, its id not yet unique; `None` if nothing is in it.
    fn figure(&self, what: What, workload: &str, places: &Places) -> Option<Figure> {
        let metric = what.metric(workload)?;
        let (label, size) = what.label(workload);
        let mut all: BTreeMap<(usize, usize), Series> = BTreeMap::new();
        let mut n_rounds = BTreeSet::new();
        for (threads, source) in places {
            for (lock, rows) in self.boards[*source].cells(workload, *threads) {
                let Some(spread) = Spread::of_rows(rows, metric) else { continue };
                let style = self.styles[lock];
                let new =
                    || Series { name: self.name(lock, *source), style, source: *source, quiet: false, points: vec![] };
                n_rounds.insert(spread.rounds);
                all.entry((style, *source)).or_insert_with(new).points.push(point(*threads, spread, size));
            }
        }
        let n_series = all.len();
        let mut series: Vec<Series> = all.into_values().take(MOST_SERIES).collect();
        hush(&mut series, metric.more_is_better);
        let (least, most) = (*n_rounds.first()?, *n_rounds.last()?);
        let name = short(workload);
        let mut figure = Figure {
            id: format!("{}-{}", slug(&name), what.name()),
            title: format!("{name}: {}", what.name()),
            caption: String::new(),
            text: text(what, label, &series),
            x: Axis { label: "threads".into(), unit: Unit::Count, scale: Scale::Linear, ticks: Vec::new() },
            y: Axis { label: label.into(), unit: what.unit(), scale: upwards(what, &series), ticks: Vec::new() },
            series,
        };
        figure.x.ticks = figure.xs();
        figure.x.scale = if figure.x.ticks[0] > 0.0 { Scale::Log } else { Scale::Linear };
        let said = self.computed(workload, places).into_iter().chain(caption(&figure.series, (least, most), n_series));
        figure.caption = said.collect::<Vec<String>>().join(" ");
        Some(figure)
    }

    /// As the legend calls it: the lock, and the file if there are several.
    fn name(&self, lock: &str, source: usize) -> String {
        match self.labels.as_slice() {
            [_] => short(lock),
            labels => format!("{} ({})", short(lock), labels[source]),
        }
    }

    /// That simulated figures are, and of which machines: a picture may be shown without the page around it.
    fn computed(&self, workload: &str, places: &Places) -> Option<String> {
        let cells = places.iter().flat_map(|(threads, source)| self.boards[*source].cells(workload, *threads));
        let (computed, measured): (Vec<_>, Vec<_>) =
            cells.flat_map(|(_, rows)| rows.iter().copied()).partition(|row| is_simulated(row));
        let machines: BTreeSet<String> =
            computed.into_iter().map(|row| format!("a {}", short(&machine(row)))).collect();
        let listed: Vec<String> = machines.iter().take(MOST_LISTED).cloned().collect();
        let named = list_some(&listed, machines.len());
        (!machines.is_empty()).then(|| match measured.is_empty() {
            true => format!("Computed for {named}, not measured."),
            false => format!("Partly measured, and partly computed for {named}."),
        })
    }
}

fn point(threads: u32, spread: Spread, size: f64) -> Point {
    let Spread { median, low, high, rounds, is_at_least, is_bistable } = spread;
    let spread = (rounds > 1).then_some((low / size, high / size));
    Point { x: f64::from(threads), y: median / size, spread, at_least: is_at_least, bistable: is_bistable }
}

/// Leaves the flagship and the best in colour where there are more locks than colours.
fn hush(series: &mut [Series], is_more_better: bool) {
    let n_locks = series.iter().map(|one| one.style).collect::<BTreeSet<usize>>().len();
    if n_locks <= HUES.len() {
        return;
    }
    let sign = if is_more_better { 1.0 } else { -1.0 };
    let last = series.iter().filter_map(|one| one.points.last()).map(|point| point.x).fold(0.0, f64::max);
    let end = |one: &Series| one.points.last().filter(|point| point.x == last).map(|point| sign * point.y);
    let ends = series.iter().filter_map(|one| Some((one.style, end(one)?)));
    let best = ends.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(style, _)| style);
    for one in series {
        one.quiet = one.style != 0 && Some(one.style) != best;
    }
}

/// Logarithmic where waits lie decades apart and each can be drawn so.
fn upwards(what: What, series: &[Series]) -> Scale {
    let points = || series.iter().flat_map(|series| &series.points);
    let ends = points().map(|point| point.spread.map_or(point.y, |spread| spread.0.min(point.y)));
    let lowest_end = ends.fold(f64::INFINITY, f64::min);
    let lowest = points().map(|point| point.y).fold(f64::INFINITY, f64::min);
    let highest = points().map(|point| point.y).fold(0.0, f64::max);
    let is_wide = lowest_end > 0.0 && highest / lowest >= DECADES;
    if what == What::Waits && is_wide { Scale::Log } else { Scale::Linear }
}

fn caption(series: &[Series], (least, most): (usize, usize), n_series: usize) -> Vec<String> {
    let mut said = vec![match most {
        1 => "A point is one round: no spread.".to_string(),
        _ => format!("A point is the median of {}; the band or whisker spans them.", rounds(least, most)),
    }];
    let points = || series.iter().flat_map(|series| &series.points);
    if points().any(|point| point.at_least) {
        said.push("A > before a figure: the measurement ended before the wait did, so the wait was longer.".into());
    }
    if points().any(|point| point.bistable) {
        said.push("Bistable: the seeds fall into two groups, so a median says little.".into());
    }
    if n_series > series.len() {
        let more = n_series - series.len();
        said.push(format!("Not shown: {more} of {n_series} series; ondeck report --markdown has all."));
    }
    said
}

fn text(what: What, label: &str, series: &[Series]) -> String {
    let begin = format!("{}{}.", label[..1].to_uppercase(), &label[1..]);
    let said = series.iter().map(|series| course(what, series));
    std::iter::once(begin).chain(said).collect::<Vec<String>>().join(" ")
}

/// "std: 60.0 M at 1 thread, lowest 6.00 M at 64 threads, 12.0 M at 256 threads."
fn course(what: What, series: &Series) -> String {
    let at = |point: &Point| {
        let more = if point.at_least { "more than " } else { "" };
        let bistable = if point.bistable { " (bistable)" } else { "" };
        format!("{more}{}{bistable} at {}", shown(what.unit(), point.y), threads(point.x as u32))
    };
    let points = &series.points;
    let (first, last) = (&points[0], &points[points.len() - 1]);
    let by_y = |a: &&Point, b: &&Point| a.y.total_cmp(&b.y);
    let (word, extreme) = match what {
        What::Throughput => ("lowest", points.iter().min_by(by_y)),
        What::Waits => ("highest", points.iter().max_by(by_y)),
    };
    let mut parts = vec![at(first)];
    if let Some(extreme) = extreme.filter(|extreme| extreme.y != first.y && extreme.y != last.y) {
        parts.push(format!("{word} {}", at(extreme)));
    }
    if points.len() > 1 {
        parts.push(at(last));
    }
    format!("{}: {}.", series.name, parts.join(", "))
}
