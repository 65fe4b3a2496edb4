//! The picture in README.md, drawn from a committed result file as `ondeck report --svg` draws it.

use ondeck_report::catalogue::Catalogue;
use ondeck_report::drawing::svg;
use ondeck_report::figure::Figure;
use ondeck_report::inputs::Inputs;
use ondeck_report::plotting::figures;
use std::path::Path;

pub(super) const PATH: &str = "docs/pictures/mutex-contention-relative.svg";

/// What it is drawn from.
const DATA: &str = "results/epyc-2c-vm/contention.csv";
/// Which of the charts it is: throughput with more threads, relative to one.
const FIGURE: &str = "mutex-contention-relative";

pub(super) fn picture(root: &Path) -> Result<String, String> {
    Charts::read(root, DATA)?.draw(FIGURE)
}

/// What `ondeck report` draws from a result file.
pub(super) struct Charts<'a> {
    file: &'a str,
    figures: Vec<Figure>,
}

impl Charts<'_> {
    pub(super) fn read<'a>(root: &Path, file: &'a str) -> Result<Charts<'a>, String> {
        let Inputs { sources, .. } = Inputs::read(&[root.join(file)]).map_err(|error| error.to_string())?;
        // The order of locks: that of the table, then other projects'.
        let locks = ondeck_locks::LOCKS.iter().map(|entry| entry.name.to_string()).collect();
        let catalogue = Catalogue { locks, ..Catalogue::default() };
        Ok(Charts { file, figures: figures(&sources, &catalogue).figures })
    }

    pub(super) fn draw(&self, name: &str) -> Result<String, String> {
        let figure = self.figures.iter().find(|figure| figure.id == name);
        figure.map(svg).ok_or_else(|| format!("{}: has no chart {name}", self.file))
    }
}
