//! `ondeck compare`.

use crate::args::{CompareArgs, FailOn};
use crate::exit::Exit;
use crate::terminal::{print, say, width};

use ondeck_profile::Profile;
use ondeck_profile::json::{from_json, is_profile};
use ondeck_report::output::{ReadError, read, text_of};
use std::path::Path;

pub(crate) fn run(args: &CompareArgs) -> Result<(), Exit> {
    let [old, new] = [text_of(&args.old).map_err(unusable)?, text_of(&args.new).map_err(unusable)?];
    match (is_profile(&old), is_profile(&new)) {
        (true, true) => profiles(args, [&old, &new]),
        (false, false) => results(args),
        (true, false) => Err(mixed(&args.old, &args.new)),
        (false, true) => Err(mixed(&args.new, &args.old)),
    }
}

/// Two files of measurements.
fn results(args: &CompareArgs) -> Result<(), Exit> {
    let [(old, old_warnings), (new, new_warnings)] =
        [read(&args.old).map_err(unusable)?, read(&args.new).map_err(unusable)?];
    let comparison = ondeck_report::compare::compare(&old.rows, &new.rows);
    let mut doubts: Vec<String> = [&old, &new].iter().filter_map(|results| results.doubt_about_queues()).collect();
    doubts.dedup();
    let [old, new] = names(&args.old, &args.new);
    if let Some(what) = comparison.nothing_in_common(&old, &new) {
        return Err(Exit::Usage(what));
    }
    for warning in old_warnings.iter().chain(&new_warnings).chain(&doubts).chain(&comparison.warnings) {
        say(&format!("warning: {warning}"));
    }
    print(&comparison.text(&old, &new, width()))?;
    let worse = if args.fail_on == Some(FailOn::Regression) { comparison.regressions() } else { Vec::new() };
    if worse.is_empty() { Ok(()) } else { Err(Exit::Failed(format!("worse in {new}: {}", worse.join("; ")))) }
}

/// Two profiles, whose texts are known.
fn profiles(args: &CompareArgs, texts: [&str; 2]) -> Result<(), Exit> {
    if args.fail_on.is_some() {
        let what = "--fail-on: a profile is one run, so its changes may be noise; accepted: two result files of `ondeck bench`";
        return Err(Exit::Usage(what.to_string()));
    }
    let profile = |file: &Path, text: &str| -> Result<Profile, Exit> {
        from_json(text).map_err(|what| unusable(ReadError::new(file, what)))
    };
    let (old, new) = (profile(&args.old, texts[0])?, profile(&args.new, texts[1])?);
    let [old_name, new_name] = names(&args.old, &args.new);
    print(&ondeck_profile::compare(&old, &new, [&old_name, &new_name], width()))
}

/// Why there is nothing to compare a profile with.
fn mixed(profile: &Path, other: &Path) -> Exit {
    // A file that is no result either is told what is accepted.
    if let Err(error) = read(other) {
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
