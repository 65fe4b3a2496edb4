//! The locks of a recording that are taken in a circle, by their classes: the locks that are one row of a profile.

use super::{Builder, Image};
use crate::circles::{Circle, Member, Step, circles};
use crate::collect::meaning;
use crate::group;
use crate::names::base;
use crate::profile::{Lock, LockOrder, OrderStep, Origin, Profile, Spot};
use crate::wrappers::Tops;
use ondeck_record::layout::kind;
use ondeck_record::read::{self, Nesting, ReadError};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Locks of one kind.
struct Class {
    /// Of one of them, and of several.
    names: [String; 2],
    n_members: u32,
}

impl Class {
    fn name(&self) -> String {
        let [one, several] = &self.names;
        if self.n_members > 1 { format!("{} locks {several}", self.n_members) } else { one.clone() }
    }
}

impl Builder<'_> {
    /// The circles of a recording.
    pub(super) fn add_order(&mut self, image: &mut Image) -> Result<(), ReadError> {
        let nestings = image.recording.contents.nestings()?;
        if nestings.is_empty() {
            return Ok(());
        }
        // What was called at a return address is known of one lock.
        image.callees.clear();
        let locks = self.nested(image, &nestings)?;
        let (classes, members) = self.classes(&locks);
        let known = nestings.iter().filter(|nesting| nesting.locks.iter().all(|lock| members.contains_key(lock)));
        let known: Vec<&Nesting> = known.collect();
        let step = |one: &&Nesting| Step { held: one.locks[0], taken: one.locks[1], gates: one.gates };
        let steps: Vec<Step> = known.iter().map(step).collect();
        for Circle { steps, same_objects, count } in circles(&steps, &members) {
            let mut told = Vec::new();
            for nesting in steps.into_iter().map(|step| known[step]) {
                let [held, taken] = nesting.locks.map(|lock| classes[members[&lock].class as usize].name());
                let (held_stack, taken_stack) =
                    (self.stack(image, nesting.stacks[0])?, self.stack(image, nesting.stacks[1])?);
                told.push(OrderStep { held, held_stack, taken, taken_stack });
            }
            let (first, second) = (told[0].held.clone(), told[0].taken.clone());
            self.order.push(LockOrder { first, second, same_objects, count, process: image.process, steps: told });
        }
        Ok(())
    }

    /// What is known of the locks themselves, by number.
    fn nested(&mut self, image: &mut Image, nestings: &[Nesting]) -> Result<BTreeMap<u32, Lock>, ReadError> {
        let numbers: BTreeSet<u32> = nestings.iter().flat_map(|nesting| nesting.locks).collect();
        let mut locks = BTreeMap::new();
        for lock in image.recording.contents.locks()?.iter().filter(|lock| numbers.contains(&lock.number)) {
            let read::Lock { number, address, kind, origin, .. } = *lock;
            let spot = if kind & !kind::SEVERAL == kind::INITIALISED { Spot::Initialised } else { Spot::FirstSeen };
            let origin = self.stack(image, origin)?.map(|stack| Origin { stack, spot });
            let (name, is_named) = self.name(image, lock, origin, false);
            let kind = meaning(kind).unwrap_or_default();
            locks.insert(
                number,
                Lock { name, is_named, process: image.process, address, kind, origin, ..Lock::default() },
            );
        }
        Ok(locks)
    }

    fn classes(&self, locks: &BTreeMap<u32, Lock>) -> (Vec<Class>, HashMap<u32, Member>) {
        let frames = self.stacks.frames.iter().cloned().collect();
        let profile = Profile { frames, stacks: self.stacks.list.iter().cloned().collect(), ..Profile::default() };
        let tops = Tops::new(&profile);
        let mut classes: Vec<Class> = Vec::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut members = HashMap::new();
        for (number, lock) in locks {
            let one = base(&lock.name, lock.address).to_owned();
            let (key, several) =
                group::class(&profile, &tops, lock).unwrap_or_else(|| (format!("{:#x}", lock.address), one.clone()));
            let class = *numbers.entry(key).or_insert(classes.len());
            if class == classes.len() {
                classes.push(Class { names: [one, several], n_members: 0 });
            }
            classes[class].n_members += 1;
            let is_first_use = lock.origin.is_none_or(|origin| origin.spot == Spot::FirstSeen);
            let is_vague = is_first_use && group::is_one_of_some(lock);
            members.insert(*number, Member { class: class as u32, address: lock.address, is_vague });
        }
        (classes, members)
    }
}
