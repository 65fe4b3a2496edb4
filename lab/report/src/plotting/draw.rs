//! A topic, looked at in one way, becomes a figure.

use super::changes;
use super::charts::{Chart, Extreme};
use super::topic::{Curve, Kind, Topic};
use super::words::{list_some, rounds, short, shown, slug};
use crate::board::Spread;
use crate::row::{is_simulated, machine, main_metric};
use ondeck_kit::figure::{Axis, Figure, Form, Point, Scale, Series, Unit};
use ondeck_kit::palette::HUES;
use ondeck_kit::wording;
use std::collections::BTreeSet;

/// More series than this cannot be told apart.
pub(super) const MOST_SERIES: usize = 24;
/// From this ratio of the largest value to the smallest on, the small ones cannot be seen on a linear axis.
const DECADES: f64 = 100.0;
/// Names that a sentence about what is absent lists.
const MOST_LISTED: usize = 8;
/// Up to so many places of a series, the text tells all.
const MOST_TOLD: usize = 4;

/// The series that are shown, with what else is to be said of them.
struct ChartSeries<'t, 'a> {
    courses: Vec<&'t Curve<'a>>,
    series: Vec<Series>,
    /// Number of series beyond the most that are shown.
    more: usize,
    /// Legend's names of what has no such figure.
    absent: Vec<String>,
    /// Fewest and most rounds behind a point.
    rounds: (usize, usize),
}

/// The figure, its id not yet unique; `None` if nothing is in it. `labels` are the files'.
pub(super) fn figure(topic: &Topic, chart: &Chart, labels: &[String]) -> Option<Figure> {
    let only = only_source(topic);
    let named = only.map_or(labels, |source| &labels[source..=source]);
    let drawn = drawn(topic, chart, named);
    if drawn.series.is_empty() {
        return None;
    }
    let mut caption = caption(topic, chart, &drawn, labels);
    if labels.len() > 1 && only.is_some() {
        caption += &format!(" From {}.", named[0]);
    }
    Some(Figure {
        id: format!("{}-{}", slug(&topic.name), chart.id),
        title: match is_change(topic) {
            true => format!("{}: {}", topic.name, changes::quotient(labels)),
            false => format!("{}: {}", topic.name, chart.title),
        },
        caption,
        text: text(topic, chart, &drawn, labels),
        form: form(topic),
        x: x_axis(topic, &drawn.series),
        y: Axis {
            label: label(topic, chart, labels),
            unit: chart.unit,
            scale: if chart.may_be_log { scale(&drawn.series) } else { Scale::Linear },
            ticks: Vec::new(),
        },
        mark: chart.mark.map(|(value, meaning)| (value, meaning.to_string())),
        series: drawn.series,
    })
}

/// The file that everything is from; then the series need not say so. Changes are between files.
fn only_source(topic: &Topic) -> Option<usize> {
    let first = topic.courses.first()?.source;
    (!is_change(topic) && topic.courses.iter().all(|course| course.source == first)).then_some(first)
}

fn drawn<'t, 'a>(topic: &'t Topic<'a>, chart: &Chart, labels: &[String]) -> ChartSeries<'t, 'a> {
    let mut drawn =
        ChartSeries { courses: Vec::new(), series: Vec::new(), more: 0, absent: Vec::new(), rounds: (usize::MAX, 0) };
    for course in &topic.courses {
        let mut values =
            course.cells.iter().filter_map(|cell| Some((cell.place, (chart.value)(topic, cell)?))).peekable();
        if values.peek().is_none() {
            drawn.absent.push(name(topic, course, labels));
            continue;
        }
        if drawn.series.len() == MOST_SERIES {
            drawn.more += 1;
            continue;
        }
        let mut points = Vec::new();
        for (place, value) in values {
            drawn.rounds = (drawn.rounds.0.min(value.rounds), drawn.rounds.1.max(value.rounds));
            points.push(point(topic, place, value));
        }
        drawn.series.push(Series {
            name: name(topic, course, labels),
            style: course.style,
            source: course.source,
            quiet: false,
            points,
        });
        drawn.courses.push(course);
    }
    hush(&mut drawn.series, topic, chart);
    drawn
}

/// Leaves the flagship and the best in colour where there are more locks than colours. Bars keep theirs: they have no
/// markers, and stand in the order of the legend.
fn hush(series: &mut [Series], topic: &Topic, chart: &Chart) {
    let n_locks = series.iter().map(|one| one.style).collect::<BTreeSet<usize>>().len();
    if n_locks <= HUES.len() || form(topic) == Form::Bars {
        return;
    }
    let is_more_better = match is_change(topic) {
        true => main_metric(topic.places[0].workload).more_is_better,
        // Where the lowest value is what matters, high ones are good.
        false => chart.extreme == Extreme::Lowest,
    };
    let sign = if is_more_better { 1.0 } else { -1.0 };
    let last = series.iter().filter_map(|one| one.points.last()).map(|point| point.x).fold(0.0, f64::max);
    let end = |one: &Series| one.points.last().filter(|point| point.x == last).map(|point| sign * point.y);
    let ends = series.iter().filter_map(|one| Some((one.style, end(one)?)));
    let best = ends.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(style, _)| style);
    for one in series {
        one.quiet = one.style != 0 && Some(one.style) != best;
    }
}

fn point(topic: &Topic, place: usize, value: Spread) -> Point {
    let x = if topic.is_numeric() { f64::from(topic.places[place].threads) } else { place as f64 };
    let Spread { median: y, low, high, rounds, is_at_least: at_least, is_bistable: bistable } = value;
    Point { x, y, spread: (rounds > 1).then_some((low, high)), at_least, bistable }
}

fn is_change(topic: &Topic) -> bool {
    matches!(topic.kind, Kind::Change | Kind::FamilyChange)
}

/// What runs upwards.
fn label(topic: &Topic, chart: &Chart, labels: &[String]) -> String {
    let label = (chart.label)(topic);
    if is_change(topic) { format!("{label}, {}", changes::quotient(labels)) } else { label }
}

/// As the legend calls it: the lock, and the file if there are several.
fn name(topic: &Topic, course: &Curve, labels: &[String]) -> String {
    match labels {
        [_] => short(course.lock),
        [_, _] if is_change(topic) => short(course.lock),
        _ => format!("{} ({})", short(course.lock), labels[course.source]),
    }
}

fn form(topic: &Topic) -> Form {
    let is_line = topic.is_numeric() || matches!(topic.kind, Kind::Phases | Kind::Quantiles);
    if is_line { Form::Lines } else { Form::Bars }
}

fn x_axis(topic: &Topic, series: &[Series]) -> Axis {
    let label = match topic.kind {
        Kind::Threads | Kind::Change => "threads",
        Kind::Phases => "phase",
        Kind::Family | Kind::FamilyChange => "workload",
        Kind::Quantiles => "quantile of the waits",
    };
    let (scale, ticks) = if topic.is_numeric() {
        let mut ticks: Vec<f64> = series.iter().flat_map(|series| &series.points).map(|point| point.x).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        (if ticks[0] > 0.0 { Scale::Log } else { Scale::Linear }, ticks)
    } else {
        (Scale::Names { names: topic.places.iter().map(|place| place.name.clone()).collect() }, Vec::new())
    };
    Axis { label: label.into(), unit: Unit::Count, scale, ticks }
}

/// Logarithmic where values lie decades apart and each can be drawn so.
fn scale(series: &[Series]) -> Scale {
    let points = || series.iter().flat_map(|series| &series.points);
    let ends = points().map(|point| point.spread.map_or(point.y, |spread| spread.0.min(point.y)));
    let lowest_end = ends.fold(f64::INFINITY, f64::min);
    let lowest = points().map(|point| point.y).fold(f64::INFINITY, f64::min);
    let highest = points().map(|point| point.y).fold(0.0, f64::max);
    if lowest_end > 0.0 && highest / lowest >= DECADES { Scale::Log } else { Scale::Linear }
}

fn caption(topic: &Topic, chart: &Chart, drawn: &ChartSeries, labels: &[String]) -> String {
    let (thing, spread) = match form(topic) {
        Form::Lines => ("point", "band or whisker"),
        Form::Bars => ("bar", "whisker"),
    };
    let mut said: Vec<String> = computed(topic).into_iter().collect();
    if !chart.reading.is_empty() {
        said.push(chart.reading.to_string());
    }
    let of = rounds(drawn.rounds.0, drawn.rounds.1);
    said.push(match (is_change(topic), drawn.rounds) {
        (true, (_, 1)) => format!("A {thing} is a file's figure / that of {}. One round: no spread.", labels[0]),
        (true, _) => format!(
            "A {thing} is a file's median / that of {}, {of} in each; the {spread} spans from its lowest round / the \
             other's highest to its highest / the other's lowest. The text says which differences may be noise.",
            labels[0]
        ),
        (false, (_, 1)) => format!("A {thing} is one round: no spread."),
        (false, _) => format!("A {thing} is the median of {of}; the {spread} spans them."),
    });
    let points = || drawn.series.iter().flat_map(|series| &series.points);
    if points().any(|point| point.at_least) {
        said.push("A > before a figure: the measurement ended before the wait did, so the wait was longer.".into());
    }
    if points().any(|point| point.bistable) {
        said.push("Bistable: the seeds fall into two groups, so a median says little.".into());
    }
    let mut left_out = Vec::new();
    if drawn.more > 0 {
        left_out.push(format!("{} of {} series", drawn.more, drawn.more + drawn.series.len()));
    }
    if topic.places_left_out > 0 {
        let all = topic.places_left_out + topic.places.len();
        left_out.push(format!("{} of {all} numbers of threads", topic.places_left_out));
    }
    if !left_out.is_empty() {
        said.push(format!("Not shown: {}; ondeck report --markdown has all.", left_out.join(" and ")));
    }
    said.join(" ")
}

/// That simulated figures are, and of which machines: a picture may be shown without the page around it.
fn computed(topic: &Topic) -> Option<String> {
    let rows = || topic.courses.iter().flat_map(|course| &course.cells).flat_map(|cell| cell.rows);
    let machines: BTreeSet<String> = rows().filter(|row| is_simulated(row)).map(|row| short(&machine(row))).collect();
    let machines: Vec<String> = machines.iter().map(|machine| format!("a {machine}")).collect();
    let listed = &machines[..machines.len().min(MOST_LISTED)];
    let machines = list_some(listed, machines.len());
    (!listed.is_empty()).then(|| match rows().all(|row| is_simulated(row)) {
        true => format!("Computed for {machines}, not measured."),
        false => format!("Partly measured, and partly computed for {machines}."),
    })
}

fn text(topic: &Topic, chart: &Chart, drawn: &ChartSeries, labels: &[String]) -> String {
    let label = label(topic, chart, labels);
    let mut said = vec![format!("{}{}.", label[..1].to_uppercase(), &label[1..])];
    if let [place] = topic.places.as_slice() {
        let value = |series: &Series| format!("{} {}", series.name, value(chart.unit, &series.points[0]));
        let values: Vec<String> = drawn.series.iter().map(value).collect();
        said.push(format!("{}: {}.", place.name, values.join(", ")));
    } else {
        said.extend(drawn.series.iter().map(|series| course(topic, chart, series)));
    }
    if !drawn.absent.is_empty() {
        let listed = &drawn.absent[..drawn.absent.len().min(MOST_LISTED)];
        said.push(format!("Without such a figure: {}.", list_some(listed, drawn.absent.len())));
    }
    if is_change(topic) {
        said.extend(changes::told(topic, &drawn.courses, |course| name(topic, course, labels)));
    }
    said.join(" ")
}

/// A figure, as what it is.
fn value(unit: Unit, point: &Point) -> String {
    let more = if point.at_least { "more than " } else { "" };
    format!("{more}{}{}", shown(unit, point.y), if point.bistable { " (bistable)" } else { "" })
}

/// "std: 1.00 at 1 thread, lowest 0.15 at 64 threads, 0.19 at 256 threads."
fn course(topic: &Topic, chart: &Chart, series: &Series) -> String {
    let place = |point: &Point| match topic.is_numeric() {
        true => wording::threads(point.x as u32),
        false => topic.places[point.x as usize].name.clone(),
    };
    let at = |point: &Point| format!("{} at {}", value(chart.unit, point), place(point));
    let points = &series.points;
    if !topic.is_numeric() && points.len() <= MOST_TOLD {
        let all: Vec<String> =
            points.iter().map(|point| format!("{} {}", place(point), value(chart.unit, point))).collect();
        return format!("{}: {}.", series.name, all.join(", "));
    }
    let (first, last) = (&points[0], &points[points.len() - 1]);
    let by_y = |a: &&Point, b: &&Point| a.y.total_cmp(&b.y);
    let (word, extreme) = match chart.extreme {
        Extreme::Lowest => ("lowest", points.iter().min_by(by_y)),
        Extreme::Highest => ("highest", points.iter().max_by(by_y)),
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
