//! The profile of what was taken until now: with names.

mod holder;
mod nestings;
pub(super) mod parts;
mod stacks;
mod times;
mod why;

use super::account::Account;
use super::bypassed::BypassedProcesses;
use super::looked_at::LookedAt;
use super::thread_times::ThreadTimes;
use super::{Collector, Kept, Recording, SNAPSHOT, meaning};
use crate::Note;
use crate::kinds::{self, Class, FutexOwner, WaitSubject};
use crate::names;
use crate::profile::{
    Condition, Frame, Lock, LockKind, Origin, Process, ProcessEnd, Profile, Spot, ThreadTime, WaitKind,
};
use crate::sites::{Sites, Stack};
use crate::sorting::put_in_order;
use crate::stacks::{Code, Stacks};
use crate::symbols::{Module, Source, Symbols};
use crate::wrappers::{READING, WRITING, is_below, top};
use indexmap::IndexSet;
use ondeck_kit::wording::counted_that;
use ondeck_record::layout::{MOST_MODULES, NONE, in_time, kind};
use ondeck_record::read::{self, ReadError};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

impl Collector {
    /// What the program has told until `now_ns`.
    pub fn profile(&mut self, now_ns: u64) -> Profile {
        self.build(now_ns, SampleRange::Start)
    }

    /// What it has told since the last snapshot, or since the start.
    pub fn snapshot(&mut self, now_ns: u64) -> Profile {
        let last = self.last_snapshot_ns.replace(now_ns).unwrap_or(self.run.started_ns);
        let profile = self.build(now_ns, SampleRange::Snapshot(last.saturating_sub(self.run.started_ns)));
        for recording in &mut self.recordings {
            recording.recent.clear();
            recording.times.iter_mut().for_each(|times| times.recent.clear());
        }
        profile
    }

    fn build(&mut self, now_ns: u64, since: SampleRange) -> Profile {
        self.recordings.iter_mut().filter_map(|recording| recording.times.as_mut()).for_each(ThreadTimes::settle);
        let mut builder = Builder::new(&mut self.symbols, slice_ns(&self.recordings), since);
        let mut problems = self.unreadable.clone();
        if since == SampleRange::Start {
            problems.extend_from_slice(&self.unopened);
        }
        for (number, recording) in self.recordings.iter().enumerate() {
            if let Err(error) = builder.add(number, recording) {
                problems.push(error.to_string());
            }
        }
        let rate = self.recordings.iter().map(|recording| recording.contents.about().rate).max().unwrap_or(1);
        let lock = self.recordings.first().map(|recording| recording.contents.about().lock.clone()).unwrap_or_default();
        problems.extend(builder.stacks.remark());
        let mut profile = Profile {
            lock,
            rate: u32::try_from(rate).unwrap_or(u32::MAX),
            processes: builder.processes,
            frames: builder.stacks.frames.into_iter().collect(),
            stacks: builder.stacks.list.into_iter().collect(),
            has_locked: self.recordings.iter().any(|recording| recording.has_locked),
            locks: builder.locks,
            conditions: builder.conditions,
            stuck: builder.stuck,
            order: builder.order.sorted(),
            times: builder.times,
            notes: problems.into_iter().map(Note::from).collect(),
            ..self.run.profile(self.run.started_ns.saturating_add(since.from()), now_ns)
        };
        put_in_order(&mut profile);
        why::resolve(&mut profile, &builder.addressed);
        self.tell_of_gaps(&mut profile);
        profile.notes.extend(self.programs.notes(&profile));
        let is_of_running = self.directories.iter().any(|(_, looked_at)| looked_at.is_some());
        if since == SampleRange::Start && !is_of_running {
            profile.notes.extend(still_running(&profile.processes).map(Note::from));
        }
        if since != SampleRange::Start {
            profile.notes.push(SNAPSHOT.into());
        }
        profile
    }

    /// What is missing, and what a reader has to know.
    fn tell_of_gaps(&self, profile: &mut Profile) {
        // Their number is told; each alike is not.
        const MOST_FAULTS: usize = 3;
        profile.dropped.processes = profile.notes.len() as u64;
        profile.notes.truncate(MOST_FAULTS);
        for recording in &self.recordings {
            let (sum, dropped) = (&mut profile.dropped, recording.dropped);
            let read::Dropped { samples, stacks, locks, names, nestings, waiters } = dropped;
            // A damaged file may say anything.
            sum.samples = sum.samples.saturating_add(samples);
            sum.stacks = sum.stacks.saturating_add(stacks);
            sum.locks = sum.locks.saturating_add(locks);
            sum.names = sum.names.saturating_add(names);
            sum.nestings = sum.nestings.saturating_add(nestings);
            sum.waiters = sum.waiters.saturating_add(waiters);
        }
        let n_spoilt: u64 = self.recordings.iter().map(|recording| recording.n_spoilt).sum();
        let n_untimely: u64 = self.recordings.iter().map(|recording| recording.n_untimely).sum();
        if n_spoilt > 0 {
            profile.notes.push(spoilt(n_spoilt).into());
        }
        if n_untimely > 0 {
            profile.notes.push(untimely(n_untimely).into());
        }
        profile.notes.extend(self.recordings.iter().filter_map(left_out).map(Note::from));
        profile.notes.extend(self.recordings.iter().filter_map(full_of_modules).map(Note::from));
        profile.notes.extend(self.bypassed.iter().flat_map(BypassedProcesses::remarks));
        profile.notes.extend(self.symbols.how_to_get_names());
        profile.notes.extend(self.symbols.remarks().into_iter().map(Note::from));
        if !self.recordings.is_empty()
            && !profile.has_locked
            && profile.locks.is_empty()
            && profile.conditions.is_empty()
        {
            profile.notes.push(NO_LOCKS.into());
        }
        if self.recordings.iter().any(has_opaque) {
            profile.notes.push(OPAQUE.into());
        }
    }
}

/// What to say of samples for which there was no room.
fn left_out(recording: &Recording) -> Option<String> {
    let Kept { spent, n_left_out, .. } = &recording.kept;
    let (spent, pid) = ((*spent)?, recording.contents.about().pid);
    let samples = counted_that(*n_left_out as usize, "sample", ["is", "are"]);
    Some(format!("process {pid}: {samples} left out, as there are too many locks, stacks or threads: {spent}"))
}

/// What to say of libraries for which there was no room.
fn full_of_modules(recording: &Recording) -> Option<String> {
    let (n, pid) = (recording.contents.modules().ok()?.len(), recording.contents.about().pid);
    let is_full = n as u64 >= MOST_MODULES;
    is_full.then(|| format!("process {pid}: functions of libraries that were loaded after the first {n} have no names"))
}

/// Of processes that live on, what they do from now on is not seen.
fn still_running(processes: &[Process]) -> Option<String> {
    let all: Vec<&Process> = processes.iter().filter(|process| process.ended == ProcessEnd::Running).collect();
    let program =
        |process: &Process| Path::new(&process.program).file_name().unwrap_or_default().to_string_lossy().into();
    let names = names::processes(all.iter().map(|process| (program(process), process.pid)));
    (!all.is_empty()).then(|| format!("still running, so the rest of their waiting is missing: {names}"))
}

pub(super) fn spoilt(n: u64) -> String {
    format!("samples that were left out, as they were not whole when their process ended: {n}")
}

pub(super) fn untimely(n: u64) -> String {
    format!(
        "samples whose times cannot be, as if the program's clock had been changed: {n}. They are counted as within the run"
    )
}

/// Whether there are locks of which only the waits are known.
pub(super) fn has_opaque(recording: &Recording) -> bool {
    let is_opaque = |lock: &read::Lock| lock.kind & !kind::SEVERAL == kind::OPAQUE;
    recording.contents.locks().is_ok_and(|locks| locks.iter().any(is_opaque))
}

pub(super) const NO_LOCKS: &str = "no call of the C library's locks was seen. A Rust program \
    can also record its own mutexes: docs/profile.md says how";

pub(super) const OPAQUE: &str = "of process-shared locks that another process held, and of those for readers and writers, only \
    the waits are known, not who held them or how often they were acquired";

/// The longest slice of all.
fn slice_ns(recordings: &[Recording]) -> u64 {
    let accounts = recordings.iter().flat_map(|recording| recording.locks.values());
    accounts.map(|account| account.over_time.slice_ns()).max().unwrap_or(1)
}

/// Which samples.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SampleRange {
    Start,
    /// The last snapshot, in ns from the start of the run.
    Snapshot(u64),
}

struct Builder<'a> {
    since: SampleRange,
    slice_ns: u64,
    stacks: Stacks<'a>,
    processes: Vec<Process>,
    /// Who has recorded from which source.
    sources: BTreeSet<(usize, u32)>,
    locks: Vec<Lock>,
    conditions: Vec<Condition>,
    /// Threads that still wait; their locks are numbers of addresses.
    stuck: Vec<crate::profile::Stuck>,
    order: nestings::Orders,
    /// Their locks are numbers of addresses.
    times: Vec<ThreadTime>,
    /// Addresses whose locks are looked up at the end.
    addressed: IndexSet<(u32, u64)>,
}

impl<'a> Builder<'a> {
    fn new(symbols: &'a mut Symbols, slice_ns: u64, since: SampleRange) -> Self {
        Builder {
            since,
            slice_ns,
            stacks: Stacks::new(symbols),
            processes: Vec::new(),
            sources: BTreeSet::new(),
            locks: Vec::new(),
            conditions: Vec::new(),
            stuck: Vec::new(),
            order: nestings::Orders::default(),
            times: Vec::new(),
            addressed: IndexSet::new(),
        }
    }

    /// A recording, to look things up in it.
    fn image<'r>(&mut self, number: usize, recording: &'r Recording) -> Result<Image<'r>, ReadError> {
        let about = recording.contents.about();
        let process = self.process(
            Process {
                pid: about.pid,
                parent: about.parent,
                program: about.program.display().to_string(),
                from: recording.clock.since(about.started_ns) as f64 / 1e9,
                to: recording.last_ns as f64 / 1e9,
                ended: if recording.is_closed { recording.ended } else { ProcessEnd::Running },
            },
            about.source,
        );
        let modules = recording.contents.modules()?.into_iter();
        let looked_at = recording.looked_at.as_deref();
        let modules: Vec<Module> = modules.map(|one| module(one, looked_at)).collect();
        let names = recording.contents.names()?;
        Ok(Image { recording, number, process, modules, names, stacks: HashMap::new(), takers: None })
    }

    fn add(&mut self, number: usize, recording: &Recording) -> Result<(), ReadError> {
        let mut image = self.image(number, recording)?;
        let mut locks = recording.contents.locks()?;
        let under_way = recording.under_way();
        locks.extend(recording.only_under_way(&locks, &under_way));
        for lock in locks {
            let accounts = match self.since {
                SampleRange::Start => &recording.locks,
                SampleRange::Snapshot(_) => &recording.recent,
            };
            let is_waited_for = under_way.of(&lock).next().is_some();
            // One that nobody used again, or that two threads made at once.
            let account = match accounts.get(&lock.number) {
                None if !is_waited_for => continue,
                account => account.cloned().unwrap_or_default(),
            };
            let account = &recording.with_those_under_way(&lock, account, self.since, &under_way);
            match meaning(lock.kind) {
                Ok(kind) => self.add_lock(&mut image, &lock, kind, account)?,
                // Notified, and waited on by nobody.
                Err(_) if account.waits.sum.count == 0.0 => {}
                Err(kind) => self.add_condition(&mut image, &lock, kind, account)?,
            }
        }
        self.add_stuck(&mut image)?;
        self.add_times(&mut image);
        self.add_order(&mut image)
    }

    /// The number of a process. The library and the program itself may both record one: what has the same number by the
    /// kernel and the same program, and has not recorded from this source yet, is the same.
    fn process(&mut self, process: Process, source: u32) -> u32 {
        let last = self.processes.iter().rposition(|other| other.pid == process.pid);
        let same = last.filter(|at| self.processes[*at].program == process.program);
        let Some(at) = same.filter(|at| !self.sources.contains(&(*at, source))) else {
            self.sources.insert((self.processes.len(), source));
            self.processes.push(process);
            return self.processes.len() as u32 - 1;
        };
        self.sources.insert((at, source));
        let known = &mut self.processes[at];
        (known.from, known.to) = (known.from.min(process.from), known.to.max(process.to));
        if process.ended == ProcessEnd::Exit {
            known.ended = ProcessEnd::Exit;
        }
        at as u32
    }

    fn add_lock(
        &mut self,
        image: &mut Image,
        lock: &read::Lock,
        kind: LockKind,
        account: &Account,
    ) -> Result<(), ReadError> {
        let spot = if lock.kind & !kind::SEVERAL == kind::INITIALISED { Spot::Initialised } else { Spot::FirstSeen };
        let origin = self.stack(image, lock.origin)?.map(|stack| Origin { stack, spot });
        let tells = image.recording.contents.about().lock != "glibc" && kind == LockKind::Mutex;
        let told = |count: u32| tells.then_some(f64::from(count));
        let (name, is_named) = self.name(image, lock, origin, false);
        // Since the start: what the last to wait found that nobody had looked at, and what no sample tells.
        let (left_over, longest_ns) = match self.since {
            SampleRange::Start => (lock.left_over as f64, lock.longest_ns),
            SampleRange::Snapshot(_) => (0.0, 0),
        };
        let waits = account.lock(self.slice_ns);
        let built = Lock {
            name,
            is_named,
            process: image.process,
            address: lock.address,
            origin,
            acquisitions: account.holds.sum.count,
            hold_histogram: account.holds.lengths.clone(),
            hold_ns: account.holds.sum.ns,
            // Both are estimates, each from samples of its own. A part is not shown as more than the whole.
            handing_on_ns: (account.handing_on_ns + left_over).min(account.waits.sum.ns),
            most_waiting: lock.most_waiting,
            spins: told(lock.spins),
            parks: told(lock.parks),
            wakes: told(lock.wakes),
            rotations: told(lock.rotations),
            waiters: self.sites(image, &account.waiters, kind)?,
            holders: self.sites(image, &account.holders, kind)?,
            takers: self.sites(image, &account.takers, kind)?,
            tries: self.sites(image, &account.tries, kind)?,
            refusers: self.sites(image, &account.refusers, kind)?,
            kind,
            causes: self.causes(image, kind, account)?,
            // As samples say how long all waits were, which may be too short.
            longest_ns: longest_ns.min(waits.wait_ns as u64).max(waits.longest_ns),
            ..waits
        };
        self.locks.push(built);
        Ok(())
    }

    fn add_condition(
        &mut self,
        image: &mut Image,
        lock: &read::Lock,
        kind: WaitKind,
        account: &Account,
    ) -> Result<(), ReadError> {
        let origin = self.stack(image, lock.origin)?.map(|stack| Origin { stack, spot: Spot::FirstSeen });
        let (name, is_named) = self.name(image, lock, origin, kind == WaitKind::Join);
        let waiters = self.sites(image, &account.waiters, LockKind::Mutex)?;
        if let Some(class) = self.made_of(&name, &waiters) {
            let kind = if let WaitSubject::Lock(kind) = class.meaning { kind } else { LockKind::Unknown };
            let name = if let FutexOwner::Process(name) = class.whose { name.to_owned() } else { name };
            self.locks.push(Lock {
                name,
                is_named,
                kind,
                process: image.process,
                address: lock.address,
                origin,
                most_waiting: account.threads.len() as u32,
                waiters,
                ..account.lock(self.slice_ns)
            });
            return Ok(());
        }
        let built = Condition {
            kind,
            name,
            is_named,
            process: image.process,
            // Of a place in the program, of `in_time`.
            address: in_time::plain(lock.address),
            waiters,
            notifiers: self.sites(image, &account.notifiers, LockKind::Mutex)?,
            ..account.condition()
        };
        self.conditions.push(built);
        Ok(())
    }

    /// The lock that is made of a condition variable or a semaphore, by the functions that wait there most: Python's are.
    fn made_of(&self, name: &str, waiters: &[crate::Site]) -> Option<Class> {
        let stack = waiters.first()?.stack;
        let class = kinds::of_datum(name).unwrap_or_else(|| kinds::classify(self.stacks.named(stack)));
        // What none of the table's rows knows is no news.
        let is_known = matches!(class.meaning, WaitSubject::Lock(kind) if kind != LockKind::Unknown);
        is_known.then_some(class)
    }

    /// How it is called, and whether the program calls it so. Else it is a symbol, or the function of the program that
    /// initialised it or used it first. Of a place in the program, that function.
    fn name(&mut self, image: &Image, lock: &read::Lock, origin: Option<Origin>, is_place: bool) -> (String, bool) {
        match image.names.of(lock).filter(|_| !is_place) {
            Some(name) => (name.to_owned(), true),
            None => (self.found_name(image, lock, origin, is_place), false),
        }
    }

    fn found_name(&mut self, image: &Image, lock: &read::Lock, origin: Option<Origin>, is_place: bool) -> String {
        let (address, place) = (lock.address, image.place_of(lock));
        if let Some(symbol) = self.stacks.symbols.datum(&image.modules, place).filter(|_| !is_place) {
            return symbol;
        }
        let Some(origin) = origin else { return format!("{address:#x}") };
        let frames = self.stacks.of(origin.stack).iter().copied();
        let is_of_library = |frame: &u32| is_below(self.stacks.frame(*frame));
        let Some(frame) = top(frames, |frame| self.stacks.is_wrapper(*frame), is_of_library) else {
            return format!("{address:#x}");
        };
        let verb = match origin.spot {
            _ if is_place => "",
            Spot::Initialised => "initialised ",
            Spot::FirstSeen => "first seen ",
        };
        self.stacks.place(verb, frame)
    }

    fn sites(&mut self, image: &mut Image, stacks: &Sites, kind: LockKind) -> Result<Vec<crate::Site>, ReadError> {
        let mut numbers = BTreeMap::new();
        for stack in stacks.0.keys() {
            if let Some(number) = self.stack(image, stack.number)? {
                let number = if kind == LockKind::RwLock { self.told_apart(number, *stack) } else { number };
                numbers.insert(*stack, number);
            }
        }
        Ok(stacks.sites(|stack| numbers.get(&stack).copied()))
    }

    /// The stack with what it does at its inner end: so all that shows stacks tells readers from writers.
    fn told_apart(&mut self, number: u32, stack: Stack) -> u32 {
        let function = if stack.is_reading { READING } else { WRITING }.to_owned();
        let inner = self.stacks.number(Frame { function, is_named: true, ..Frame::default() });
        let frames = std::iter::once(inner).chain(self.stacks.of(number).iter().copied()).collect();
        self.stacks.stack_as_it_is(frames)
    }
}

/// One process image, and what was already looked up in it.
struct Image<'a> {
    recording: &'a Recording,
    /// Of the recording, and of the process.
    number: usize,
    process: u32,
    modules: Vec<Module>,
    names: read::Names,
    stacks: HashMap<u32, u32>,
    /// Once they were wanted.
    takers: Option<holder::Takers>,
}

impl Image<'_> {
    fn code(&self) -> Code<'_> {
        Code { image: self.number, modules: &self.modules }
    }

    /// The modules that were at an address at any time.
    fn modules_at(&self, address: u64) -> impl Iterator<Item = &Module> {
        let range = |module: &Module| in_time::plain(module.start)..in_time::plain(module.end);
        self.modules.iter().filter(move |module| range(module).contains(&address))
    }

    /// An address of which nobody has told when it was used, as one of [`in_time`].
    fn told(&self, address: u64) -> u64 {
        let mut numbers = self.modules_at(address).map(|module| in_time::module(module.start));
        let Some(first) = numbers.next() else { return address };
        let is_one = numbers.all(|number| number == first);
        in_time::address(address, if is_one { first } else { in_time::UNTOLD })
    }

    /// Where a lock lies, of [`in_time`].
    fn place_of(&self, lock: &read::Lock) -> u64 {
        let is_told = lock.number != NONE;
        if is_told { in_time::address(lock.address, lock.module) } else { self.told(lock.address) }
    }
}

fn module(module: read::Module, looked_at: Option<&LookedAt>) -> Module {
    let read::Module { path, start, end, bias, build_id, stamp } = module;
    let source = match looked_at.and_then(|process| process.open(&path)) {
        None => Source::Path(stamp),
        Some(Ok(file)) => Source::Open(file),
        Some(Err(fault)) => Source::Nowhere(fault),
    };
    Module { path, bias, start, end, build_id, source }
}
