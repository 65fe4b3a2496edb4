//! What was looked up: which lock each wait is for, what that is called, and the stacks with their names.

use super::FutexSnapshot;
use super::cells::{Cells, FOLDED, JOINED};
use super::tail_calls::{calls_of_functions, gone};
use crate::collect::account::Account;
use crate::kinds::{self, Class, FutexOwner, WaitSubject};
use crate::profile::{Condition, Lock, LockKind, Site, WaitKind};
use crate::rules::HANG_NS;
use crate::stacks::{Code, Stacks};
use crate::symbols::Symbols;
use ondeck_futex::{Sleepers, Wait, in_time};
use std::collections::{BTreeMap, HashMap};

/// Whether a wait is long enough to ask who has what it is for.
pub(super) fn is_long(wait: &Wait) -> bool {
    wait.to_ns - wait.from_ns >= HANG_NS
}

/// What is one lock, or one place of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    image: usize,
    pub(super) class: Class,
    spot: FutexPlace,
}

/// See [`FutexOwner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FutexPlace {
    Address(u64),
    /// The number of the frame that waits.
    Place(u32),
    /// The only one of this name.
    Named(&'static str),
}

/// The waits of one key.
#[derive(Default)]
pub(super) struct Group {
    account: Account,
    address: u64,
}

/// What was looked up.
pub(super) struct Names<'a> {
    pub(super) told: &'a FutexSnapshot,
    pub(super) stacks: Stacks<'a>,
    /// Whether the program of an image has a scheduler of its own.
    has_runtime: Vec<bool>,
    /// The number in the profile of a stack that was told.
    known: HashMap<(usize, u32), u32>,
    /// What sleepers have told that they wait for, by its address.
    pub(super) known_by_sleepers: HashMap<(usize, u64), Class>,
    /// What other stacks have told of an address, for those that end before they tell it.
    known_by_others: HashMap<(usize, u64), Class>,
    /// By the process.
    pub(super) stacks_of_sleepers: HashMap<u32, Sleepers>,
}

impl<'a> Names<'a> {
    pub(super) fn new(told: &'a FutexSnapshot, symbols: &'a mut Symbols, has_runtime: Vec<bool>) -> Self {
        Names {
            told,
            stacks: Stacks::new(symbols),
            has_runtime,
            known: HashMap::new(),
            known_by_sleepers: HashMap::new(),
            known_by_others: HashMap::new(),
            stacks_of_sleepers: HashMap::new(),
        }
    }

    /// What was told, and the waits that went on.
    pub(super) fn with_those_that_go_on(&mut self) -> Cells {
        let told = self.told;
        let started_ns = told.run.started_ns;
        let mut cells = told.cells.clone();
        for wait in &told.waiting {
            let address = if is_long(wait) { self.meant_by_sleeper(wait) } else { wait.address };
            let from_ns = wait.from_ns.max(told.snapshot_from_ns.unwrap_or(started_ns)).min(wait.to_ns);
            cells.add(&Wait { address, from_ns, ..*wait }, &[], started_ns);
        }
        cells
    }

    pub(super) fn group(&mut self, cells: &Cells) -> BTreeMap<Key, Group> {
        self.know_by_others(cells);
        let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
        for ((image, address, stack), cell) in cells.iter() {
            let number = self.stack(*image, *stack);
            let key = self.key(*image, *address, number, &groups);
            let group = groups.entry(key).or_insert_with(|| Group { address: *address, ..Group::default() });
            group.account.waiters.merge(number, &cell.waits.sum);
            group.account.merge(cell, |waker| self.stack(*image, waker));
        }
        groups
    }

    /// Learns what each address is from the stacks that tell it.
    fn know_by_others(&mut self, cells: &Cells) {
        for ((image, address, stack), _) in cells.iter().filter(|((_, at, _), _)| ![FOLDED, JOINED].contains(at)) {
            let number = self.stack(*image, *stack);
            let class = kinds::classify(self.stacks.named(number));
            if !class.is_unknown() && class.whose != FutexOwner::Thread {
                self.known_by_others.insert((*image, *address), class);
            }
        }
    }

    /// What a wait is for: its address, of [`in_time`], and what it is. A second word of a lock counts as the first.
    pub(super) fn meant(&mut self, image: usize, address: u64, stack: u32) -> (u64, Class) {
        let key = self.key(image, address, stack, &BTreeMap::new());
        (if let FutexPlace::Address(address) = key.spot { address } else { address }, key.class)
    }

    /// The short names of a stack's functions.
    pub(super) fn names(&self, stack: u32) -> impl Iterator<Item = &str> {
        self.stacks.named(stack).map(|(_, brief)| brief)
    }

    /// Whether a stack is in the library that has ondeck's locks for those of pthreads'.
    pub(super) fn is_in_library(&self, stack: u32) -> bool {
        self.stacks.named(stack).any(|(frame, _)| frame.module.starts_with("libondeck_pthread"))
    }

    fn key(&mut self, image: usize, address: u64, stack: u32, groups: &BTreeMap<Key, Group>) -> Key {
        let symbol = self.stacks.symbols.datum(self.told.modules(image), address);
        let frames = self.stacks.named(stack);
        let place = kinds::place(frames.clone()).map(|at| self.stacks.of(stack)[at]);
        let is_named = place.is_some_and(|at| self.stacks.frame(at).is_named);
        let class = symbol.and_then(|symbol| kinds::of_datum(&symbol)).unwrap_or_else(|| kinds::classify(frames));
        let class = match class {
            _ if class.is_unknown() && self.known_by_others.contains_key(&(image, address)) => {
                self.known_by_others[&(image, address)]
            }
            _ if address == JOINED => Class { meaning: WaitSubject::Wait(WaitKind::Join), whose: FutexOwner::Thread },
            // A stripped program of Go's, say: its threads without work sleep like this, and seldom anybody for a lock.
            Class { meaning: WaitSubject::Lock(LockKind::Unknown), .. }
                if !is_named && self.has_runtime.get(image) == Some(&true) =>
            {
                Class { meaning: WaitSubject::Wait(WaitKind::Other), ..class }
            }
            Class { whose: FutexOwner::Process(_), .. } => class,
            _ => self.known_by_sleepers.get(&(image, address)).copied().unwrap_or(class),
        };
        let at = |address| Key { image, class, spot: FutexPlace::Address(address) };
        match (class.whose, place) {
            (FutexOwner::Process(name), _) => Key { image, class, spot: FutexPlace::Named(name) },
            (FutexOwner::Thread, Some(frame)) => Key { image, class, spot: FutexPlace::Place(frame) },
            _ if address == FOLDED => at(FOLDED),
            (FutexOwner::Object(before), _) if before > 0 => at(address.wrapping_sub(before) & !7),
            // A lock for readers and a writer has a second word behind the first; addresses come in their order.
            _ if class.meaning == WaitSubject::Lock(LockKind::RwLock) => {
                let first = at(address.wrapping_sub(4));
                if groups.contains_key(&first) { first } else { at(address) }
            }
            _ => at(address),
        }
    }

    pub(super) fn lock(&mut self, key: &Key, kind: LockKind, group: &Group, slice_ns: u64) -> Lock {
        Lock {
            name: self.name(key, group),
            process: key.image as u32,
            address: in_time::plain(address(key, group)),
            kind,
            waiters: group.account.waiters.sites(|stack| Some(stack.number)),
            wakers: self.wakers(&group.account),
            ..group.account.lock(slice_ns)
        }
    }

    /// Who has woken the waiters, with what stands for functions that are gone from the stacks.
    fn wakers(&mut self, account: &Account) -> Vec<Site> {
        let of_functions = calls_of_functions(&self.stacks, account.waiters.0.keys().map(|stack| stack.number));
        account.wakers.sites(|stack| {
            let mut frames = self.stacks.of(stack.number).to_vec();
            let Some((at, unknown)) = gone(&self.stacks, &of_functions, &frames) else { return Some(stack.number) };
            frames.insert(at, self.stacks.number(unknown));
            Some(self.stacks.stack_as_it_is(frames))
        })
    }

    pub(super) fn condition(&mut self, key: &Key, kind: WaitKind, group: &Group) -> Condition {
        Condition {
            name: self.name(key, group),
            process: key.image as u32,
            address: in_time::plain(address(key, group)),
            kind,
            waiters: group.account.waiters.sites(|stack| Some(stack.number)),
            ..group.account.condition()
        }
    }

    /// What everybody calls it; a symbol; or the function that waits, with its line.
    fn name(&mut self, key: &Key, group: &Group) -> String {
        let address = address(key, group);
        match key.spot {
            FutexPlace::Named(name) => return name.to_owned(),
            FutexPlace::Address(JOINED) => return "unknown".to_owned(),
            _ => {}
        }
        if let FutexPlace::Address(_) = key.spot
            && let Some(symbol) = self.stacks.symbols.datum(self.told.modules(key.image), address)
        {
            return symbol;
        }
        let most = group.account.waiters.sites(|stack| Some(stack.number)).first().map(|site| site.stack);
        let place = |stack| self.stacks.of(stack).get(kinds::place(self.stacks.named(stack)).unwrap_or(0)).copied();
        most.and_then(place)
            .map_or_else(|| format!("{:#x}", in_time::plain(address)), |number| self.stacks.place("", number))
    }

    pub(super) fn stack(&mut self, image: usize, number: u32) -> u32 {
        if let Some(known) = self.known.get(&(image, number)) {
            return *known;
        }
        let known = self.walked(image, self.told.stack(image, number));
        self.known.insert((image, number), known);
        known
    }

    /// The number of a stack of these addresses.
    pub(super) fn walked(&mut self, image: usize, addresses: &[u64]) -> u32 {
        let code = Code { image, modules: self.told.modules(image) };
        let mut numbers = Vec::new();
        for (at, address) in addresses.iter().enumerate() {
            numbers.extend(self.stacks.frames_of(code, *address));
            let (Some(reached), Some(caller)) = (numbers.last().copied(), addresses.get(at + 1)) else { continue };
            numbers.extend(self.stacks.gone_before(code, reached, *address, *caller));
        }
        self.stacks.stack(numbers)
    }
}

fn address(key: &Key, group: &Group) -> u64 {
    match key.spot {
        FutexPlace::Address(address) => address,
        FutexPlace::Place(_) | FutexPlace::Named(_) => group.address,
    }
}
