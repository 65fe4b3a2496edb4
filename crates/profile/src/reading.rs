//! Profiles from files.

use crate::names::shown;
use crate::profile::{Condition, Histogram, Lock, Profile, VERSION};
use std::path::Path;

/// Whether the text is that of a profile, be it damaged or not.
pub fn is_profile(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"started_at\"") && text.contains("\"processes\"")
}

/// Reads the text of a file, as `ondeck profile --format json` writes it.
///
/// # Errors
/// If it is anything else: one line with the file's name.
pub fn parse(file: &Path, text: &str) -> Result<Profile, String> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    let fail = |line: usize, what: &str| format!("{}, line {line}: {what}", file.display());
    // Of another version, other fields may be missing: that it is another says more.
    let versioned: Result<Versioned, _> = serde_json::from_str(text);
    if let Ok(Versioned { version }) = versioned
        && version != VERSION
    {
        return Err(format!("{}: a profile of version {version}; this program reads {VERSION}", file.display()));
    }
    let profile = serde_json::from_str(text).map_err(|error| {
        let hint = if error.is_eof() {
            "is the file cut off?"
        } else {
            "expected a profile as `ondeck profile --format json` writes it"
        };
        // The library's message ends with the place, which stands in front of ours.
        let message = error.to_string();
        fail(error.line(), &format!("{}; {hint}", message.split(" at line ").next().unwrap_or_default()))
    })?;
    match impossible(&profile) {
        Some(what) => Err(format!("{}: {what}", file.display())),
        None => Ok(profile),
    }
}

/// Larger figures are none of a run: 1e18 ns are thirty years. Sums of all that is allowed are finite.
const MOST: f64 = 1e18;

/// A figure that cannot be, in words. What no frame, stack or process has the number of is left out where it is shown.
fn impossible(profile: &Profile) -> Option<String> {
    let figures = |what: &str, name: &str, figures: &[f64]| {
        let odd = figures.iter().find(|figure| !(0.0..=MOST).contains(*figure))?;
        Some(format!("{what} {:?} has a figure of {odd}; expected 0 to {MOST:e}", shown(name)))
    };
    let histogram = |what: &str, name: &str, of: &Histogram| {
        let odd = of.0.iter().find(|bar| bar.from > bar.to)?;
        Some(format!("{what} {:?} has durations from {} to {} ns", shown(name), odd.from, odd.to))
    };
    let of_lock = |lock: &Lock| {
        let mut all = vec![lock.acquisitions, lock.waits, lock.wait_ns, lock.hold_ns, lock.handing_on_ns];
        all.extend([lock.spins, lock.parks, lock.wakes, lock.rotations].into_iter().flatten());
        let sites = [&lock.waiters, &lock.holders, &lock.takers].into_iter().flatten();
        all.extend(sites.flat_map(|site| [site.count, site.ns]));
        let bars = [&lock.wait_histogram, &lock.hold_histogram];
        all.extend(bars.into_iter().flat_map(|histogram| &histogram.0).map(|bar| bar.count));
        all.push(lock.timeline.slice);
        all.extend(&lock.timeline.amounts);
        let odd_bars = bars.into_iter().find_map(|of| histogram("lock", &lock.name, of));
        figures("lock", &lock.name, &all).or(odd_bars)
    };
    let of_condition = |condition: &Condition| {
        let mut all = vec![condition.waits, condition.wait_ns];
        all.extend(condition.waiters.iter().flat_map(|site| [site.count, site.ns]));
        all.extend(condition.wait_histogram.0.iter().map(|bar| bar.count));
        let what = "condition variable";
        figures(what, &condition.name, &all).or_else(|| histogram(what, &condition.name, &condition.wait_histogram))
    };
    figures("the run of", profile.command.first().map_or("", String::as_str), &[profile.seconds, profile.started_at])
        .or_else(|| profile.locks.iter().find_map(of_lock))
        .or_else(|| profile.conditions.iter().find_map(of_condition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let profile = crate::made_up::server();
        let text = serde_json::to_string(&profile).unwrap();
        assert!(is_profile(&text) && is_profile(&text[..text.len() / 2]));
        assert_eq!(parse(Path::new("a.json"), &text), Ok(profile));
    }

    #[test]
    fn anything_else_is_refused_with_the_reason() {
        let text = serde_json::to_string(&crate::made_up::small()).unwrap();
        let refused = |text: &str| parse(Path::new("a.json"), text).unwrap_err();
        assert!(!is_profile("{\"rows\": []}") && !is_profile("platform,machine\n"));
        assert_eq!(refused(&text[..text.len() / 2]).split("; ").last(), Some("is the file cut off?"));
        assert_eq!(
            refused(&text.replacen("\"version\":1", "\"version\":7", 1)),
            "a.json: a profile of version 7; this program reads 1"
        );
        let no_number = refused(&text.replacen("\"cores\":16", "\"cores\":\"many\"", 1));
        assert!(
            no_number.starts_with("a.json, line 1: invalid type") && no_number.contains("--format json"),
            "{no_number}"
        );
    }

    #[test]
    fn figures_that_cannot_be_are_refused() {
        let refused = |change: &dyn Fn(&mut Profile)| {
            let mut profile = crate::made_up::server();
            change(&mut profile);
            parse(Path::new("a.json"), &serde_json::to_string(&profile).unwrap()).unwrap_err()
        };
        assert_eq!(
            refused(&|profile| profile.locks[0].waiters[1].ns = -1.0),
            "a.json: lock \"query_cache+0x18\" has a figure of -1; expected 0 to 1e18"
        );
        assert!(refused(&|profile| profile.locks[2].timeline.amounts[3] = 1e300).contains("expected 0 to 1e18"));
        assert!(refused(&|profile| profile.seconds = -1.0).contains("the run of \"/usr/sbin/mariadbd\""));
        assert_eq!(
            refused(&|profile| profile.conditions[0].wait_histogram.0[0].to = 0),
            "a.json: condition variable \"buf_pool+0x880\" has durations from 593750 to 0 ns"
        );
    }
}
