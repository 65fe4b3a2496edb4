//! The JSON form of a profile: all of it, and back.

use crate::names::shown;
use crate::profile::{Condition, Histogram, Lock, Profile, Site, VERSION, WaitObject};
use crate::terminal::verdict;
use ondeck_kit::wording::counted;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// What is expected, for messages about what is something else.
const EXPECTED: &str = "expected the JSON form of a profile, as `ondeck profile` writes it";

/// By what a profile is known from the results of measurements, which are JSON as well.
#[derive(Deserialize)]
struct Head<Version> {
    version: Option<Version>,
    rows: Option<IgnoredAny>,
}

/// A profile with what is written for whoever reads it in a program, and found anew by us.
#[derive(Serialize)]
struct Written<'p> {
    #[serde(flatten)]
    profile: &'p Profile,
    /// The first paragraph of the list, with its command in a line of its own.
    verdict: String,
}

/// The profile as JSON, in one line.
pub fn to_json(profile: &Profile) -> String {
    let written = Written { profile, verdict: verdict(profile) };
    let mut text = serde_json::to_string(&written).expect("strings and numbers always have a JSON form");
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
fn check_version(version: u64) -> Result<(), String> {
    if version == u64::from(VERSION) {
        return Ok(());
    }
    let whose = if version > u64::from(VERSION) { "a newer" } else { "another" };
    Err(format!("is a profile of {whose} form, version {version}; accepted: version {VERSION}"))
}

/// Whether the text is a profile, whole or not.
pub fn is_profile(text: &str) -> bool {
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

/// What a reader could stumble over: a number of something that is not there, a figure that cannot be.
fn fault(profile: &Profile) -> Option<String> {
    let missing = |what: &str, number: u32, length: usize| {
        (number as usize >= length).then(|| format!("names {what} {number} of {length}"))
    };
    let frame = profile.stacks.iter().flatten().find_map(|frame| missing("frame", *frame, profile.frames.len()));
    let locks = profile.locks.iter().map(|lock| lock.process).chain(profile.order.iter().map(|order| order.process));
    let mut processes = locks.chain(profile.conditions.iter().map(|condition| condition.process));
    let process = processes.find_map(|process| missing("process", process, profile.processes.len()));
    let origins = profile.locks.iter().filter_map(|lock| lock.origin).map(|origin| origin.stack);
    let steps = || profile.order.iter().flat_map(|order| &order.steps);
    let causes = || profile.locks.iter().flat_map(|lock| &lock.causes);
    let others = causes()
        .filter_map(|cause| cause.stack)
        .chain(profile.stuck.iter().flat_map(|one| [one.stack, one.holder_stack]).flatten())
        .chain(steps().flat_map(|step| [step.held_stack, step.taken_stack]).flatten());
    let mut stacks = origins.chain(sites(profile).map(|site| site.stack)).chain(others);
    let stack = stacks.find_map(|stack| missing("stack", stack, profile.stacks.len()));
    let unknown = |other| match other {
        WaitObject::Lock(number) => missing("lock", number, profile.locks.len()),
        WaitObject::Condition(number) => missing("condition variable", number, profile.conditions.len()),
    };
    let mut others = causes().filter_map(|cause| cause.other).chain(profile.stuck.iter().map(|one| one.on));
    let other = others.find_map(unknown);
    let found = frame.or(process).or(stack).or(other);
    found.or_else(|| no_circle(profile)).or_else(|| endless(profile)).or_else(|| impossible(profile))
}

/// Two locks in both orders are two steps. A lock that is taken to read once more is one.
fn no_circle(profile: &Profile) -> Option<String> {
    let odd = profile.order.iter().find(|order| order.steps.len() < 2 && !order.is_read_again())?;
    Some(format!("has a circle of locks with {}, where 2 are the fewest", counted(odd.steps.len(), "step")))
}

/// All stacks of all sites have no more frames in profiles of programs. What is made of a profile goes through each.
const MOST_FRAMES: usize = 20_000_000;

/// Many sites may name one stack, so what a small file stands for may be without end.
fn endless(profile: &Profile) -> Option<String> {
    let n: usize = sites(profile).map(|site| profile.stacks[site.stack as usize].len()).sum();
    (n > MOST_FRAMES).then(|| format!("has sites with {n} frames, where {MOST_FRAMES} are the most"))
}

fn sites(profile: &Profile) -> impl Iterator<Item = &Site> {
    let of_conditions = profile.conditions.iter().flat_map(|one| one.waiters.iter().chain(&one.notifiers));
    profile.locks.iter().flat_map(sites_of).chain(of_conditions)
}

fn sites_of(lock: &Lock) -> impl Iterator<Item = &Site> {
    let sites = [&lock.waiters, &lock.holders, &lock.takers, &lock.tries, &lock.refusers, &lock.wakers];
    sites.into_iter().flatten()
}

/// Larger figures are none of a run: 1e18 ns are thirty years. Sums of all that is allowed are finite.
const MOST: f64 = 1e18;

/// A figure that cannot be, in words.
fn impossible(profile: &Profile) -> Option<String> {
    let figures = |what: &str, name: &str, figures: &[f64]| {
        let odd = figures.iter().find(|figure| !(0.0..=MOST).contains(*figure))?;
        Some(format!("{what} {:?} has a figure of {odd}, where only 0 to {MOST:e} makes sense", shown(name)))
    };
    let histogram = |what: &str, name: &str, of: &Histogram| {
        let odd = of.0.iter().find(|bar| bar.from > bar.to)?;
        Some(format!("{what} {:?} has durations from {} to {} ns", shown(name), odd.from, odd.to))
    };
    let of_lock = |lock: &Lock| {
        let mut all =
            vec![lock.acquisitions, lock.by_others, lock.waits, lock.wait_ns, lock.hold_ns, lock.handing_on_ns];
        all.extend([lock.spins, lock.parks, lock.wakes, lock.rotations].into_iter().flatten());
        all.extend(sites_of(lock).flat_map(|site| [site.count, site.ns]));
        let bars = [&lock.wait_histogram, &lock.hold_histogram];
        all.extend(bars.into_iter().flat_map(|histogram| &histogram.0).map(|bar| bar.count));
        all.push(lock.timeline.slice);
        all.extend(&lock.timeline.amounts);
        all.extend(lock.causes.iter().flat_map(|cause| [cause.ns, cause.count, cause.each_ns]));
        let odd_bars = bars.into_iter().find_map(|of| histogram("lock", &lock.name, of));
        figures("lock", &lock.name, &all).or(odd_bars)
    };
    let of_condition = |condition: &Condition| {
        let mut all = vec![condition.waits, condition.wait_ns, condition.again, condition.notifications_of_all];
        all.extend(condition.waiters.iter().chain(&condition.notifiers).flat_map(|site| [site.count, site.ns]));
        all.extend(condition.wait_histogram.0.iter().map(|bar| bar.count));
        let what = "condition variable";
        figures(what, &condition.name, &all).or_else(|| histogram(what, &condition.name, &condition.wait_histogram))
    };
    figures("the run of", profile.command.first().map_or("", String::as_str), &[profile.seconds, profile.started_at])
        .or_else(|| profile.locks.iter().find_map(of_lock))
        .or_else(|| profile.conditions.iter().find_map(of_condition))
}

#[cfg(test)]
mod extremes;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{LockOrder, OrderStep};
    use crate::sample::toy;

    /// The error for the toy profile with one value, at a JSON pointer, in the place of another.
    fn with(pointer: &str, value: serde_json::Value) -> String {
        let mut profile = toy();
        let step = || OrderStep { held_stack: Some(0), taken_stack: Some(1), ..OrderStep::default() };
        profile.order.push(LockOrder { steps: vec![step(), step()], ..LockOrder::default() });
        let mut json: serde_json::Value = serde_json::from_str(&to_json(&profile)).unwrap();
        *json.pointer_mut(pointer).expect(pointer) = value;
        from_json(&json.to_string()).unwrap_err()
    }

    #[test]
    fn everything_comes_back() {
        for profile in [toy(), crate::made_up::server()] {
            assert_eq!(from_json(&to_json(&profile)), Ok(profile));
        }
    }

    /// Nothing was known of orders.
    #[test]
    fn profiles_of_an_earlier_version_are_read() {
        let earlier = to_json(&toy()).replace(",\"order\":[]", "").replace(",\"nestings\":0", "");
        assert_ne!(earlier, to_json(&toy()));
        assert_eq!(from_json(&earlier), Ok(toy()));
    }

    /// Threads waited for locks only, whose numbers stood in another place.
    #[test]
    fn stuck_threads_of_an_earlier_version_are_read() {
        let text = to_json(&toy());
        let earlier = text.replace("\"on\":{\"lock\":1}", "\"lock\":1");
        assert_ne!(earlier, text);
        assert_eq!(from_json(&earlier), Ok(toy()));
        assert!(from_json(&text.replace("\"on\":{", "\"on\":{\"x")).is_err());
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let text = to_json(&toy());
        // Not within a number.
        let end = text[..text.len() / 2].rfind(',').unwrap();
        let cut = from_json(&text[..end]).unwrap_err();
        assert!(cut.contains("line 1, column ") && cut.contains("cut off?"), "{cut}");
        let newer = with("/version", 2.into());
        assert_eq!(newer, "is a profile of a newer form, version 2; accepted: version 1");
        assert!(with("/version", 0.into()).contains("another form"));
        let rows = from_json("{\"rows\": []}").unwrap_err();
        assert!(rows.contains("no profile; expected the JSON form of a profile"), "{rows}");
        assert!(from_json("{}").unwrap_err().contains("has no version"));
        assert!(from_json("[1]").unwrap_err().contains("expected the JSON form"));
        let no_number = with("/cores", "many".into());
        assert!(no_number.starts_with("line 1, column ") && no_number.contains(": invalid type"), "{no_number}");
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
            ("/locks/0/causes/0/stack", "names stack 99 of"),
            ("/locks/0/causes/0/other/lock", "names lock 99 of"),
            ("/stuck/0/on/lock", "names lock 99 of"),
            ("/stuck/0/stack", "names stack 99 of"),
            ("/conditions/0/notifiers/0/stack", "names stack 99 of"),
            ("/order/0/process", "names process 99 of"),
            ("/order/0/steps/0/held_stack", "names stack 99 of"),
            ("/order/0/steps/1/taken_stack", "names stack 99 of"),
        ] {
            let error = with(pointer, 99.into());
            assert!(error.contains(what), "{pointer}: {error}");
        }
    }

    #[test]
    fn the_verdict_is_that_of_the_list() {
        for profile in [toy(), Profile { version: VERSION, ..Profile::default() }] {
            let json: serde_json::Value = serde_json::from_str(&to_json(&profile)).unwrap();
            let verdict = json["verdict"].as_str().unwrap();
            let list = crate::table(&profile, usize::MAX);
            assert!(verdict.contains(": ") && list.starts_with(&format!("{verdict}\n")), "{verdict}: {list}");
            assert_eq!(from_json(&json.to_string()), Ok(profile));
        }
    }

    #[test]
    fn a_circle_of_locks_has_two_steps_or_more() {
        let step = serde_json::json!({"held": "a", "held_stack": 0, "taken": "b", "taken_stack": 1});
        for (steps, what) in [(vec![], "0 steps"), (vec![step], "1 step")] {
            let error = with("/order/0/steps", steps.into());
            assert!(
                error.starts_with(&format!("has a circle of locks with {what}, where 2 are the fewest;")),
                "{error}"
            );
        }
    }

    #[test]
    fn figures_that_cannot_be_are_refused() {
        for (pointer, value, what) in [
            ("/seconds", -1.0, "the run of \"./server\" has a figure of -1, where only 0 to 1e18 makes sense"),
            ("/locks/0/wait_ns", -1.0, "lock \"queue.mutex+8\" has a figure of -1"),
            ("/locks/0/causes/0/each_ns", -1.0, "lock \"queue.mutex+8\" has a figure of -1"),
            ("/locks/0/holders/0/ns", -1.0, "lock \"queue.mutex+8\" has a figure of -1"),
            ("/locks/2/timeline/amounts/0", 1e300, "where only 0 to 1e18 makes sense"),
        ] {
            let error = with(pointer, value.into());
            assert!(error.contains(what), "{pointer}: {error}");
        }
        let error = with("/locks/0/wait_histogram/0/to", 0.into());
        assert!(error.starts_with("lock \"queue.mutex+8\" has durations from 1000 to 0 ns"), "{error}");
        let error = with("/conditions/0/wait_histogram/0/to", 0.into());
        assert!(
            error.starts_with("condition variable \"queue.filled\" has durations from 67108864 to 0 ns"),
            "{error}"
        );
    }

    #[test]
    fn a_profile_is_known_even_if_it_is_cut_off() {
        let text = to_json(&toy());
        assert!(is_profile(&text) && is_profile(&text[..20]) && is_profile(&text[..text.len() / 2]));
        for other in ["", "{", "{\"rows\": [], \"version\": 1}", "{\"fingerprint\": {", "platform,workload\n", "[]"] {
            assert!(!is_profile(other), "{other}");
        }
    }
}
