//! What `ondeck bench` and `ondeck sim` end with.

use super::next::{Kept, next};
use super::tables::tables;
use super::text::wrap;
use super::verdict::sentences;
use crate::board::Board;
use crate::noise::is_noise;
use crate::output::Results;
use crate::simulate::provenance;

/// A machine that is busy all the time gives a warning every other second; so many are shown.
const SHOWN_WARNINGS: usize = 4;

/// The text for a person, at most `width` columns wide: tables, what they say, what casts doubt on them, and what to do
/// next. The board holds the results' rows; `peers` are the locks of other projects; `kept` is where the results are.
pub fn summary(board: &Board, results: &Results, peers: &[&str], kept: Kept, width: usize) -> String {
    let mut text = String::new();
    if let Some(fingerprint) = &results.fingerprint {
        text += &wrap("", &fingerprint.line(), width);
        if let Some(simulation) = &fingerprint.simulation {
            text += &wrap("", &provenance(simulation, &results.rows), width);
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
    let is_disturbed = results.warnings.iter().any(|warning| is_noise(warning));
    if let Some((reason, command)) = next(&results.command, board.rounds, kept, is_disturbed) {
        // By itself and whole, so that it can be copied.
        text += &format!("\nNext, {reason}:\n{command}\n");
    }
    text
}
