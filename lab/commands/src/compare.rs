//! `ondeck compare` of two result files.

use ondeck_kit::exit::Exit;
use ondeck_kit::file::ReadError;
use ondeck_kit::terminal::{print, say, width};
use ondeck_report::compare::compare;
use ondeck_report::output::read;
use std::path::Path;

/// Why no measurements can be read from the file, if so.
pub fn no_result(file: &Path) -> Option<ReadError> {
    read(file).err()
}

/// Prints what differs between the two files, which have these names. What is worse may fail.
pub fn run(files: [&Path; 2], [old_name, new_name]: &[String; 2], fails: bool) -> Result<(), Exit> {
    let unusable = |error: ReadError| Exit::Usage(error.to_string());
    let [(old, old_warnings), (new, new_warnings)] =
        [read(files[0]).map_err(unusable)?, read(files[1]).map_err(unusable)?];
    let comparison = compare(&old.rows, &new.rows);
    let mut doubts: Vec<String> = [&old, &new].iter().filter_map(|results| results.doubt_about_queues()).collect();
    doubts.dedup();
    if let Some(what) = comparison.nothing_in_common(old_name, new_name) {
        return Err(Exit::Usage(what));
    }
    for warning in old_warnings.iter().chain(&new_warnings).chain(&doubts).chain(&comparison.warnings) {
        say(&format!("warning: {warning}"));
    }
    print(&comparison.text(old_name, new_name, width()))?;
    let worse = if fails { comparison.regressions() } else { Vec::new() };
    if worse.is_empty() { Ok(()) } else { Err(Exit::Failed(format!("worse in {new_name}: {}", worse.join("; ")))) }
}
