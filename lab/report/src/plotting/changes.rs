//! The first file beside each other one: what became of the figure that a workload is about.

use super::topic::{Cell, Curve, Kind, MOST_NAMES, Place, Topic};
use super::words::short;
use crate::board::Spread;
use crate::compare::{Change, change};
use crate::row::{Row, main_metric};
use crate::stats::rounds_needed;
use crate::wording::list;
use std::collections::BTreeMap;

/// The changes along the axis of the topic's own charts; `None` if that has names, or nothing is in two files.
pub(super) fn along<'a>(topic: &Topic<'a>) -> Option<Topic<'a>> {
    if !topic.is_numeric() {
        return None;
    }
    let courses = changed(topic);
    let places = topic.places.clone();
    (!courses.is_empty()).then(|| Topic { kind: Kind::Change, courses, places, ..topic.clone() })
}

/// The changes of all other topics, side by side: those where more is better apart from those where less is.
pub(super) fn side_by_side<'a>(topics: &[Topic<'a>]) -> Vec<Topic<'a>> {
    let mut made = Vec::new();
    for more_is_better in [true, false] {
        let is_one = |topic: &&Topic| main_metric(topic.places[0].workload).more_is_better == more_is_better;
        let mut open = Topic::of_changes(more_is_better);
        for topic in topics.iter().filter(|topic| !topic.is_numeric()).filter(is_one) {
            let courses = changed(topic);
            for place in 0..topic.places.len() {
                open.add(topic, place, &courses);
                if open.places.len() == MOST_NAMES {
                    made.push(std::mem::replace(&mut open, Topic::of_changes(more_is_better)));
                }
            }
        }
        made.extend((!open.places.is_empty()).then_some(open));
    }
    made
}

impl<'a> Topic<'a> {
    /// A chart of changes side by side, without any yet.
    fn of_changes(more_is_better: bool) -> Self {
        let name = if more_is_better { "throughput" } else { "time" }.to_string();
        Topic { kind: Kind::FamilyChange, name, places: Vec::new(), places_left_out: 0, courses: Vec::new() }
    }

    /// Takes over what the courses have at the place of another topic, if that is anything.
    fn add(&mut self, topic: &Topic<'a>, place: usize, courses: &[Curve<'a>]) {
        let at = self.places.len();
        let mut is_any = false;
        for course in courses {
            let Some(cell) = course.cells.iter().find(|cell| cell.place == place) else { continue };
            let key = |course: &Curve| (course.style, course.source);
            let nth = self.courses.binary_search_by_key(&key(course), key).unwrap_or_else(|nth| {
                self.courses.insert(nth, Curve { cells: Vec::new(), ..course.clone() });
                nth
            });
            self.courses[nth].cells.push(Cell { place: at, ..cell.clone() });
            is_any = true;
        }
        if is_any {
            let Place { workload, threads, name } = topic.places[place].clone();
            let name = match topic.kind {
                Kind::Family => name,
                Kind::Phases => format!("spike: {name}"),
                _ => format!("{}, {name}", short(workload)),
            };
            self.places.push(Place { workload, threads, name });
        }
    }
}

/// The courses of the later files, with what the first has of the same lock at the same place.
fn changed<'a>(topic: &Topic<'a>) -> Vec<Curve<'a>> {
    let old: BTreeMap<(usize, usize), &'a [&'a Row]> = topic
        .courses
        .iter()
        .filter(|course| course.source == 0)
        .flat_map(|course| course.cells.iter().map(|cell| ((course.style, cell.place), cell.rows)))
        .collect();
    let with_old = |course: &Curve<'a>| {
        let both = |cell: &Cell<'a>| {
            let base = *old.get(&(course.style, cell.place))?;
            // Simulated and real figures are not two versions of anything.
            (base[0].platform == cell.rows[0].platform).then_some(Cell { base: Some(base), ..*cell })
        };
        let cells: Vec<Cell<'a>> = course.cells.iter().filter_map(both).collect();
        (!cells.is_empty()).then(|| Curve { cells, ..course.clone() })
    };
    topic.courses.iter().filter(|course| course.source > 0).filter_map(with_old).collect()
}

/// What is divided by what, by the files' labels.
pub(super) fn quotient(labels: &[String]) -> String {
    match labels {
        [old, new] => format!("{new} / {old}"),
        [old, ..] => format!("later files / {old}"),
        [] => String::new(),
    }
}

/// New over old: the medians; and the smallest and largest that it can be with any round of each.
pub(super) fn ratio(topic: &Topic, cell: &Cell) -> Option<Spread> {
    let metric = main_metric(topic.places[cell.place].workload);
    let (new, old) = (Spread::of_rows(cell.rows, metric)?, Spread::of_rows(cell.base?, metric)?);
    let spread = Spread {
        median: new.median / old.median,
        low: new.low / old.high,
        high: new.high / old.low,
        rounds: new.rounds.min(old.rounds),
        is_at_least: false,
        is_bistable: new.is_bistable || old.is_bistable,
    };
    [spread.median, spread.low, spread.high].iter().all(|value| value.is_finite()).then_some(spread)
}

/// Sentences about where no difference can be told, and why. `name` is how the legend calls a course.
pub(super) fn told(topic: &Topic, courses: &[&Curve], name: impl Fn(&Curve) -> String) -> Vec<String> {
    let (mut untold, mut is_short, mut machines) = (Vec::new(), false, None);
    for course in courses {
        let shown: Vec<&Cell> = course.cells.iter().filter(|cell| ratio(topic, cell).is_some()).collect();
        let mut places = Vec::new();
        for cell in &shown {
            let (Some(change), Some(base)) = (judged(topic, cell), cell.base) else { continue };
            is_short |= !change.has_enough_rounds();
            if !change.is_significant() {
                places.push(cell.place);
            }
            let (old, new) = (&base[0].machine, &cell.rows[0].machine);
            if old != new {
                machines = Some((short(old), short(new)));
            }
        }
        match places.len() {
            0 => {}
            n if n == shown.len() && n > 1 => untold.push(format!("{} (all {n} points)", name(course))),
            _ => untold.push(format!("{} ({})", name(course), names(topic, &places))),
        }
    }
    let mut said = Vec::new();
    if !untold.is_empty() {
        said.push(format!("Perhaps only noise (p > 0.05): {}.", list(&untold)));
    }
    if is_short {
        said.push(format!("Where a file has fewer than {} rounds, no difference can show.", rounds_needed(1)));
    }
    said.extend(machines.map(|(old, new)| format!("The machines differ: {old} and {new}.")));
    said
}

/// "1, 2 and 4 threads"; other places by their names.
fn names(topic: &Topic, places: &[usize]) -> String {
    match places {
        [_, _, ..] if topic.is_numeric() => {
            let counts: Vec<String> = places.iter().map(|place| topic.places[*place].threads.to_string()).collect();
            format!("{} threads", list(&counts))
        }
        _ => list(&places.iter().map(|place| topic.places[*place].name.clone()).collect::<Vec<String>>()),
    }
}

fn judged(topic: &Topic, cell: &Cell) -> Option<Change> {
    let Place { workload, threads, .. } = &topic.places[cell.place];
    let metric = main_metric(workload);
    let values = |rows: &[&Row]| -> Vec<f64> {
        rows.iter().filter_map(|row| (metric.of)(row)).filter(|value| value.is_finite()).collect()
    };
    let row = cell.rows[0];
    change((&row.platform, workload, *threads, &row.lock), &values(cell.base?), &values(cell.rows))
}
