//! What several sentences have in them.

use ondeck_report::wording::{duration_ns, plain};
use std::ffi::OsString;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

pub(super) fn seconds(seconds: f64) -> String {
    duration_ns(seconds * 1e9)
}

pub(super) fn program(command: &[OsString]) -> String {
    plain(&command.first().map(|word| word.to_string_lossy()).unwrap_or_default())
}

/// The last line that is not empty.
pub(super) fn last_line(file: &Path) -> Option<String> {
    let text = end_of(file).unwrap_or_default();
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(plain)
}

fn end_of(file: &Path) -> io::Result<String> {
    /// As much as is worth a line.
    const ENOUGH: u64 = 400;
    let mut file = std::fs::File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(ENOUGH)))?;
    let mut bytes = Vec::new();
    file.take(ENOUGH).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
