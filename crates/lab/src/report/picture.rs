//! A chart as a static picture.

use super::figure::Figure;

/// The text of an SVG file.
pub fn svg(figure: &Figure) -> String {
    let title = figure.title.replace('&', "&amp;").replace('<', "&lt;");
    format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title></svg>\n")
}
