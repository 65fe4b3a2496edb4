//! Where the time of all threads went: each second of each thread is on a core, or wants one, or waits for something.
//!
//! The parts add up to the time that the threads lived. What a thread sleeps in is known by what is recorded, by its system call,
//! and by its stack: `kinds` says what such a stack waits for.

use crate::kinds::{self, WaitSubject};
use crate::names::shown;
use crate::profile::{Doing, LockKind, Profile, ThreadTime, WaitKind, WaitObject};
use crate::rules::{LEAST_LEFT, MOSTLY, UNEXPLAINED, WORTH_A_SENTENCE};
use crate::words::{FROM_KERNEL, is_from_outside};
use crate::wrappers::{Tops, begins, is_below};
use ondeck_kit::wording::{duration_ns, list, percent};
use std::collections::BTreeMap;

/// What a part of the time is, as far as the same is said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimeKind {
    Running,
    /// In calls that lock or unlock and do not sleep.
    LockCalls,
    /// In loops that only wait.
    Spinning,
    NoCore,
    /// Waiting for recorded locks.
    Locks,
    /// Waiting for others.
    OtherLocks,
    /// Waiting for locks of files.
    FileLocks,
    /// In other system calls.
    Calls,
    /// Until a time.
    Asleep,
    /// For something to do, or for others to have done it.
    Work,
    Unknown,
}

impl TimeKind {
    fn words(self, profile: &Profile) -> &'static str {
        match self {
            TimeKind::Running => "on a core",
            TimeKind::LockCalls => "on a core in lock calls",
            TimeKind::Spinning => "on a core in loops that wait",
            TimeKind::NoCore => "ready without a core",
            TimeKind::Locks if is_from_outside(profile) => "waiting for locks",
            TimeKind::Locks => "waiting for recorded locks",
            TimeKind::OtherLocks => "waiting for other locks",
            TimeKind::FileLocks => "waiting for locks of files",
            TimeKind::Calls => "in system calls that take time",
            TimeKind::Asleep => "asleep until a time",
            TimeKind::Work => "waiting for work",
            TimeKind::Unknown => "not known",
        }
    }
}

/// System calls in which threads wait for something to do.
const WORK: &str = "epoll_wait epoll_pwait epoll_pwait2 poll ppoll select pselect6 accept accept4 pause wait4 waitid io_getevents \
    io_uring_enter rt_sigtimedwait rt_sigsuspend msgrcv recvfrom recvmsg recvmmsg";
/// Those that last until a time.
const ASLEEP: &str = "nanosleep clock_nanosleep";
/// Those that wait for locks of files. Of `fcntl`, nothing else waits.
const FILE_LOCKS: &str = "flock fcntl";
/// Those that change the memory map of the process, which has one lock in the kernel, and sleep for nothing else. `mmap` and `madvise`
/// may read files.
const MAPS: &str = "munmap mremap mprotect brk";

/// Those of which a lock may be made; and of which it may be, or the program waits for input.
const MAY_BE_LOCK: &str = "semop semtimedop";
const MAY_BE_INPUT: &str = "read readv";

/// Whether who is in that system call has nothing to do.
pub(crate) fn is_idle(call: &str) -> bool {
    [WORK, ASLEEP].iter().flat_map(|calls| calls.split_whitespace()).any(|idle| idle == call)
}

/// Whether threads that take turns at waiting for work do that there, each with a lock.
pub(crate) fn is_turn(call: &str) -> bool {
    call.starts_with("epoll_") || call.starts_with("accept")
}

/// Whether that system call changes the memory map.
pub(crate) fn is_map_call(call: &str) -> bool {
    MAPS.split_whitespace().any(|one| one == call)
}

/// What a part of a profile's time is.
pub(crate) fn kind(profile: &Profile, tops: &Tops, time: &ThreadTime) -> TimeKind {
    let is_in = |calls: &str| calls.split_whitespace().any(|call| call == time.call);
    match time.doing {
        Doing::Running if time.stack.is_some_and(|stack| is_lock_call(tops, stack)) => TimeKind::LockCalls,
        Doing::Running => TimeKind::Running,
        Doing::Spinning => TimeKind::Spinning,
        Doing::NoCore => TimeKind::NoCore,
        Doing::Recorded => match time.on {
            Some(WaitObject::Lock(_)) => TimeKind::Locks,
            Some(WaitObject::Condition(at)) if is_once(profile, at) => TimeKind::Locks,
            _ => TimeKind::Work,
        },
        Doing::Unseen => TimeKind::Unknown,
        Doing::Sleeping if time.on.is_some() => TimeKind::Locks,
        Doing::Sleeping if is_in(FILE_LOCKS) => TimeKind::FileLocks,
        Doing::Sleeping if is_in(ASLEEP) => TimeKind::Asleep,
        Doing::Sleeping if is_in(WORK) => TimeKind::Work,
        Doing::Sleeping if is_map_call(&time.call) => TimeKind::OtherLocks,
        Doing::Sleeping if time.call == "futex" => of_futex(profile, tops, time.stack),
        Doing::Sleeping => TimeKind::Calls,
    }
}

/// Whether a thread that runs there locks or unlocks. The rest of the recorder, which walks stacks, would not run without it.
fn is_lock_call(tops: &Tops, stack: u32) -> bool {
    const CALLS: &str = "pthread_mutex_ pthread_rwlock_ pthread_spin_ mtx_ lll_";
    tops.stack(stack).last().is_some_and(|frame| begins(tops.brief(frame).trim_start_matches('_'), CALLS))
}

fn is_once(profile: &Profile, condition: u32) -> bool {
    profile.conditions.get(condition as usize).is_some_and(|one| one.kind == WaitKind::Once)
}

fn of_futex(profile: &Profile, tops: &Tops, stack: Option<u32>) -> TimeKind {
    let Some(stack) = stack else { return TimeKind::Unknown };
    let frames = || tops.stack(stack).map(|number| (&profile.frames[number as usize], tops.brief(number)));
    // The kernel tells of all of them. Or it is a wait that the recorder had not yet noted.
    let is_recorded =
        profile.lock == FROM_KERNEL || frames().any(|(frame, _)| frame.module.starts_with("libondeck_pthread"));
    match kinds::classify(frames()).meaning {
        WaitSubject::Lock(LockKind::Unknown) => TimeKind::Unknown,
        WaitSubject::Lock(_) | WaitSubject::Wait(WaitKind::Once) if is_recorded => TimeKind::Locks,
        WaitSubject::Lock(_) | WaitSubject::Wait(WaitKind::Once) => TimeKind::OtherLocks,
        WaitSubject::Wait(_) => TimeKind::Work,
    }
}

/// The parts of all threads' time, the largest first; empty where nobody has looked.
pub(crate) fn parts(profile: &Profile, tops: &Tops) -> Vec<(TimeKind, f64)> {
    let mut parts: Vec<(TimeKind, f64)> = Vec::new();
    for time in &profile.times {
        let kind = kind(profile, tops, time);
        match parts.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, ns)) => *ns += time.ns,
            None => parts.push((kind, time.ns)),
        }
    }
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    parts
}

/// The time in which threads had something to do.
pub(crate) fn busy_ns(profile: &Profile, tops: &Tops) -> f64 {
    let is_idle = |kind: TimeKind| matches!(kind, TimeKind::Work | TimeKind::Asleep);
    parts(profile, tops).into_iter().filter(|(kind, _)| !is_idle(*kind)).map(|(_, ns)| ns).sum()
}

/// The time that threads ran, whatever they did.
pub(crate) fn ran_ns(profile: &Profile) -> f64 {
    let runs = |time: &&ThreadTime| matches!(time.doing, Doing::Running | Doing::Spinning);
    profile.times.iter().filter(runs).map(|time| time.ns).sum()
}

/// All parts in one sentence; `None` where nobody has looked.
pub(crate) fn sentence(profile: &Profile, tops: &Tops) -> Option<String> {
    /// Less is not worth a word.
    const LEAST: f64 = 0.005;
    let parts = parts(profile, tops);
    let all: f64 = parts.iter().map(|(_, ns)| ns).sum();
    let words = parts.iter().filter(|(_, ns)| *ns >= LEAST * all);
    let words: Vec<String> = words.map(|(kind, ns)| format!("{} {}", percent(ns / all), kind.words(profile))).collect();
    (all > 0.0).then(|| format!("The time of all threads, {}: {}.", duration_ns(all), list(&words)))
}

/// Whether it is not known, or not said, what threads waited for in a large part of the time in which they had something to do.
pub(crate) fn is_much_unexplained(profile: &Profile, tops: &Tops) -> bool {
    let is_unexplained = |kind: TimeKind| matches!(kind, TimeKind::Calls | TimeKind::Unknown);
    let parts = parts(profile, tops);
    let all_ns: f64 = parts.iter().map(|(_, ns)| ns).sum();
    let unexplained: f64 = parts.iter().filter(|(kind, _)| is_unexplained(*kind)).map(|(_, ns)| ns).sum();
    unexplained > UNEXPLAINED * busy_ns(profile, tops) && unexplained >= WORTH_A_SENTENCE * all_ns
}

/// What it rests on that no lock is found: a sentence with a space before it, where somebody has looked.
pub(crate) fn rests_on(profile: &Profile, tops: &Tops) -> String {
    let parts = parts(profile, tops);
    let all: f64 = parts.iter().map(|(_, ns)| ns).sum();
    let of = |wanted: TimeKind| parts.iter().filter(|(kind, _)| *kind == wanted).map(|(_, ns)| ns).sum::<f64>();
    if all <= 0.0 {
        return String::new();
    }
    let largest = parts.iter().take(2).filter(|(_, ns)| *ns >= WORTH_A_SENTENCE * all);
    let largest: Vec<String> =
        largest.map(|(kind, ns)| format!("{} {}", percent(ns / all), kind.words(profile))).collect();
    let busy_ns = busy_ns(profile, tops);
    let unknown = of(TimeKind::Unknown) / busy_ns;
    let mut text = format!(" The time of its threads: {}.", list(&largest));
    text += &own_waits(profile, tops, all);
    text += &calls(profile, tops, all);
    if unknown >= WORTH_A_SENTENCE {
        text += &format!(" What they waited for is not known in {} of the time they were busy.", percent(unknown));
    }
    // One that spins takes a core.
    let ran_ns = ran_ns(profile);
    if ran_ns >= WORTH_A_SENTENCE * cores_ns(profile) && ran_ns + of(TimeKind::NoCore) >= MOSTLY * busy_ns {
        text += " A spin lock of its own may look like computing.";
    }
    text
}

/// What threads wait for by the words of their own program, if that is much: a lock may be made of such waits, or anything else.
fn own_waits(profile: &Profile, tops: &Tops, all_ns: f64) -> String {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let mut add = |time: &ThreadTime| {
        let stack = time.stack.filter(|_| time.doing == Doing::Sleeping && time.call == "futex")?;
        let frames = tops.stack(stack).map(|number| (&profile.frames[number as usize], tops.brief(number)));
        let is_own = kinds::classify(frames).meaning == WaitSubject::Wait(WaitKind::Other);
        *sums.entry(tops.brief(tops.top(stack).filter(|_| is_own)?)).or_default() += time.ns;
        Some(())
    };
    profile.times.iter().for_each(|time| _ = add(time));
    let most = sums.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    let Some((function, ns)) = most.filter(|(_, ns)| *ns >= WORTH_A_SENTENCE * all_ns) else { return String::new() };
    let part = percent(ns / all_ns);
    format!(" In {part} of it they wait in `{}`, for a word of the program's own: that may be a lock.", shown(function))
}

/// The system call that takes most time and is not known to be idle, if that is much, and who called it.
fn calls(profile: &Profile, tops: &Tops, all_ns: f64) -> String {
    let mut sums: BTreeMap<(&str, Option<u32>), f64> = BTreeMap::new();
    for time in profile.times.iter().filter(|time| kind(profile, tops, time) == TimeKind::Calls) {
        let is_inside = |number: &u32| is_below(&profile.frames[*number as usize]) || tops.is_wrapper(*number);
        let caller = time.stack.and_then(|stack| tops.stack(stack).find(|number| !is_inside(number)));
        *sums.entry((&time.call, caller)).or_default() += time.ns;
    }
    let most = sums.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    let Some(((call, caller), ns)) =
        most.filter(|((call, _), ns)| !call.is_empty() && *ns >= WORTH_A_SENTENCE * all_ns)
    else {
        return String::new();
    };
    let by = caller.map_or(String::new(), |caller| format!(", called by `{}`", shown(tops.brief(caller))));
    let is_in = |calls: &str| calls.split_whitespace().any(|one| one == call);
    let may_be = match () {
        () if is_in(MAY_BE_LOCK) => ": that may be a lock",
        () if is_in(MAY_BE_INPUT) => ": that may be a lock, or a wait for input",
        () => "",
    };
    format!(" In {} of it they are in `{call}`{by}{may_be}.", percent(ns / all_ns))
}

/// The time of all cores.
pub(crate) fn cores_ns(profile: &Profile) -> f64 {
    profile.seconds * 1e9 * f64::from(profile.cores.max(1))
}

/// So many times as fast as it is the program would be at most, if its threads did not wait for so long, and did not run for
/// `held_ns` of their time: as far as they have cores, and something to do. `None` where nobody has looked, and where so little
/// would be left that it is all error.
pub(crate) fn bound(profile: &Profile, tops: &Tops, waits_ns: f64, held_ns: f64) -> Option<f64> {
    let busy_ns = busy_ns(profile, tops);
    let left = |ns: f64, lost_ns: f64| Some(ns - lost_ns).filter(|left| *left > LEAST_LEFT * ns);
    let of_waits = busy_ns / left(busy_ns, waits_ns + held_ns)?;
    let of_cores = cores_ns(profile) / left(ran_ns(profile), held_ns)?;
    Some(of_waits.min(of_cores).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    fn time(doing: Doing, call: &str, seconds: f64) -> ThreadTime {
        ThreadTime { doing, call: call.to_owned(), ns: seconds * 1e9, ..ThreadTime::default() }
    }

    #[test]
    fn all_time_is_told_and_no_lock_is_said_only_with_what_that_rests_on() {
        let mut profile = made_up::calm();
        assert_eq!(sentence(&profile, &Tops::new(&profile)), None);
        assert_eq!(rests_on(&profile, &Tops::new(&profile)), "");
        profile.times = vec![
            time(Doing::Running, "", 6.0),
            time(Doing::NoCore, "", 1.0),
            time(Doing::Sleeping, "epoll_wait", 2.0),
            time(Doing::Sleeping, "flock", 0.5),
            time(Doing::Sleeping, "fdatasync", 0.5),
            time(Doing::Sleeping, "clock_nanosleep", 0.01),
        ];
        let tops = Tops::new(&profile);
        let told = sentence(&profile, &tops).unwrap();
        let expected = "The time of all threads, 10.0 s: 60 % on a core, 20 % waiting for work, 10 % ready without a core, 5.0 % \
            waiting for locks of files and 5.0 % in system calls that take time.";
        assert_eq!(told, expected);
        let expected = " The time of its threads: 60 % on a core and 20 % waiting for work. A spin lock of its own may look \
            like computing.";
        assert_eq!(rests_on(&profile, &tops), expected);
        let idle = Profile { times: vec![time(Doing::Running, "", 0.1)], ..profile.clone() };
        assert_eq!(rests_on(&idle, &Tops::new(&idle)), " The time of its threads: 100 % on a core.");
        profile.times.push(time(Doing::Unseen, "", 4.0));
        let told = rests_on(&profile, &Tops::new(&profile));
        assert!(told.contains("is not known in 33 % of the time") && !told.contains("spin lock"), "{told}");
    }

    #[test]
    fn no_lock_is_said_of_what_was_seen_only() {
        let mut profile = made_up::calm();
        for (call, told) in [
            ("semop", " In 60 % of it they are in `semop`: that may be a lock."),
            ("read", " In 60 % of it they are in `read`: that may be a lock, or a wait for input."),
            ("fdatasync", " In 60 % of it they are in `fdatasync`."),
        ] {
            profile.times = vec![time(Doing::Running, "", 4.0), time(Doing::Sleeping, call, 6.0)];
            let tops = Tops::new(&profile);
            assert!(rests_on(&profile, &tops).ends_with(told), "{}", rests_on(&profile, &tops));
            assert!(is_much_unexplained(&profile, &tops));
        }
        profile.times = vec![time(Doing::Running, "", 4.0), time(Doing::Sleeping, "read", 1.0)];
        assert!(!is_much_unexplained(&profile, &Tops::new(&profile)));
        profile.times.push(time(Doing::Unseen, "", 1.0));
        assert!(is_much_unexplained(&profile, &Tops::new(&profile)));
    }

    #[test]
    fn what_can_be_won_ends_at_the_waits_and_at_the_cores() {
        let mut profile = Profile { seconds: 4.0, cores: 2, ..Profile::default() };
        assert_eq!(bound(&profile, &Tops::new(&profile), 1e9, 0.0), None);
        let idle = time(Doing::Sleeping, "poll", 100.0);
        let waits = time(Doing::Sleeping, "flock", 3.0);
        profile.times = vec![time(Doing::Running, "", 1.0), idle, waits];
        let tops = Tops::new(&profile);
        let bound = |waits: f64, holds: f64| bound(&profile, &tops, waits, holds);
        assert_eq!(bound(2e9, 0.0), Some(2.0), "half of what threads were busy with");
        assert_eq!(bound(3.5e9, 0.0), Some(8.0), "all cores run all the time");
        assert_eq!(bound(2e9, 0.5e9), Some(4.0e9 / 1.5e9));
        assert_eq!(bound(0.0, 0.0), Some(1.0));
        assert_eq!([bound(3.9e9, 0.0), bound(1e9, 0.99e9)], [None; 2]);
    }
}
