//! What `ondeck bench` and `ondeck sim` end with.

use super::tables::tables;
use super::text::wrap;
use super::verdict::{next_command, sentences};
use crate::board::Board;
use crate::output::Results;
use crate::simulate::provenance;

/// A machine that is busy all the time gives a warning every other second; so many are shown.
const SHOWN_WARNINGS: usize = 4;

/// The text for a person, at most `width` columns wide: tables, what they say, what casts doubt on them, and what to do
/// next. The board holds the results' rows; `peers` are the locks of other projects; `out` is where the results are, if
/// anywhere.
pub fn summary(board: &Board, results: &Results, peers: &[&str], out: Option<&str>, width: usize) -> String {
    let mut text = String::new();
    if let Some(fingerprint) = &results.fingerprint {
        text += &format!("{}\n", fingerprint.line());
        if let Some(simulation) = &fingerprint.simulation {
            text += &format!("{}\n", provenance(simulation, &results.rows));
        }
        text += "\n";
    }
    text += &tables(board, peers, width);
    let sentences = sentences(board, peers);
    if !sentences.is_empty() {
        text += "\nWhat the figures say\n";
        text.extend(sentences.iter().map(|sentence| wrap("- ", sentence, width)));
    }
    if !results.warnings.is_empty() {
        text += "\nWhat casts doubt on them\n";
        text.extend(results.warnings.iter().take(SHOWN_WARNINGS).map(|warning| wrap("- ", warning, width)));
        let more = results.warnings.len().saturating_sub(SHOWN_WARNINGS);
        if more > 0 {
            text += &format!("- and {more} more, which --out keeps\n");
        }
    }
    let next = next_command(board, &results.command, out, !results.warnings.is_empty());
    text + &format!("\nNext: {next}\n")
}
