//! Which charts a report has, and what is in them.

use super::figure::{Axis, Figure, Form, Point, Scale, Series, Unit};
use super::source::Source;
use crate::board::Board;
use crate::row::OPS_PER_S;

/// The charts of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Charts {
    /// The charts, in the order in which they are shown.
    pub figures: Vec<Figure>,
    /// How many charts there could be more, and how to see them, in a sentence; `None` if all are there.
    pub left_out: Option<String>,
}

/// The charts that the files have figures for.
pub fn figures(sources: &[Source]) -> Charts {
    let boards: Vec<Board> = sources.iter().map(Source::board).collect();
    let mut workloads: Vec<&str> = Vec::new();
    for setting in boards.iter().flat_map(|board| &board.settings) {
        if !workloads.contains(&setting.workload.as_str()) {
            workloads.push(&setting.workload);
        }
    }
    Charts { figures: workloads.iter().map(|workload| throughput(&boards, workload)).collect(), left_out: None }
}

fn throughput(boards: &[Board], workload: &str) -> Figure {
    let mut series = Vec::new();
    for (source, board) in boards.iter().enumerate() {
        for (style, lock) in board.locks.iter().enumerate() {
            let settings = board.settings.iter().filter(|setting| setting.workload == workload);
            let point = |setting| {
                let y = board.median(setting, lock, OPS_PER_S)?;
                Some(Point { x: f64::from(setting.threads), y, spread: None })
            };
            series.push(Series { name: lock.clone(), style, source, points: settings.filter_map(point).collect() });
        }
    }
    Figure {
        id: format!("{}-throughput", workload.replace('/', "-")),
        title: format!("{workload}: throughput"),
        caption: "Median over rounds.".into(),
        text: String::new(),
        form: Form::Lines,
        x: Axis { label: "threads".into(), unit: Unit::Count, scale: Scale::Log, ticks: Vec::new() },
        y: Axis { label: "operations a second".into(), unit: Unit::Count, scale: Scale::Linear, ticks: Vec::new() },
        mark: None,
        series,
    }
}
