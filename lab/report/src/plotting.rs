//! Which charts a report has, and what is in them.

mod changes;
mod charts;
mod draw;
mod quantiles;
#[cfg(test)]
mod tests;
mod topic;
mod words;

use crate::board::Board;
use crate::catalogue::Catalogue;
use crate::inputs::Source;
use charts::CHARTS;
use ondeck_kit::figure::{Figure, Form};
use ondeck_kit::wording::counted_that;
use std::collections::HashSet;
use topic::{MeasuredData, Topic};

/// More charts than this nobody looks at.
const MOST_CHARTS: usize = 60;
/// More points than this make the page slow, and larger than can be sent around.
const MOST_POINTS: usize = 4000;

/// The charts of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Charts {
    /// The charts, in the order in which they are shown.
    pub figures: Vec<Figure>,
    /// How many charts there could be more, and how to see them, in a sentence; `None` if all are there.
    pub left_out: Option<String>,
}

/// The charts that the files have figures for: by workload, the most telling first. Where there would be too many, the
/// most telling ones of all workloads come before the others of any.
pub fn figures(sources: &[Source], catalogue: &Catalogue) -> Charts {
    let boards: Vec<Board> = sources.iter().map(|source| source.board(catalogue)).collect();
    let labels: Vec<String> = sources.iter().map(|source| words::short(&source.label)).collect();
    choose(&topics(&boards), &labels)
}

/// What charts are made from, each with its place in the report.
fn topics<'a>(boards: &'a [Board<'a>]) -> Vec<(usize, Topic<'a>)> {
    let base = MeasuredData::new(boards).topics();
    let mut topics = Vec::new();
    if boards.len() > 1 {
        topics.extend(changes::side_by_side(&base).into_iter().map(|topic| (base.len(), topic)));
        let along = base.iter().enumerate().filter_map(|(at, topic)| Some((at, changes::along(topic)?)));
        topics.extend(along);
    }
    for (at, topic) in base.into_iter().enumerate() {
        topics.extend(quantiles::topics(&topic).into_iter().map(|quantiles| (at, quantiles)));
        topics.push((at, topic));
    }
    topics.sort_by_key(|(at, _)| *at);
    topics
}

fn choose(topics: &[(usize, Topic)], labels: &[String]) -> Charts {
    let (mut chosen, mut points, mut left_out) = (Vec::new(), 0, 0);
    for (rank, chart) in CHARTS.iter().enumerate() {
        for (at, topic) in topics.iter().filter(|(_, topic)| chart.suits(topic)) {
            if chosen.len() == MOST_CHARTS {
                left_out += 1;
                continue;
            }
            let Some(figure) = draw::figure(topic, chart, labels) else { continue };
            let more: usize = figure.series.iter().map(|series| series.points.len()).sum();
            if points + more > MOST_POINTS {
                left_out += 1;
                continue;
            }
            points += more;
            chosen.push(((*at, rank), figure));
        }
    }
    chosen.sort_by_key(|(place, _)| *place);
    // The first thing to see: of several files, what changed; of one, the throughput of several threads.
    let first = |id: &str| chosen.iter().position(|((_, rank), figure)| CHARTS[*rank].id == id && is_wide(figure));
    if let Some(first) = first("change").or_else(|| first("throughput")) {
        chosen[..=first].rotate_right(1);
    }
    let mut figures: Vec<Figure> = chosen.into_iter().map(|(_, figure)| figure).collect();
    make_ids_unique(&mut figures);
    Charts { figures, left_out: (left_out > 0).then(|| sentence(left_out)) }
}

/// Whether it shows what several numbers of threads do, as lines.
fn is_wide(figure: &Figure) -> bool {
    figure.form == Form::Lines && figure.x.ticks.len() > 1
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
