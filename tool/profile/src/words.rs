//! What a profile says, in sentences that the terminal and the page share.

use crate::names::shown;
use crate::note::Note;
use crate::profile::{Condition, Histogram, Lock, LockKind, ProcessEnd, Profile, Site, State, WaitKind};
use crate::runtimes;
use crate::symbols::NO_DEBUG_FILE;
use crate::thread_time;
use crate::wrappers::Tops;
use ondeck_futex::loader::{is_name_of_loader, program_of as program_of_loader};
use ondeck_kit::date::utc;
pub(crate) use ondeck_kit::wording::percent;
use ondeck_kit::wording::{counted, counted_that, duration_ns, list, plain, run_time, typed, whole, whole_of};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// What [`Profile::lock`] says of the view from the kernel.
pub(crate) const FROM_KERNEL: &str = "futex";
/// The same of looks from outside.
pub(crate) const FROM_LOOKS: &str = "looks";

/// Whether it is from outside, by the kernel or by looks: all locks for which threads sleep are among its own.
pub(crate) fn is_from_outside(profile: &Profile) -> bool {
    profile.lock == FROM_KERNEL || profile.lock == FROM_LOOKS
}

/// The name of CPython's interpreter lock.
pub(crate) const GIL: &str = "GIL";

/// A part of all waiting for locks; 0 where there is none.
pub(crate) fn share(profile: &Profile, ns: f64) -> f64 {
    let whole = profile.wait_ns();
    if whole > 0.0 { ns / whole } else { 0.0 }
}

/// What a hundredth of the waits exceeds; no bar of a histogram knows that its longest wait does not reach its end.
pub(crate) fn p99(waits: &Histogram, longest_ns: u64) -> Option<f64> {
    waits.quantile(0.99).map(|ns| if longest_ns > 0 { ns.min(longest_ns as f64) } else { ns })
}

/// How often threads waited that waited for so long. Looks do not know.
pub(crate) fn waits(n: f64, ns: f64) -> String {
    if n > 0.0 || ns <= 0.0 { whole(n) } else { "-".to_owned() }
}

/// The same of the longest wait.
pub(crate) fn longest(longest_ns: u64, ns: f64) -> String {
    if longest_ns > 0 || ns <= 0.0 { duration_ns(longest_ns as f64) } else { "-".to_owned() }
}

/// The program's name, without its directories.
pub(crate) fn program(profile: &Profile) -> String {
    program_of(&profile.command)
}

/// The same of a command.
fn program_of(command: &[String]) -> String {
    let name = |path: &OsStr| path.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_owned();
    let mut words = command.iter().map(OsStr::new);
    let first = words.next().map(name).unwrap_or_default();
    // The loader, run as a program, runs another one.
    let loaded = is_name_of_loader(&first).then(|| program_of_loader(&words.collect::<Vec<_>>()).map(name).ok());
    let name = String::from_utf8_lossy(&loaded.flatten().unwrap_or(first)).into_owned();
    shown(if name.is_empty() { "a program" } else { &name })
}

/// The command as a shell wants it, in one line.
pub(crate) fn command(profile: &Profile) -> String {
    plain(&typed(&profile.command))
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
        return (without_locks(profile), None);
    }
    let acquisitions: f64 = profile.locks.iter().map(|lock| lock.acquisitions).sum();
    match waited(profile).first() {
        None => {
            let acquisitions = whole_of(acquisitions, "acquisition");
            (format!("No thread waited for a lock in {length}: {acquisitions} of {n_locks}"), None)
        }
        Some((_, most)) => {
            let (waiting, part) = (duration_ns(profile.wait_ns()), percent(share(profile, most.wait_ns)));
            (format!("Threads waited {waiting} for locks in {length}, {part} of it for"), Some(shown(&most.name)))
        }
    }
}

/// What a profile without locks comes to, in a sentence without its end.
pub(crate) fn without_locks(profile: &Profile) -> String {
    let length = run_time(profile.seconds);
    match profile.rate {
        _ if profile.lock == FROM_KERNEL => format!("No thread slept for a lock in {length}"),
        _ if profile.lock == FROM_LOOKS => format!("No thread was seen asleep for a lock in {length}"),
        _ if !profile.has_locked => format!("No lock calls were seen in {length}"),
        0 | 1 => format!("Lock calls were made in {length}, but none was recorded"),
        rate => format!("Lock calls were made in {length}, but none of them was recorded: one in {rate} is"),
    }
}

/// The same in one text.
pub(crate) fn headline(profile: &Profile) -> String {
    match headline_parts(profile) {
        (sentence, Some(name)) => format!("{sentence} {name}"),
        (sentence, None) => sentence,
    }
}

/// All waiting for locks, in a sentence; `None` without any.
pub(crate) fn waiting(profile: &Profile) -> Option<String> {
    let (ns, length) = (profile.wait_ns(), run_time(profile.seconds));
    (!waited(profile).is_empty()).then(|| format!("Threads waited {} for locks in {length}.", duration_ns(ns)))
}

/// How often it was acquired. The view from the kernel does not know.
pub(crate) fn acquisitions(lock: &Lock) -> String {
    if lock.acquisitions > 0.0 { whole(lock.acquisitions) } else { "-".to_owned() }
}

/// What kind of lock it is, if it is not the usual one.
pub(crate) fn kind(lock: &Lock) -> Option<&'static str> {
    match lock.kind {
        LockKind::Mutex => None,
        LockKind::RwLock => Some("rwlock"),
        LockKind::Spin => Some("spin lock"),
        LockKind::Unknown => Some("unknown kind"),
    }
}

/// What is known of who kept the waiters waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Who held the lock.
    Holders,
    /// Only who woke the waiters.
    Wakers,
    /// This of some locks, and that of others.
    Either,
}

/// What is known of a lock. From the kernel looks alone see holders.
pub(crate) fn known(profile: &Profile, lock: &Lock) -> Known {
    if profile.lock == FROM_KERNEL && lock.causes.is_empty() { Known::Wakers } else { Known::Holders }
}

/// The same of all locks.
pub(crate) fn known_of_all(profile: &Profile) -> Known {
    let are = |all: Known| profile.locks.iter().all(|lock| known(profile, lock) == all);
    match profile.lock == FROM_KERNEL {
        true if are(Known::Wakers) => Known::Wakers,
        true if !are(Known::Holders) => Known::Either,
        _ => Known::Holders,
    }
}

/// Who kept the waiters waiting: who held the lock, or, where only that is known, who woke them.
pub(crate) fn others<'p>(profile: &Profile, lock: &'p Lock) -> &'p [Site] {
    if known(profile, lock) == Known::Wakers { &lock.wakers } else { &lock.holders }
}

/// What stands above the [`others`] of locks.
pub(crate) fn others_head(profile: &Profile) -> &'static str {
    match known_of_all(profile) {
        Known::Holders => "held meanwhile by",
        Known::Wakers => "woken by",
        Known::Either => "held or woken by",
    }
}

/// A state in a word or two.
pub(crate) fn state_of(state: State) -> &'static str {
    match state {
        State::Computing => "computing",
        State::Blocked => "blocked",
        State::OtherLock => "waiting for another lock",
        State::NoCore => "without a core",
        State::Free => "free",
        State::Passing => "passing",
        State::Unknown => "held",
    }
}

/// The other locks than so many, and what part of all waiting is theirs: `27 other locks: together 0.2 % of the waiting`.
/// `None` without any.
pub(crate) fn other_locks(profile: &Profile, shown: &[(usize, &Lock)]) -> Option<String> {
    let n_others = profile.locks.len().saturating_sub(shown.len());
    let ns = profile.wait_ns() - shown.iter().map(|(_, lock)| lock.wait_ns).sum::<f64>();
    let all = if n_others == 1 { "" } else { "together " };
    // Sums in another order may differ by a little.
    let part = match share(profile, ns) {
        part if part < 1e-9 => "no waiting".to_owned(),
        part => format!("{all}{} of the waiting", percent(part)),
    };
    (n_others > 0)
        .then(|| format!("{}: {part}", counted(n_others, if shown.is_empty() { "lock" } else { "other lock" })))
}

/// What can be done where there is nothing to show; `None` where there is.
pub(crate) fn nothing(profile: &Profile) -> Option<String> {
    const ASKS: &str = "If you expected waiting: was there load, and more than one thread?";
    let is_from_outside = is_from_outside(profile);
    let asks = || (!thread_time::is_much_unexplained(profile, &Tops::new(profile))).then(|| ASKS.to_owned());
    match (profile.locks.is_empty(), is_from_outside) {
        // What is not seen, and what shows it, is in a note.
        (true, _) if runtimes::of(profile).is_some_and(|its| is_from_outside || !its.has_locks_of_threads) => None,
        (true, true) => {
            let who = if profile.lock == FROM_KERNEL { "The kernel does" } else { "Looks do" };
            Some(format!("{ASKS} {who} not see threads that wait without sleeping, and goroutines."))
        }
        (true, false) if !profile.conditions.is_empty() => asks(),
        (true, false) if profile.has_locked => {
            Some(format!("To record each of them, type:\nondeck profile --rate 1 -- {}", command(profile)))
        }
        (true, false) => Some(format!(
            "`ondeck profile` records the C library's locks only. Other locks, such as those of Rust and Java, show in \
             the view from the kernel. For it, type:\nsudo ondeck profile --futex -- {}",
            command(profile)
        )),
        _ => asks().filter(|_| waited(profile).is_empty()),
    }
}

/// What threads may wait for that is not in the list, where no lock is found that holds them back. `None` if another
/// sentence says so.
pub(crate) fn not_seen(profile: &Profile) -> Option<&'static str> {
    let is_told = is_from_outside(profile) || runtimes::of(profile).is_some();
    let is_empty = profile.locks.is_empty() && profile.conditions.is_empty();
    (!is_told && !is_empty).then_some(
        "Not seen: waiting for I/O, spin locks of the program's own, and locks other than the C library's. Use --futex to see \
         all locks for which threads sleep.",
    )
}

/// All waiting that is for no lock, in a sentence; `None` without any.
pub(crate) fn conditions(profile: &Profile) -> Option<String> {
    let most = profile.conditions.iter().reduce(|most, one| if one.wait_ns > most.wait_ns { one } else { most })?;
    let sum = |of: fn(&Condition) -> f64| profile.conditions.iter().map(of).sum::<f64>();
    let n_waits = Some(sum(|one| one.waits)).filter(|n| *n > 0.0);
    let n_waits = n_waits.map_or(String::new(), |n| format!(" ({})", whole_of(n, "wait")));
    let by = Tops::new(profile).busiest(&most.notifiers).map_or(String::new(), |(by, _)| format!(", notified in {by}"));
    Some(format!(
        "Not counted above: {} of waiting on {}{}, most {} ({}){by}",
        duration_ns(sum(|one| one.wait_ns)),
        kinds(profile.conditions.iter()),
        n_waits,
        // A place's name begins with a word of its own: `in main`.
        if most.name.starts_with("in ") { shown(&most.name) } else { format!("on {}", shown(&most.name)) },
        duration_ns(most.wait_ns),
    ))
}

/// How many places of waiting there are of each kind: `2 condition variables, 1 semaphore and 3 joins`.
pub(crate) fn kinds<'a>(conditions: impl Iterator<Item = &'a Condition>) -> String {
    let mut counts: BTreeMap<WaitKind, usize> = BTreeMap::new();
    conditions.for_each(|one| *counts.entry(one.kind).or_default() += 1);
    list(&counts.into_iter().map(|(kind, n)| counted(n, waits_on(kind))).collect::<Vec<String>>())
}

/// What a thread waits for, in a word or two to which an s can be added.
pub(crate) fn waits_on(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Condition => "condition variable",
        WaitKind::Semaphore => "semaphore",
        WaitKind::Barrier => "barrier",
        WaitKind::Once => "initialisation",
        WaitKind::Join => "thread join",
        WaitKind::Channel => "channel",
        WaitKind::Park => "parking place",
        WaitKind::Other => "other place",
    }
}

/// What is missing or has to be known, in sentences. A note that ends in a command has it in a second line. Files without
/// names are in [`nameless`].
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
        (
            dropped.names,
            "name",
            "left out, because there was no room for more: give fewer different names, or try a larger --max-mb",
        ),
        (dropped.processes, "process", "not recorded"),
        (
            dropped.nestings,
            "nested lock call",
            "not noted for --order, because there was no room for more: try a larger --max-mb",
        ),
        (
            dropped.waiters,
            "wait",
            "not seen while it lasted, because too many threads waited at once: a hang may be missing, and what a holder did. \
             --max-mb 256 has the most room for them",
        ),
    ];
    let dropped = rows.into_iter().filter(|(n, ..)| *n > 0).map(|(n, what, why)| match (n, what) {
        (2.., "process") => format!("{n} processes were {why}"),
        _ => format!("{} {why}", counted_that(n as usize, what, ["was", "were"])),
    });
    let notes = profile.notes.iter().filter(|note| !note.contains(NO_DEBUG_FILE));
    dropped.chain(notes.map(Note::shown)).collect()
}

/// The files of which functions have no names for want of a debug file, each in a sentence: too many for a list that
/// somebody reads. One note of the profile says what to do about all of them. That these are among the notes, and known by
/// their words, keeps the form of the profile as it is.
pub(crate) fn nameless(profile: &Profile) -> Vec<String> {
    let notes = profile.notes.iter().filter(|note| note.contains(NO_DEBUG_FILE));
    notes.map(Note::shown).collect()
}

/// How and where it ran, by name.
pub(crate) fn facts(profile: &Profile) -> Vec<(&'static str, String)> {
    let rate = match profile.rate {
        _ if profile.lock == FROM_KERNEL => "every wait in which a thread slept was recorded".to_string(),
        _ if profile.lock == FROM_LOOKS => {
            "looks from outside; counts are of what they met, times are estimates".to_string()
        }
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
pub(crate) fn ended(how: ProcessEnd) -> &'static str {
    match how {
        ProcessEnd::Exit => "by exit",
        ProcessEnd::Abruptly => "abruptly",
        ProcessEnd::Running => "still running",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    #[test]
    fn the_headline_says_how_much_and_for_what() {
        assert_eq!(
            headline(&made_up::server()),
            "Threads waited 12.0 s for locks in 4.0 s, 92 % of it for query_cache+0x18"
        );
        assert_eq!(headline(&made_up::calm()), "No thread waited for a lock in 4.0 s: 20.0 k acquisitions of 1 lock");
        assert_eq!(headline(&made_up::silent()), "No lock calls were seen in 4.0 s");
        let few = |rate| headline(&Profile { has_locked: true, rate, ..made_up::silent() });
        assert_eq!(few(64), "Lock calls were made in 4.0 s, but none of them was recorded: one in 64 is");
        assert_eq!(few(1), "Lock calls were made in 4.0 s, but none was recorded");
        let has_advice = [made_up::server(), made_up::calm(), made_up::silent()].map(|one| nothing(&one).is_some());
        assert_eq!(has_advice, [false, true, true]);
    }

    #[test]
    fn the_program_is_the_one_that_the_loader_runs() {
        for (command, expected) in [
            (&["/a/app", "b"][..], "app"),
            (&["/lib64/ld-linux-x86-64.so.2", "--argv0", "x", "./app", "b"], "app"),
            (&["/lib64/ld-linux-x86-64.so.2", "--list"], "ld-linux-x86-64.so.2"),
            (&["/a/"], "a program"),
            (&[], "a program"),
        ] {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(program_of(&command), expected);
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut profile = made_up::server();
        (profile.dropped.locks, profile.dropped.names) = (2, 1);
        profile.notes = vec!["a\nnote".into()];
        let expected = [
            "12 samples were dropped because the memory for them was full, so the figures are too low: try a larger --max-mb",
            "2 locks were not recorded, because there was no room for more",
            "1 name was left out, because there was no room for more: give fewer different names, or try a larger --max-mb",
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
