//! What a run told: the one form that all others are made from, and that `--format json` writes.
//!
//! # What is charged to whom
//! - A **wait** begins when a thread finds a mutex locked and ends when it has it, or gives up. It belongs to the stack of
//!   who waits.
//! - Each instant of a wait is **charged** to the hold that is in progress at that instant: to the stack that acquired the
//!   lock, where it is known, else to the one that releases it. A hold during which three threads wait for 1 ms is charged 3 ms. So what a lock's holders are charged and what passes
//!   while it is free ([`Lock::handing_on_ns`]: woken threads that do not run yet) is what its waiters waited, and a hold is
//!   never charged what was waited before it or after it, whichever thread releases last.
//! - Waits on condition variables are no lock waits, and stand apart.
//!
//! All counts and sums are estimates of the whole from samples, without bias: a sample stands for as much as it was
//! unlikely to be taken.

use serde::{Deserialize, Deserializer, Serialize};
use std::path::Path;

/// Changes with the meaning of a field; a reader refuses others.
pub const VERSION: u32 = 1;

/// What one run of a program, and its children, told of their locks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// [`VERSION`].
    pub version: u32,
    /// The program and its arguments, as started.
    pub command: Vec<String>,
    /// When it was started, in seconds since 1970.
    pub started_at: f64,
    /// From its start to the end, or to this snapshot, in seconds.
    pub seconds: f64,
    /// Cores that could run it.
    pub cores: u32,
    /// Which lock answered its calls: `glibc` (recorded only), `ondeck`. Of a program that was not recorded, where its waits are
    /// known from: `futex` (the kernel), `looks` (at its threads, from outside).
    pub lock: String,
    /// One of so many acquisitions was looked at; see docs/profile.md for waits.
    pub rate: u32,
    /// Whether it was ended by a signal, or was watched for a while only: it may never end by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stopped: bool,
    /// The processes that recorded.
    pub processes: Vec<Process>,
    /// Each frame once.
    pub frames: Vec<Frame>,
    /// Stacks as numbers of frames, the innermost first; functions that were inlined have frames of their own. Those of
    /// threads that have or want a lock for readers and writers begin with a frame that says which: `(reading)` or
    /// `(writing)`.
    pub stacks: Vec<Vec<u32>>,
    /// Whether lock calls were seen at all, be it that none was recorded: of few calls there may be no sample.
    #[serde(default)]
    pub has_locked: bool,
    /// Mutexes that were seen, those that were waited for longest first.
    pub locks: Vec<Lock>,
    /// Condition variables that were waited on, longest first.
    pub conditions: Vec<Condition>,
    /// Threads that waited for a lock at the end, longest first. Their waits are among those of the locks.
    #[serde(default)]
    pub stuck: Vec<Stuck>,
    /// What could not be recorded.
    pub dropped: Dropped,
    /// What else a reader has to know: what could not be seen, what is estimated.
    pub notes: Vec<crate::Note>,
    /// Locks that are taken in both orders, or in a circle. Empty unless that was asked for.
    #[serde(default)]
    pub order: Vec<LockOrder>,
    /// Where the time of all threads went. Empty where nobody could look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<ThreadTime>,
}

/// Locks that threads take in a circle: each while they have the one before. Threads that do so at once wait for each other
/// for ever.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LockOrder {
    /// The lock that is held at the first step. Of several locks of one kind, that they are, as in [`Lock::name`].
    pub first: String,
    /// The one that is taken meanwhile.
    pub second: String,
    /// Whether these were the same locks each time.
    pub same_objects: bool,
    /// Whether these were the same locks, or later ones at the same addresses. Else they were of the same kinds only.
    pub same_addresses: bool,
    /// How many circles of such locks there are in that process.
    pub count: u32,
    /// Index of the process in [`Profile::processes`]; of several, one.
    pub process: u32,
    /// How many processes have locks of these kinds in such a circle.
    pub processes: u32,
    /// The steps, of which each takes what the next one holds: two for a pair in both orders. One for a lock that a thread takes to
    /// read while it reads.
    pub steps: Vec<OrderStep>,
}

impl LockOrder {
    /// Whether it is no circle, but one lock that a thread takes to read while it reads: for that it waits if a writer waits.
    pub(crate) fn is_read_again(&self) -> bool {
        matches!(self.steps.as_slice(), [step] if step.held == step.taken)
    }
}

/// A lock that is taken while another one is held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OrderStep {
    /// The lock that is held, as in [`LockOrder::first`]. No two kinds have one name.
    pub held: String,
    /// Where that was taken, as an index in [`Profile::stacks`], if that is known.
    pub held_stack: Option<u32>,
    /// The lock that is taken.
    pub taken: String,
    /// Where.
    pub taken_stack: Option<u32>,
}

/// One process image that recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its number by the kernel.
    pub pid: u32,
    /// That of its parent, when it began to record.
    pub parent: u32,
    /// The program's file.
    pub program: String,
    /// When it began to record, in seconds after the start of the run.
    pub from: f64,
    /// When it was last known to run, on the same scale.
    pub to: f64,
    /// How it ended.
    pub ended: ProcessEnd,
}

/// How a process ended, as far as is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessEnd {
    /// By `exit`, or by returning from `main`.
    #[default]
    Exit,
    /// Otherwise: killed, crashed, `_exit`, or another program in its place.
    Abruptly,
    /// It still ran.
    Running,
}

/// A place in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The function, demangled; where it is not known, `module+0x1234`.
    pub function: String,
    /// The file name of the module (program or library); empty where no module is known.
    pub module: String,
    /// The source file; empty where it is not known.
    pub file: String,
    /// The line there; 0 where it is not known.
    pub line: u32,
    /// The address as the module's file has it (not as it was loaded).
    pub address: u64,
    /// The module's build id in hexadecimal digits; empty where it has none.
    pub build_id: String,
    /// Whether the compiler put the function into its caller, which is the next frame.
    pub is_inlined: bool,
    /// Whether the function's name is known.
    pub is_named: bool,
}

/// A mutex.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lock {
    /// How it is called: a symbol with an offset, or the function that initialised it or touched it first, with its line.
    /// Unique in a profile.
    pub name: String,
    /// Index of the process in [`Profile::processes`].
    pub process: u32,
    /// Its address there.
    pub address: u64,
    /// What kind of lock it is.
    #[serde(default)]
    pub kind: LockKind,
    /// Where it was initialised or first seen.
    pub origin: Option<Origin>,
    /// How often it was acquired.
    pub acquisitions: f64,
    /// How often a thread had to wait for it.
    pub waits: f64,
    /// How long threads waited for it, in ns, all together.
    pub wait_ns: f64,
    /// The longest wait, in ns.
    pub longest_ns: u64,
    /// Waits by length; its counts add up to [`waits`](Self::waits).
    pub wait_histogram: Histogram,
    /// Holds by length.
    pub hold_histogram: Histogram,
    /// How long it was held, in ns, all together.
    pub hold_ns: f64,
    /// The part of the waiting in which it was free: the next holder did not run yet.
    pub handing_on_ns: f64,
    /// Most threads that were seen waiting at once.
    pub most_waiting: u32,
    /// Threads that were seen acquiring it.
    pub threads: u32,
    /// How often it was acquired by other threads than the one that acquired it most.
    #[serde(default)]
    pub by_others: f64,
    /// Turns of waiting loops, sleeps and wake-ups; `None` where the lock does not tell.
    pub spins: Option<f64>,
    /// See [`spins`](Self::spins).
    pub parks: Option<f64>,
    /// See [`spins`](Self::spins).
    pub wakes: Option<f64>,
    /// How often the flagship changed who is on deck.
    pub rotations: Option<f64>,
    /// Who waited: count is of waits.
    pub waiters: Vec<Site>,
    /// Who held it meanwhile: count is of holds that were waited for, ns is the waiting that is charged to them.
    pub holders: Vec<Site>,
    /// Who acquired it: count is of acquisitions, ns is how long they held it.
    pub takers: Vec<Site>,
    /// Who tried to lock it in vain, while another thread had it: count is of tries, ns is what was lost until the thread had it.
    #[serde(default)]
    pub tries: Vec<Site>,
    /// How many threads did.
    #[serde(default)]
    pub triers: u32,
    /// Who had it then: count is of tries, ns is how long each hold went on after that.
    #[serde(default)]
    pub refusers: Vec<Site>,
    /// Who woke those that waited, in the view from the kernel: count is of wake-ups, ns is what all threads waited before each.
    #[serde(default)]
    pub wakers: Vec<Site>,
    /// Waiting over time, in ns of waiting.
    pub timeline: Timeline,
    /// Why it was waited for, the largest part first: they add up to [`wait_ns`](Self::wait_ns). Empty in a profile of an
    /// earlier version, and where nothing is known of who holds it.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Whether the program has given it its name: all locks of that name are of one kind.
    #[serde(default)]
    pub is_named: bool,
    /// How many locks it stands for: of several of one kind, all figures are sums, or those of the one that has most.
    #[serde(default = "one")]
    pub members: u32,
}

/// A lock of a profile of an earlier version stands for itself.
const fn one() -> u32 {
    1
}

/// A part of the waiting for a lock, by what its holder did meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// What the holder did, or that there was none.
    pub state: State,
    /// The stack that held the lock, as an index in [`Profile::stacks`]; `None` where there was no holder, or it is not known.
    pub stack: Option<u32>,
    /// The system call in which the holder slept, of [`State::Blocked`]; empty where that is not known.
    pub call: String,
    /// What it slept for there, as its stack says: `for a future (std::future::get)`, or `in fprintf`. Empty where that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub awaited: String,
    /// What the holder waited for, of [`State::OtherLock`].
    pub other: Option<WaitObject>,
    /// How much waiting it is, in ns.
    pub ns: f64,
    /// How many holds, or times without a holder.
    pub count: f64,
    /// How long one of these was, in ns: a mean in which each counts by the waiting that it caused.
    pub each_ns: f64,
}

/// What a thread does that has a lock others wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It runs.
    Computing,
    /// It sleeps in a system call that is no wait for a lock.
    Blocked,
    /// It waits for another lock, or for what is no lock.
    OtherLock,
    /// It could run, and other threads have the cores.
    NoCore,
    /// Nobody has the lock, and the thread that is to have it does not run yet.
    Free,
    /// Sections that are shorter than passing the lock on takes, and the passing.
    Passing,
    /// It has the lock, and what it does is not known.
    #[default]
    Unknown,
}

impl State {
    /// All of them, each at the place of its number.
    pub(crate) const ALL: [State; 7] = [
        State::Computing,
        State::Blocked,
        State::OtherLock,
        State::NoCore,
        State::Free,
        State::Passing,
        State::Unknown,
    ];
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitObject {
    /// The lock with this index in [`Profile::locks`].
    Lock(u32),
    /// The place of waiting with this index in [`Profile::conditions`].
    Condition(u32),
}

/// What a thread waits for, or the number of a lock.
fn other_or_lock<'de, D: Deserializer<'de>>(from: D) -> Result<WaitObject, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Lock(u32),
        Other(WaitObject),
    }
    Ok(match Form::deserialize(from)? {
        Form::Lock(number) => WaitObject::Lock(number),
        Form::Other(other) => other,
    })
}

impl Default for WaitObject {
    fn default() -> Self {
        WaitObject::Lock(0)
    }
}

/// A thread that still waited when it was last looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stuck {
    /// Index of the process in [`Profile::processes`].
    pub process: u32,
    /// The kernel's number of the thread, as its process knows it.
    pub thread: u32,
    /// What it waits for. Profiles of an earlier version have the number of a lock.
    #[serde(alias = "lock", deserialize_with = "other_or_lock")]
    pub on: WaitObject,
    /// For how long it had waited, in ns.
    pub ns: u64,
    /// Where it waits, as an index in [`Profile::stacks`], if that was walked.
    pub stack: Option<u32>,
    /// The thread that had the lock, if that is known.
    pub holder: Option<u32>,
    /// Where that thread slept, as an index in [`Profile::stacks`], if that is known.
    #[serde(default)]
    pub holder_stack: Option<u32>,
    /// What that thread did.
    pub state: State,
    /// The system call in which it slept; empty where that is not known.
    pub call: String,
}

/// What kind of lock a [`Lock`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// One thread at a time.
    #[default]
    Mutex,
    /// Several readers, or one writer.
    RwLock,
    /// Its waiters never sleep.
    Spin,
    /// Something that threads sleep for, and nothing says what it is.
    Unknown,
}

/// What a thread waits for at a [`Condition`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitKind {
    /// A condition variable.
    #[default]
    Condition,
    /// A semaphore.
    Semaphore,
    /// A barrier.
    Barrier,
    /// The end of an initialisation that another thread is at.
    Once,
    /// The end of a thread.
    Join,
    /// A message, or room for one.
    Channel,
    /// To be unparked: a thread without work in a scheduler or runtime.
    Park,
    /// Something else.
    Other,
}

/// Where a lock comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Index in [`Profile::stacks`].
    pub stack: u32,
    /// What happened there.
    pub spot: Spot,
}

/// What happened at an [`Origin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spot {
    /// It was initialised.
    Initialised,
    /// It was first seen.
    FirstSeen,
}

/// A condition variable, or another place where threads wait and no lock is meant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// As [`Lock::name`].
    pub name: String,
    /// Index of the process in [`Profile::processes`].
    pub process: u32,
    /// Its address there.
    pub address: u64,
    /// What kind of waiting it is.
    #[serde(default)]
    pub kind: WaitKind,
    /// As [`Lock::is_named`].
    #[serde(default)]
    pub is_named: bool,
    /// How often a thread waited on it.
    pub waits: f64,
    /// How long, in ns, all together.
    pub wait_ns: f64,
    /// The longest wait, in ns.
    pub longest_ns: u64,
    /// Waits by length.
    pub wait_histogram: Histogram,
    /// Who waited.
    pub waiters: Vec<Site>,
    /// Waits that a thread began right after another one here: it was woken, and did not find what it waited for.
    #[serde(default)]
    pub again: f64,
    /// Who notified: count is of notifications.
    #[serde(default)]
    pub notifiers: Vec<Site>,
    /// Notifications of all that wait.
    #[serde(default)]
    pub notifications_of_all: f64,
}

/// A stack, and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// Index in [`Profile::stacks`].
    pub stack: u32,
    /// How often.
    pub count: f64,
    /// How long, in ns, all together.
    pub ns: f64,
}

/// Durations by length, shortest first; empty bars are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram(pub Vec<Bar>);

/// Durations of at least `from` and less than `to` ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// In ns.
    pub from: u64,
    /// In ns.
    pub to: u64,
    /// How many.
    pub count: f64,
}

/// Amounts over time, in slices of the same length from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Length of a slice, in seconds; the same for all locks of a profile.
    pub slice: f64,
    /// One figure for each slice, up to the last that is not 0.
    pub amounts: Vec<f64>,
}

/// A part of the time of all threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadTime {
    /// Index of the process in [`Profile::processes`].
    pub process: u32,
    /// What the threads did.
    pub doing: Doing,
    /// What they waited for, of [`Doing::Recorded`], if it is among those of the profile. Of [`Doing::Sleeping`] from outside,
    /// a lock of the profile that was waited for there.
    pub on: Option<WaitObject>,
    /// The system call in which they slept, of [`Doing::Sleeping`]; empty if in none.
    pub call: String,
    /// Where they slept, as an index in [`Profile::stacks`], if that is known; of [`Doing::Spinning`], and of [`Doing::Running`] in
    /// libraries that have locks, where they ran.
    pub stack: Option<u32>,
    /// How long, in ns, all together.
    pub ns: f64,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doing {
    /// It runs.
    Running,
    /// It runs in a loop in which it only waits, as for a spin lock.
    Spinning,
    /// It could run, and has no core.
    NoCore,
    /// A recorded wait.
    Recorded,
    /// It sleeps, and that is no wait that is recorded.
    Sleeping,
    /// It slept between two looks.
    #[default]
    Unseen,
}

/// What could not be recorded, and is missing in the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dropped {
    /// Samples, as the memory for them was full.
    pub samples: u64,
    /// Stacks; what happened there has an empty one.
    pub stacks: u64,
    /// Locks.
    pub locks: u64,
    /// Names that the program has given its locks.
    pub names: u64,
    /// Processes that could not record.
    pub processes: u64,
    /// Acquisitions while another lock was held, of which it is not known.
    pub nestings: u64,
    /// Waits that could not be seen while they lasted, as too many threads waited.
    pub waiters: u64,
}

impl Histogram {
    /// The length that a part `p` of the durations does not exceed; `None` without any.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let total: f64 = self.0.iter().map(|bar| bar.count).sum();
        let mut left = p * total;
        let bar = self.0.iter().find(|bar| {
            left -= bar.count;
            left <= 0.0
        });
        bar.or(self.0.last()).filter(|_| total > 0.0).map(|bar| {
            let part = (bar.count + left).max(0.0) / bar.count;
            bar.from as f64 + part * bar.to.saturating_sub(bar.from) as f64
        })
    }
}

impl Condition {
    /// How often it was notified.
    pub(crate) fn notifications(&self) -> f64 {
        self.notifiers.iter().map(|site| site.count).sum()
    }
}

impl Lock {
    /// The mean wait in ns; `None` without any.
    pub fn mean_wait_ns(&self) -> Option<f64> {
        (self.waits > 0.0).then(|| self.wait_ns / self.waits)
    }

    /// The mean hold in ns; `None` if none was seen.
    pub fn mean_hold_ns(&self) -> Option<f64> {
        let (count, ns) = self.takers.iter().fold((0.0, 0.0), |(count, ns), site| (count + site.count, ns + site.ns));
        (count > 0.0).then(|| ns / count)
    }
}

impl Profile {
    /// All waiting for locks, in ns.
    pub fn wait_ns(&self) -> f64 {
        self.locks.iter().map(|lock| lock.wait_ns).sum()
    }

    /// How a process is called: its program and its number.
    pub(crate) fn process_name(&self, number: u32) -> String {
        let Some(process) = self.processes.get(number as usize) else { return "unknown process".to_string() };
        let program = Path::new(&process.program).file_name().unwrap_or_default().to_string_lossy();
        format!("{program} ({})", process.pid)
    }

    /// The frames of a stack, the innermost first.
    pub fn frames_of(&self, stack: u32) -> impl DoubleEndedIterator<Item = &Frame> + Clone {
        let numbers = self.stacks.get(stack as usize).map_or(&[][..], Vec::as_slice);
        numbers.iter().filter_map(|number| self.frames.get(*number as usize))
    }
}
