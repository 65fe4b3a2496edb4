//! What `ondeck bench` and `ondeck sim` end with.

use crate::board::Board;
use crate::findings::sentences;
use crate::output::Results;
use crate::run_table::table;
use crate::wait_table;
use ondeck_kit::wording::wrap;

/// A machine that is busy all the time gives a warning every other second; so many are shown.
const SHOWN_WARNINGS: usize = 4;

/// The text for a person, at most `width` columns wide: the table, of some workloads percentiles, what it says, and what casts doubt on it. The board
/// holds the results' rows; `is_kept` says whether the results are in a file that programs read.
pub fn summary(board: &Board, results: &Results, is_kept: bool, width: usize) -> String {
    let mut text = String::new();
    if let Some(fingerprint) = &results.fingerprint {
        text += &wrap("", &fingerprint.line(), width);
        if let Some(simulation) = &fingerprint.simulation {
            text += &wrap("", &simulation.line(&results.rows), width);
        }
        text += "\n";
    }
    text += &table(board, width);
    text += &wait_table::table(board, width).unwrap_or_default();
    let sentences = sentences(board);
    if !sentences.is_empty() {
        text += "\nWhat the figures say\n";
        text.extend(sentences.iter().map(|sentence| wrap("- ", sentence, width)));
    }
    if !results.warnings.is_empty() {
        text += "\nWarnings\n";
        text.extend(results.warnings.iter().take(SHOWN_WARNINGS).map(|warning| wrap("- ", warning, width)));
        let more = results.warnings.len().saturating_sub(SHOWN_WARNINGS);
        if more > 0 {
            let place = if is_kept { "the file has them" } else { "--out FILE.csv keeps them" };
            text += &format!("- {more} more: {place}\n");
        }
    }
    text
}
