//! What happened in a run, in the order of time: for trace viewers and pictures.

use ondeck_core::Step;

/// All that was recorded of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// In the order of their times; those of one thread never go back.
    pub events: Vec<Event>,
    /// How many threads there were. Thread 0 is the first that was started.
    pub threads: u32,
    /// How many hardware threads the machine has.
    pub cpus: u32,
    /// Set if there was more than is kept; what is missing is the end.
    pub is_cut: bool,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When, in picoseconds from the start of the run.
    pub at_ps: u64,
    /// To which thread.
    pub thread: u32,
    /// What.
    pub what: ThreadEvent,
}

/// What happened to a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThreadEvent {
    /// It has got this hardware thread.
    Runs {
        /// Index of the hardware thread.
        cpu: u32,
    },
    /// It could run, and has no hardware thread: it was preempted, or woken with no CPU free.
    Waits,
    /// It has gone to sleep.
    Sleeps,
    /// It was woken, by this thread or, without one, by its deadline. It goes on once it [`Runs`](ThreadEvent::Runs).
    Woken {
        /// The thread that did it.
        by: Option<u32>,
    },
    /// It is gone.
    Ends,
    /// It has paused for so long, or spun in pauses without anything else in between.
    Paused {
        /// How long; the event's time is the end.
        for_ps: u64,
    },
    /// A line has arrived at its core.
    LineMoved {
        /// Which line; they are counted as they are first touched.
        line: u32,
        /// The core that it came from.
        from_core: u32,
        /// When it was asked for; the event's time is its arrival.
        asked_ps: u64,
        /// Whether it came to be written.
        to_write: bool,
    },
    /// A lock has passed through a step of its algorithm.
    Step(Step),
    /// The user of the simulation has said so.
    Marked(Mark),
}

/// What a user of the simulation says of a thread and the lock under observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It asks for the lock.
    Asks,
    /// It has got the lock.
    Holds,
    /// It has given the lock up.
    Released,
}
