//! Which charts there are, the most telling first, and what a point of each is.

use super::changes;
use super::quantiles::QUANTILES;
use super::topic::{Cell, Kind, Topic};
use crate::board::Spread;
use crate::row::{
    CPUS, CTX_SWITCHES_PER_S, JAIN, MIN_SHARE, Metric, NS_PER_OP, STARVE_P90_NS, STREAK_P90_NS, WAIT_MAX_NS,
    WAIT_P99_NS, main_metric, main_unit,
};
use ondeck_kit::figure::Unit;

/// A way to look at a topic.
pub(super) struct Chart {
    /// Last part of the figure's id.
    pub(super) id: &'static str,
    /// Last part of the figure's title.
    pub(super) title: &'static str,
    /// Which topics can be looked at in this way.
    pub(super) kinds: &'static [Kind],
    /// What runs upwards.
    pub(super) label: fn(&Topic) -> String,
    pub(super) unit: Unit,
    /// A value with a meaning of its own.
    pub(super) mark: Option<(f64, &'static str)>,
    /// What a value is, where the label does not say it.
    pub(super) reading: &'static str,
    /// Which value between the first and the last matters most.
    pub(super) extreme: Extreme,
    /// Whether decades may lie between the values of two locks.
    pub(super) may_be_log: bool,
    /// The value of a lock at a place; `None` if it is not there, or the chart does not suit the topic.
    pub(super) value: fn(&Topic, &Cell) -> Option<Spread>,
}

/// Which end of a range matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extreme {
    Lowest,
    Highest,
}

/// What most charts have in common.
const WAITING: Chart = Chart {
    id: "",
    title: "",
    kinds: &[Kind::Threads, Kind::Phases, Kind::Family],
    label: |_| String::new(),
    unit: Unit::Ns,
    mark: None,
    reading: "",
    extreme: Extreme::Highest,
    may_be_log: true,
    value: |_, _| None,
};

/// The charts, the most telling first.
pub(super) static CHARTS: [Chart; 14] = [
    Chart {
        id: "throughput",
        title: "throughput",
        label: |topic| throughput_unit(topic).1.into(),
        unit: Unit::Count,
        extreme: Extreme::Lowest,
        may_be_log: false,
        value: throughput,
        ..WAITING
    },
    Chart {
        id: "relative",
        title: "throughput relative to one thread",
        kinds: &[Kind::Threads],
        label: |_| "throughput relative to one thread".into(),
        unit: Unit::Ratio,
        mark: Some((1.0, "one thread")),
        reading: "Each round is divided by the same lock's figure with one thread in that round.",
        extreme: Extreme::Lowest,
        may_be_log: false,
        value: |topic, cell| relative(topic, cell).filter(|_| topic.is_numeric()),
    },
    Chart {
        id: "relative",
        title: "throughput relative to before",
        kinds: &[Kind::Phases],
        label: |_| "throughput relative to before the spike".into(),
        unit: Unit::Ratio,
        mark: Some((1.0, "before the spike")),
        reading: "Each round is divided by the same lock's figure before the spike in that round.",
        extreme: Extreme::Lowest,
        may_be_log: false,
        value: relative,
    },
    Chart {
        id: "time",
        title: "time of one operation",
        label: |_| "time of one operation".into(),
        value: |topic, cell| main_only(topic, cell, NS_PER_OP),
        ..WAITING
    },
    Chart {
        id: "waits",
        title: "waits by threads",
        label: |_| "wait that 99 of 100 did not exceed".into(),
        // With one setting, the chart of the quantiles says it.
        value: |topic, cell| main_only(topic, cell, WAIT_P99_NS).filter(|_| topic.places.len() > 1),
        ..WAITING
    },
    Chart {
        id: "change",
        title: "before and after",
        kinds: &[Kind::Change, Kind::FamilyChange],
        label: |topic| match main_metric(topic.places[0].workload).name {
            name if name == NS_PER_OP.name => "time of one operation".into(),
            name if name == WAIT_P99_NS.name => "wait that 99 of 100 did not exceed".into(),
            _ => "throughput".into(),
        },
        unit: Unit::Ratio,
        mark: Some((1.0, "as in the first file")),
        extreme: Extreme::Lowest,
        may_be_log: false,
        value: changes::ratio,
        ..WAITING
    },
    Chart {
        id: "cpus",
        title: "CPUs used",
        label: |_| "CPUs used".into(),
        unit: Unit::Count,
        reading: "CPU seconds used in each second.",
        may_be_log: false,
        value: |topic, cell| contended(topic, cell, CPUS),
        ..WAITING
    },
    Chart {
        id: "switches",
        title: "context switches",
        label: |_| "context switches a second".into(),
        unit: Unit::Count,
        reading: "Voluntary or not.",
        value: |topic, cell| contended(topic, cell, CTX_SWITCHES_PER_S),
        ..WAITING
    },
    Chart {
        id: "quantiles",
        title: "waiting time",
        kinds: &[Kind::Quantiles],
        label: |_| "wait for the lock".into(),
        reading: "p99: 99 of 100 waits were no longer, and so on.",
        value: |_, cell| Spread::of_rows(cell.rows, QUANTILES[cell.place].1),
        ..WAITING
    },
    Chart {
        id: "longest-wait",
        title: "longest wait",
        label: |_| "longest wait for the lock".into(),
        value: |topic, cell| contended(topic, cell, WAIT_MAX_NS).filter(|_| topic.places.len() > 1),
        ..WAITING
    },
    Chart {
        id: "smallest-share",
        title: "smallest share of a thread",
        label: |_| "smallest share of a thread".into(),
        unit: Unit::Ratio,
        mark: Some((1.0, "an even share")),
        reading: "Operations of the thread that had fewest, as a part of an even share.",
        extreme: Extreme::Lowest,
        may_be_log: false,
        value: |topic, cell| contended(topic, cell, MIN_SHARE),
        ..WAITING
    },
    Chart {
        id: "jain",
        title: "how even the shares are",
        label: |_| "Jain's index of the threads' shares".into(),
        unit: Unit::Ratio,
        mark: Some((1.0, "all the same")),
        reading: "1 if all threads had the same, 1/threads if one had all.",
        extreme: Extreme::Lowest,
        may_be_log: false,
        value: |topic, cell| contended(topic, cell, JAIN),
        ..WAITING
    },
    Chart {
        id: "streak",
        title: "how long one thread keeps the lock",
        label: |_| "streak that 9 of 10 did not exceed".into(),
        reading: "A streak is a number of acquisitions in a row by one thread; shown is the time it takes.",
        value: |topic, cell| contended(topic, cell, STREAK_P90_NS),
        ..WAITING
    },
    Chart {
        id: "starve",
        title: "how long a thread is kept away",
        label: |_| "starve gap that 9 of 10 did not exceed".into(),
        reading: "A starve gap lies between two acquisitions of one thread while others acquire.",
        value: |topic, cell| contended(topic, cell, STARVE_P90_NS),
        ..WAITING
    },
];

impl Chart {
    /// Whether the topic has at least one value for it.
    pub(super) fn suits(&self, topic: &Topic) -> bool {
        let mut cells = topic.courses.iter().flat_map(|course| &course.cells);
        self.kinds.contains(&topic.kind) && cells.any(|cell| (self.value)(topic, cell).is_some())
    }
}

/// What costs only where threads contend: a lock alone makes no one wait.
fn contended(topic: &Topic, cell: &Cell, metric: Metric) -> Option<Spread> {
    if topic.is_contended() { Spread::of_rows(cell.rows, metric) } else { None }
}

/// The figure, where it is what the workload is about.
fn main_only(topic: &Topic, cell: &Cell, metric: Metric) -> Option<Spread> {
    let is_main = main_metric(topic.places[cell.place].workload).name == metric.name;
    if is_main { Spread::of_rows(cell.rows, metric) } else { None }
}

fn relative(topic: &Topic, cell: &Cell) -> Option<Spread> {
    let metric = main_metric(topic.places[cell.place].workload);
    if metric.more_is_better { Spread::of_ratios(cell.rows, cell.base?, metric) } else { None }
}

fn throughput(topic: &Topic, cell: &Cell) -> Option<Spread> {
    let metric = main_metric(topic.places[cell.place].workload);
    if !metric.more_is_better {
        return None;
    }
    let (size, _) = throughput_unit(topic);
    let spread = Spread::of_rows(cell.rows, metric)?;
    let [median, low, high] = [spread.median, spread.low, spread.high].map(|value| value / size);
    Some(Spread { median, low, high, ..spread })
}

/// Size and meaning of the unit of throughput. Millions are left to the writing of each number.
fn throughput_unit(topic: &Topic) -> (f64, &'static str) {
    match main_unit(topic.places[0].workload) {
        unit if unit.name == "M/s" => (1.0, "operations a second"),
        unit => (unit.size, unit.meaning),
    }
}
