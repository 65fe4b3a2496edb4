//! What a profile says, in sentences that the terminal and the page share.

use crate::names::{middle, shown};
use crate::profile::{Condition, Ended, Histogram, Lock, Profile, WaitKind};
use ondeck_report::date::utc;
use ondeck_report::wording::{count, counted, duration_ns, plain, quoted, run_time};

/// What [`Profile::lock`] says of the view from the kernel.
pub(crate) const FROM_KERNEL: &str = "futex";

/// A longer note is none of ours.
const MOST_NOTE: usize = 2000;

/// A part of a whole: `91 %`, `4.2 %`, `<0.1 %`.
pub(crate) fn percent(part: f64) -> String {
    match part * 100.0 {
        hundredths if hundredths <= 0.0 => "0 %".to_string(),
        hundredths if hundredths < 0.1 => "<0.1 %".to_string(),
        hundredths if hundredths < 9.95 => format!("{hundredths:.1} %"),
        hundredths => format!("{hundredths:.0} %"),
    }
}

/// A part of all waiting for locks; 0 where there is none.
pub(crate) fn share(profile: &Profile, ns: f64) -> f64 {
    let whole = profile.wait_ns();
    if whole > 0.0 { ns / whole } else { 0.0 }
}

/// What a hundredth of the waits exceeds; no bar of a histogram knows that its longest wait does not reach its end.
pub(crate) fn p99(waits: &Histogram, longest_ns: u64) -> Option<f64> {
    waits.quantile(0.99).map(|ns| if longest_ns > 0 { ns.min(longest_ns as f64) } else { ns })
}

/// The program's name, without its directories.
pub(crate) fn program(profile: &Profile) -> String {
    let path = profile.command.first().map_or("", String::as_str);
    let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("a program");
    shown(name)
}

/// The command as a shell wants it, in one line.
pub(crate) fn command(profile: &Profile) -> String {
    let words: Vec<String> = profile.command.iter().map(|word| quoted(word)).collect();
    plain(&words.join(" "))
}

/// The locks that were waited for, with their numbers in the profile, longest first.
pub(crate) fn waited(profile: &Profile) -> Vec<(usize, &Lock)> {
    let mut locks: Vec<(usize, &Lock)> =
        profile.locks.iter().enumerate().filter(|(_, lock)| lock.waits > 0.0 || lock.wait_ns > 0.0).collect();
    locks.sort_by(|(_, one), (_, other)| other.wait_ns.total_cmp(&one.wait_ns));
    locks
}

/// What it comes to: a sentence without its end, and the name of the lock that ends it, where there is one.
pub(crate) fn headline_parts(profile: &Profile) -> (String, Option<String>) {
    let length = run_time(profile.seconds);
    let n_locks = counted(profile.locks.len(), "lock");
    if profile.locks.is_empty() {
        return (format!("No lock calls were seen in {length}"), None);
    }
    let acquisitions: f64 = profile.locks.iter().map(|lock| lock.acquisitions).sum();
    match waited(profile).first() {
        None => {
            let count = count(acquisitions);
            (format!("No thread waited for a lock in {length}: {count} acquisitions of {n_locks}"), None)
        }
        Some((_, most)) => {
            let (waiting, part) = (duration_ns(profile.wait_ns()), percent(share(profile, most.wait_ns)));
            (format!("Threads waited {waiting} for locks in {length}, {part} of it for"), Some(shown(&most.name)))
        }
    }
}

/// The same in one text.
pub(crate) fn headline(profile: &Profile) -> String {
    match headline_parts(profile) {
        (sentence, Some(name)) => format!("{sentence} {name}"),
        (sentence, None) => sentence,
    }
}

/// What can be done where there is nothing to show; `None` where there is.
pub(crate) fn nothing(profile: &Profile) -> Option<&'static str> {
    if profile.locks.is_empty() && profile.lock == FROM_KERNEL {
        return Some(
            "No thread slept for a lock. If you expected waiting: was there load, and more than one thread? The kernel \
             does not see threads that wait without sleeping, and goroutines.",
        );
    }
    if profile.locks.is_empty() {
        return Some(
            "`ondeck profile` records pthread and C11 mutexes only. It cannot see spin locks, Rust's std::sync::Mutex and \
             parking_lot, or the locks of Go, Java and OpenMP. For those, type:\nondeck profile --futex -- PROGRAM",
        );
    }
    waited(profile).is_empty().then_some(
        "Locks did not slow this run down. If you expected waiting: was there load, and more than one thread?",
    )
}

/// All waiting on condition variables, in a sentence; `None` without any.
pub(crate) fn conditions(profile: &Profile) -> Option<String> {
    let most = profile.conditions.iter().reduce(|most, one| if one.wait_ns > most.wait_ns { one } else { most })?;
    let sum = |of: fn(&Condition) -> f64| profile.conditions.iter().map(of).sum::<f64>();
    let all = profile.conditions.len();
    let what = match profile.conditions.iter().all(|one| one.kind == WaitKind::Condition) {
        true => format!("on {}", counted(all, "condition variable")),
        false => format!("at {} without a lock, such as condition variables and channels", counted(all, "place")),
    };
    Some(format!(
        "Not counted above: {} of waiting {} ({} waits), most {} ({})",
        duration_ns(sum(|one| one.wait_ns)),
        what,
        count(sum(|one| one.waits)),
        // A place's name begins with a word of its own: `in main`.
        if most.name.starts_with("in ") { shown(&most.name) } else { format!("on {}", shown(&most.name)) },
        duration_ns(most.wait_ns),
    ))
}

/// What is missing or has to be known, in sentences.
pub(crate) fn warnings(profile: &Profile) -> Vec<String> {
    let dropped = &profile.dropped;
    let rows = [
        (
            dropped.samples,
            "sample",
            "dropped because the memory for them was full, so the figures are too low: try a larger --max-mb",
        ),
        (dropped.stacks, "stack", "not recorded, so what happened there has no function names"),
        (dropped.locks, "lock", "not recorded, because there was no room for more"),
        (dropped.processes, "process", "not recorded"),
    ];
    let dropped = rows.into_iter().filter(|(n, ..)| *n > 0).map(|(n, what, why)| match (n, what) {
        (1, _) => format!("1 {what} was {why}"),
        (_, "process") => format!("{n} processes were {why}"),
        _ => format!("{n} {what}s were {why}"),
    });
    dropped.chain(profile.notes.iter().map(|note| middle(&plain(note), MOST_NOTE))).collect()
}

/// How and where it ran, by name.
pub(crate) fn facts(profile: &Profile) -> Vec<(&'static str, String)> {
    let rate = match profile.rate {
        _ if profile.lock == FROM_KERNEL => "every wait in which a thread slept was recorded".to_string(),
        0 | 1 => "every acquisition was recorded".to_string(),
        rate => format!("one acquisition in {rate} was recorded; counts and times are estimates for all"),
    };
    let processes = match profile.processes.as_slice() {
        [one] => format!("1, {}", one.pid),
        many => many.len().to_string(),
    };
    vec![
        ("Started", utc(profile.started_at.max(0.0) as u64)),
        ("Length", run_time(profile.seconds)),
        ("Cores", profile.cores.to_string()),
        ("Lock", shown(&profile.lock)),
        ("Rate", rate),
        ("Processes", processes),
    ]
}

/// How a process ended.
pub(crate) fn ended(how: Ended) -> &'static str {
    match how {
        Ended::Exit => "by exit",
        Ended::Abruptly => "abruptly",
        Ended::Running => "still running",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    #[test]
    fn parts_of_a_whole() {
        let texts = [0.0, -1.0, 0.0004, 0.042, 0.0994, 0.0996, 0.913, 1.0].map(percent);
        assert_eq!(texts, ["0 %", "0 %", "<0.1 %", "4.2 %", "9.9 %", "10 %", "91 %", "100 %"]);
    }

    #[test]
    fn the_headline_says_how_much_and_for_what() {
        assert_eq!(
            headline(&made_up::server()),
            "Threads waited 12.0 s for locks in 4.0 s, 92 % of it for query_cache+0x18"
        );
        assert_eq!(headline(&made_up::calm()), "No thread waited for a lock in 4.0 s: 20.0 k acquisitions of 1 lock");
        assert_eq!(headline(&made_up::silent()), "No lock calls were seen in 4.0 s");
        let has_advice = [made_up::server(), made_up::calm(), made_up::silent()].map(|one| nothing(&one).is_some());
        assert_eq!(has_advice, [false, true, true]);
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut profile = made_up::server();
        profile.dropped.locks = 2;
        profile.notes = vec!["a\nnote".into()];
        let expected = [
            "12 samples were dropped because the memory for them was full, so the figures are too low: try a larger --max-mb",
            "2 locks were not recorded, because there was no room for more",
            "1 process was not recorded",
            "a note",
        ];
        assert_eq!(warnings(&profile), expected);
        assert!(warnings(&made_up::calm()).is_empty());
    }

    #[test]
    fn facts_of_any_numbers() {
        let mut profile = made_up::silent();
        (profile.started_at, profile.seconds, profile.command) = (-1e300, 1e300, vec![]);
        assert_eq!(facts(&profile)[0].1, "1970-01-01T00:00:00Z");
        profile.started_at = 1e300;
        assert_eq!(facts(&profile)[0].1, "9999-12-31T23:59:59Z");
        assert_eq!((program(&profile).as_str(), command(&profile).as_str()), ("a program", ""));
        assert_eq!(command(&made_up::server()).split(' ').count(), 5, "{}", command(&made_up::server()));
    }
}
