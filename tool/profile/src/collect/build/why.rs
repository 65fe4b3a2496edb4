//! Why locks were waited for, and who still waits: with names.

use super::{Builder, Image, SampleRange};
use crate::collect::account::Account;
use crate::collect::charges::Part;
use crate::collect::holders::Activity;
use crate::collect::{Recording, meaning};
use crate::kinds;
use crate::profile::{Cause, LockKind, Profile, State, Stuck, WaitKind, WaitObject};
use crate::rules::{LONG_NS, UNDER_WAY_NS};
use indexmap::IndexSet;
use ondeck_record::layout::{NONE, kind};
use ondeck_record::read::{self, ReadError, Waiter};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Waits that are still under way.
#[derive(Default)]
pub(super) struct OngoingWaits<'r> {
    by_number: HashMap<u32, Vec<&'r Waiter>>,
    /// For what has no number while it is waited for.
    by_address: HashMap<u64, Vec<&'r Waiter>>,
}

impl OngoingWaits<'_> {
    /// The threads that wait for a lock, or for what is no lock.
    pub(super) fn of(&self, lock: &read::Lock) -> impl Iterator<Item = &Waiter> {
        let numbered = self.by_number.get(&lock.number).into_iter().flatten();
        let others = self.by_address.get(&lock.address).into_iter().flatten();
        let meaning_of_lock = meaning(lock.kind);
        numbered.chain(others.filter(move |waiter| meaning(waiter.kind) == meaning_of_lock)).copied()
    }
}

impl Recording {
    /// The threads that still wait, and how long each has waited, not counting what was before `from`.
    fn still_waiting(&self, from: u64) -> impl Iterator<Item = (&Waiter, u64)> {
        let waits = move |waiter: &Waiter| self.last_ns.saturating_sub(self.clock.since(waiter.since).max(from));
        self.waiters.iter().map(move |waiter| (waiter, waits(waiter))).filter(|(_, ns)| *ns >= UNDER_WAY_NS)
    }

    /// The addresses of locks for which a thread has waited for so long, in ns.
    pub(in crate::collect) fn long_waits(&self, ns: u64) -> impl Iterator<Item = u64> {
        let is_lock = |waiter: &Waiter| meaning(waiter.kind).is_ok();
        let waiting = self.still_waiting(0).filter(move |(waiter, waited)| *waited >= ns && is_lock(waiter));
        waiting.map(|(waiter, _)| waiter.address)
    }

    /// Of what a thread waits for; of a join, its place in the program.
    fn address_of(&self, waiter: &Waiter) -> u64 {
        if waiter.kind != kind::JOIN {
            return waiter.address;
        }
        let stack = self.place_of(waiter);
        let walked = || self.contents.stack(stack).unwrap_or_default();
        self.holders.seen(stack).unwrap_or_else(walked).first().copied().unwrap_or(1)
    }

    /// The waits that are still under way, by what they are for.
    pub(super) fn under_way(&self) -> OngoingWaits<'_> {
        let mut all = OngoingWaits::default();
        for (waiter, _) in self.still_waiting(0) {
            match waiter.lock {
                NONE => all.by_address.entry(self.address_of(waiter)).or_default().push(waiter),
                number => all.by_number.entry(number).or_default().push(waiter),
            }
        }
        all
    }

    /// What threads wait for that is none of these, as nobody ever waited for it to the end.
    pub(super) fn only_under_way(&self, known: &[read::Lock], under_way: &OngoingWaits) -> Vec<read::Lock> {
        let known: HashSet<(u64, Result<LockKind, WaitKind>)> =
            known.iter().map(|lock| (lock.address, meaning(lock.kind))).collect();
        let mut new: BTreeMap<(u64, u32), read::Lock> = BTreeMap::new();
        for (address, waiter) in under_way.by_address.iter().flat_map(|(at, all)| all.iter().map(move |one| (*at, one)))
        {
            if !known.contains(&(address, meaning(waiter.kind))) {
                let unseen = || read::Lock::without_a_number(address, waiter.kind, self.place_of(waiter));
                new.entry((address, waiter.kind)).or_insert_with(unseen);
            }
        }
        new.into_values().collect()
    }

    /// The account of a lock with the waits that are still under way.
    pub(super) fn with_those_under_way(
        &self,
        lock: &read::Lock,
        mut account: Account,
        since: SampleRange,
        under_way: &OngoingWaits,
    ) -> Account {
        let from = since.from();
        let mut n = 0;
        for waiter in under_way.of(lock) {
            let ns = self.last_ns.saturating_sub(self.clock.since(waiter.since).max(from));
            if ns < UNDER_WAY_NS {
                continue;
            }
            n += 1;
            account.add_wait(waiter.thread, self.last_ns, ns);
            account.waiters.add(self.place_of(waiter), 1.0, ns);
        }
        if n > 0 && meaning(lock.kind).is_ok() {
            let most = n * self.last_ns.saturating_sub(from);
            let uncharged = lock.uncharged_ns(self.clock.instant(self.last_ns)).min(most);
            let held = self.last_ns.saturating_sub(self.clock.since(lock.lasts_since)).max(LONG_NS);
            let (shares, stack) = match self.holders.until_now(lock.number) {
                Some((shares, thread, since)) => (Some(shares), self.stack_of(thread, since)),
                None => (None, NONE),
            };
            account.holders.add(stack, 1.0, uncharged);
            account.charges.held(stack.into(), 1.0, uncharged, held, shares.as_ref());
        }
        account
    }

    /// Where that thread waits or sleeps, if it has since then and that is known.
    fn stack_of(&self, thread: u32, since: u64) -> u32 {
        let waits = self.waiters.iter().find(|waiter| waiter.thread == thread);
        waits.map_or_else(|| self.holders.sleeps(thread, since), |waiter| self.place_of(waiter))
    }

    fn place_of(&self, waiter: &Waiter) -> u32 {
        match waiter.stack {
            NONE => self.holders.sleeps(waiter.thread, self.clock.since(waiter.since)),
            walked => walked,
        }
    }
}

impl SampleRange {
    /// In ns from the start of the run.
    pub(super) fn from(self) -> u64 {
        match self {
            SampleRange::Start => 0,
            SampleRange::Snapshot(from) => from,
        }
    }
}

impl Builder<'_> {
    /// The causes of a lock's waiting, which add up to it.
    pub(super) fn causes(
        &mut self,
        image: &mut Image,
        kind: LockKind,
        account: &Account,
    ) -> Result<Vec<Cause>, ReadError> {
        let parts = account.charges.parts();
        let mut causes = Vec::new();
        for ((stack, doing), part) in &parts.holds {
            let number = self.stack(image, stack.number)?;
            let number = number.map(|n| if kind == LockKind::RwLock { self.told_apart(n, *stack) } else { n });
            let (state, call, other) = self.told(image.process, *doing);
            let asleep = if let Some(Activity::Asleep(at)) = doing { self.stack(image, *at)? } else { None };
            let awaited = asleep.and_then(|stack| kinds::awaited(self.stacks.named(stack))).unwrap_or_default();
            causes.push(Cause { state, stack: number, call, awaited, other, ..of_part(part) });
        }
        let without = |state, part: &Part| Cause { state, ..of_part(part) };
        causes.extend([without(State::Passing, &parts.passing), without(State::Free, &parts.free)]);
        causes.retain(|cause| cause.ns > 0.0);
        // Waits and charges are estimates, each from samples of its own.
        let all: f64 = causes.iter().map(|cause| cause.ns).sum();
        causes.iter_mut().for_each(|cause| cause.ns *= account.waits.sum.ns / all);
        causes.sort_by(|one, other| other.ns.total_cmp(&one.ns));
        Ok(causes)
    }

    fn told(&mut self, process: u32, doing: Option<Activity>) -> (State, String, Option<WaitObject>) {
        let other = match doing {
            Some(Activity::Waiting(_, address)) => Some(self.addressed(process, address)),
            _ => None,
        };
        let (state, call) = doing.map(Activity::told).unwrap_or_default();
        (state, call, other)
    }

    /// The place of an address among those whose locks are looked up once all are known.
    pub(super) fn addressed(&mut self, process: u32, address: u64) -> WaitObject {
        WaitObject::Lock(self.addressed.insert_full((process, address)).0 as u32)
    }

    /// The threads of a recording that still wait.
    pub(super) fn add_stuck(&mut self, image: &mut Image) -> Result<(), ReadError> {
        let recording = image.recording;
        for (waiter, ns) in recording.still_waiting(0) {
            let stack = self.stack(image, recording.place_of(waiter))?;
            let since = recording.clock.since(waiter.since);
            let holder = recording.holders.last(waiter.lock).filter(|(.., at)| *at >= since);
            let (state, call, _) = self.told(image.process, holder.map(|(_, doing, _)| doing));
            let on = self.addressed(image.process, recording.address_of(waiter));
            let holder = holder.map(|(thread, ..)| thread);
            let sleeps = holder.map_or(NONE, |thread| recording.holders.sleeps(thread, since));
            let holder_stack = self.stack(image, sleeps)?;
            let (process, thread) = (image.process, waiter.thread);
            self.stuck.push(Stuck { process, thread, on, ns, stack, holder, holder_stack, state, call });
        }
        Ok(())
    }
}

/// Puts the numbers of locks in the place of those of addresses.
pub(super) fn resolve(profile: &mut Profile, addressed: &IndexSet<(u32, u64)>) {
    let mut found: HashMap<(u32, u64), WaitObject> = HashMap::new();
    for (index, condition) in profile.conditions.iter().enumerate() {
        found.entry((condition.process, condition.address)).or_insert(WaitObject::Condition(index as u32));
    }
    for (index, lock) in profile.locks.iter().enumerate().rev() {
        found.insert((lock.process, lock.address), WaitObject::Lock(index as u32));
    }
    let find = |number: u32| addressed.get_index(number as usize).and_then(|place| found.get(place)).copied();
    for cause in profile.locks.iter_mut().flat_map(|lock| &mut lock.causes) {
        if let Some(WaitObject::Lock(number)) = cause.other {
            cause.other = find(number);
        }
    }
    for time in &mut profile.times {
        if let Some(WaitObject::Lock(number)) = time.on {
            time.on = find(number);
        }
    }
    profile.stuck.retain_mut(|stuck| match stuck.on {
        WaitObject::Lock(number) => find(number).inspect(|other| stuck.on = *other).is_some(),
        WaitObject::Condition(_) => true,
    });
    profile.stuck.sort_by_key(|stuck| std::cmp::Reverse(stuck.ns));
}

fn of_part(part: &Part) -> Cause {
    Cause { ns: part.ns, count: part.count, each_ns: part.each_ns(), ..Cause::default() }
}
