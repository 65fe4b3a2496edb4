//! The locks of a recording that are taken in a circle, by their classes: the locks that are one row of a profile.

use super::{Builder, Image};
use crate::circles::{Circle, Member, Same, Step, circles, turned};
use crate::collect::meaning;
use crate::group;
use crate::names::base;
use crate::profile::{Lock, LockOrder, OrderStep, Origin, Profile, Spot};
use crate::sorting::tell_apart;
use crate::wrappers::{Tops, takes_group};
use indexmap::IndexMap;
use ondeck_record::layout::{kind, source};
use ondeck_record::read::{self, Nesting, ReadError};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Locks of one kind.
struct Class {
    /// The same in all processes.
    key: String,
    /// Of one of them, and of several.
    names: [String; 2],
    n_members: u32,
    /// Of one of them.
    address: u64,
}

impl Class {
    fn name(&self) -> String {
        let [one, several] = &self.names;
        if self.n_members > 1 { format!("{} locks {several}", self.n_members) } else { one.clone() }
    }
}

/// The names of classes, no two of which have the same.
fn names(classes: &[Class], pid: u32) -> Vec<String> {
    let mut names: Vec<String> = classes.iter().map(Class::name).collect();
    let address = |class: &Class| (class.n_members == 1).then_some(class.address);
    tell_apart(classes.iter().zip(&mut names).map(|(class, name)| (address(class), pid, name)));
    names
}

/// The circles of all recordings, each once, with the processes that have it, by the keys of its classes.
#[derive(Default)]
pub(super) struct Orders(IndexMap<Vec<String>, (LockOrder, BTreeSet<u32>)>);

impl Orders {
    fn add(&mut self, classes: Vec<String>, order: LockOrder) {
        let (known, processes) = self.0.entry(classes).or_insert_with(|| (order.clone(), BTreeSet::new()));
        processes.insert(order.process);
        if doubt(&order) < doubt(known) {
            *known = order;
        }
    }

    /// The most certain first.
    pub(super) fn sorted(self) -> Vec<LockOrder> {
        let counted = |(order, of): (LockOrder, BTreeSet<u32>)| LockOrder { processes: of.len() as u32, ..order };
        let mut all: Vec<LockOrder> = self.0.into_values().map(counted).collect();
        all.sort_by_key(|order| (doubt(order), order.steps.len()));
        all
    }
}

fn doubt(order: &LockOrder) -> (bool, bool) {
    (!order.same_objects, !order.same_addresses)
}

impl Builder<'_> {
    /// The circles of a recording.
    pub(super) fn add_order(&mut self, image: &mut Image) -> Result<(), ReadError> {
        let mut nestings = Vec::new();
        for nesting in image.recording.contents.nestings()? {
            if !nesting.is_tried || self.is_of_group(image, nesting.stacks[1])? {
                nestings.push(nesting);
            }
        }
        if nestings.is_empty() {
            return Ok(());
        }
        let same = Self::same(image)?;
        for number in nestings.iter_mut().flat_map(|one| one.locks.iter_mut().chain(&mut one.outer)) {
            *number = *same.get(number).unwrap_or(number);
        }
        let locks = self.nested(image, &nestings)?;
        let (classes, members) = self.classes(image, &locks);
        let names = names(&classes, image.recording.contents.about().pid);
        let known = nestings.iter().filter(|nesting| nesting.locks.iter().all(|lock| members.contains_key(lock)));
        let known: Vec<&Nesting> = known.collect();
        let step = |one: &&Nesting| {
            let Nesting { locks: [held, taken], shared, outer, .. } = **one;
            Step { held, taken, shared, outer }
        };
        let steps: Vec<Step> = known.iter().map(step).collect();
        let again = steps.iter().enumerate().filter(|(_, step)| step.held == step.taken && step.outer == [0; 2]);
        let again = again.map(|(at, _)| Circle { steps: vec![at], same: Same::Objects, count: 1 });
        let all: Vec<Circle> = again.chain(circles(&steps, &members)).collect();
        for Circle { steps, same, count } in all {
            let (mut told, mut keys) = (Vec::new(), Vec::new());
            for nesting in steps.into_iter().map(|step| known[step]) {
                let [held, taken] = nesting.locks.map(|lock| members[&lock].class as usize);
                let (held_stack, taken_stack) =
                    (self.stack(image, nesting.stacks[0])?, self.stack(image, nesting.stacks[1])?);
                told.push(OrderStep {
                    held: names[held].clone(),
                    held_stack,
                    taken: names[taken].clone(),
                    taken_stack,
                });
                keys.push(classes[held].key.clone());
            }
            let order = LockOrder {
                first: told[0].held.clone(),
                second: told[0].taken.clone(),
                same_objects: same == Same::Objects,
                same_addresses: same != Same::Classes,
                count,
                process: image.process,
                processes: 1,
                steps: told,
            };
            self.order.add(turned(keys), order);
        }
        Ok(())
    }

    /// Whether the lock that is tried there is one of several, for any of which that call waits.
    fn is_of_group(&mut self, image: &mut Image, stack: u32) -> Result<bool, ReadError> {
        let stack = self.stack(image, stack)?;
        Ok(stack.is_some_and(|stack| self.stacks.named(stack).any(|(frame, brief)| takes_group(frame, brief))))
    }

    /// A static lock that had several places in the recording, one after the other, is one: by its later numbers the first. Where
    /// locks were initialised one after the other, they are several.
    fn same(image: &Image) -> Result<HashMap<u32, u32>, ReadError> {
        let mut all = image.recording.contents.locks()?;
        all.retain(|lock| image.modules_at(lock.address).next().is_some());
        let place = |lock: &read::Lock| (lock.address, lock.module);
        let mut n_initialised: HashMap<_, u32> = HashMap::new();
        for lock in all.iter().filter(|lock| lock.kind & !kind::SEVERAL == kind::INITIALISED) {
            *n_initialised.entry(place(lock)).or_default() += 1;
        }
        all.retain(|lock| n_initialised.get(&place(lock)).is_none_or(|n| *n == 1));
        let mut first = HashMap::new();
        Ok(all.iter().map(|lock| (lock.number, *first.entry(place(lock)).or_insert(lock.number))).collect())
    }

    /// What is known of the locks themselves, by number.
    fn nested(&mut self, image: &mut Image, nestings: &[Nesting]) -> Result<BTreeMap<u32, Lock>, ReadError> {
        let numbers: BTreeSet<u32> = nestings.iter().flat_map(|nesting| nesting.locks).collect();
        let mut locks = BTreeMap::new();
        // A program may have made a hundred thousand at one place. Those that have no name of their own and lie in no module are
        // called after that place.
        let mut by_origin: HashMap<(u32, u32), String> = HashMap::new();
        for lock in image.recording.contents.locks()?.iter().filter(|lock| numbers.contains(&lock.number)) {
            let read::Lock { number, address, kind, origin, .. } = *lock;
            let spot = if kind & !kind::SEVERAL == kind::INITIALISED { Spot::Initialised } else { Spot::FirstSeen };
            let origin = self.stack(image, origin)?.map(|stack| Origin { stack, spot });
            let is_alike = image.modules_at(address).next().is_none() && image.names.of(lock).is_none();
            let known = by_origin.get(&(lock.origin, kind)).filter(|_| is_alike);
            let (name, is_named) = match known {
                Some(name) => (name.clone(), false),
                None => self.name(image, lock, origin, false),
            };
            // Else that is its address.
            if is_alike && known.is_none() && !name.starts_with("0x") {
                by_origin.insert((lock.origin, kind), name.clone());
            }
            let kind = meaning(kind).unwrap_or_default();
            locks.insert(
                number,
                Lock { name, is_named, process: image.process, address, kind, origin, ..Lock::default() },
            );
        }
        Ok(locks)
    }

    fn classes(&self, image: &Image, locks: &BTreeMap<u32, Lock>) -> (Vec<Class>, HashMap<u32, Member>) {
        let frames = self.stacks.frames.iter().cloned().collect();
        let profile = Profile { frames, stacks: self.stacks.list.iter().cloned().collect(), ..Profile::default() };
        let tops = Tops::new(&profile);
        let mut classes: IndexMap<String, Class> = IndexMap::new();
        let mut members = HashMap::new();
        // What a class is made of.
        let mut by_place = HashMap::new();
        // A new lock has no marks of an old one where these lie in the lock itself.
        let are_marks_inside = image.recording.contents.about().source == source::LIBRARY;
        for (number, lock) in locks {
            let address = lock.address;
            let one = base(&lock.name, address).to_owned();
            let origin = lock.origin.map(|origin| (origin.stack, origin.spot == Spot::Initialised));
            let place = (one.clone(), lock.is_named, lock.kind, origin);
            let known = by_place.entry(place).or_insert_with(|| group::class(&profile, &tops, lock));
            let (key, several) = known.clone().unwrap_or_else(|| (format!("{address:#x}"), one.clone()));
            let new = || Class { key: key.clone(), names: [one, several], n_members: 0, address };
            let entry = classes.entry(key.clone());
            let class = entry.index() as u32;
            entry.or_insert_with(new).n_members += 1;
            let is_first_use = lock.origin.is_none_or(|origin| origin.spot == Spot::FirstSeen);
            let is_vague = is_first_use && group::is_one_of_some(lock);
            // A static lock stays: what comes to its place with another file has another number.
            let is_static = image.modules_at(address).next().is_some();
            members.insert(*number, Member { class, address, is_vague, is_one: is_static || are_marks_inside });
        }
        (classes.into_values().collect(), members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_one_name_are_told_apart() {
        let class = |name: &str, n_members, address| Class {
            key: format!("{address}"),
            names: [name.to_owned(), format!("made in {name}")],
            n_members,
            address,
        };
        let classes = [class("lock", 1, 0x5000), class("table", 1, 0x5100), class("lock", 1, 0x6000)];
        assert_eq!(names(&classes, 7), ["lock at 0x5000", "table", "lock at 0x6000"]);
        let several = [class("new", 2, 0x5000), class("new", 2, 0x6000), class("new", 3, 0x7000)];
        let names = names(&several, 7);
        assert!(names[0] != names[1] && names[2] == "3 locks made in new", "{names:?}");
    }

    #[test]
    fn orders_of_several_processes_are_one_and_the_most_certain_comes_first() {
        let mut orders = Orders::default();
        let mut add = |process, classes: [&str; 2], same_objects, same_addresses| {
            let order = LockOrder { process, same_objects, same_addresses, ..LockOrder::default() };
            orders.add(classes.map(str::to_owned).to_vec(), order);
        };
        add(0, ["a", "b"], false, false);
        // Two recordings of one process.
        add(0, ["a", "b"], false, false);
        for process in 1..200 {
            add(process, ["c", "d"], false, process > 1);
            add(process, ["e", "f"], process > 10, true);
        }
        let told = |order: &LockOrder| (order.processes, order.process, order.same_objects, order.same_addresses);
        let sorted: Vec<_> = orders.sorted().iter().map(told).collect();
        assert_eq!(sorted, [(199, 11, true, true), (199, 2, false, true), (1, 0, false, false)]);
    }
}
