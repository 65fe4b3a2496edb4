//! `ondeck compare`.

use crate::args::CompareArgs;
use ondeck_kit::exit::Exit;
use ondeck_kit::file::{ReadError, text_of};
use ondeck_kit::terminal::{print, width};
use ondeck_profile::Profile;
use ondeck_profile::json::from_json;
#[cfg(feature = "lab")]
use ondeck_profile::json::is_profile;
use std::path::Path;

/// For messages about files that are something else.
const EXPECTED: &str =
    "expected a result file of `ondeck bench --out`, CSV or JSON, or a profile of `ondeck profile --format json`";

pub(crate) fn run(args: &CompareArgs) -> Result<(), Exit> {
    let text = |file| text_of(file, EXPECTED).map_err(unusable);
    let [old, new] = [text(&args.old)?, text(&args.new)?];
    #[cfg(feature = "lab")]
    match (is_profile(&old), is_profile(&new)) {
        (true, true) => {}
        (false, false) => return results(args),
        (true, false) => return Err(mixed(&args.old, &args.new)),
        (false, true) => return Err(mixed(&args.new, &args.old)),
    }
    profiles(args, [&old, &new])
}

/// Two files of measurements.
#[cfg(feature = "lab")]
fn results(args: &CompareArgs) -> Result<(), Exit> {
    ondeck_lab::compare([&args.old, &args.new], &names(&args.old, &args.new), args.fail_on.is_some())
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
#[cfg(feature = "lab")]
fn mixed(profile: &Path, other: &Path) -> Exit {
    // A file that is no result either is told what is accepted.
    if let Some(error) = ondeck_lab::no_result(other) {
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
