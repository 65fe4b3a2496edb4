//! Whether `ondeck profile` finds the lock that is known to be hot in programs that know nothing of it, and names who waits
//! for it.
//!
//! Debian strips its programs, and packages with their debug information are in an archive of their own, which is not asked
//! for. So names are expected where programs export them, as plugins or other libraries need them (MariaDB, node, RocksDB, Kyoto
//! Cabinet, SQLite, rsyslog, Python); of the others, in which file who waits is, and that it is one lock.

use super::place::Place;
use super::process::Locks;
use super::run::{ExpectedProfile, Fault, Program, Run, attempt};
use crate::files::read;
use ondeck_kit::wording::whole_percent;
use ondeck_profile::{Lock, Profile, Site};
use std::path::Path;

/// So much of the waiting for a lock must be as expected; the rest may be at its beginning and end.
const NEARLY_ALL: f64 = 0.9;
/// Files in which threads begin: the C library; and the program itself, whose `_start` has no name if it is stripped.
const LIBC: &str = "libc.so";
const START: &str = "_start";
/// How often a short run may be repeated: a few samples of a busy machine may be of anything.
const ATTEMPTS: u32 = 3;

pub(super) const HEAD: &str = "program | threads | known from its sources | waited, s | the first lock's share | what the \
                               list says first";

/// Records the program, and holds the profile to what is known; a line of the table.
pub(super) fn line(program: &Program, place: &Place, known: &ExpectedProfile, ondeck: &Path) -> Result<String, Fault> {
    let locks = Locks::Recorded { ondeck: ondeck.to_owned(), profile: place.file("profile.json") };
    let setting = program.settings.iter().find(|setting| setting.label == known.setting);
    let run = Run { place, setting: setting.ok_or("no such setting".to_owned())?, locks: &locks };
    let mut n_left = place.either(1, ATTEMPTS);
    loop {
        attempt(program, &run)?;
        let text = read(&place.file("profile.json"))?;
        let profile = ondeck_profile::json::from_json(&text).map_err(|what| format!("the profile {what}"))?;
        let faults = known.judge(&profile);
        if faults.is_empty() {
            return Ok(known.line(program.name, &profile));
        }
        n_left -= 1;
        if n_left == 0 {
            return Err(Fault::Failed(faults.join("; ")));
        }
        println!("{}, again: {}", program.name, faults.join("; "));
    }
}

impl ExpectedProfile {
    /// What in the profile is not as expected.
    fn judge(&self, profile: &Profile) -> Vec<String> {
        let all = profile.wait_ns();
        let Some(first) = profile.locks.first().filter(|lock| lock.wait_ns > 0.0) else {
            return vec!["nobody waited for a lock".to_owned()];
        };
        let mut faults = Vec::new();
        if !first.name.starts_with(self.name) {
            faults.push(format!("the first lock is `{}`, and not `{}...`", first.name, self.name));
        }
        let alike = profile.locks.iter().filter(|lock| lock.name.starts_with(self.name));
        let alike = alike.map(|lock| lock.wait_ns).sum::<f64>() / all;
        if alike < self.share {
            let [alike, due] = [alike, self.share].map(whole_percent);
            faults.push(format!("{alike} of all waiting is for such locks; {due} are due"));
        }
        let in_module =
            waited(first, |stack| profile.frames_of(stack).any(|frame| frame.module.starts_with(self.module)));
        let in_function = waited(first, |stack| {
            let is_one = |function: &str| self.waiters.iter().any(|name| function.starts_with(name));
            self.waiters.is_empty() || profile.frames_of(stack).any(|frame| is_one(&frame.function))
        });
        let whole = waited(first, |stack| {
            let start = profile.frames_of(stack).next_back();
            start.is_some_and(|frame| frame.module.starts_with(LIBC) || frame.function == START)
        });
        for (part, what) in [
            (in_module, format!("is in {}", self.module)),
            (in_function, format!("is in one of {}", self.waiters.join(", "))),
            (whole, "has a stack that reaches the thread's first function".to_owned()),
        ] {
            if part < NEARLY_ALL {
                faults.push(format!("{} of the waiting for the first lock {what}; 90 % are due", whole_percent(part)));
            }
        }
        faults
    }

    /// Of a profile that is as expected.
    fn line(&self, program: &str, profile: &Profile) -> String {
        let listed = ondeck_profile::grouped(profile.clone());
        let (seconds, share) = (listed.wait_ns() / 1e9, whole_percent(listed.locks[0].wait_ns / listed.wait_ns()));
        let ExpectedProfile { setting, lock: known, .. } = self;
        let said = ondeck_profile::findings(&listed).verdict;
        format!("| `{program}` | {setting} | {known} | {seconds:.2} | {share} | {said} |")
    }
}

/// The part of the waiting for a lock whose stacks are such.
fn waited(lock: &Lock, is_such: impl Fn(u32) -> bool) -> f64 {
    let sum = |sites: &mut dyn Iterator<Item = &Site>| sites.map(|site| site.ns).sum::<f64>();
    let all = sum(&mut lock.waiters.iter());
    if all > 0.0 { sum(&mut lock.waiters.iter().filter(|site| is_such(site.stack))) / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Two locks, the first waited for 3 s at one stack of functions of `app`, the second 1 s.
    fn profile(name: &str, stack: &[(&str, &str)]) -> Profile {
        let frame = |(function, module): &(&str, &str)| {
            json!({"function": function, "module": module, "file": "", "line": 0, "address": 1, "build_id": "",
                "is_inlined": false, "is_named": true})
        };
        let lock = |name: &str, wait_ns: f64| {
            json!({"name": name, "process": 0, "address": 1, "origin": null, "acquisitions": 9.0, "waits": 1.0,
                "wait_ns": wait_ns, "longest_ns": 1, "wait_histogram": [{"from": 0, "to": 8, "count": 1.0}],
                "hold_histogram": [], "hold_ns": 0.0, "handing_on_ns": 0.0, "most_waiting": 1, "threads": 2, "spins": null,
                "parks": null, "wakes": null, "rotations": null,
                "waiters": [{"stack": 0, "count": 1.0, "ns": wait_ns}], "holders": [], "takers": [],
                "timeline": {"slice": 1.0, "amounts": []}})
        };
        let whole = json!({"version": 1, "command": ["app"], "started_at": 0.0, "seconds": 4.0, "cores": 2, "lock": "glibc",
            "rate": 1000, "processes": [{"pid": 1, "parent": 0, "program": "app", "from": 0.0, "to": 4.0, "ended": "exit"}],
            "frames": stack.iter().map(frame).collect::<Vec<_>>(), "stacks": [(0..stack.len()).collect::<Vec<_>>()],
            "locks": [lock(name, 3e9), lock("other", 1e9)], "conditions": [],
            "dropped": {"samples": 0, "stacks": 0, "locks": 0, "processes": 0}, "notes": []});
        ondeck_profile::json::from_json(&whole.to_string()).unwrap()
    }

    const QUEUE: ExpectedProfile = ExpectedProfile {
        setting: "2",
        lock: "the queue's",
        name: "queue+0x",
        module: "app",
        waiters: &["push(", "pop("],
        share: 0.7,
    };
    const GOOD: [(&str, &str); 3] = [("push(int)", "app"), ("work()", "app"), ("clone3", "libc.so.6")];

    #[test]
    fn what_is_expected_is_found() {
        let profile = profile("queue+0x8", &GOOD);
        assert!(QUEUE.judge(&profile).is_empty());
        let line = QUEUE.line("x", &profile);
        assert!(line.starts_with("| `x` | 2 | the queue's | 4.00 | 75 % | Threads wait for "), "{line}");
    }

    #[test]
    fn what_is_not_as_expected_is_named() {
        let faults =
            |name: &str, stack: &[(&str, &str)], known: &ExpectedProfile| known.judge(&profile(name, stack)).join("; ");
        let other = faults("heap", &GOOD, &QUEUE);
        assert!(
            other.contains("the first lock is `heap`, and not `queue+0x...`") && other.contains("0 % of all waiting")
        );
        let little = faults("queue+0x8", &GOOD, &ExpectedProfile { share: 0.8, ..QUEUE });
        assert_eq!(little, "75 % of all waiting is for such locks; 80 % are due");
        let function = faults("queue+0x8", &GOOD[1..], &QUEUE);
        assert_eq!(function, "0 % of the waiting for the first lock is in one of push(, pop(; 90 % are due");
        assert_eq!(faults("queue+0x8", &GOOD[1..], &ExpectedProfile { waiters: &[], ..QUEUE }), "");
        let module = faults("queue+0x8", &GOOD, &ExpectedProfile { module: "libqueue", ..QUEUE });
        assert!(module.contains("is in libqueue; 90 %"), "{module}");
        let cut = faults("queue+0x8", &GOOD[..2], &QUEUE);
        assert!(cut.contains("reaches the thread's first function"), "{cut}");
        let mut nothing = profile("queue+0x8", &GOOD);
        nothing.locks.clear();
        assert_eq!(QUEUE.judge(&nothing), ["nobody waited for a lock"]);
    }
}
