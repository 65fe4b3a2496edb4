//! The JSON form of a profile: all of it, and back.

use crate::profile::{Bar, Lock, Profile, Site, VERSION};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What is expected, for messages about what is something else.
const EXPECTED: &str = "expected the JSON form of a profile, as `ondeck profile` writes it";

/// By what a profile is known from the results of measurements, which are JSON as well.
#[derive(Deserialize)]
struct Head<Version> {
    version: Option<Version>,
    rows: Option<IgnoredAny>,
}

/// The profile as JSON, in one line.
pub fn to_json(profile: &Profile) -> String {
    let mut text = serde_json::to_string(profile).expect("strings and numbers always have a JSON form");
    text.push('\n');
    text
}

/// The profile that the text holds. The error is one line; all numbers of frames, stacks and processes in a profile that is
/// read are those of some.
pub fn from_json(text: &str) -> Result<Profile, String> {
    let head: Head<u64> = serde_json::from_str(text).map_err(|error| explain(&error))?;
    match head.version {
        None if head.rows.is_some() => return Err(format!("holds rows of measurements and no profile; {EXPECTED}")),
        None => return Err(format!("has no version; {EXPECTED}")),
        Some(version) => check_version(version)?,
    }
    let profile: Profile = serde_json::from_str(text).map_err(|error| explain(&error))?;
    match fault(&profile) {
        Some(fault) => Err(format!("{fault}; {EXPECTED}")),
        None => Ok(profile),
    }
}

/// Refuses what another version of the program wrote, with a meaning that is not known here.
pub(crate) fn check_version(version: u64) -> Result<(), String> {
    if version == u64::from(VERSION) {
        return Ok(());
    }
    let whose = if version > u64::from(VERSION) { "a newer" } else { "another" };
    Err(format!("is a profile of {whose} form, version {version}; accepted: version {VERSION}"))
}

/// Whether the text is a profile, whole or not.
pub(crate) fn is_profile(text: &str) -> bool {
    match serde_json::from_str::<Head<IgnoredAny>>(text) {
        Ok(head) => head.version.is_some() && head.rows.is_none(),
        // What was cut off still begins as it was written.
        Err(_) => {
            let Some(inside) = text.trim_start().strip_prefix('{') else { return false };
            inside.trim_start().starts_with("\"version\"")
        }
    }
}

/// The library's message and place, and what the reader can make of it.
fn explain(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let what = message.split(" at line ").next().unwrap_or_default();
    let hint = if error.is_eof() { "is the file cut off?" } else { EXPECTED };
    format!("line {}, column {}: {what}; {hint}", error.line(), error.column())
}

/// What a reader could stumble over: a number of something that is not there, a figure below zero.
fn fault(profile: &Profile) -> Option<String> {
    let missing = |what: &str, number: u32, length: usize| {
        (number as usize >= length).then(|| format!("names {what} {number} of {length}"))
    };
    let frame = profile.stacks.iter().flatten().find_map(|frame| missing("frame", *frame, profile.frames.len()));
    let locks = profile.locks.iter().map(|lock| lock.process);
    let mut processes = locks.chain(profile.conditions.iter().map(|condition| condition.process));
    let process = processes.find_map(|process| missing("process", process, profile.processes.len()));
    let origins = profile.locks.iter().filter_map(|lock| lock.origin).map(|origin| origin.stack);
    let mut stacks = origins.chain(sites(profile).map(|site| site.stack));
    let stack = stacks.find_map(|stack| missing("stack", stack, profile.stacks.len()));
    let is_reversed = bars(profile).any(|bar| bar.to < bar.from);
    let bar = is_reversed.then(|| "has a bar of a histogram that ends before it begins".to_string());
    frame.or(process).or(stack).or(bar).or_else(|| {
        let figure = figures(profile).find(|figure| !(figure.is_finite() && *figure >= 0.0))?;
        Some(format!("has the figure {figure} where only 0 or more makes sense"))
    })
}

fn sites(profile: &Profile) -> impl Iterator<Item = &Site> {
    let of_locks = profile
        .locks
        .iter()
        .flat_map(|lock| lock.waiters.iter().chain(&lock.holders).chain(&lock.takers).chain(&lock.wakers));
    of_locks.chain(profile.conditions.iter().flat_map(|condition| &condition.waiters))
}

fn bars(profile: &Profile) -> impl Iterator<Item = &Bar> {
    let of_locks = profile.locks.iter().flat_map(|lock| lock.wait_histogram.0.iter().chain(&lock.hold_histogram.0));
    of_locks.chain(profile.conditions.iter().flat_map(|condition| &condition.wait_histogram.0))
}

fn figures(profile: &Profile) -> impl Iterator<Item = f64> {
    let of_lock = |lock: &Lock| [lock.acquisitions, lock.waits, lock.wait_ns, lock.hold_ns, lock.handing_on_ns];
    let timelines = profile.locks.iter().map(|lock| &lock.timeline);
    let times = timelines.flat_map(|timeline| timeline.amounts.iter().copied().chain([timeline.slice]));
    [profile.seconds]
        .into_iter()
        .chain(profile.locks.iter().flat_map(of_lock))
        .chain(profile.conditions.iter().flat_map(|condition| [condition.waits, condition.wait_ns]))
        .chain(sites(profile).flat_map(|site| [site.count, site.ns]))
        .chain(bars(profile).map(|bar| bar.count))
        .chain(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::toy;

    /// The error for the toy profile with one value, at a JSON pointer, in the place of another.
    fn with(pointer: &str, value: serde_json::Value) -> String {
        let mut json: serde_json::Value = serde_json::from_str(&to_json(&toy())).unwrap();
        *json.pointer_mut(pointer).expect(pointer) = value;
        from_json(&json.to_string()).unwrap_err()
    }

    #[test]
    fn everything_comes_back() {
        assert_eq!(from_json(&to_json(&toy())), Ok(toy()));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let text = to_json(&toy());
        let cut = from_json(&text[..text.len() / 2]).unwrap_err();
        assert!(cut.contains("line 1, column ") && cut.contains("cut off?"), "{cut}");
        let newer = with("/version", 2.into());
        assert_eq!(newer, "is a profile of a newer form, version 2; accepted: version 1");
        assert!(with("/version", 0.into()).contains("another form"));
        let rows = from_json("{\"rows\": []}").unwrap_err();
        assert!(rows.contains("no profile; expected the JSON form of a profile"), "{rows}");
        assert!(from_json("{}").unwrap_err().contains("has no version"));
        assert!(from_json("[1]").unwrap_err().contains("expected the JSON form"));
    }

    #[test]
    fn numbers_of_what_is_not_there_are_refused() {
        for (pointer, what) in [
            ("/stacks/0/0", "names frame 99 of"),
            ("/locks/0/waiters/0/stack", "names stack 99 of"),
            ("/locks/0/takers/0/stack", "names stack 99 of"),
            ("/conditions/0/waiters/0/stack", "names stack 99 of"),
            ("/locks/0/origin/stack", "names stack 99 of"),
            ("/locks/1/process", "names process 99 of"),
        ] {
            let error = with(pointer, 99.into());
            assert!(error.contains(what), "{pointer}: {error}");
        }
        for pointer in ["/seconds", "/locks/0/wait_ns", "/locks/0/holders/0/ns", "/locks/0/timeline/amounts/0"] {
            let error = with(pointer, (-1.0).into());
            assert!(error.contains("has the figure -1 where"), "{pointer}: {error}");
        }
        let error = with("/locks/0/wait_histogram/0/to", 0.into());
        assert!(error.contains("ends before it begins"), "{error}");
    }

    #[test]
    fn a_profile_is_known_even_if_it_is_cut_off() {
        let text = to_json(&toy());
        assert!(is_profile(&text) && is_profile(&text[..20]));
        for other in ["", "{", "{\"rows\": [], \"version\": 1}", "{\"fingerprint\": {", "platform,workload\n", "[]"] {
            assert!(!is_profile(other), "{other}");
        }
    }
}
