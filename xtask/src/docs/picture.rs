//! The picture in README.md, drawn from a committed result file as `ondeck report --svg` draws it.

use ondeck_report::catalogue::Catalogue;
use ondeck_report::drawing::svg;
use ondeck_report::inputs::read;
use ondeck_report::plotting::figures;
use std::path::Path;

pub(super) const PATH: &str = "docs/pictures/mutex-contention-throughput.svg";

/// What it is drawn from.
const DATA: &str = "results/epyc-2c-vm/contention.csv";
/// Which of the charts it is.
const FIGURE: &str = "mutex-contention-throughput";

pub(super) fn picture(root: &Path) -> Result<String, String> {
    let sources = read(&[root.join(DATA)]).map_err(|error| error.to_string())?;
    // The order of locks: that of the table, then other projects'.
    let locks = ondeck_lineage::LOCKS.iter().map(|entry| entry.name.to_string()).collect();
    let charts = figures(&sources, &Catalogue { locks, ..Catalogue::default() }).figures;
    let chart = charts.iter().find(|chart| chart.id == FIGURE);
    chart.map(svg).ok_or_else(|| format!("{DATA}: has no chart {FIGURE}"))
}
