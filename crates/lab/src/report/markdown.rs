//! The report as Markdown, for an issue or a pull request.

use super::document::Document;
use super::source::Source;

/// The text: what was run, what it says, the tables.
pub fn markdown(_sources: &[Source], document: &Document) -> String {
    let mut text = format!("# {}\n", document.title);
    for answer in &document.answers {
        text += &format!("\n**{}**\n\n", answer.question);
        text.extend(answer.sentences.iter().map(|sentence| format!("- {sentence}\n")));
    }
    text
}
