//! Which charts a report has, and what is in them.

use super::figure::{Axis, Figure, Form, Point, Scale, Series, Unit};
use super::source::Source;
use crate::board::Board;
use crate::row::OPS_PER_S;

/// All charts that the files have figures for.
pub fn figures(sources: &[Source]) -> Vec<Figure> {
    let boards: Vec<Board> = sources.iter().map(Source::board).collect();
    let mut workloads: Vec<&str> = Vec::new();
    for setting in boards.iter().flat_map(|board| &board.settings) {
        if !workloads.contains(&setting.workload.as_str()) {
            workloads.push(&setting.workload);
        }
    }
    workloads.iter().map(|workload| throughput(&boards, workload)).collect()
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
        x: Axis { label: "threads".into(), unit: Unit::Count, scale: Scale::Log },
        y: Axis { label: "operations a second".into(), unit: Unit::Count, scale: Scale::Linear },
        mark: None,
        series,
    }
}
