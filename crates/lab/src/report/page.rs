//! The report as one HTML file that needs nothing else.

use super::document::Document;

/// The text of the page.
pub fn page(document: &Document) -> String {
    let data = serde_json::to_string(document).expect("strings and numbers always have a JSON form");
    format!("<!doctype html><script type=\"application/json\">{}</script>\n", data.replace('<', "\\u003c"))
}
