//! What a few charts have in common: places along the axis, and for each lock the rows that belong there.

use super::words::short;
use crate::FLAGSHIP;
use crate::board::{Board, PHASES};
use crate::row::{NS_PER_OP, Row, main_metric};
use ondeck_kit::wording;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// More places than this along one axis would touch.
pub(super) const MOST_PLACES: usize = 32;
/// More names than this along one axis would touch.
pub(super) const MOST_NAMES: usize = 12;

/// What the places are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers of threads, of one workload.
    Threads,
    /// Before, during and after a spike.
    Phases,
    /// Workloads that are measured with one number of threads each.
    Family,
    /// Quantiles of the waits in one setting.
    Quantiles,
    /// As `Threads`; beside each row, those of the first file.
    Change,
    /// As `Family`; beside each row, those of the first file.
    FamilyChange,
}

/// Where a point may be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place<'a> {
    pub(super) workload: &'a str,
    pub(super) threads: u32,
    /// As the axis calls it, if it has names.
    pub(super) name: String,
}

/// The rows at one place.
#[derive(Clone, Debug)]
pub(super) struct Cell<'a> {
    pub(super) place: usize,
    pub(super) rows: &'a [&'a Row],
    /// What they are a part of: the rows of one thread, of the time before the spike, or of the first file.
    pub(super) base: Option<&'a [&'a Row]>,
}

/// One lock in one file.
#[derive(Clone, Debug)]
pub(super) struct Curve<'a> {
    pub(super) lock: &'a str,
    /// See [`Series::style`](ondeck_kit::figure::Series::style).
    pub(super) style: usize,
    pub(super) source: usize,
    /// Ascending by place.
    pub(super) cells: Vec<Cell<'a>>,
}

/// What the charts of a workload, or of a few that belong together, are made from.
#[derive(Clone, Debug)]
pub(super) struct Topic<'a> {
    pub(super) kind: Kind,
    /// In titles.
    pub(super) name: String,
    pub(super) places: Vec<Place<'a>>,
    /// Number of places that there would be too many of.
    pub(super) places_left_out: usize,
    /// By style, then by source.
    pub(super) courses: Vec<Curve<'a>>,
}

impl Topic<'_> {
    /// Whether anywhere more than one thread wants the lock.
    pub(super) fn is_contended(&self) -> bool {
        self.places.iter().any(|place| place.threads > 1)
    }

    /// Whether the places are numbers on an axis, not names.
    pub(super) fn is_numeric(&self) -> bool {
        matches!(self.kind, Kind::Threads | Kind::Change) && self.places.len() > 1
    }
}

/// Everything that was measured, sorted into topics.
pub(super) struct MeasuredData<'a> {
    boards: &'a [Board<'a>],
    styles: HashMap<&'a str, usize>,
}

impl<'a> MeasuredData<'a> {
    pub(super) fn new(boards: &'a [Board<'a>]) -> Self {
        let mut styles = HashMap::from([(FLAGSHIP, 0)]);
        for lock in boards.iter().flat_map(|board| &board.locks) {
            let next = styles.len();
            styles.entry(lock.as_str()).or_insert(next);
        }
        MeasuredData { boards, styles }
    }

    /// The topics, in the order in which their workloads first appear.
    pub(super) fn topics(&self) -> Vec<Topic<'a>> {
        let mut names: Vec<&str> = Vec::new();
        let mut threads: HashMap<&str, BTreeSet<u32>> = HashMap::new();
        for setting in self.boards.iter().flat_map(|board| &board.settings) {
            let counts = threads.entry(setting.workload.as_str()).or_insert_with(|| {
                names.push(&setting.workload);
                BTreeSet::new()
            });
            counts.insert(setting.threads);
        }
        let mut groups: Vec<(Group<'a>, Vec<Place<'a>>)> = Vec::new();
        let mut open: HashMap<Group<'a>, usize> = HashMap::new();
        let has_all_phases = phases_match(&threads);
        for workload in names {
            for (turn, threads_here) in threads[workload].iter().enumerate() {
                let group = Group::of(workload, threads[workload].len(), turn, has_all_phases);
                let at = *open.entry(group).or_insert(groups.len());
                let is_full = groups.get(at).is_some_and(|(_, places)| group.is_full(places.len()));
                let at = if is_full { groups.len() } else { at };
                open.insert(group, at);
                if at == groups.len() {
                    groups.push((group, Vec::new()));
                }
                groups[at].1.push(Place {
                    workload,
                    threads: *threads_here,
                    name: group.name_of(workload, *threads_here),
                });
            }
        }
        groups.into_iter().map(|(group, places)| self.topic(group, places)).collect()
    }

    fn topic(&self, group: Group<'a>, mut places: Vec<Place<'a>>) -> Topic<'a> {
        if let Group::Spike(_) = group {
            places.sort_by_key(|place| PHASES.iter().position(|phase| *phase == place.workload));
        }
        let (places, places_left_out) = thinned(places);
        let courses = self.courses(&places, group);
        Topic { kind: group.kind(), name: group.title(&places), places, places_left_out, courses }
    }

    /// What each lock of each file has at the places, and what the others are a part of.
    fn courses(&self, places: &[Place<'a>], group: Group<'a>) -> Vec<Curve<'a>> {
        let mut courses: BTreeMap<(usize, usize), Curve<'a>> = BTreeMap::new();
        for (source, board) in self.boards.iter().enumerate() {
            for (place, Place { workload, threads, .. }) in places.iter().enumerate() {
                for (lock, rows) in board.cells(workload, *threads) {
                    let style = self.styles[lock];
                    let new = Curve { lock, style, source, cells: Vec::new() };
                    let course = courses.entry((style, source)).or_insert(new);
                    course.cells.push(Cell { place, rows, base: None });
                }
            }
        }
        let mut courses: Vec<Curve> = courses.into_values().collect();
        for course in &mut courses {
            let is_base = |cell: &&Cell| match group {
                Group::Workload(_) => places[cell.place].threads == 1,
                Group::Spike(_) => cell.place == 0,
                Group::Family(_) => false,
            };
            let rows = course.cells.iter().find(is_base).map(|cell| cell.rows);
            course.cells.iter_mut().for_each(|cell| cell.base = rows);
        }
        courses
    }
}

/// What belongs into one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Group<'a> {
    /// A workload against its numbers of threads.
    Workload(&'a str),
    /// The phases of the spike, of the so-many-th number of threads.
    Spike(usize),
    /// Workloads with one number of threads that are about the time of one operation.
    Family(&'a str),
}

impl<'a> Group<'a> {
    fn of(workload: &'a str, counts: usize, turn: usize, has_all_phases: bool) -> Self {
        if has_all_phases && PHASES.contains(&workload) {
            return Group::Spike(turn);
        }
        if counts > 1 || main_metric(workload).name != NS_PER_OP.name {
            return Group::Workload(workload);
        }
        if workload.starts_with("handoff-") {
            return Group::Family("handoff");
        }
        Group::Family(workload.split('/').next().unwrap_or(workload))
    }

    /// Whether the next place belongs into a chart of its own.
    fn is_full(self, places: usize) -> bool {
        matches!(self, Group::Family(_)) && places >= MOST_NAMES
    }

    fn name_of(self, workload: &str, threads: u32) -> String {
        match self {
            Group::Workload(_) => wording::threads(threads),
            Group::Spike(_) => {
                let phase = workload.split('/').nth(1).unwrap_or(workload);
                format!("{phase} ({})", wording::threads(threads))
            }
            Group::Family(_) => short(workload),
        }
    }

    fn title(self, places: &[Place]) -> String {
        match self {
            Group::Workload(workload) => short(workload),
            Group::Spike(_) => format!("spike on {}", wording::threads(places[0].threads)),
            Group::Family(family) => short(if places.len() == 1 { places[0].workload } else { family }),
        }
    }

    fn kind(self) -> Kind {
        match self {
            Group::Workload(_) => Kind::Threads,
            Group::Spike(_) => Kind::Phases,
            Group::Family(_) => Kind::Family,
        }
    }
}

/// Whether each phase of the spike was run at as many numbers of threads, so that it is clear which belong together.
fn phases_match(threads: &HashMap<&str, BTreeSet<u32>>) -> bool {
    let counts = PHASES.map(|phase| threads.get(phase).map_or(0, BTreeSet::len));
    counts[0] > 0 && counts.iter().all(|count| *count == counts[0])
}

/// At most [`MOST_PLACES`] places, the first, the last and evenly chosen ones between them; and how many are left out.
fn thinned(places: Vec<Place>) -> (Vec<Place>, usize) {
    let n = places.len();
    if n <= MOST_PLACES {
        return (places, 0);
    }
    let chosen: BTreeSet<usize> = (0..MOST_PLACES).map(|i| i * (n - 1) / (MOST_PLACES - 1)).collect();
    let kept = places.into_iter().enumerate().filter(|(at, _)| chosen.contains(at));
    (kept.map(|(_, place)| place).collect(), n - chosen.len())
}
