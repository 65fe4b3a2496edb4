//! Locks of one kind as one: a program with a mutex in each of 200 accounts has one thing to repair and not 200.
//!
//! | locks | are of one kind if |
//! |---|---|
//! | that the program has named | they have the same name |
//! | without a name of their own | they were made, or first used, at the same place: function, file and line |
//! | of which that is not known | they were waited for most in the same function |
//! | static variables | they are parts of one variable, and were made, or first used, at the same place: elements of an array are, members of a struct are not |
//!
//! Only locks of one process, and of one [`LockKind`](crate::LockKind), are put together. A function that locks by its name, as a program's
//! own `Mutex::lock`, is no place yet: its caller is part of the place.

use crate::names::{base, brief, line, several};
use crate::profile::{
    Cause, Condition, Frame, Histogram, Lock, Profile, Site, Spot, State, Timeline, WaitKind, WaitObject,
};
use crate::rules::{HOT_ELEMENT, HOT_ELEMENT_WAITS};
use crate::sites::{Sites, Sum};
use crate::sorting::tell_all_apart;
use crate::wrappers::Tops;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The profile with locks of one kind, and conditions of one kind, as one each: with the sums of all of them.
pub fn grouped(mut profile: Profile) -> Profile {
    let places = places(&profile);
    let (locks, new_locks) = collected(std::mem::take(&mut profile.locks), &places);
    profile.locks = locks;
    let (conditions, new_conditions) = conditions_of(std::mem::take(&mut profile.conditions));
    profile.conditions = conditions;
    let new = |numbers: &[u32], old: u32| numbers.get(old as usize).copied().unwrap_or(old);
    let renumbered = |other: WaitObject| match other {
        WaitObject::Lock(old) => WaitObject::Lock(new(&new_locks, old)),
        WaitObject::Condition(old) => WaitObject::Condition(new(&new_conditions, old)),
    };
    for lock in &mut profile.locks {
        for cause in &mut lock.causes {
            cause.other = cause.other.map(renumbered);
        }
        lock.causes = causes(std::mem::take(&mut lock.causes));
    }
    for stuck in &mut profile.stuck {
        stuck.on = renumbered(stuck.on);
    }
    for time in &mut profile.times {
        time.on = time.on.map(renumbered);
    }
    tell_all_apart(&mut profile);
    profile
}

/// What locks of one kind have in common: their process, and the rest as text.
type Key = (u32, String);

/// What several locks have in common, and how they are called.
struct Place {
    key: Key,
    /// `made in main (a.c:7)`, or `of table[]`.
    name: String,
}

/// Of each lock; `None` where it is of no kind.
fn places(profile: &Profile) -> Vec<Option<Place>> {
    let tops = Tops::new(profile);
    let mut places: Vec<Option<Place>> = profile.locks.iter().map(|lock| place(profile, &tops, lock)).collect();
    for hot in hot_elements(profile, &places) {
        places[hot] = None;
    }
    places
}

/// Elements of arrays that have most of the waiting for their array: they are told of by themselves.
fn hot_elements(profile: &Profile, places: &[Option<Place>]) -> Vec<usize> {
    const FEWEST: usize = 2;
    let mut sums: HashMap<&Key, (usize, f64)> = HashMap::new();
    let known = || {
        profile.locks.iter().zip(places).enumerate().filter_map(|(at, (lock, place))| Some((at, lock, place.as_ref()?)))
    };
    for (_, lock, place) in known() {
        let (n, sum) = sums.entry(&place.key).or_default();
        (*n, *sum) = (*n + 1, *sum + lock.wait_ns);
    }
    let is_hot = |(_, lock, place): &(usize, &Lock, &Place)| {
        let (n, sum) = sums[&place.key];
        n >= FEWEST
            && !lock.is_named
            // Without the types of variables, an element has its offset.
            && (lock.name.contains('[') || lock.name.contains("+0x"))
            && lock.waits >= HOT_ELEMENT_WAITS
            && lock.wait_ns > HOT_ELEMENT * sum
    };
    known().filter(is_hot).map(|(at, ..)| at).collect()
}

/// What a lock has in common with others of its kind, and how several of them are called; `None` if it is of no kind.
pub(crate) fn class(profile: &Profile, tops: &Tops, lock: &Lock) -> Option<(String, String)> {
    place(profile, tops, lock).map(|place| (place.key.1, place.name))
}

/// Whether nothing but its place tells a lock from others: it has no name, or that of a part of a variable.
pub(crate) fn is_one_of_some(lock: &Lock) -> bool {
    let name = base(&lock.name, lock.address);
    !is_symbol(name) || name.contains('[') || name.contains("+0x")
}

fn is_symbol(name: &str) -> bool {
    several(name).is_none() && !name.starts_with("0x")
}

fn place(profile: &Profile, tops: &Tops, lock: &Lock) -> Option<Place> {
    let name = base(&lock.name, lock.address);
    if lock.is_named {
        return Some(Place {
            key: (lock.process, format!("{:?} named {name}", lock.kind)),
            name: format!("of {name}"),
        });
    }
    let is_symbol = is_symbol(name);
    let origin = lock.origin.map(|origin| (origin.stack, origin.spot));
    let (stack, verb) = match origin {
        Some((stack, Spot::Initialised)) => (stack, "made in "),
        Some((stack, Spot::FirstSeen)) => (stack, "first used in "),
        None if is_symbol => return None,
        None => {
            let most = lock.waiters.iter().max_by(|one, other| one.ns.total_cmp(&other.ns))?;
            (most.stack, "waited for in ")
        }
    };
    let (outer, inner) = frames(profile, tops, stack)?;
    let mut key = format!("{:?} {verb}", lock.kind);
    for frame in inner.iter().chain([&outer]) {
        key += &brief(&frame.function);
        // Threads that wait in one function may do so in several lines.
        if origin.is_some() {
            key += &spot(frame);
        }
    }
    // Of `shards[3].lock`, all of `shards[].lock`.
    let variable = match name.split_once('[') {
        Some((array, rest)) => format!("{array}[]{}", rest.split_once(']').map_or("", |(_, rest)| rest)),
        None => format!("{}[]", name.split("+0x").next().unwrap_or(name)),
    };
    let name = match is_symbol {
        true => format!("of {variable}"),
        false => format!("{verb}{}{}", brief(&outer.function), line(outer)),
    };
    key += if is_symbol { &variable } else { "" };
    Some(Place { key: (lock.process, key), name })
}

/// The innermost frame of a stack that says where in the program it is, and those within it that only lock; `None` without
/// any.
fn frames<'p>(profile: &'p Profile, tops: &Tops, stack: u32) -> Option<(&'p Frame, Vec<&'p Frame>)> {
    let mut inner = Vec::new();
    for number in tops.stack(stack).filter(|number| !tops.is_wrapper(*number)) {
        inner.push(&profile.frames[number as usize]);
        if !locks_by_name(tops.brief(number)) {
            break;
        }
    }
    inner.pop().map(|outer| (outer, inner))
}

/// Whether a function, or what it is a member of, has a name as those have that do nothing but lock, or make locks.
fn locks_by_name(brief: &str) -> bool {
    let last: Vec<&str> = brief.rsplit("::").take(2).collect();
    let last = last.concat().to_lowercase().replace("block", "").replace("clock", "");
    last.contains("lock") || last.contains("mutex")
}

/// Where in its function a frame is: without lines, the address tells.
fn spot(frame: &Frame) -> String {
    match frame.line {
        0 => format!(" {}+{:#x} < ", frame.module, frame.address),
        line => format!(" {}:{line} < ", frame.file),
    }
}

/// The locks by kind, those that were waited for longest first, and the new number of each.
fn collected(locks: Vec<Lock>, places: &[Option<Place>]) -> (Vec<Lock>, Vec<u32>) {
    let keys = places.iter().map(|place| place.as_ref().map(|place| place.key.clone()));
    let groups = groups(locks, keys);
    let merged = groups.into_iter().map(|(old, members)| {
        let name = places[old[0]].as_ref().map(|place| place.name.as_str());
        (old, merged(members, name))
    });
    let order = |one: &Lock, other: &Lock| {
        other.wait_ns.total_cmp(&one.wait_ns).then(other.acquisitions.total_cmp(&one.acquisitions))
    };
    numbered(merged.collect(), order)
}

/// Some things by their keys, each with its number, in the order of their firsts; those without a key by themselves.
fn groups<T>(things: Vec<T>, keys: impl Iterator<Item = Option<Key>>) -> Vec<(Vec<usize>, Vec<T>)> {
    let mut groups: Vec<(Vec<usize>, Vec<T>)> = Vec::new();
    let mut known: HashMap<Key, usize> = HashMap::new();
    for (old, (thing, key)) in things.into_iter().zip(keys).enumerate() {
        let next = groups.len();
        let at = key.map_or(next, |key| *known.entry(key).or_insert(next));
        if at == next {
            groups.push((Vec::new(), Vec::new()));
        }
        groups[at].0.push(old);
        groups[at].1.push(thing);
    }
    groups
}

/// The things in order, and the new number of each that they were made of.
fn numbered<T>(mut things: Vec<(Vec<usize>, T)>, order: impl Fn(&T, &T) -> std::cmp::Ordering) -> (Vec<T>, Vec<u32>) {
    things.sort_by(|(_, one), (_, other)| order(one, other));
    let mut numbers = vec![0; things.iter().map(|(old, _)| old.len()).sum()];
    for (new, (old, _)) in things.iter().enumerate() {
        old.iter().for_each(|old| numbers[*old] = new as u32);
    }
    (things.into_iter().map(|(_, thing)| thing).collect(), numbers)
}

/// Several locks as one. The causes stand one behind the other: which of them are the same is known later.
fn merged(members: Vec<Lock>, name: Option<&str>) -> Lock {
    let n_members: u32 = members.iter().map(|lock| lock.members.max(1)).sum();
    let sum = |of: fn(&Lock) -> f64| members.iter().map(of).sum();
    let told = |of: fn(&Lock) -> Option<f64>| members.iter().map(of).sum::<Option<f64>>();
    let all = |of: fn(&Lock) -> &Vec<Site>| sites(members.iter().flat_map(of));
    let first = &members[0];
    let name = match name {
        Some(name) if n_members > 1 => format!("{n_members} locks {name}"),
        _ => base(&first.name, first.address).to_owned(),
    };
    Lock {
        name,
        is_named: first.is_named,
        members: n_members,
        process: first.process,
        address: members.iter().map(|lock| lock.address).min().unwrap_or_default(),
        kind: first.kind,
        origin: first.origin,
        acquisitions: sum(|lock| lock.acquisitions),
        waits: sum(|lock| lock.waits),
        wait_ns: sum(|lock| lock.wait_ns),
        longest_ns: members.iter().map(|lock| lock.longest_ns).max().unwrap_or_default(),
        wait_histogram: histogram(members.iter().map(|lock| &lock.wait_histogram)),
        hold_histogram: histogram(members.iter().map(|lock| &lock.hold_histogram)),
        hold_ns: sum(|lock| lock.hold_ns),
        handing_on_ns: sum(|lock| lock.handing_on_ns),
        most_waiting: members.iter().map(|lock| lock.most_waiting).max().unwrap_or_default(),
        threads: members.iter().map(|lock| lock.threads).max().unwrap_or_default(),
        by_others: sum(|lock| lock.by_others),
        spins: told(|lock| lock.spins),
        parks: told(|lock| lock.parks),
        wakes: told(|lock| lock.wakes),
        rotations: told(|lock| lock.rotations),
        waiters: all(|lock| &lock.waiters),
        holders: all(|lock| &lock.holders),
        takers: all(|lock| &lock.takers),
        tries: all(|lock| &lock.tries),
        triers: members.iter().map(|lock| lock.triers).max().unwrap_or_default(),
        refusers: all(|lock| &lock.refusers),
        wakers: all(|lock| &lock.wakers),
        timeline: timeline(members.iter().map(|lock| &lock.timeline)),
        causes: members.iter().flat_map(|lock| lock.causes.iter().cloned()).collect(),
    }
}

/// By stack, those of most ns first.
fn sites<'a>(all: impl Iterator<Item = &'a Site>) -> Vec<Site> {
    let mut sums = Sites::default();
    for Site { stack, count, ns } in all {
        sums.merge(*stack, &Sum { count: *count, ns: *ns });
    }
    sums.sites(|stack| Some(stack.number))
}

fn histogram<'a>(all: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut sum = Histogram::default();
    all.for_each(|histogram| sum.merge(histogram));
    sum
}

/// All of a profile have slices of one length.
fn timeline<'a>(all: impl Iterator<Item = &'a Timeline>) -> Timeline {
    let mut sum = Timeline::default();
    for Timeline { slice, amounts } in all {
        sum.slice = sum.slice.max(*slice);
        sum.amounts.resize(sum.amounts.len().max(amounts.len()), 0.0);
        sum.amounts.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount);
    }
    sum
}

/// Those that are the same as one, the largest first.
fn causes(all: Vec<Cause>) -> Vec<Cause> {
    let mut sums: BTreeMap<(State, Option<u32>, String, Option<WaitObject>), Cause> = BTreeMap::new();
    for cause in all {
        let key = (cause.state, cause.stack, format!("{} {}", cause.call, cause.awaited), cause.other);
        match sums.get_mut(&key) {
            None => _ = sums.insert(key, cause),
            Some(sum) => {
                // A mean in which each counts by the waiting that it caused.
                let ns = sum.ns + cause.ns;
                if ns > 0.0 {
                    sum.each_ns = (sum.each_ns * sum.ns + cause.each_ns * cause.ns) / ns;
                }
                sum.ns = ns;
                sum.count += cause.count;
            }
        }
    }
    let mut causes: Vec<Cause> = sums.into_values().collect();
    causes.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    causes
}

/// Conditions have no origin: their names say it. Without a line, two places may have one name.
fn condition_key(condition: &Condition) -> Key {
    let name = base(&condition.name, condition.address);
    let is_place = several(name).is_some() && name.ends_with(')');
    let key = if is_place || condition.is_named { name.to_owned() } else { format!("{:#x}", condition.address) };
    (condition.process, format!("{:?} {} {key}", condition.kind, condition.is_named))
}

fn conditions_of(conditions: Vec<Condition>) -> (Vec<Condition>, Vec<u32>) {
    let keys: Vec<Option<Key>> = conditions.iter().map(condition_key).map(Some).collect();
    let groups = groups(conditions, keys.into_iter());
    let merged = groups.into_iter().map(|(old, members)| (old, merged_condition(members)));
    numbered(merged.collect(), |one: &Condition, other| other.wait_ns.total_cmp(&one.wait_ns))
}

fn merged_condition(members: Vec<Condition>) -> Condition {
    let first = &members[0];
    let name = base(&first.name, first.address);
    let noun = match first.kind {
        WaitKind::Condition => Some("condition variables"),
        WaitKind::Semaphore => Some("semaphores"),
        WaitKind::Barrier => Some("barriers"),
        // What these wait for has no name; the place has.
        _ => None,
    };
    // Two threads that are the first to use one at the same time may each have recorded it.
    let n_addresses = members.iter().map(|condition| condition.address).collect::<BTreeSet<u64>>().len();
    let place = if first.is_named { Some(format!("of {name}")) } else { several(name) };
    let name = match (noun, place) {
        (Some(noun), Some(place)) if n_addresses > 1 => format!("{n_addresses} {noun} {place}"),
        _ => name.to_owned(),
    };
    Condition {
        name,
        process: first.process,
        address: members.iter().map(|condition| condition.address).min().unwrap_or_default(),
        kind: first.kind,
        is_named: first.is_named,
        waits: members.iter().map(|condition| condition.waits).sum(),
        wait_ns: members.iter().map(|condition| condition.wait_ns).sum(),
        longest_ns: members.iter().map(|condition| condition.longest_ns).max().unwrap_or_default(),
        wait_histogram: histogram(members.iter().map(|condition| &condition.wait_histogram)),
        waiters: sites(members.iter().flat_map(|condition| &condition.waiters)),
        again: members.iter().map(|condition| condition.again).sum(),
        notifiers: sites(members.iter().flat_map(|condition| &condition.notifiers)),
        notifications_of_all: members.iter().map(|condition| condition.notifications_of_all).sum(),
    }
}

#[cfg(test)]
mod tests;
