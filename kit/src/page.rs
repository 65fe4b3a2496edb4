//! What all pages have: one HTML file that needs nothing else, in these colours, and how data and scripts stand in it.

use crate::palette::{Background, DARK, HUES, Hue, LIGHT, QUIET};
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

const STYLE: &str = include_str!("page/page.css");
/// Numbers as the tables write them.
pub const FORMAT: &str = include_str!("page/format.js");
/// Elements whose text is never taken for markup.
pub const ELEMENTS: &str = include_str!("page/elements.js");
/// Both.
pub const BASICS: &str = concat!(include_str!("page/format.js"), include_str!("page/elements.js"));

/// Nothing is loaded from anywhere, whatever gets into the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'";

/// Anything as JSON that can stand inside a script element: no `<`, with which the element could be ended, and no
/// line separator, which older readers of scripts take for the end of a string.
///
/// # Panics
/// If it has no JSON form, which everything has that is made of strings, numbers and lists of them.
pub fn json(of: &impl Serialize) -> String {
    let data = serde_json::to_string(of).expect("strings and numbers always have a JSON form");
    data.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A script or style sheet of ours without its indentation and the lines that are comments: one that begins with `/*` ends
/// where its line or a later one ends.
pub fn lean(source: &str) -> String {
    let mut is_comment = false;
    let is_kept = |line: &&str| {
        let begins = is_comment || line.starts_with("/*");
        is_comment = begins && !line.ends_with("*/");
        !begins && !line.starts_with("//") && !line.is_empty()
    };
    source.lines().map(str::trim).filter(is_kept).fold(String::new(), |all, line| all + line + "\n")
}

/// The head of a page: nothing may be loaded, and it looks as all pages of ours do, and as `more` of a style sheet says.
pub fn head(title: &str, more: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="generator" content=(concat!("ondeck ", env!("CARGO_PKG_VERSION")));
            title { (title) }
            style { (PreEscaped(colours())) (PreEscaped(lean(STYLE))) (PreEscaped(lean(more))) }
        }
    }
}

/// The colours of the charts, which the pictures have too, as variables of the style sheet. Paper is always light.
fn colours() -> String {
    let variables = |background: Background, of: fn(&Hue) -> &'static str| {
        let Background { card, ink, muted, grid } = background;
        let styles: String = (0..).zip(&HUES).map(|(n, hue)| format!("--style-{n}:{};", of(hue))).collect();
        let quiet = of(&QUIET);
        format!(":root{{--paper:{card};--ink:{ink};--muted:{muted};--rule:{grid};--quiet:{quiet};{styles}}}")
    };
    let (light, dark) = (variables(LIGHT, |hue| hue.light), variables(DARK, |hue| hue.dark));
    format!("{light}@media screen and (prefers-color-scheme:dark){{{dark}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_their_element() {
        const HOSTILE: [&str; 3] =
            ["</script><script>alert(2)</script>", "<!--<script>\u{2028}\u{2029}\u{202e}", "\\u003c \\"];
        let data = json(&HOSTILE);
        assert!(!data.contains(['<', '\u{2028}', '\u{2029}']), "{data}");
        let parsed: Vec<String> = serde_json::from_str(&data).expect("the data are JSON");
        assert_eq!(parsed, HOSTILE);
    }

    #[test]
    fn nothing_is_loaded() {
        for loads in ["url(", "@import", "@font-face"] {
            assert!(!STYLE.contains(loads), "the style sheet has {loads}");
        }
        for loads in ["fetch(", "XMLHttpRequest", "import", "innerHTML", "insertAdjacentHTML", "eval("] {
            assert!(!BASICS.contains(loads), "a script has {loads}");
        }
    }

    #[test]
    fn what_is_taken_in_leaves_its_comments_behind() {
        assert_eq!(
            lean("/* One\n   and more. */\n\n  a { b: c; } /* d */\n// e\n/** f */\n}"),
            "a { b: c; } /* d */\n}\n"
        );
    }

    #[test]
    fn what_is_taken_in_cannot_end_its_element() {
        let script = BASICS.to_lowercase();
        assert!(!script.contains("</script") && !script.contains("<script") && !script.contains("<!--"));
        assert!(!STYLE.contains('<'));
    }
}
