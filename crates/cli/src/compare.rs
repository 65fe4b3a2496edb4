//! `ondeck compare`.

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::terminal::{print, say, width};
use ondeck_lab::compare::compare;
use ondeck_lab::output::read;

pub(crate) fn run(args: &CompareArgs) -> Result<(), Exit> {
    let [(old, old_warnings), (new, new_warnings)] =
        [read(&args.old).map_err(unusable)?, read(&args.new).map_err(unusable)?];
    let comparison = compare(&old.rows, &new.rows);
    for warning in old_warnings.iter().chain(&new_warnings).chain(&comparison.warnings) {
        say(&format!("warning: {warning}"));
    }
    let [old, new] = [&args.old, &args.new].map(|path| path.display().to_string());
    print(&comparison.text(&old, &new, width()))
}

fn unusable(error: ondeck_lab::output::Unreadable) -> Exit {
    Exit::Usage(error.to_string())
}
