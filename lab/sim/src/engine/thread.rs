//! A simulated thread: what it is at, and its stack.

use super::ahead::Lookahead;
use super::lines::{Access, NONE, RequestCost};
use super::random::{Purpose, Random};
use super::recent_share::RecentShare;
use super::value::{Kind, Op};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use std::collections::VecDeque;

/// No CPU.
pub(crate) const NO_CPU: u32 = u32::MAX;
/// How many operations of each thread are remembered for the report on one that gets nowhere.
pub(crate) const RECENT: usize = 64;

/// In places where no operation was made yet.
const NO_OP: Op = Op { kind: Kind::Load, address: 0, is_wide: false, a: 0, b: 0 };

/// What a thread is at. Where a time is spoken of, it is the one in the thread's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It goes on at its time; or it is the one whose code is running.
    Resume,
    /// Its request is under way, waits in the line of its line, or is being answered.
    Asks,
    /// It waits until its stores have been granted.
    Drains,
    /// It waits until the oldest of its stores has been granted: it has as many as there can be.
    NeedsRoom,
    /// It has queued in a bucket, and leaves its CPU at its time.
    FallsAsleep,
    /// It is woken, or gives up, at its time, if it has one.
    Asleep,
    /// It was taken out of its bucket, and its waker is done with it at its time.
    Called,
    /// It gets the CPU that was chosen for it at its time.
    Wakes,
    /// It is in the queue of a CPU.
    Ready,
    /// It is gone.
    Gone,
}

/// A request for a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) what: GrantedAction,
    pub(crate) core: u32,
    pub(crate) line: u32,
    /// What the line is asked for.
    pub(crate) access: Access,
    /// What of the way back was made before it was asked for (A1).
    pub(crate) ahead_ps: u64,
    /// When it was made.
    pub(crate) asked: u64,
    pub(crate) way: RequestCost,
    /// Next in the line's line.
    pub(crate) next: u32,
    /// Set once it was granted: it is on its way back.
    pub(crate) is_granted: bool,
}

/// What is to happen when a request is granted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GrantedAction {
    Op(Op),
    /// The kernel works in a bucket: somebody wants to sleep on this word.
    Wait {
        place: Place,
        deadline: u64,
    },
    /// The same: somebody wakes at most so many that sleep on this address.
    Wake {
        address: u64,
        n: u32,
    },
}

impl GrantedAction {
    pub(crate) fn access(&self) -> Access {
        match self {
            GrantedAction::Op(op) => op.access(),
            GrantedAction::Wait { .. } | GrantedAction::Wake { .. } => Access::Rmw,
        }
    }
}

impl Request {
    pub(crate) fn nothing() -> Self {
        Request::new(GrantedAction::Op(NO_OP), 0, NONE, 0)
    }

    /// One that goes on its way at time `asked`.
    pub(crate) fn new(what: GrantedAction, core: u32, line: u32, asked: u64) -> Self {
        let way = RequestCost { half_ps: 0, busy_ps: 0, from: None, is_far: false };
        let access = what.access();
        Request { what, core, line, access, ahead_ps: 0, asked, way, next: NONE, is_granted: false }
    }
}

/// One operation that was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletedOp {
    pub(crate) at: u64,
    pub(crate) op: Op,
    pub(crate) line: u32,
    pub(crate) before: u64,
}

/// The last operations, in a ring.
pub(crate) struct RecentOps {
    ring: Box<[CompletedOp; RECENT]>,
    n: usize,
}

impl RecentOps {
    fn new() -> Self {
        RecentOps { ring: Box::new([CompletedOp { at: 0, op: NO_OP, line: NONE, before: 0 }; RECENT]), n: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, made: CompletedOp) {
        self.ring[self.n % RECENT] = made;
        self.n += 1;
    }

    /// Whether the last one was a load of this line.
    pub(crate) fn ends_with_load_of(&self, line: u32) -> bool {
        let last = &self.ring[(self.n + RECENT - 1) % RECENT];
        last.line == line && last.op.kind == Kind::Load
    }

    /// From the oldest to the newest.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &CompletedOp> {
        (self.n.saturating_sub(RECENT)..self.n).map(|at| &self.ring[at % RECENT])
    }
}

pub(crate) type Switch = Yielder<(), ()>;
pub(crate) type Stack = Coroutine<(), (), (), DefaultStack>;

/// Where a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) bucket: u32,
    pub(crate) address: u64,
    pub(crate) is_wide: bool,
    pub(crate) expected: u64,
}

/// Sleepers, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    pub(super) sleepers: VecDeque<Sleeper>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper {
    pub(super) thread: u32,
    pub(super) address: u64,
}

pub(crate) struct Thread {
    /// Its own time: ahead of everybody's while it does what nobody else can see.
    pub(crate) clock: u64,
    pub(crate) phase: Phase,
    /// The hardware thread that it is on, or was on last.
    pub(crate) cpu: u32,
    pub(crate) pin: Option<u32>,
    /// Own time that is left of what it was doing when it lost its CPU.
    pub(crate) rest: u64,
    /// The core of its CPU, and the value that its last request has brought.
    pub(crate) core: u32,
    pub(crate) result: u64,
    /// Stores that are not granted yet, oldest first; the oldest is the request under way.
    pub(crate) stores: VecDeque<Op>,
    /// Where it sleeps, while it is in a bucket.
    pub(crate) place: Option<Place>,
    /// When its sleep ends by itself.
    pub(crate) deadline: u64,
    /// Whether its last sleep ended by a wake, not by its deadline.
    pub(crate) was_woken: bool,
    /// Whether its sleep is a nap: what it takes to run again is in it already.
    pub(crate) is_nap: bool,
    /// Who has called it last.
    pub(crate) caller: u32,
    /// For the scheduler: what it has had, when it got its CPU, and when it last had one.
    pub(crate) vruntime: u64,
    /// Under EEVDF: what it will have had when its slice is over, by how much the average was beyond it when it left, and
    /// whether it keeps the CPU until then.
    pub(crate) slice_until: u64,
    pub(crate) lag: i128,
    pub(crate) is_protected: bool,
    pub(crate) on_since: u64,
    pub(crate) last_ran: u64,
    pub(crate) is_boosted: bool,
    /// Which part of the time it was not asleep.
    pub(super) load: RecentShare,
    /// What is left of the slice in which it was preempted.
    pub(crate) slice_left: Option<u64>,
    /// Whether it cannot be preempted.
    pub(crate) keeps_cpu: bool,
    /// Since when it is in a state without a CPU.
    pub(crate) off_since: u64,
    pub(crate) pauses: Random,
    pub(crate) ways: Random,
    pub(super) kernel: Random,
    pub(crate) recent: RecentOps,
    pub(crate) ahead: Lookahead,
    /// Threads that wait until this one is gone.
    pub(crate) joiners: Vec<u32>,
    pub(crate) stack: *mut Stack,
    pub(crate) switch: *const Switch,
}

impl Thread {
    pub(crate) fn new(seed: u64, index: u32, clock: u64) -> Self {
        Thread {
            clock,
            phase: Phase::Ready,
            cpu: NO_CPU,
            pin: None,
            rest: 0,
            core: 0,
            result: 0,
            stores: VecDeque::new(),
            place: None,
            deadline: 0,
            was_woken: false,
            is_nap: false,
            caller: 0,
            vruntime: 0,
            slice_until: 0,
            lag: 0,
            is_protected: false,
            on_since: clock,
            last_ran: 0,
            is_boosted: false,
            load: RecentShare::default(),
            slice_left: None,
            keeps_cpu: false,
            off_since: clock,
            pauses: Random::of(seed, Purpose::Pauses, index),
            ways: Random::of(seed, Purpose::Ways, index),
            kernel: Random::of(seed, Purpose::Kernel, index),
            recent: RecentOps::new(),
            ahead: Lookahead::new(),
            joiners: Vec::new(),
            stack: std::ptr::null_mut(),
            switch: std::ptr::null(),
        }
    }
}
