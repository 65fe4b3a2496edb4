//! A machine as the engine computes with it: integers, times in picoseconds, ratios in thousandths.

use fnv::FnvHasher;
use std::collections::BTreeSet;
use std::hash::Hasher;

/// A whole machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name, as the command line spells it.
    pub name: String,
    /// What it is, in one line.
    pub about: String,
    /// Hash of everything that was read to make it.
    pub hash: u64,
    /// How many of its figures nobody measured, looked up or derived.
    pub guesses: u32,
    /// How many figures it has.
    pub figures: u32,
    /// Bytes in a cache line: a power of two.
    pub line_bytes: u32,
    /// Kinds of cores; a machine whose cores are all alike has one.
    pub kinds: Vec<CoreKind>,
    /// Hardware threads, in the numbering of the system.
    pub cpus: Vec<Cpu>,
    /// How many cores the hardware threads are on.
    pub cores: u32,
    /// What moving a line from one core to another takes: `distance_ps[from * cores + to]`, symmetric. On the diagonal is
    /// what moving it between two hardware threads of the core takes in a round of two that spin: it is 0, as they share
    /// their lines.
    pub distance_ps: Vec<u32>,
    /// What the caches cost.
    pub memory: Memory,
    /// What the system costs, and how it schedules.
    pub os: Os,
}

/// A kind of core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreKind {
    /// `P`, `E`, or whatever tells it apart.
    pub name: String,
    /// A load that finds its line in the core.
    pub hit_ps: u32,
    /// A read-modify-write on a line that the core owns; also what one takes after its line has arrived.
    pub rmw_ps: u32,
    /// A plain store, for the thread that makes it.
    pub store_ps: u32,
    /// What an access to a line takes longer that the core's other hardware thread has written last.
    pub sibling_ps: u32,
    /// A full barrier when there is nothing to wait for.
    pub barrier_ps: u32,
    /// PAUSE, YIELD or ISB, on average.
    pub pause_ps: u32,
    /// How far single pauses lie from the average, to both sides, in thousandths of it.
    pub pause_jitter: u32,
    /// One unit of work: a turn of an empty loop.
    pub work_ps: u32,
    /// One call of the Fibonacci function by recursion.
    pub fib_call_ps: u32,
    /// Reading the cheap counter.
    pub ticks_ps: u32,
    /// Reading the clock.
    pub clock_ps: u32,
    /// `sched_yield` when nobody else wants the CPU.
    pub yield_ps: u32,
    /// How much slower everything is while the other hardware thread of the core is at work and not pausing, in
    /// thousandths; 1000 is not at all.
    pub smt_slowdown: u32,
    /// The same while the other hardware thread pauses.
    pub smt_pausing: u32,
    /// How much slower everything is with all CPUs busy than with one, in thousandths of what it takes with one; 0 is
    /// not at all, and in between it grows evenly.
    pub derate: u32,
}

/// A hardware thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The core that it is on.
    pub core: u32,
    /// Index into [`Machine::kinds`].
    pub kind: u32,
    /// The socket that it is in: a memory node.
    pub socket: u32,
    /// The NUMA node, or on one socket the cluster; for the scheduler, which prefers what is near.
    pub node: u32,
    /// In which order the system fills idle CPUs: lower first. Second hardware threads come last.
    pub rank: u32,
}

/// What the caches cost. `d` is the distance between the two cores in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// How long reading a line that another core owns keeps the line busy, in thousandths of `d` (`r_m`).
    pub read_owned: u32,
    /// How long reading a line that others share keeps the line busy (`r_s`).
    pub read_shared_ps: u32,
    /// What reading a line that others share takes, in thousandths of `d` to the nearest of them.
    pub llc: u32,
    /// How long a write or read-modify-write keeps the line busy, in thousandths of `d` (`w`).
    pub write: u32,
    /// What a write takes of a core that shares the line already, in thousandths of what it takes of another (`u`).
    pub upgrade: u32,
    /// What each sharer beyond the first adds to a write that makes them drop their copies (`kappa`).
    pub per_sharer_ps: u32,
    /// How often a core can write a line again that others wait for already, in thousandths.
    pub write_again: u32,
    /// How far a core looks ahead: for how long after a line has come what it does is known before. Zero if it does not.
    pub ahead_ps: u32,
    /// How far the ways of single requests lie from the average, to both sides, in thousandths of it.
    pub way_jitter: u32,
    /// Plain stores that a core can have under way.
    pub store_buffer: u32,
    /// Set where a read-modify-write on a line that is not the core's alone is done at the line's home.
    pub far_atomics: Option<FarAtomics>,
}

/// Read-modify-writes that are done at the home of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FarAtomics {
    /// From the core to the home and back.
    pub round_trip_ps: u32,
    /// How long one keeps the line busy.
    pub busy_ps: u32,
}

/// What the system costs, and how it schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Os {
    /// How it shares a CPU.
    pub policy: Policy,
    /// Entering and leaving the kernel.
    pub syscall_ps: u32,
    /// A futex wake that finds nobody, entry included.
    pub wake_none_ps: u32,
    /// What waking one sleeper costs the waker, on top of entry and bucket.
    pub wake_call_ps: u32,
    /// What going to sleep costs the sleeper after it has queued.
    pub sleep_ps: u32,
    /// What returning from sleep costs the sleeper once it is on a CPU.
    pub resume_ps: u32,
    /// How long a wait or wake keeps the bucket of its address to itself.
    pub bucket_ps: u32,
    /// Buckets.
    pub buckets: u32,
    /// From a wake until an idle CPU runs the woken thread.
    pub wake_latency_ps: u32,
    /// How far single wakes lie from that, to both sides, in thousandths of it.
    pub wake_jitter: u32,
    /// How far single parts of system calls lie from what they take on average, likewise.
    pub kernel_jitter: u32,
    /// What every doubling of the CPU's idle time beyond [`idle_ps`](Os::idle_ps) adds to that.
    pub wake_deeper_ps: u32,
    /// See [`wake_deeper_ps`](Os::wake_deeper_ps).
    pub idle_ps: u32,
    /// Most that [`wake_deeper_ps`](Os::wake_deeper_ps) can add up to.
    pub wake_deepest_ps: u32,
    /// Switching a CPU from one thread to another.
    pub switch_ps: u32,
    /// How often a woken thread is put on another idle CPU although the one that it ran on is idle, in thousandths.
    pub move_on_wake: u32,
    /// Whether a woken thread may be queued behind its waker, when no CPU is idle and the waker's queue is shorter.
    pub wake_affine: bool,
    /// Whether yielding is a short sleep, for as long as it takes.
    pub yield_sleeps: bool,
    /// Whether a woken thread gets an idle CPU of a faster kind than its own, if there is one.
    pub wake_fastest: bool,
    /// How long after it last ran a thread counts as bound to its CPU's cache, and is not pulled by an idle one.
    pub cache_hot_ps: u64,
    /// How often queues are balanced, and threads pulled back to better CPUs.
    pub balance_ps: u64,
    /// Set where the system looks for idle CPUs, and idle CPUs look for work, no more than Linux does: how often a CPU that
    /// falls idle looks, in thousandths. Otherwise a woken thread finds any idle CPU, and each looks at once.
    pub newidle: Option<u32>,
}

/// How a CPU is shared by runnable threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Linux before 6.6 (CFS): the thread that ran least is next, and one that slept is behind by half a latency at
    /// most.
    Fair {
        /// Time in which every runnable thread of a CPU runs once.
        latency_ps: u64,
        /// Least time that a thread runs before another one is next.
        slice_ps: u64,
        /// A woken thread takes the CPU at once if it ran less than the running one by more than this.
        wakeup_granularity_ps: u64,
    },
    /// Linux since 6.6 (EEVDF): of those that have not had more than the average, the one whose slice is over first.
    Eevdf(Eevdf),
    /// Windows, macOS: in turn.
    Quantum {
        /// How long a thread runs while others wait.
        quantum_ps: u64,
        /// Whether a woken thread takes the CPU at once.
        boost: bool,
        /// A thread that has waited so long at one of the looks that the system takes every second is next; 0 if it
        /// takes none.
        starved_ps: u64,
    },
}

/// Linux's scheduler since 6.6, and what has changed in it since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Eevdf {
    /// How long a thread runs while others wait.
    pub slice_ps: u64,
    /// How often the clock ticks, which ends slices that are over; 0 if they end by themselves.
    pub tick_ps: u64,
    /// Whether a thread that sleeps after it has had too much stays in the queue until its debts are paid (since 6.12).
    pub delays_dequeue: bool,
    /// Whether a yield gives up what is left of the slice (since 6.18).
    pub yield_forfeits: bool,
}

impl Policy {
    /// How long it takes until each of `n` threads that want one CPU has run once, in picoseconds.
    pub fn rotation_ps(self, n: u32) -> u64 {
        let n = u64::from(n);
        match self {
            Policy::Fair { latency_ps, slice_ps, .. } => latency_ps.max(n * slice_ps),
            Policy::Eevdf(Eevdf { slice_ps, .. }) => n * slice_ps,
            Policy::Quantum { quantum_ps, .. } => n * quantum_ps,
        }
    }
}

impl Machine {
    /// What moving a line from one core to another takes.
    #[inline]
    pub fn distance(&self, from: u32, to: u32) -> u64 {
        u64::from(self.distance_ps[(from * self.cores + to) as usize])
    }

    /// The machine with `n` hardware threads: those that the system would fill first. Cores that lose all of theirs go.
    /// As [`derate`](CoreKind::derate) grows with the busy CPUs, what is left of the machine derates less.
    ///
    /// # Errors
    /// If it has fewer.
    pub fn with_cores(&self, n: u32) -> Result<Machine, String> {
        let n_cpus = self.cpus.len() as u32;
        if n == 0 || n > n_cpus {
            return Err(format!("{} has {n_cpus} hardware threads; accepted: 1 to {n_cpus}, not {n}", self.name));
        }
        let mut machine = self.clone();
        machine.hash = hashed(self.hash, &n.to_le_bytes());
        machine.cpus.retain(|cpu| cpu.rank < n);
        let mut kept: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.core).collect();
        kept.sort_unstable();
        kept.dedup();
        for cpu in &mut machine.cpus {
            cpu.core = kept.binary_search(&cpu.core).expect("its core is kept") as u32;
        }
        machine.cores = kept.len() as u32;
        let pairs = kept.iter().flat_map(|&from| kept.iter().map(move |&to| (from, to)));
        machine.distance_ps = pairs.map(|(from, to)| self.distance_ps[(from * self.cores + to) as usize]).collect();
        if n < n_cpus {
            for kind in &mut machine.kinds {
                kind.derate = kind.derate * (n - 1) / (n_cpus - 1);
            }
            machine.about = format!("{}; {n} of its {n_cpus} hardware threads", self.about);
        }
        Ok(machine)
    }

    /// How many memory nodes its hardware threads are on.
    pub fn memory_nodes(&self) -> u32 {
        let sockets: BTreeSet<u32> = self.cpus.iter().map(|cpu| cpu.socket).collect();
        sockets.len() as u32
    }

    /// The kind of core that a hardware thread is on.
    pub fn kind_of(&self, cpu: u32) -> &CoreKind {
        &self.kinds[self.cpus[cpu as usize].kind as usize]
    }
}

/// Most cores of a machine: the width of a line's set of sharers.
pub const MAX_CORES: u32 = 256;

/// A hash with one more text in it: FNV-1a of the text and its length, so that two texts are not one. The same on every
/// machine and in every version of the language.
pub(super) fn hashed(hash: u64, text: &[u8]) -> u64 {
    let mut hasher = FnvHasher::with_key(hash);
    hasher.write(text);
    hasher.write(&(text.len() as u64).to_le_bytes());
    hasher.finish()
}
