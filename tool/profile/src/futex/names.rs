//! What was looked up: which lock each wait is for, what that is called, and the stacks with their names.

use super::FutexSnapshot;
use super::cells::{Cell, Cells, FOLDED};
use super::kinds::{self, Class, FutexOwner, WaitSubject};
use super::tail_calls::Callees;
use crate::anonymous;
use crate::collect::build::Interner;
use crate::collect::totals::Stacks;
use crate::names::brief;
use crate::profile::{Condition, Frame, Lock, LockKind, Site, WaitKind};
use crate::symbols::Symbols;
use ondeck_trace::Wait;
use std::collections::{BTreeMap, HashMap};

/// Who has a lock is asked once a thread has waited for so long.
const LONG_NS: u64 = 1_000_000_000;

/// Whether a wait is long enough to ask who has what it is for.
pub(super) fn is_long(wait: &Wait) -> bool {
    wait.to_ns - wait.from_ns >= LONG_NS
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
    sum: Cell,
    address: u64,
    waiters: Stacks<u32>,
}

/// What was looked up.
pub(super) struct Names<'a> {
    pub(super) told: &'a FutexSnapshot,
    symbols: &'a mut Symbols,
    /// Whether the program of an image has a scheduler of its own.
    has_runtime: Vec<bool>,
    pub(super) frames: Interner<Frame>,
    briefs: Vec<String>,
    pub(super) stacks: Interner<Vec<u32>>,
    of_address: HashMap<(usize, u64), Vec<u32>>,
    /// The number in the profile of a stack that was told.
    known: HashMap<u32, u32>,
    /// What sleepers have told that they wait for, by its address.
    pub(super) known_by_sleepers: HashMap<(usize, u64), Class>,
}

impl<'a> Names<'a> {
    pub(super) fn new(told: &'a FutexSnapshot, symbols: &'a mut Symbols, has_runtime: Vec<bool>) -> Self {
        Names {
            told,
            symbols,
            has_runtime,
            frames: Interner::new(),
            briefs: Vec::new(),
            stacks: Interner::new(),
            of_address: HashMap::new(),
            known: HashMap::new(),
            known_by_sleepers: HashMap::new(),
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
            cells.add(&Wait { address, from_ns, ..*wait }, started_ns);
        }
        cells
    }

    pub(super) fn group(&mut self, cells: &Cells) -> BTreeMap<Key, Group> {
        let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
        for ((image, address, stack), cell) in cells.iter() {
            let number = self.stack(*image, *stack);
            let key = self.key(*image, *address, number, &groups);
            let group = groups.entry(key).or_insert_with(|| Group { address: *address, ..Group::default() });
            group.waiters.0.entry(number).or_default().count += cell.waits.count;
            group.waiters.0.entry(number).or_default().ns += cell.waits.ns;
            group.sum.merge(cell, |waker| self.stack(*image, waker));
        }
        groups
    }

    /// What a wait is for: its address, and what it is. A second word of a lock counts as the first.
    pub(super) fn meant(&mut self, image: usize, address: u64, stack: u32) -> (u64, Class) {
        let key = self.key(image, address, stack, &BTreeMap::new());
        (if let FutexPlace::Address(address) = key.spot { address } else { address }, key.class)
    }

    /// The short names of a stack's functions.
    pub(super) fn names(&self, stack: u32) -> impl Iterator<Item = &str> {
        self.stacks.list[stack as usize].iter().map(|at| self.briefs[*at as usize].as_str())
    }

    /// Whether a stack is in the library that has ondeck's locks for those of pthreads'.
    pub(super) fn is_in_library(&self, stack: u32) -> bool {
        let mut frames = self.stacks.list[stack as usize].iter().map(|at| &self.frames.list[*at as usize]);
        frames.any(|frame| frame.module.starts_with("libondeck_pthread"))
    }

    fn key(&mut self, image: usize, address: u64, stack: u32, groups: &BTreeMap<Key, Group>) -> Key {
        let symbol = self.symbols.datum(self.told.modules(image), address);
        let numbers = &self.stacks.list[stack as usize];
        let frames = || numbers.iter().map(|at| (&self.frames.list[*at as usize], self.briefs[*at as usize].as_str()));
        let place = kinds::place(frames()).map(|at| numbers[at]);
        let is_named = place.is_some_and(|at| self.frames.list[at as usize].is_named);
        let class = symbol.and_then(|symbol| kinds::of_datum(&symbol)).unwrap_or_else(|| kinds::classify(frames()));
        let class = match class {
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
        let Cell { waits, longest_ns, lengths, over_time, threads, most_waiting, wakers } = &group.sum;
        Lock {
            name: self.name(key, group),
            process: key.image as u32,
            address: address(key, group),
            members: 1,
            kind,
            waits: waits.count,
            wait_ns: waits.ns,
            longest_ns: *longest_ns,
            wait_histogram: lengths.histogram(),
            most_waiting: *most_waiting,
            threads: threads.len() as u32,
            waiters: group.waiters.sites(Some),
            wakers: self.wakers(&group.waiters, wakers),
            timeline: over_time.timeline(slice_ns),
            ..Lock::default()
        }
    }

    /// Who has woken the waiters, with functions that are gone from the stacks.
    fn wakers(&mut self, waiters: &Stacks<u32>, wakers: &Stacks<u32>) -> Vec<Site> {
        let list = &self.stacks.list;
        let callees = Callees::new(&self.frames.list, waiters.0.keys().map(|stack| list[*stack as usize].as_slice()));
        let whole = |stack: &u32| Some((*stack, callees.whole(&list[*stack as usize])?));
        let whole: HashMap<u32, Vec<u32>> = wakers.0.keys().filter_map(whole).collect();
        wakers.sites(|stack| Some(whole.get(&stack).map_or(stack, |frames| self.stacks.number(frames.clone()))))
    }

    pub(super) fn condition(&mut self, key: &Key, kind: WaitKind, group: &Group) -> Condition {
        Condition {
            name: self.name(key, group),
            process: key.image as u32,
            address: address(key, group),
            kind,
            waits: group.sum.waits.count,
            wait_ns: group.sum.waits.ns,
            longest_ns: group.sum.longest_ns,
            wait_histogram: group.sum.lengths.histogram(),
            waiters: group.waiters.sites(Some),
            ..Condition::default()
        }
    }

    /// What everybody calls it; a symbol; or the function that waits, with its line.
    fn name(&mut self, key: &Key, group: &Group) -> String {
        let address = address(key, group);
        if let FutexPlace::Named(name) = key.spot {
            return name.to_owned();
        }
        if let FutexPlace::Address(_) = key.spot
            && let Some(symbol) = self.symbols.datum(self.told.modules(key.image), address)
        {
            return symbol;
        }
        let most = group.waiters.sites(Some).first().map(|site| site.stack);
        let numbers = most.map_or(&[][..], |stack| &self.stacks.list[stack as usize]);
        let frames = numbers.iter().map(|at| (&self.frames.list[*at as usize], self.briefs[*at as usize].as_str()));
        let Some(number) = kinds::place(frames).map(|at| numbers[at]).or(numbers.first().copied()) else {
            return format!("{address:#x}");
        };
        let frame = &self.frames.list[number as usize];
        let file = frame.file.rsplit('/').next().unwrap_or_default();
        let line = if frame.line > 0 { format!(" ({file}:{})", frame.line) } else { String::new() };
        format!("in {}{line}", self.briefs[number as usize])
    }

    pub(super) fn stack(&mut self, image: usize, number: u32) -> u32 {
        if let Some(known) = self.known.get(&number) {
            return *known;
        }
        let known = self.walked(image, self.told.stack(number));
        self.known.insert(number, known);
        known
    }

    /// The number of a stack of these addresses.
    pub(super) fn walked(&mut self, image: usize, addresses: &[u64]) -> u32 {
        let mut numbers = Vec::new();
        for (at, address) in addresses.iter().enumerate() {
            numbers.extend(self.frames_of(image, *address));
            let (Some(reached), Some(caller)) = (numbers.last().copied(), addresses.get(at + 1)) else { continue };
            numbers.extend(match self.frames.list[reached as usize].is_named {
                true => self.jumper(image, reached, *caller),
                false => self.entered(image, *address, *caller),
            });
        }
        let frames: Vec<&Frame> = numbers.iter().map(|at| &self.frames.list[*at as usize]).collect();
        for (at, frame) in anonymous::named(&frames) {
            numbers[at] = self.numbers(vec![frame])[0];
        }
        self.stacks.number(numbers)
    }

    fn frames_of(&mut self, image: usize, address: u64) -> Vec<u32> {
        if let Some(known) = self.of_address.get(&(image, address)) {
            return known.clone();
        }
        // The address of the system call is behind its instruction, as those of calls are.
        let frames = self.symbols.frames(self.told.modules(image), address, true);
        let numbers = self.numbers(frames);
        self.of_address.insert((image, address), numbers.clone());
        numbers
    }

    /// The function of a library by which its nameless part was reached that `inner` returns to.
    fn entered(&mut self, image: usize, inner: u64, caller: u64) -> Vec<u32> {
        let frames = self.symbols.entered(self.told.modules(image), inner, caller);
        self.numbers(frames)
    }

    /// A function that is gone, as its last act was a jump to that of a frame.
    fn jumper(&mut self, image: usize, reached: u32, caller: u64) -> Vec<u32> {
        let frames =
            self.symbols.jumper(self.told.modules(image), &self.frames.list[reached as usize].function, caller);
        self.numbers(frames)
    }

    fn numbers(&mut self, frames: Vec<Frame>) -> Vec<u32> {
        let numbers = frames.into_iter().map(|frame| self.frames.number(frame)).collect();
        let new = &self.frames.list[self.briefs.len()..];
        self.briefs.extend(new.iter().map(|frame| brief(&frame.function)));
        numbers
    }
}

fn address(key: &Key, group: &Group) -> u64 {
    match key.spot {
        FutexPlace::Address(address) => address,
        FutexPlace::Place(_) | FutexPlace::Named(_) => group.address,
    }
}
