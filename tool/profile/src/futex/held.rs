//! Who holds the C library's locks, as looks from outside have seen it.

use super::cells::Cells;
use super::holds::{Charge, Seen, SeenAt, of_place};
use super::names::Names;
use crate::collect::holders::{Activity, OWNER_OF_MUTEX, OWNER_OF_RWLOCK};
use crate::kinds::WaitSubject;
use crate::profile::{Cause, Frame, LockKind, Profile, Site, State, ThreadTime, WaitObject};
use crate::words::{FROM_KERNEL, GIL};
use crate::wrappers::is_below;
use ondeck_futex::in_time;
use std::collections::{BTreeMap, BTreeSet};

/// Why a lock was waited for, before it is known which of a profile's locks it is.
pub(super) struct Held {
    process: u32,
    address: u64,
    /// Each with the address of what its holder waits for.
    causes: Vec<(Cause, Option<u64>)>,
}

impl Names<'_> {
    /// The locks whose memory says who holds them.
    pub(super) fn held(&mut self, cells: &Cells) -> Vec<Held> {
        let told = self.told;
        let (mut locks, mut done) = (BTreeMap::new(), BTreeSet::new());
        for (image, futex, stack) in cells.iter().map(|(spot, _)| *spot) {
            let Some(charges) = told.charges.get(image) else { continue };
            let stack = self.stack(image, stack);
            if !self.names(stack).any(has_owner) {
                continue;
            }
            let (lock, class) = self.meant(image, futex, stack);
            let (lock, owner) = match class.meaning {
                WaitSubject::Lock(LockKind::Mutex) => (in_time::plain(lock), OWNER_OF_MUTEX),
                WaitSubject::Lock(LockKind::RwLock) => (in_time::plain(lock), OWNER_OF_RWLOCK),
                _ => continue,
            };
            let futex = in_time::plain(futex);
            let all: &mut Vec<(SeenAt, Charge)> = locks.entry((image, lock, owner)).or_default();
            if done.insert((image, futex)) {
                all.extend(of_place(charges, futex, (lock + owner).wrapping_sub(futex)));
            }
        }
        let held = locks.into_iter().map(|((image, address, owner), all)| {
            let causes = all.into_iter().map(|(seen, charge)| self.cause(image, owner, seen, charge)).collect();
            Held { process: image as u32, address, causes }
        });
        held.collect()
    }

    /// What a holder did, as a cause, and the address of what it waited for.
    fn cause(&mut self, image: usize, owner: u64, (seen, stack): SeenAt, charge: Charge) -> (Cause, Option<u64>) {
        let Charge { ns, count, ns_of_lengths } = charge;
        let whole = stack.map(|stack| self.stack(image, stack));
        let (state, call) = match seen {
            // Those that read are not in its memory.
            Seen::Free if owner == OWNER_OF_RWLOCK => (State::Unknown, String::new()),
            Seen::Elsewhere => (State::Unknown, String::new()),
            Seen::Free => (State::Free, String::new()),
            Seen::Changed => (State::Passing, String::new()),
            Seen::Computing => Activity::Computing.told(),
            Seen::NoCore => Activity::NoCore.told(),
            Seen::Asleep { call, .. } => Activity::Blocked(call).told(),
        };
        let meant = |futex| in_time::plain(whole.map_or(futex, |stack| self.meant(image, futex, stack).0));
        let other = if let Seen::Asleep { futex, .. } = seen { futex.map(meant) } else { None };
        let stack = whole.and_then(|stack| self.own(stack));
        (Cause { state, call, stack, ns, count, each_ns: ns_of_lengths / ns, ..Cause::default() }, other)
    }

    /// The stack from the first function on that is the program's own: of what a holder runs in, or called what it sleeps in.
    fn own(&mut self, stack: u32) -> Option<u32> {
        // What is in no file has no name either.
        let is_below = |frame: &Frame| is_below(frame) || frame.module.is_empty();
        let is_other = |number: &&u32| is_below(self.stacks.frame(**number)) || self.stacks.is_wrapper(**number);
        let own: Vec<u32> = self.stacks.of(stack).iter().skip_while(is_other).copied().collect();
        (!own.is_empty()).then(|| self.stacks.stack_as_it_is(own))
    }

    /// Where the time of all threads went.
    pub(super) fn times(&mut self) -> Vec<ThreadTime> {
        let told = self.told;
        let named = |(time, stack): &(ThreadTime, Option<u32>)| {
            let stack = stack.map(|stack| self.stack(time.process as usize, stack));
            ThreadTime { stack, ..time.clone() }
        };
        told.times.iter().map(named).collect()
    }
}

fn has_owner(function: &str) -> bool {
    ["pthread_mutex_", "pthread_rwlock_"].iter().any(|name| function.contains(name))
}

/// Puts them into a profile whose locks have their numbers, and tells its times which of them they are for.
pub(super) fn add(profile: &mut Profile, held: Vec<Held>) {
    let find = |profile: &Profile, process: u32, address: u64| {
        let lock = profile.locks.iter().position(|lock| (lock.process, lock.address) == (process, address));
        let condition = || profile.conditions.iter().position(|one| (one.process, one.address) == (process, address));
        let lock = lock.map(|at| WaitObject::Lock(at as u32));
        lock.or_else(|| condition().map(|at| WaitObject::Condition(at as u32)))
    };
    /// Less of all waiting is too little to tell of holders instead of wakers.
    const WORTH_MORE: f64 = 0.25;
    for Held { process, address, causes } in held {
        let Some(WaitObject::Lock(at)) = find(profile, process, address) else { continue };
        let all: f64 = causes.iter().map(|(cause, _)| cause.ns).sum();
        let resolved = causes.into_iter().map(|(mut cause, other)| {
            cause.other = other.and_then(|address| find(profile, process, address));
            if cause.other.is_some() {
                (cause.state, cause.call) = (State::OtherLock, String::new());
            }
            cause
        });
        let mut causes: Vec<Cause> = resolved.collect();
        let has_holder = |cause: &&Cause| !matches!(cause.state, State::Free | State::Passing);
        let sum = |is_known: bool| -> f64 {
            let some = causes.iter().filter(has_holder).filter(|cause| cause.stack.is_some() == is_known);
            some.map(|cause| cause.ns).sum()
        };
        // Whom the kernel has seen to wake the others says more than nobody.
        let is_known = sum(true) >= sum(false) && sum(true) >= WORTH_MORE * all;
        if profile.lock == FROM_KERNEL && !is_known {
            continue;
        }
        causes.sort_by(|one, other| other.ns.total_cmp(&one.ns));
        let lock = &mut profile.locks[at as usize];
        causes.iter_mut().for_each(|cause| cause.ns *= lock.wait_ns / all);
        let site = |cause: &Cause| Some(Site { stack: cause.stack?, count: cause.count, ns: cause.ns });
        lock.holders = causes.iter().filter_map(site).collect();
        (lock.causes, lock.wakers) = (causes, Vec::new());
    }
    let is_told = |profile: &Profile, at: usize| {
        let lock = &profile.locks[at];
        !lock.causes.is_empty() || lock.name == GIL
    };
    let stacks: BTreeMap<u32, u32> = (0..profile.locks.len())
        .rev()
        .filter(|at| is_told(profile, *at))
        .flat_map(|at| profile.locks[at].waiters.iter().map(move |site| (site.stack, at as u32)))
        .collect();
    for time in &mut profile.times {
        time.on = time.stack.and_then(|stack| stacks.get(&stack)).map(|at| WaitObject::Lock(*at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    /// The causes of the first lock, in the view from the kernel, and whether it keeps who has woken its waiters.
    fn added(causes: &[(State, Option<u32>, f64)]) -> (usize, bool) {
        let mut profile = made_up::server();
        profile.lock = FROM_KERNEL.to_owned();
        let lock = &mut profile.locks[0];
        (lock.causes, lock.holders) = (Vec::new(), Vec::new());
        lock.wakers = vec![Site { stack: 0, count: 1.0, ns: 1.0 }];
        let (process, address) = (lock.process, lock.address);
        let cause = |(state, stack, ns): &(State, Option<u32>, f64)| {
            (Cause { state: *state, stack: *stack, ns: *ns, ..Cause::default() }, None)
        };
        add(&mut profile, vec![Held { process, address, causes: causes.iter().map(cause).collect() }]);
        let lock = profile.locks.iter().find(|lock| (lock.process, lock.address) == (process, address)).unwrap();
        (lock.causes.len(), !lock.wakers.is_empty())
    }

    #[test]
    fn wakers_stay_unless_holders_are_known() {
        let (known, unknown) = ((State::Computing, Some(0), 30.0), (State::Computing, None, 20.0));
        let passing = (State::Passing, None, 50.0);
        assert_eq!(added(&[known, unknown, passing]), (3, false));
        assert_eq!(added(&[passing]), (0, true), "nobody was seen to hold it");
        assert_eq!(added(&[unknown, (State::Computing, Some(0), 10.0)]), (0, true));
        assert_eq!(added(&[passing, (State::Computing, Some(0), 1.0)]), (0, true), "one look");
    }
}
