//! What `ondeck bench` and `ondeck sim` end with.

use crate::board::Board;
use crate::findings::sentences;
use crate::next::{Storage, next};
use crate::noise::is_noise;
use crate::output::Results;
use crate::run_tables::tables;
use ondeck_kit::wording::wrap;

/// A machine that is busy all the time gives a warning every other second; so many are shown.
const SHOWN_WARNINGS: usize = 4;

/// The text for a person, at most `width` columns wide: tables, what they say, what casts doubt on them, and what to do
/// next. The board holds the results' rows; `kept` is where the results are.
pub fn summary(board: &Board, results: &Results, kept: Storage, width: usize) -> String {
    let mut text = String::new();
    if let Some(fingerprint) = &results.fingerprint {
        text += &wrap("", &fingerprint.line(), width);
        if let Some(simulation) = &fingerprint.simulation {
            text += &wrap("", &simulation.line(&results.rows), width);
        }
        text += "\n";
    }
    text += &tables(board, width);
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
            let place =
                if matches!(kept, Storage::Nowhere) { "--out FILE.csv keeps them" } else { "the file has them" };
            text += &format!("- {more} more: {place}\n");
        }
    }
    let is_disturbed = results.warnings.iter().any(|warning| is_noise(warning));
    if let Some((reason, command)) = next(&results.command, board.rounds, kept, is_disturbed) {
        // By itself and whole, so that it can be copied.
        text += &format!("\nNext, {reason}:\n{command}\n");
    }
    text
}
