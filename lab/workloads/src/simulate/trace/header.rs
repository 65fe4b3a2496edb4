//! What the file of a trace has besides the slices of a viewer, and where a thread is.

/// Tells the file from those of other programs.
pub(super) const MARKER: &str = "ondeck-trace-1";

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Name of the machine.
    pub machine: String,
    /// Name of the workload with its parameters.
    pub workload: String,
    /// Name of the lock, as the command line spells it.
    pub lock: String,
    /// Threads that want the lock.
    pub threads: u32,
    /// What decided everything that was left to chance.
    pub seed: u64,
    /// The command that runs it again; empty if unknown.
    pub command: String,
}

/// What the file says of itself, in `otherData`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// What was run.
    pub subject: Subject,
    /// Time from the start of the run to the last event that is in the file, in microseconds.
    pub end_us: f64,
    /// Whether the run went on after that.
    pub is_cut: bool,
}

/// Number of the group of tracks of the threads, `pid` in the file.
pub(super) const THREADS: u32 = 2;
/// Number of the track of thread 0, `tid` in the file. No two are the same, and none is that of a group, which viewers take
/// for the first thread of a process.
pub(super) const FIRST_THREAD: u32 = 10_001;

/// Where a thread is, as the lock under observation sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// It holds the lock.
    AtBat,
    /// It wants the lock and is awake: it runs, could run, or was woken and is about to. That is whoever is on deck,
    /// arrivals that look, and sleepers that are not up yet: what a thread does tells nothing of the seat that it has.
    Awake,
    /// It wants the lock and sleeps, a nap on deck included.
    Dugout,
    /// It does not want the lock.
    Outside,
}

impl Place {
    /// As the trace file calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Place::AtBat => "at bat",
            Place::Awake => "awake",
            Place::Dugout => "dugout",
            Place::Outside => "outside",
        }
    }
}
