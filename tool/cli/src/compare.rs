//! `ondeck compare`.

use crate::args::CompareArgs;
use ondeck_kit::exit::Exit;
use ondeck_kit::file::file_of;
use ondeck_kit::terminal::{print, say, width};

use ondeck_kit::file::ReadError;
use ondeck_profile::{compare, read_profile};
use std::path::Path;

pub(crate) fn run(args: &CompareArgs) -> Result<(), Exit> {
    #[cfg(feature = "lab")]
    match [&args.old, &args.new].map(|file| ondeck_profile::is_profile(file)) {
        [true, true] => {}
        [false, false] => return results(args),
        [true, false] => return Err(mixed(&args.old, &args.new)),
        [false, true] => return Err(mixed(&args.new, &args.old)),
    }
    profiles(args)
}

/// Two files of measurements.
#[cfg(feature = "lab")]
fn results(args: &CompareArgs) -> Result<(), Exit> {
    if args.report.is_some() {
        let what = "--report: these files have results of measurements; accepted: two profiles, or \
                    ondeck report OLD NEW --output PAGE.html";
        return Err(Exit::Usage(what.to_string()));
    }
    ondeck_lab::compare([&args.old, &args.new], &names(&args.old, &args.new), args.fail_on.is_some())
}

/// Two profiles.
fn profiles(args: &CompareArgs) -> Result<(), Exit> {
    if args.fail_on.is_some() {
        let what = "--fail-on: a profile is one run, so its changes may be noise; accepted: two result files of `ondeck bench`";
        return Err(Exit::Usage(what.to_string()));
    }
    let [old, new] = [read_profile(&args.old).map_err(unusable)?, read_profile(&args.new).map_err(unusable)?];
    let file = file_of("--report", args.report.as_deref())?;
    let comparison = compare::compare(&old, &new);
    for warning in &comparison.warnings {
        say(&format!("warning: {warning}"));
    }
    let [old_name, new_name] = names(&args.old, &args.new);
    if let Some((_, file)) = file {
        file.replace(compare::page(&old, &new, [&old_name, &new_name]).as_bytes()).map_err(Exit::Failed)?;
        if file.is_stdout() {
            return Ok(());
        }
    }
    print(&comparison.text(&old_name, &new_name, width()))
}

/// Why there is nothing to compare a profile with.
#[cfg(feature = "lab")]
fn mixed(profile: &Path, other: &Path) -> Exit {
    // A file that is no result either is told what a profile is.
    if !ondeck_lab::is_result(other)
        && let Err(error) = read_profile(other)
    {
        return unusable(error);
    }
    Exit::Usage(format!(
        "{} is a profile, but {} has results of measurements; accepted: two profiles or two result files",
        profile.display(),
        other.display()
    ))
}

/// Names of the two files, without their directories if they differ anyway.
fn names(old: &Path, new: &Path) -> [String; 2] {
    let short = [old, new].map(|path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned());
    if short[0] == short[1] { [old, new].map(|path| path.display().to_string()) } else { short }
}

fn unusable(error: ReadError) -> Exit {
    Exit::Usage(error.to_string())
}
