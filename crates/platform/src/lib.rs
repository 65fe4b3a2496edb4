//! The seam: everything an ondeck lock asks of the machine it runs on.
//!
//! A lock in `ondeck-locks` is written once, generic over [`Platform`]. [`Hardware`] runs it on this machine; a model
//! checker or a simulator runs the very same text by implementing the trait again. This crate is the only home of
//! target-specific code.
//!
//! Rules that keep the locks usable everywhere (before `main`, inside a global allocator, in the child of a fork, under
//! a C program): nothing here allocates, takes a lock of the standard library, registers a thread-local destructor, or
//! changes `errno`. The fallback for systems that have no file of their own cannot keep the first two; the head of
//! `hardware/portable.rs` says what that costs. Windows has its own `errno`, `GetLastError`, which is not kept.
//!
//! Processors without atomics of 64 bits, as riscv32, are not supported; those of 32 bits with them, as i686 and armv7, are.
//!
//! # Example
//! A lock of four lines, which runs wherever there is a [`Platform`]:
//! ```
//! use ondeck_platform::{Atomic, Hardware, Platform};
//! use std::sync::atomic::Ordering::{Acquire, Release};
//!
//! fn with_lock<P: Platform>(word: &P::U32, section: impl FnOnce()) {
//!     while word.swap(1, Acquire) == 1 {
//!         P::pause_ns(100);
//!     }
//!     section();
//!     word.store(0, Release);
//! }
//!
//! let word = Atomic::new(0);
//! with_lock::<Hardware>(&word, || println!("at bat"));
//! ```

#[cfg(not(target_has_atomic = "64"))]
compile_error!("ondeck's locks need atomics of 64 bits, which this processor has not");

/// Items for systems where `ondeck-record` can record a process, or others elsewhere.
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
#[doc(hidden)]
#[macro_export]
macro_rules! where_recordable {
    ({ $($there:item)* } else { $($elsewhere:item)* }) => { $($there)* };
}

/// Items for systems where `ondeck-record` can record a process, or others elsewhere.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
#[doc(hidden)]
#[macro_export]
macro_rules! where_recordable {
    ({ $($there:item)* } else { $($elsewhere:item)* }) => { $($elsewhere)* };
}

mod atomic;
mod hardware;
mod token;

pub use atomic::{Atomic, AtomicPointer};
pub use hardware::Hardware;
pub use token::Token;

use core::fmt::Debug;
use core::num::{NonZeroU32, NonZeroU64};

/// A named transition of an algorithm: one row of the step table in the header of its file.
///
/// The name is the handle by which a trace, a coverage report or a scripted interleaving speaks of the transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Name of the algorithm, as the command line spells it.
    pub lock: &'static str,
    /// Name of the transition, a verb.
    pub name: &'static str,
}

/// How a call of [`Platform::wait_on`] or [`Platform::wait_on_upper`] ended.
///
/// A caller must look at the word again whatever the answer is: every answer but `TimedOut` may be spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// A wake arrived, a signal interrupted the wait, the word had changed already, or for no reason at all.
    Woken,
    /// The deadline has passed.
    TimedOut,
}

/// Whether the thread that holds a lock is on a core at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// It is on a core.
    Yes,
    /// It is preempted or asleep.
    No,
    /// The platform cannot tell. User space on hardware mostly cannot.
    Unknown,
}

/// Identity of a thread: never zero, unique among the threads alive.
pub type ThreadId = NonZeroU64;

/// What a lock needs of the machine: atomics, waiting, pausing, time, and a few facts about threads and cores.
///
/// # Time
/// There are two clocks. [`now_ns`](Platform::now_ns) is the monotonic clock that deadlines are written in.
/// [`ticks`](Platform::ticks) is a counter of unspecified rate that is cheap enough to read on every poll of a spinner;
/// [`ns_to_ticks`](Platform::ns_to_ticks) converts.
///
/// # Waiting
/// Two styles are offered because the published algorithms differ. [`wait_on`](Platform::wait_on) and
/// [`wake`](Platform::wake) are the futex-like pair on a word; [`Token`] is one permit of one thread. `wake` works by
/// address only and never dereferences, so it may be called with the address of a lock that has been freed meanwhile:
/// at worst a stranger wakes spuriously.
pub trait Platform: Copy + Debug + Send + Sync + 'static {
    /// A 32-bit atomic.
    type U32: Atomic<u32>;
    /// A 64-bit atomic.
    type U64: Atomic<u64>;
    /// An atomic pointer.
    type Ptr<T: 'static>: AtomicPointer<T>;

    /// Sleeps while `word` holds `expected`, until woken or until the monotonic clock reaches `deadline_ns`.
    ///
    /// The comparison and falling asleep are one atomic step with respect to [`wake`](Platform::wake).
    fn wait_on(word: &Self::U32, expected: u32, deadline_ns: Option<u64>) -> Waited;

    /// Wakes at most `n` threads that sleep on the address `word`. The address is not dereferenced.
    ///
    /// A platform may wake more of them, spuriously.
    fn wake(word: *const Self::U32, n: u32);

    /// As [`wait_on`](Platform::wait_on), for the upper half of a 64-bit word.
    ///
    /// A platform may compare all 64 bits: a changed lower half may then end the wait, spuriously.
    fn wait_on_upper(word: &Self::U64, expected: u64, deadline_ns: Option<u64>) -> Waited;

    /// As [`wake`](Platform::wake), for threads in [`wait_on_upper`](Platform::wait_on_upper).
    fn wake_upper(word: *const Self::U64, n: u32);

    /// Tells the core that this is a spin loop: one PAUSE, ISB or the like, 10 to 80 ns.
    fn pause();

    /// So many pauses in a row, between which nobody looks. A platform that computes time need not make them one by one.
    fn pauses(n: u32) {
        (0..n).for_each(|_| Self::pause());
    }

    /// Stays off shared memory for about `ns` nanoseconds, on the core. Never sleeps. On hardware it errs to the long
    /// side, by a pause or so.
    fn pause_ns(ns: u32);

    /// Offers the core to another runnable thread.
    fn yield_now();

    /// Sleeps for about `ns` nanoseconds, or less if the system ends the sleep early. For who waits for a thread of lower
    /// priority, to which a yield gives nothing.
    fn nap_ns(ns: u32) {
        let nobody_knows_it = Self::U32::new(0);
        Self::wait_on(&nobody_knows_it, 0, Some(Self::now_ns() + u64::from(ns)));
    }

    /// The monotonic clock, in nanoseconds from an unspecified origin. Never zero.
    fn now_ns() -> u64;

    /// A cheap monotonic counter of unspecified rate. Differences between cores are below a microsecond, unless the
    /// machine's own counters are worse: subtract with care.
    fn ticks() -> u64;

    /// How many [`ticks`](Platform::ticks) pass in `ns` nanoseconds.
    fn ns_to_ticks(ns: u64) -> u64;

    /// The calling thread.
    fn thread_id() -> ThreadId;

    /// A small number of the calling thread, for locks that keep their owner in a few bits: counted up from 1 as
    /// threads first ask, and never given out twice in a process. `None` once the numbers are used up.
    fn thread_index() -> Option<NonZeroU32>;

    /// Index of the core the calling thread runs on; stale as soon as it is returned. Zero where unknown.
    fn current_core() -> u32;

    /// How many threads of this process can run at once: affinity and CPU quota honoured, at least 1, refreshed about
    /// once a second. A quota that is no whole number of cores is rounded up.
    fn parallelism() -> u32;

    /// Whether spinning can pay: more than one core may run us, and the user has not switched spinning off. Cheap
    /// enough to ask once in each slow path.
    fn may_spin() -> bool;

    /// Whether more threads than there are cores have wanted to run lately, as far as this process has noticed: within
    /// [`CROWDED_FOR_NS`] one of its yields took longer than [`LONG_YIELD_NS`], so that another thread has run meanwhile.
    ///
    /// While it is so a waiter should yield before it sleeps. A core that falls idle may stay so for a time slice, although
    /// a thread that was woken a moment before waits for another one: systems place a thread when it wakes, and look for
    /// one elsewhere only now and then. Cheap enough for each slow path.
    fn is_crowded() -> bool {
        false
    }

    /// On how many memory nodes (NUMA) threads of this process may run, affinity and control group included; 0 if that is
    /// not known. Decided once, as early as the platform can. Reads no file, allocates nothing, and may be called from
    /// wherever a lock is acquired.
    ///
    /// Within one node, passing a lock from core to core costs less than finding out what it costs.
    fn memory_nodes() -> u32 {
        0
    }

    /// Whether the lower `bits` of `address` are all of it, so that a word with room for so many can hold it. Not so where
    /// addresses are longer, or where the system keeps a tag in their upper bits.
    ///
    /// Models say no now and then, so that what a lock does then is run.
    fn fits(address: u64, bits: u32) -> bool {
        address >> bits == 0
    }

    /// Whether `thread` is on a core now.
    fn is_running(thread: ThreadId) -> Running;

    /// Whether the calling thread's time slice is over and it has its core still, because it cannot be preempted at this
    /// moment. False where threads can always be preempted, as in user space, or where it cannot be known.
    fn is_core_wanted() -> bool {
        false
    }

    /// Marks a transition of an algorithm. Free on hardware.
    fn step(step: Step);
}

/// A yield that takes longer has let another thread run, see [`Platform::is_crowded`]: one that gives nothing takes well below
/// a microsecond, and a switch there and back a few.
pub const LONG_YIELD_NS: u64 = 10_000;

/// How long a long yield counts, see [`Platform::is_crowded`]: a few time slices.
pub const CROWDED_FOR_NS: u64 = 10_000_000;

/// A platform whose atomics can be built in a constant, so that a lock can be a `static`.
///
/// Model checkers cannot do this, so [`Platform`] does not ask for it.
pub trait StaticPlatform: Platform {
    /// A 32-bit atomic that holds 0.
    const U32_ZERO: Self::U32;
    /// A 64-bit atomic that holds 0.
    const U64_ZERO: Self::U64;
}

/// README.md's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
