//! An algorithm: its header, and the code that the header is about.

use super::header::{Header, quoted_after};
use super::source::{Line, lines};
use super::tree::{File, fault};

/// Where the algorithms live.
const HOMES: [&str; 2] = ["crates/core/src/", "lab/lineage/src/"];
/// What tells an algorithm from the files beside it.
const MARKER: &str = "\n//! # State word";
/// After this a header names files beside its own that it shares with other algorithms.
pub(super) const SHARED: &str = "Shared code:";

/// An algorithm: the file with the header, then those of the directory of the same name, then those that the header
/// says it shares.
pub(super) struct Algorithm<'a> {
    /// As the command line spells it.
    pub(super) name: String,
    pub(super) header: Header<'a>,
    pub(super) parts: Vec<Part<'a>>,
}

/// One file's code, with comments but without tests and without the header.
pub(super) struct Part<'a> {
    pub(super) path: &'a str,
    pub(super) lines: Vec<Line<'a>>,
}

impl<'a> Algorithm<'a> {
    pub(super) fn fault(&self, line: usize, text: &str) -> String {
        fault(self.parts[0].path, line, text)
    }

    /// Whether it has to have a model: its entry in the table of locks says that waiters sleep, and it is no port of a lock
    /// that programs use today.
    pub(super) fn needs_model(&self) -> bool {
        let sleeps = |line: &Line<'_>| line.code.contains("sleeps: true");
        !self.name.ends_with("-port") && self.parts.iter().flat_map(|part| &part.lines).any(sleeps)
    }

    /// Line and name of the rows of the table of its steps.
    pub(super) fn steps(&self) -> Vec<(usize, &'a str)> {
        self.header.section("Life of a word").map(|section| section.rows("step")).unwrap_or_default()
    }
}

/// A path below one of the homes, from there.
pub(super) fn at_home(path: &str) -> Option<&str> {
    HOMES.iter().find_map(|home| path.strip_prefix(home))
}

pub(super) fn algorithms(files: &[File]) -> Vec<Algorithm<'_>> {
    let mains = files.iter().filter(|file| at_home(&file.path).is_some() && file.text.contains(MARKER));
    mains.map(|main| algorithm(main, files)).collect()
}

fn algorithm<'a>(main: &'a File, files: &'a [File]) -> Algorithm<'a> {
    let stem = main.path.trim_end_matches(".rs");
    let directory = format!("{stem}/");
    let header = Header::parse(&main.text);
    let text = header.text();
    let shared = quoted_after(&text, SHARED);
    let is_part = |file: &&File| file.path.starts_with(&directory) && !file.path.ends_with("/tests.rs");
    let is_shared = |file: &&File| at_home(&file.path).is_some_and(|name| shared.contains(&name));
    let rest = files.iter().filter(|file| is_part(file) || is_shared(file));
    let parts =
        [main].into_iter().chain(rest).map(|file| Part { path: &file.path, lines: lines(&file.text) }).collect();
    let name = at_home(stem).unwrap_or(stem).replace('_', "-");
    Algorithm { name, header, parts }
}
