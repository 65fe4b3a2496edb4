//! `ondeck compare`.

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::terminal::{print, say, width};
use ondeck_report::compare::compare;
use ondeck_report::output::read;
use std::path::Path;

pub(crate) fn run(args: &CompareArgs) -> Result<(), Exit> {
    let [(old, old_warnings), (new, new_warnings)] =
        [read(&args.old).map_err(unusable)?, read(&args.new).map_err(unusable)?];
    let comparison = compare(&old.rows, &new.rows);
    let [old, new] = names(&args.old, &args.new);
    if let Some(what) = comparison.nothing_in_common(&old, &new) {
        return Err(Exit::Usage(what));
    }
    for warning in old_warnings.iter().chain(&new_warnings).chain(&comparison.warnings) {
        say(&format!("warning: {warning}"));
    }
    print(&comparison.text(&old, &new, width()))
}

/// Names of the two files, without their directories if they differ anyway.
fn names(old: &Path, new: &Path) -> [String; 2] {
    let short = [old, new].map(|path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned());
    if short[0] == short[1] { [old, new].map(|path| path.display().to_string()) } else { short }
}

fn unusable(error: ondeck_report::output::Unreadable) -> Exit {
    Exit::Usage(error.to_string())
}
