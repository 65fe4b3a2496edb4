//! Names, parameters and limits of the workloads.

use ondeck_core::{Hardware, Platform};
use std::fmt;

/// Which workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `solo`.
    Solo,
    /// `mutex-contention`.
    MutexContention,
    /// `mutex-capture`.
    MutexCapture,
    /// `handoff-fast`.
    HandoffFast,
    /// `handoff-slow`.
    HandoffSlow,
    /// `chan-contended`.
    ChanContended,
    /// `sections`.
    Sections,
    /// `spike`.
    Spike,
    /// `lock-bench`.
    LockBench,
    /// `monitor-throughput`.
    MonitorThroughput,
    /// `monitor-latency`.
    MonitorLatency,
    /// `monitor-try-enter`.
    MonitorTryEnter,
    /// `gc-wait`.
    GcWait,
    /// `aim7`.
    Aim7,
    /// `pool`.
    Pool,
    /// `readers`.
    Readers,
}

/// When the poster of `pool` notifies a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// Before it releases the mutex.
    Under,
    /// After that.
    After,
}

impl Notify {
    const NAMED: [(Notify, &str); 2] = [(Notify::Under, "under"), (Notify::After, "after")];

    /// How results and the command line spell it.
    fn name(self) -> &'static str {
        Notify::NAMED[self as usize].1
    }
}

/// What the critical sections of `sections` work on, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// They spend time. The counter that would show a second thread inside lies on a line of its own, as data under a
    /// lock mostly do.
    Counter,
    /// They spend time, and the counter lies beside the lock: no other line is passed on.
    None,
    /// A chain of multiplications on one number beside the lock.
    Near,
    /// The same chain on a number that has a line of its own.
    Far,
}

impl Data {
    /// Each that has a name, with its name. [`Data::Counter`] has none: it is what there was before others came.
    const NAMED: [(Data, &str); 3] = [(Data::None, "none"), (Data::Near, "near"), (Data::Far, "far")];

    /// How results and the command line spell it, but for the one that needs no word.
    pub fn name(self) -> Option<&'static str> {
        Data::NAMED.iter().find(|named| named.0 == self).map(|named| named.1)
    }

    fn parse(name: &str) -> Option<Self> {
        Data::NAMED.iter().find(|named| named.1 == name).map(|named| named.0)
    }

    /// Whether a unit of work inside is a step of the chain.
    fn is_chain(self) -> bool {
        matches!(self, Data::Near | Data::Far)
    }
}

/// What `ondeck list workloads` says of one workload, and what it accepts.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadInfo {
    /// Which it is.
    pub kind: Kind,
    /// Name as the command line spells it.
    pub name: &'static str,
    /// What the threads do, in one line.
    pub about: &'static str,
    /// What one operation is, in the columns `ops`, `ops_per_s` and `ns_per_op`.
    pub op: &'static str,
    /// Thread counts that it is measured at if none are asked for; empty if they depend on the machine, see
    /// [`WorkloadSpec::default_threads`].
    pub default_threads: &'static [u32],
    /// Fewest threads that it can be measured with.
    pub min_threads: u32,
    /// Most threads that it can be measured with.
    pub max_threads: u32,
    /// Whether it stands for a whole system and its kernel, so that it says nothing of threads on hardware.
    pub simulated_only: bool,
    /// Whether it needs what simulated locks have not.
    pub hardware_only: bool,
    /// Seconds of simulated time that are enough for it; `lock-bench` with many locks takes less.
    pub simulated_seconds: f64,
    /// Whether it may take long until it goes on as it will, so that a simulated warm-up is repeated until it does.
    pub settles_late: bool,
}

/// Most threads that any workload is run with: each has two histograms, and a machine's default limits allow it.
const MAX_THREADS: u32 = 1024;

/// Most tasks of `aim7`: a little beyond the users that were published.
const MAX_TASKS: u32 = 2048;

/// What most workloads have in common.
const USUAL: WorkloadInfo = WorkloadInfo {
    kind: Kind::Solo,
    name: "",
    about: "",
    op: "one section",
    default_threads: &[],
    min_threads: 1,
    max_threads: MAX_THREADS,
    simulated_only: false,
    hardware_only: false,
    simulated_seconds: 0.02,
    settles_late: false,
};

/// All workloads.
pub static WORKLOADS: [WorkloadInfo; 16] = [
    WorkloadInfo {
        kind: Kind::Solo,
        name: "solo",
        about: "one thread acquires and releases while a second thread of the process sleeps",
        op: "one empty section",
        default_threads: &[1],
        max_threads: 1,
        simulated_seconds: 0.002,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::MutexContention,
        name: "mutex-contention",
        about: "all threads add to one atomic counter inside, nothing outside",
        default_threads: &[1, 2, 4, 16, 64],
        simulated_seconds: 0.01,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::MutexCapture,
        name: "mutex-capture",
        about: "as mutex-contention; how long one thread keeps the lock to itself, and how long the others starve",
        default_threads: &[2, 16],
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::HandoffFast,
        name: "handoff-fast",
        about: "two threads pass the lock to and fro; the next one is running and asks as the holder releases",
        op: "one pass: ns_per_op is from before the release to after the acquisition",
        default_threads: &[2],
        min_threads: 2,
        max_threads: 2,
        simulated_seconds: 0.01,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::HandoffSlow,
        name: "handoff-slow",
        about: "as handoff-fast, but the holder waits until the next one sleeps (100 us if the lock cannot tell)",
        op: "one pass: ns_per_op is from before the release to after the acquisition",
        default_threads: &[2],
        min_threads: 2,
        max_threads: 2,
        simulated_seconds: 0.05,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::ChanContended,
        name: "chan-contended",
        about: "a buffered channel as Go's runtime has it: three cache lines under one lock, never full, never empty",
        op: "100 sends and 100 receives",
        default_threads: &[1, 2, 4, 16],
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::Sections,
        name: "sections",
        about: "--cs units of work inside, --out outside: turns of an empty loop; with /near or /far, a number is worked on inside",
        default_threads: &[1, 2, 4, 16, 64],
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::Spike,
        name: "spike",
        about: "sections of 20 units, 60 outside: before, during and after a visit of 64 more threads",
        default_threads: &[2],
        max_threads: MAX_THREADS - 64,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::LockBench,
        name: "lock-bench",
        about: "each operation picks one of two locks at random, or of 64 with /locks64, and adds to its counter",
        default_threads: &[32],
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::MonitorThroughput,
        name: "monitor-throughput",
        about: "short work of random length inside and about as much outside: Fibonacci of 4 to 9, by recursion",
        default_threads: &[1, 2, 4, 16, 64],
        simulated_seconds: 0.5,
        settles_late: true,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::MonitorLatency,
        name: "monitor-latency",
        about: "as monitor-throughput; only the sections that follow another thread's are counted",
        op: "one section after another thread's",
        default_threads: &[2, 4, 16],
        min_threads: 2,
        simulated_seconds: 0.1,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::MonitorTryEnter,
        name: "monitor-try-enter",
        about: "one thread tries the lock: free and thin, free and fat where there is such a form, held by another thread",
        op: "one attempt",
        default_threads: &[1],
        max_threads: 1,
        simulated_seconds: 0.005,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::GcWait,
        name: "gc-wait",
        about: "no lock: spin-wait policies, as goroutines wait for each other's status and scan; by --yield-after-us",
        op: "one wait: ns_per_op is its mean, wait_* are its percentiles",
        default_threads: &[],
        min_threads: 2,
        simulated_seconds: 0.2,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::Aim7,
        name: "aim7",
        about: "simulator only: tasks that each go through tests of some ms, in a kernel with one much wanted mutex",
        op: "one test",
        default_threads: &[1100, 2000],
        max_threads: MAX_TASKS,
        simulated_only: true,
        simulated_seconds: 0.5,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::Pool,
        name: "pool",
        about: "workers wait for jobs at a queue (condition variable): by /burst4-work5-gap200-after",
        op: "one job in dispatch, one burst in burst: ns_per_op is its mean, wait_* are its percentiles",
        default_threads: &[1, 4, 16],
        max_threads: MAX_THREADS - 1,
        hardware_only: true,
        ..USUAL
    },
    WorkloadInfo {
        kind: Kind::Readers,
        name: "readers",
        about: "threads read, and once in 100 operations write, under a reader-writer lock: by /write100-cs0-out0; write0: never; of many by -locks64",
        default_threads: &[1, 2, 4, 16],
        hardware_only: true,
        ..USUAL
    },
];

/// The names of [`WORKLOADS`].
pub fn workload_names() -> Vec<&'static str> {
    WORKLOADS.iter().map(|info| info.name).collect()
}

/// A workload with its parameters. Written out, it is the column `workload` of a result; what is written out can be
/// read back: `sections/cs20-out60`, `sections/cs20-out60-near`, `lock-bench/locks2`, `solo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadSpec {
    /// Which workload.
    pub kind: Kind,
    /// Units of work inside the section; of `sections` and `readers` only.
    pub cs: u32,
    /// Units of work outside; of these only.
    pub out: u32,
    /// How many locks there are; of `lock-bench` and `readers` only.
    pub locks: u32,
    /// What is worked on inside the section; of `sections` only.
    pub data: Data,
    /// One operation in so many writes, or none if 0; of `readers` only.
    pub write_every: u32,
    /// Jobs that are posted in a row; this and what follows is of `pool` only.
    pub burst: u32,
    /// Microseconds of work in a job.
    pub work_us: u32,
    /// Microseconds from the start of a burst to the start of the next.
    pub gap_us: u32,
    /// When a worker is notified.
    pub notify: Notify,
}

impl WorkloadSpec {
    /// A workload with its default parameters: empty sections, two locks (the heaviest contention that the
    /// original of `lock-bench` measures), and a pool that one CPU can serve at a tenth of its time.
    pub const fn new(kind: Kind) -> Self {
        let (burst, work_us, gap_us) = (4, 5, 200);
        WorkloadSpec {
            kind,
            cs: 0,
            out: 0,
            locks: if matches!(kind, Kind::Readers) { 1 } else { 2 },
            write_every: 100,
            data: Data::Counter,
            burst,
            work_us,
            gap_us,
            notify: Notify::After,
        }
    }

    /// Reads a name, with or without parameters; `None` if there is no such workload or parameter.
    pub fn parse_name(text: &str) -> Option<Self> {
        let (name, parameters) = text.split_once('/').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let info = WORKLOADS.iter().find(|info| info.name == name)?;
        let mut spec = WorkloadSpec::new(info.kind);
        for parameter in parameters.into_iter().flat_map(|list| list.split('-')) {
            spec.set(parameter)?;
        }
        Some(spec)
    }

    fn set(&mut self, parameter: &str) -> Option<()> {
        if self.kind == Kind::Sections
            && let Some(data) = Data::parse(parameter)
        {
            self.data = data;
            return Some(());
        }
        if self.kind == Kind::Pool
            && let Some((notify, _)) = Notify::NAMED.iter().find(|named| named.1 == parameter)
        {
            self.notify = *notify;
            return Some(());
        }
        let digits = parameter.find(|c: char| c.is_ascii_digit())?;
        let (name, value) = parameter.split_at(digits);
        let field = match (self.kind, name) {
            (Kind::Sections | Kind::Readers, "cs") => &mut self.cs,
            (Kind::Sections | Kind::Readers, "out") => &mut self.out,
            (Kind::Readers, "write") => &mut self.write_every,
            (Kind::LockBench | Kind::Readers, "locks") => &mut self.locks,
            (Kind::Pool, "burst") => &mut self.burst,
            (Kind::Pool, "work") => &mut self.work_us,
            (Kind::Pool, "gap") => &mut self.gap_us,
            _ => return None,
        };
        *field = value.parse().ok()?;
        Some(())
    }

    /// The workload's entry in [`WORKLOADS`].
    pub fn info(&self) -> &'static WorkloadInfo {
        // `WORKLOADS` lists the kinds in the order in which they are declared; a test says so.
        &WORKLOADS[self.kind as usize]
    }

    /// Thread counts that it is measured at if none are asked for. Waits without a lock depend on whether everybody has
    /// a core: once as many threads as cores, 1.25 times, and twice.
    pub fn default_threads(&self) -> Vec<u32> {
        self.default_threads_on(Hardware::parallelism())
    }

    /// As [`default_threads`](WorkloadSpec::default_threads), on a machine with so many cores.
    pub fn default_threads_on(&self, cores: u32) -> Vec<u32> {
        let mut threads = match self.kind {
            Kind::GcWait => vec![cores.max(self.info().min_threads), (cores * 5).div_ceil(4), cores * 2],
            _ => self.info().default_threads.to_vec(),
        };
        // One core has no two different ones to offer.
        threads.retain(|&n| n >= self.info().min_threads);
        threads.dedup();
        threads
    }

    /// Seconds of simulated time that are enough for it, and most seconds where threads share CPUs. Of many locks they are
    /// few: all CPUs are at work at once, so there is much to simulate.
    pub(crate) fn simulated_seconds(&self) -> (f64, f64) {
        match self.kind {
            Kind::LockBench if self.locks >= MANY_LOCKS => (0.002, 0.004),
            _ => (self.info().simulated_seconds, f64::INFINITY),
        }
    }

    /// Whether it compares policies of waiting, see [`wait_policy`](crate::wait_policy), and not locks.
    pub fn compares_waits(&self) -> bool {
        self.kind == Kind::GcWait
    }

    /// How many rows one measurement gives, of a lock that has a larger form or has not.
    pub(crate) fn rows(&self, has_fat_form: bool) -> usize {
        match self.kind {
            Kind::Spike => 3,
            Kind::MonitorTryEnter => 2 + usize::from(has_fat_form),
            Kind::GcWait | Kind::Pool => 2,
            _ => 1,
        }
    }

    /// How many windows one measurement takes, with warm-up and timing: at most.
    pub fn windows(&self) -> f64 {
        match self.kind {
            Kind::Spike => 3.5,
            // Two or three rows, each with its warm-up, and no timing of its own.
            Kind::MonitorTryEnter => 3.75,
            Kind::GcWait => 2.5,
            _ => 1.75,
        }
    }

    /// What is wrong with the workload at this many threads, and what is accepted.
    pub(crate) fn fault(&self, threads: u32) -> Option<String> {
        let WorkloadInfo { name, min_threads: min, max_threads: max, .. } = *self.info();
        if threads < min || threads > max {
            let accepted = if min == max { format!("exactly {min}") } else { format!("{min} to {max}") };
            return Some(format!("{name} cannot run with {threads} threads; it takes {accepted}"));
        }
        let has_locks = matches!(self.kind, Kind::LockBench | Kind::Readers);
        if has_locks && !(1..=MAX_LOCKS).contains(&self.locks) {
            return Some(format!("{name} cannot run with {} locks; it takes 1 to {MAX_LOCKS}", self.locks));
        }
        let is_possible = (1..=MAX_BURST).contains(&self.burst) && self.work_us <= MAX_US && self.gap_us <= MAX_US;
        if self.kind == Kind::Pool && !(is_possible && self.gap_us > 0) {
            return Some(format!(
                "{self} is not possible; pool takes bursts of 1 to {MAX_BURST} jobs, 0 to {MAX_US} us of work, gaps of 1 to \
                 {MAX_US} us"
            ));
        }
        if self.cs.max(self.out) > MAX_UNITS {
            return Some(format!("{name} takes at most {MAX_UNITS} units of work inside and outside"));
        }
        if self.data.is_chain() && self.cs > MAX_STEPS {
            return Some(format!("{name} takes at most {MAX_STEPS} multiplications inside"));
        }
        None
    }
}

/// Most locks: each has two cache lines of its own, and a million is "no contention" in the original.
const MAX_LOCKS: u32 = 1_000_000;
/// Most jobs of a burst.
const MAX_BURST: u32 = 10_000;
/// Longest work of a job and longest gap, in microseconds: the threads look once in it whether all is over.
const MAX_US: u32 = 100_000;
/// From so many locks on, most of them are free at any time.
const MANY_LOCKS: u32 = 16;
/// Most units of work, about 10 ms: a longer section with many threads would look like a lock that is stuck.
pub const MAX_UNITS: u32 = 30_000_000;
/// Most steps of a chain, which take about ten times as long.
const MAX_STEPS: u32 = MAX_UNITS / 10;

impl fmt::Display for WorkloadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().name)?;
        match self.kind {
            Kind::Sections => {
                write!(f, "/cs{}-out{}", self.cs, self.out)?;
                self.data.name().map_or(Ok(()), |data| write!(f, "-{data}"))
            }
            Kind::LockBench => write!(f, "/locks{}", self.locks),
            Kind::Readers => {
                write!(f, "/write{}-cs{}-out{}", self.write_every, self.cs, self.out)?;
                if self.locks == 1 { Ok(()) } else { write!(f, "-locks{}", self.locks) }
            }
            Kind::Pool => {
                let (burst, work, gap, notify) = (self.burst, self.work_us, self.gap_us, self.notify.name());
                write!(f, "/burst{burst}-work{work}-gap{gap}-{notify}")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_kinds() {
        for info in &WORKLOADS {
            assert_eq!(WorkloadSpec::new(info.kind).info().name, info.name);
            for threads in WorkloadSpec::new(info.kind).default_threads() {
                assert_eq!(WorkloadSpec::new(info.kind).fault(threads), None, "{}", info.name);
            }
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        for name in workload_names() {
            let spec = WorkloadSpec::parse_name(name).unwrap();
            assert_eq!(WorkloadSpec::parse_name(&spec.to_string()), Some(spec));
        }
        let spec = WorkloadSpec { cs: 20, out: 60, ..WorkloadSpec::new(Kind::Sections) };
        assert_eq!(spec.to_string(), "sections/cs20-out60");
        assert_eq!(WorkloadSpec::parse_name("sections/cs20-out60"), Some(spec));
        let pool = WorkloadSpec { burst: 9, work_us: 0, notify: Notify::Under, ..WorkloadSpec::new(Kind::Pool) };
        assert_eq!(pool.to_string(), "pool/burst9-work0-gap200-under");
        assert_eq!(WorkloadSpec::parse_name("pool/burst9-work0-under"), Some(pool));
        let readers = WorkloadSpec { write_every: 7, cs: 5, ..WorkloadSpec::new(Kind::Readers) };
        assert_eq!(readers.to_string(), "readers/write7-cs5-out0");
        assert_eq!(WorkloadSpec::parse_name("readers/write7-cs5"), Some(readers));
        let many = WorkloadSpec { locks: 1024, ..readers };
        assert_eq!(many.to_string(), "readers/write7-cs5-out0-locks1024");
        assert_eq!(WorkloadSpec::parse_name("readers/write7-cs5-locks1024"), Some(many));
        assert!(WorkloadSpec { locks: 0, ..readers }.fault(2).is_some());
        for (data, name) in Data::NAMED {
            let spec = WorkloadSpec { data, ..spec };
            assert_eq!(spec.to_string(), format!("sections/cs20-out60-{name}"));
            assert_eq!(WorkloadSpec::parse_name(&spec.to_string()), Some(spec));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "sectons",
            "solo/cs1",
            "sections/",
            "sections/cs",
            "sections/cs-5",
            "sections/nearer",
            "solo/near",
            "lock-bench/locksx",
            "pool/below",
            "solo/under",
            "sections/locks2",
        ] {
            assert_eq!(WorkloadSpec::parse_name(text), None, "{text}");
        }
    }

    #[test]
    fn limits_say_what_is_accepted() {
        let fault = WorkloadSpec::new(Kind::HandoffFast).fault(3).unwrap();
        assert!(fault.contains("exactly 2"), "{fault}");
        assert!(WorkloadSpec::new(Kind::Sections).fault(0).is_some());
        assert!(WorkloadSpec::new(Kind::Sections).fault(1_000_000_000).is_some());
        let steps = WorkloadSpec { cs: MAX_UNITS, data: Data::Far, ..WorkloadSpec::new(Kind::Sections) };
        assert!(steps.fault(2).unwrap().contains("at most 3000000 multiplications"));
        assert_eq!(WorkloadSpec { data: Data::None, ..steps }.fault(2), None);
        let pool = WorkloadSpec::new(Kind::Pool);
        for pool in [WorkloadSpec { burst: 0, ..pool }, WorkloadSpec { gap_us: 0, ..pool }] {
            assert!(pool.fault(2).unwrap().contains("1 to 10000 jobs"));
        }
        assert!(WorkloadSpec { locks: 0, ..WorkloadSpec::new(Kind::LockBench) }.fault(2).is_some());
    }
}
