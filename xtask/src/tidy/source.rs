//! Rust source as lines of code with their comments.
//!
//! It counts on the form that rustfmt gives: one statement on a line at most, and what a block begins at some indentation
//! ends at the same. What macros make of their input is not looked at.

use std::ops::Range;

/// A line: its number from 1, its indentation, its code without the comment at its end, and the comment with its slashes.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) number: usize,
    indent: usize,
    pub(super) code: &'a str,
    pub(super) comment: &'a str,
}

impl<'a> Line<'a> {
    fn new(number: usize, text: &'a str) -> Self {
        // A comment begins where quotes are even before it; a quote may be escaped, or a character of its own.
        let is_quoted = |at: usize| text[..at].replace("\\\"", "").replace("'\"'", "").matches('"').count() % 2 == 1;
        let at = text.match_indices("//").map(|(at, _)| at).find(|&at| !is_quoted(at)).unwrap_or(text.len());
        let indent = text.len() - text.trim_start().len();
        Line { number, indent, code: text[..at].trim(), comment: text[at..].trim_end() }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        words(self.code)
    }

    /// What stands between quotes.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.code.split('"').skip(1).step_by(2)
    }

    /// Names of the functions that are called here as a method or by a path.
    pub(super) fn calls(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let code = self.code;
        code.match_indices('(').filter_map(move |(at, _)| {
            let name = words(&code[..at]).last().filter(|name| code[..at].ends_with(name))?;
            code[..at - name.len()].ends_with(['.', ':']).then_some(name)
        })
    }

    /// The first lines up to and with the one that `is_last`.
    pub(super) fn until(lines: &[Self], is_last: impl Fn(&Self) -> bool) -> &[Self] {
        let last = lines.iter().position(is_last).unwrap_or(lines.len() - 1);
        &lines[..=last]
    }

    /// Whether a statement or a block begins or ends here.
    pub(super) fn ends_statement(&self) -> bool {
        self.code.contains([';', '{', '}'])
    }
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

pub(super) fn all_lines(source: &str) -> impl Iterator<Item = Line<'_>> {
    (1..).zip(source.lines()).map(|(number, text)| Line::new(number, text))
}

/// The lines of what runs: without the header, imports, and the items that only tests see.
pub(super) fn lines(source: &str) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    let mut rest = all_lines(source).filter(|line| !line.comment.starts_with("//!"));
    while let Some(line) = rest.next() {
        let is_import = words(line.code).find(|word| !["pub", "crate", "super"].contains(word)) == Some("use");
        if line.code == "#[cfg(test)]" {
            rest.by_ref().find(|last| last.indent == line.indent && last.code.ends_with([';', '}', ',']));
        } else if is_import && !line.code.ends_with(';') {
            rest.by_ref().find(|last| last.code.ends_with(';'));
        } else if !is_import {
            found.push(line);
        }
    }
    found
}

/// A function, as indices of lines.
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) lines: Range<usize>,
}

/// Every function in order of its beginning, so that of those around a line the last is the innermost.
pub(super) fn functions<'a>(lines: &[Line<'a>]) -> Vec<Function<'a>> {
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        // The type of a function pointer has no name.
        let name = line.code.split("fn ").nth(1).and_then(|rest| words(rest).next());
        let is_last = |last: &Line<'_>| last.indent == line.indent && last.code.ends_with([';', '}']);
        found.extend(
            name.map(|name| Function { name, lines: first..first + Line::until(&lines[first..], is_last).len() }),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_hide_comments_and_comments_hide_texts() {
        let parts = |text| (Line::new(1, text).code, Line::new(1, text).comment);
        assert_eq!(parts("\"a // b\"; // c \"d\""), ("\"a // b\";", "// c \"d\""));
        assert_eq!(parts("  a('\"'); // b"), ("a('\"');", "// b"));
        assert_eq!(parts("\"\\\"\" // b"), ("\"\\\"\"", "// b"));
        assert_eq!(Line::new(1, "a(\"b\", \"c d\")").texts().collect::<Vec<_>>(), ["b", "c d"]);
    }

    #[test]
    fn calls_have_a_receiver_or_a_path() {
        let line = Line::new(1, "fn f() { self.a(B::c(d(e)), |x| x.g::<u32>()) }");
        assert_eq!(line.calls().collect::<Vec<_>>(), ["a", "c"]);
    }

    #[test]
    fn headers_imports_and_tests_are_left_out() {
        let source =
            "//! a\npub(crate) use b::{\n    c,\n};\nd\n#[cfg(test)]\nmod tests {\n    e;\n}\n#[cfg(test)]\nuse f;\ng";
        assert_eq!(
            lines(source).iter().map(|line| (line.number, line.code)).collect::<Vec<_>>(),
            [(5, "d"), (12, "g")]
        );
    }

    #[test]
    fn functions_nest_and_end_at_their_indentation() {
        let source = "fn a(\n    x: u8,\n) -> u8 {\n    fn b(f: fn()) {}\n    fn c();\n    1\n}\nfn d() {}\n";
        let found = functions(&lines(source)).into_iter().map(|f| (f.name, f.lines)).collect::<Vec<_>>();
        assert_eq!(found, [("a", 0..7), ("b", 3..4), ("c", 4..5), ("d", 7..8)]);
    }
}
