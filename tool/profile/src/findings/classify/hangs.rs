//! Programs that hang: threads that wait for each other in a circle, or for one that does not come back.

use crate::profile::{Profile, State, Stuck, WaitKind, WaitObject};
use crate::rules::{HANG_NS, HANG_PART};
use crate::wrappers::{Tops, is_below};
use std::collections::BTreeSet;

/// Threads that wait for one and the same.
#[derive(Debug)]
pub(in crate::findings) struct StuckTogether<'p> {
    pub(in crate::findings) n: usize,
    pub(in crate::findings) first: &'p Stuck,
    /// The frame of the function in which the holder is; where there is none, in which the first waits.
    pub(in crate::findings) function: Option<u32>,
    /// What the holder waits for itself, which has no holder.
    pub(in crate::findings) its_wait: Option<WaitObject>,
    pub(in crate::findings) holder_stack: Option<u32>,
}

/// Threads that wait for each other in a circle.
pub(super) fn deadlock(profile: &Profile) -> Option<Vec<&Stuck>> {
    let stuck = hanging(profile);
    stuck.iter().find_map(|one| circle(&stuck, one))
}

fn hanging(profile: &Profile) -> Vec<&Stuck> {
    let hangs = |stuck: &&Stuck| stuck.ns >= HANG_NS && stuck.ns as f64 >= HANG_PART * profile.seconds * 1e9;
    profile.stuck.iter().filter(hangs).collect()
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
        let next = of_thread(stuck, first.process, holder).filter(|one| matches!(one.on, WaitObject::Lock(_)))?;
        // A circle that this thread only leads to is found from one of its own.
        if circle.iter().any(|one| one.thread == next.thread) {
            return None;
        }
        circle.push(next);
    }
}

fn of_thread<'p>(stuck: &[&'p Stuck], process: u32, thread: u32) -> Option<&'p Stuck> {
    stuck.iter().find(|one| (one.process, one.thread) == (process, thread)).copied()
}

/// Threads that all wait for one that has a lock, and does something else.
pub(super) fn held_up<'p>(profile: &'p Profile, tops: &Tops) -> Option<StuckTogether<'p>> {
    let stuck = hanging(profile);
    let is_last = |one: &Stuck| one.state != State::OtherLock || its_wait(&stuck, one).is_some();
    let first = *stuck.iter().find(|one| one.holder.is_some() && is_last(one))?;
    together(profile, tops, &stuck, first)
}

/// Threads that wait for a lock for so long, of each lock.
pub(in crate::findings) fn long_waits<'p>(profile: &'p Profile, tops: &Tops, ns: u64) -> Vec<StuckTogether<'p>> {
    let stuck: Vec<&Stuck> = profile.stuck.iter().filter(|one| one.ns >= ns).collect();
    let mut seen = BTreeSet::new();
    let firsts = stuck.iter().filter(|one| seen.insert((one.process, one.on)));
    firsts.filter_map(|first| together(profile, tops, &stuck, first)).collect()
}

/// What the holder waits for that is no lock.
fn its_wait<'p>(stuck: &[&'p Stuck], one: &Stuck) -> Option<&'p Stuck> {
    of_thread(stuck, one.process, one.holder?).filter(|its| matches!(its.on, WaitObject::Condition(_)))
}

/// All that wait for the same lock as the first.
fn together<'p>(profile: &'p Profile, tops: &Tops, stuck: &[&'p Stuck], first: &'p Stuck) -> Option<StuckTogether<'p>> {
    let is_alike = |one: &&&Stuck| (one.process, one.on, one.holder) == (first.process, first.on, first.holder);
    let WaitObject::Lock(lock) = first.on else { return None };
    let its = its_wait(stuck, first);
    let own = |frame: &u32| !is_below(&profile.frames[*frame as usize]);
    let causes = profile.locks[lock as usize].causes.iter();
    let known = causes.filter_map(|cause| tops.top(cause.stack?).filter(own)).next();
    let holder_stack = first.holder_stack.or(its.and_then(|its| its.stack));
    let function = holder_stack.and_then(|stack| of_program(profile, tops, stack)).or(known);
    let n = stuck.iter().filter(is_alike).count();
    Some(StuckTogether { n, first, function, its_wait: its.map(|its| its.on), holder_stack })
}

/// What most threads wait for that is no lock, if they have for long: a notification may have been lost.
pub(super) fn idle<'p>(profile: &'p Profile, tops: &Tops) -> Option<StuckTogether<'p>> {
    let mut counts: Vec<(usize, &'p Stuck)> = Vec::new();
    for one in hanging(profile) {
        match counts.iter_mut().find(|(_, first)| first.on == one.on) {
            Some((n, _)) => *n += 1,
            None => counts.push((1, one)),
        }
    }
    let is_meant = |(_, one): &(usize, &Stuck)| match one.on {
        WaitObject::Condition(index) => {
            profile.conditions.get(index as usize).is_some_and(|one| one.kind != WaitKind::Join)
        }
        WaitObject::Lock(_) => false,
    };
    let (n, first) = counts.into_iter().rev().filter(is_meant).max_by_key(|(n, _)| *n)?;
    let function = first.stack.and_then(|stack| of_program(profile, tops, stack));
    Some(StuckTogether { n, first, function, its_wait: None, holder_stack: None })
}

/// The innermost function of the program.
fn of_program(profile: &Profile, tops: &Tops, stack: u32) -> Option<u32> {
    profile.stacks[stack as usize].iter().copied().find(|number| {
        let frame = &profile.frames[*number as usize];
        frame.is_named && !is_below(frame) && !tops.is_wrapper(*number)
    })
}
