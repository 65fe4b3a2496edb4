//! Programs that hang: threads that wait for each other in a circle, or for one that does not come back.

use super::Findings;
use super::texts::{named, quoted_name};
use crate::profile::{Profile, State, Stuck};
use crate::wrappers::Tops;
use ondeck_report::wording::{counted, duration_ns};

/// A wait is no hang before.
const LONG_NS: u64 = 1_000_000_000;
/// Nor if it is a smaller part of the run.
const PART: f64 = 0.25;

/// The verdict, if threads hang.
pub(super) fn found(profile: &Profile, tops: &Tops) -> Option<Findings> {
    let hangs = |stuck: &&Stuck| stuck.ns >= LONG_NS && stuck.ns as f64 >= PART * profile.seconds * 1e9;
    let stuck: Vec<&Stuck> = profile.stuck.iter().filter(hangs).collect();
    let circle = stuck.iter().find_map(|one| circle(&stuck, one));
    circle.map(|circle| deadlock(profile, tops, &circle)).or_else(|| owner(profile, tops, &stuck))
}

/// The threads of a circle, each waiting for a lock of the next one.
fn circle<'p>(stuck: &[&'p Stuck], first: &'p Stuck) -> Option<Vec<&'p Stuck>> {
    let mut circle: Vec<&Stuck> = vec![first];
    loop {
        let last = circle.last()?;
        let holder = last.holder?;
        if holder == first.thread {
            return Some(circle);
        }
        let next = stuck.iter().find(|one| one.thread == holder && one.process == first.process)?;
        // A circle that this thread only leads to is found from one of its own.
        if circle.iter().any(|one| one.thread == next.thread) {
            return None;
        }
        circle.push(next);
    }
}

fn deadlock(profile: &Profile, tops: &Tops, circle: &[&Stuck]) -> Findings {
    let lock = |one: &Stuck| quoted_name(&profile.locks[one.lock as usize].name);
    let sentences = circle.iter().enumerate().map(|(at, one)| {
        // Who waits for it is the one before in the circle.
        let before = circle[(at + circle.len() - 1) % circle.len()];
        let who = who(profile, tops, one);
        format!("{who} holds {} and waits for {} since {}", lock(before), lock(one), duration_ns(one.ns as f64))
    });
    let verdict = format!("Deadlock: {}.", sentences.collect::<Vec<String>>().join("; "));
    let stacks = circle.iter().filter_map(|one| {
        let line = format!("thread {} waits for {} here", one.thread, profile.locks[one.lock as usize].name);
        Some((line, one.stack?))
    });
    Findings { verdict, stacks: stacks.collect(), ..Findings::default() }
}

/// Threads that all wait for one that has a lock, and does something else.
fn owner(profile: &Profile, tops: &Tops, stuck: &[&Stuck]) -> Option<Findings> {
    let first = stuck.iter().find(|one| one.holder.is_some() && one.state != State::OtherLock)?;
    let all: Vec<&&Stuck> = stuck
        .iter()
        .filter(|one| (one.process, one.lock, one.holder) == (first.process, first.lock, first.holder))
        .collect();
    let lock = &profile.locks[first.lock as usize];
    let does = match first.state {
        State::Blocked if first.call.is_empty() => "sleeps".to_owned(),
        State::Blocked => format!("is blocked in {}", first.call),
        State::Computing => "is computing".to_owned(),
        State::NoCore => "has no core".to_owned(),
        _ => "holds it".to_owned(),
    };
    let of_program = |stack: u32| profile.stacks[stack as usize].iter().find(|frame| is_of_program(profile, **frame));
    let known = lock.causes.iter().filter_map(|cause| tops.top(cause.stack?)).next();
    let function = first.holder_stack.and_then(of_program).copied().or(known);
    let in_function = function.map_or(String::new(), |frame| format!(", in {}", named(profile, tops, frame)));
    let verdict = format!(
        "{} for {} since {}: thread {} has it and {does}{in_function}.",
        match all.len() {
            1 => "1 thread waits".to_owned(),
            n => format!("{} wait", counted(n, "thread")),
        },
        quoted_name(&lock.name),
        duration_ns(first.ns as f64),
        first.holder?,
    );
    let holder =
        first.holder_stack.map(|stack| (format!("thread {} has it, and is here", first.holder.unwrap_or(0)), stack));
    let waiter = first.stack.map(|stack| (format!("thread {} waits here", first.thread), stack));
    Some(Findings { verdict, stacks: holder.into_iter().chain(waiter).collect(), ..Findings::default() })
}

/// Whether a frame is none of the libraries below a program.
fn is_of_program(profile: &Profile, frame: u32) -> bool {
    const BELOW: [&str; 6] = ["libc.", "libc-", "ld-", "libpthread", "libstdc++", "libondeck"];
    let frame = &profile.frames[frame as usize];
    let file = frame.module.rsplit('/').next().unwrap_or_default();
    frame.is_named && !BELOW.iter().any(|library| file.starts_with(library))
}

/// A thread by the function in which it waits.
fn who(profile: &Profile, tops: &Tops, one: &Stuck) -> String {
    match one.stack.and_then(|stack| tops.top(stack)) {
        Some(frame) => format!("{} (thread {})", named(profile, tops, frame), one.thread),
        None => format!("thread {}", one.thread),
    }
}
