//! The report as Markdown, for an issue or a pull request.

use super::document::Document;
use super::source::Source;

/// The text: what was run, what it says, the tables.
pub fn markdown(_sources: &[Source], document: &Document) -> String {
    format!("# {}\n", document.title)
}
