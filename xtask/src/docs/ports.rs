//! results/ports.md: what our texts of other libraries' mutexes do, as a part of what the originals do.

use super::rows::Spread;
use super::table::{code, or_dash, table};
use ondeck_report::board::{Board, Setting};
use ondeck_report::catalogue::Catalogue;
use ondeck_report::output;
use std::path::Path;

pub(super) const PATH: &str = "results/ports.md";
/// What was measured.
pub(crate) const FILE: &str = "results/ports.csv";
/// The originals; a text is called as its original and `-port`.
pub(crate) const PAIRS: [&str; 5] = ["std", "parking-lot", "parking-lot-012", "pthread", "pthread-adaptive"];
/// By so much a text may do more or less than its original.
const TOLERANCE: f64 = 0.1;

/// Puts the rows of several runs into the file.
#[cfg(feature = "lab")]
pub(crate) fn gather(root: &Path, parts: &[String]) -> Result<(), String> {
    let mut all: Option<output::Results> = None;
    for part in parts {
        let (results, _) = output::read(&root.join(part)).map_err(|error| error.to_string())?;
        match &mut all {
            None => all = Some(output::Results { command: "cargo xtask ports".into(), ..results }),
            Some(all) => {
                all.rows.extend(results.rows);
                all.warnings.extend(results.warnings);
            }
        }
    }
    let file = output::OutFile::check(&root.join(FILE))?;
    all.ok_or("nothing was measured")?.write(&file, output::Format::Csv)
}

/// What stands between the markers of the page.
pub(super) fn part(root: &Path) -> Result<String, String> {
    let (results, _) = output::read(&root.join(FILE)).map_err(|error| error.to_string())?;
    let board = Board::new(&results.rows, &Catalogue::default());
    let machine = results.fingerprint.map_or(String::new(), |fingerprint| fingerprint.line());
    let mut text = format!("\nOn {machine}; {} rounds in turn.\n", board.rounds);
    for warning in &results.warnings {
        text += &format!("\nThe run warned: {warning}\n");
    }
    Ok(text + "\n" + &summary(&board) + "\n" + &rows(&board) + "\n")
}

/// A text beside its original in one setting: the median of the ratios within rounds, and the range of them.
fn spread(board: &Board, setting: &Setting, name: &str) -> Option<Spread> {
    let ratio = board.ratio((setting, &format!("{name}-port")), (setting, name))?;
    Some(Spread { median: ratio.median, low: ratio.low, high: ratio.high })
}

fn is_off(spread: &Spread) -> bool {
    !(1.0 - TOLERANCE..=1.0 + TOLERANCE).contains(&spread.median)
}

fn rows(board: &Board) -> String {
    table(&board.settings)
        .column("workload", |setting| code(&setting.workload))
        .column("threads", |setting| setting.threads)
        .columns(PAIRS, |setting, name| or_dash(spread(board, setting, name).map(|it| it.bold_if(is_off(&it)))))
        .text()
}

fn summary(board: &Board) -> String {
    let of = |name: &&str| {
        let spreads: Vec<Spread> = board.settings.iter().filter_map(|setting| spread(board, setting, name)).collect();
        let n_off = spreads.iter().filter(|it| is_off(it)).count();
        format!("- {name}: beyond a tenth in {n_off} of {} settings.\n", spreads.len())
    };
    PAIRS.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_report::row::Row;

    #[test]
    fn a_text_that_is_off_is_shown_so() {
        let row = |lock: &str, round, mega: f64| {
            let row =
                Row { workload: "mutex-contention".into(), lock: lock.into(), threads: 2, round, ..Row::default() };
            Row { ops_per_s: Some(mega * 1e6), ..row }
        };
        let figures = [("std", 10.0), ("std-port", 10.5), ("pthread", 10.0), ("pthread-port", 8.0)];
        let rows: Vec<Row> = (0..3).flat_map(|round| figures.map(|(lock, mega)| row(lock, round, mega))).collect();
        let board = Board::new(&rows, &Catalogue::default());
        let line = "| `mutex-contention` | 2 | 1.05 (1.05 to 1.05) | - | - | **0.80** (0.80 to 0.80) | - |\n";
        assert!(super::rows(&board).ends_with(line), "{}", super::rows(&board));
        assert!(summary(&board).contains("- std: beyond a tenth in 0 of 1 settings.\n"));
        assert!(summary(&board).contains("- pthread: beyond a tenth in 1 of 1 settings.\n"));
    }
}
