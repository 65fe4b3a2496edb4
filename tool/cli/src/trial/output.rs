//! Whether two runs printed the same.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// So much of a line is shown.
const SHOWN: u64 = 200;

/// The first line in which two files differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// From 1.
    pub(super) line: u64,
    /// What each file has there, without its end if it is long; `None` where the file has ended.
    pub(super) texts: [Option<String>; 2],
}

/// Compares two files byte by byte. `None` if they are the same.
///
/// Reads line by line and keeps no more than one: outputs may be larger than memory. A line without an end is cut into
/// pieces.
pub(super) fn difference(one: &Path, other: &Path) -> io::Result<Option<Difference>> {
    let mut files = [BufReader::new(File::open(one)?), BufReader::new(File::open(other)?)];
    let mut lines = [Vec::new(), Vec::new()];
    let mut line = 1;
    loop {
        for (file, piece) in files.iter_mut().zip(&mut lines) {
            piece.clear();
            file.take(LONGEST).read_until(b'\n', piece)?;
        }
        if lines[0] != lines[1] {
            return Ok(Some(Difference { line, texts: lines.map(|text| shown(&text)) }));
        }
        if lines[0].is_empty() {
            return Ok(None);
        }
        line += u64::from(lines[0].ends_with(b"\n"));
    }
}

/// A longer line is compared in pieces of this length.
const LONGEST: u64 = 1 << 20;

fn shown(line: &[u8]) -> Option<String> {
    if line.is_empty() {
        return None;
    }
    let start: Vec<u8> = line.iter().copied().take(SHOWN as usize).collect();
    Some(ondeck_report::wording::plain(String::from_utf8_lossy(&start).trim_end_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(one: &[u8], other: &[u8]) -> Option<Difference> {
        let file = |name: &str, bytes: &[u8]| {
            let thread = std::thread::current();
            let test = thread.name().unwrap_or_default().replace(':', "-");
            let path = std::env::temp_dir().join(format!("ondeck-output-{}-{test}-{name}", std::process::id()));
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let (one, other) = (file("one", one), file("other", other));
        let found = difference(&one, &other).unwrap();
        std::fs::remove_file(one).and(std::fs::remove_file(other)).unwrap();
        found
    }

    #[track_caller]
    fn differs(one: &[u8], other: &[u8], line: u64, texts: [Option<&str>; 2]) {
        let texts = texts.map(|text| text.map(str::to_owned));
        assert_eq!(compared(one, other), Some(Difference { line, texts }));
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        differs(b"a\nb\nc\n", b"a\nx\ny\n", 2, [Some("b"), Some("x")]);
        differs(b"a\n", b"a\nb\n", 2, [None, Some("b")]);
        differs(b"a\n", b"a", 1, [Some("a"), Some("a")]);
        differs(b"", b"a", 1, [None, Some("a")]);
        differs(b"\x1b[31m\xff", b"a", 1, [Some("\u{fffd}[31m\u{fffd}"), Some("a")]);
    }

    #[test]
    fn equal_bytes_are_the_same_whatever_they_are() {
        assert_eq!(compared(b"", b""), None);
        assert_eq!(compared(b"a\n\0\xff", b"a\n\0\xff"), None);
        let long = vec![b'x'; 3 * LONGEST as usize];
        assert_eq!(compared(&long, &long), None);
        let mut other = long.clone();
        *other.last_mut().unwrap() = b'y';
        assert_eq!(compared(&long, &other).unwrap().line, 1);
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        assert!(difference(Path::new("/no/such"), Path::new("/dev/null")).is_err());
    }
}
