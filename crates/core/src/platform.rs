//! The connection between the locks and the machine: atomics, sleeping and waking, pauses and clocks.
//!
//! This small lock runs wherever there is a [`Platform`]:
//! ```
//! use ondeck_core::{Atomic, Hardware, Platform};
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
//! with_lock::<Hardware>(&word, || println!("inside"));
//! ```

#[cfg(not(target_has_atomic = "64"))]
compile_error!("ondeck's locks need atomics of 64 bits, which this processor has not");

/// Chooses between items for systems where `ondeck-record` can record a process, and items for other systems.
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
#[doc(hidden)]
#[macro_export]
macro_rules! where_recordable {
    ({ $($there:item)* } else { $($elsewhere:item)* }) => { $($there)* };
}

/// Chooses between items for systems where `ondeck-record` can record a process, and items for other systems.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
#[doc(hidden)]
#[macro_export]
macro_rules! where_recordable {
    ({ $($there:item)* } else { $($elsewhere:item)* }) => { $($elsewhere)* };
}

/// The named methods of [`Platform`] as [`Hardware`] has them, and with `types` its atomics: for a platform that is this
/// machine but for a few methods.
#[doc(hidden)]
#[macro_export]
macro_rules! as_on_hardware {
    ($($method:ident),* $(,)?) => { $($crate::as_on_hardware!(@$method);)* };
    (@types) => {
        type U32 = <$crate::Hardware as $crate::Platform>::U32;
        type U64 = <$crate::Hardware as $crate::Platform>::U64;
        type Ptr<T: 'static> = <$crate::Hardware as $crate::Platform>::Ptr<T>;
    };
    (@pause) => { $crate::as_on_hardware!(@@pause()); };
    (@yield_now) => { $crate::as_on_hardware!(@@yield_now()); };
    (@now_ns) => { $crate::as_on_hardware!(@@now_ns() -> u64); };
    (@ticks) => { $crate::as_on_hardware!(@@ticks() -> u64); };
    (@ns_to_ticks) => { $crate::as_on_hardware!(@@ns_to_ticks(ns: u64) -> u64); };
    (@thread_id) => { $crate::as_on_hardware!(@@thread_id() -> $crate::ThreadId); };
    (@thread_index) => { $crate::as_on_hardware!(@@thread_index() -> Option<::core::num::NonZeroU32>); };
    (@current_core) => { $crate::as_on_hardware!(@@current_core() -> u32); };
    (@parallelism) => { $crate::as_on_hardware!(@@parallelism() -> u32); };
    (@may_spin) => { $crate::as_on_hardware!(@@may_spin() -> bool); };
    (@wakes) => {
        $crate::as_on_hardware!(@@wake_time_ns() -> u64);
        #[inline(always)]
        fn note_wake(woken_ns: u64, cores: fn() -> Option<u32>) {
            <$crate::Hardware as $crate::Platform>::note_wake(woken_ns, cores);
        }
        $crate::as_on_hardware!(@@busy() -> $crate::Busy);
    };
    (@memory_nodes) => { $crate::as_on_hardware!(@@memory_nodes() -> u32); };
    (@atomics_may_be_far) => { $crate::as_on_hardware!(@@atomics_may_be_far() -> bool); };
    (@sequences) => {
        $crate::as_on_hardware!(@@has_sequences() -> bool);
        $crate::as_on_hardware!(@@can_expel() -> bool);
        $crate::as_on_hardware!(@@expel() -> bool);
        #[inline(always)]
        unsafe fn store_unless_expelled(word: &Self::U64, expected: u64, new: u64) -> bool {
            // SAFETY: the caller owes the same.
            unsafe { <$crate::Hardware as $crate::Platform>::store_unless_expelled(word, expected, new) }
        }
    };
    (@counters) => {
        const MAY_COUNT: bool = <$crate::Hardware as $crate::CoreCounters>::MAY_COUNT;

        fn take_counter() -> Option<::core::num::NonZeroU32> {
            <$crate::Hardware as $crate::CoreCounters>::take_counter()
        }

        fn pays_alone() -> bool {
            <$crate::Hardware as $crate::CoreCounters>::pays_alone()
        }

        unsafe fn give_counter(counter: u32) {
            // SAFETY: the caller owes the same.
            unsafe { <$crate::Hardware as $crate::CoreCounters>::give_counter(counter) }
        }

        #[inline(always)]
        unsafe fn count_unless_expelled(word: &Self::U64, amount: u64) -> bool {
            // SAFETY: the caller owes the same.
            unsafe { <$crate::Hardware as $crate::CoreCounters>::count_unless_expelled(word, amount) }
        }

        fn expel_counts() {
            <$crate::Hardware as $crate::CoreCounters>::expel_counts();
        }

        fn counted(counter: u32) -> $crate::Counted {
            <$crate::Hardware as $crate::CoreCounters>::counted(counter)
        }

        #[inline(always)]
        fn is_noted(word: *const Self::U64) -> bool {
            <$crate::Hardware as $crate::CoreCounters>::is_noted(word)
        }

        fn note(word: *const Self::U64, is_spread: bool) {
            <$crate::Hardware as $crate::CoreCounters>::note(word, is_spread);
        }

        fn is_sampled(one_in: u32) -> bool {
            <$crate::Hardware as $crate::CoreCounters>::is_sampled(one_in)
        }
    };
    (@is_running) => { $crate::as_on_hardware!(@@is_running(thread: $crate::ThreadId) -> $crate::RunState); };
    (@@$method:ident($($name:ident: $kind:ty)?) $(-> $answer:ty)?) => {
        #[inline(always)]
        fn $method($($name: $kind)?) $(-> $answer)? {
            <$crate::Hardware as $crate::Platform>::$method($($name)?)
        }
    };
}

mod atomic;
pub(crate) mod counters;
mod hardware;
/// For the recorder and the preloaded library.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
#[doc(hidden)]
pub mod kernel;
mod token;

pub use atomic::{Atomic, AtomicPointer};
pub use counters::{CoreCounters, Counted};
pub use hardware::Hardware;
pub use token::Token;

use core::fmt::Debug;
use core::num::{NonZeroU32, NonZeroU64};

/// A named transition of an algorithm: one row of the step table in the header of its file.
///
/// Traces, coverage reports and scripted interleavings use this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The name of the algorithm on the command line.
    pub lock: &'static str,
    /// The name of the transition, a verb.
    pub name: &'static str,
}

/// How a call of [`Platform::wait_on`] or [`Platform::wait_on_upper`] ended.
///
/// A caller must look at the word again, whatever the answer is. `Woken` may be spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The wait ended before its deadline. A wake arrived, a signal interrupted the wait, the word had changed already,
    /// or there was no reason at all.
    Woken,
    /// The deadline has passed.
    TimedOut,
}

/// Whether the thread that holds a lock is on a core at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It is on a core.
    Yes,
    /// It is preempted or asleep.
    No,
    /// The platform cannot tell. [`Hardware`] never can.
    Unknown,
}

/// Who keeps the cores busy. See [`Platform::busy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// Nobody, as far as the platform knows.
    Nobody,
    /// The threads of this process.
    Ours,
    /// Other programs.
    Others,
}

/// The identity of a thread. It is never zero, and no two living threads have the same.
pub type ThreadId = NonZeroU64;

/// The machine that a lock runs on: atomics, waiting, pausing, time, and a few facts about threads and cores.
///
/// # Time
/// There are two clocks:
///
/// - [`now_ns`](Platform::now_ns) is a monotonic clock in nanoseconds. Deadlines are points of this clock.
/// - [`ticks`](Platform::ticks) is a counter of unspecified rate. It is cheap enough to read on every poll of a
///   spinner. [`ns_to_ticks`](Platform::ns_to_ticks) converts nanoseconds into ticks.
///
/// # Waiting
/// There are two ways to wait, because published algorithms differ:
///
/// - [`wait_on`](Platform::wait_on) and [`wake`](Platform::wake) work on a word, like a futex.
/// - A [`Token`] is one permit of one thread.
///
/// `wake` uses only the address and never dereferences it. So it may be called with the address of a lock that has been
/// freed meanwhile. At worst it then wakes another thread spuriously.
pub trait Platform: Copy + Debug + Send + Sync + 'static {
    /// A 32-bit atomic.
    type U32: Atomic<u32>;
    /// A 64-bit atomic.
    type U64: Atomic<u64>;
    /// An atomic pointer.
    type Ptr<T: 'static>: AtomicPointer<T>;

    /// Sleeps while `word` holds `expected`, until a wake comes or the monotonic clock reaches `deadline_ns`.
    ///
    /// A [`wake`](Platform::wake) cannot come between the comparison and falling asleep.
    fn wait_on(word: &Self::U32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd;

    /// Wakes `n` threads that sleep on the address `word`, or all if there are fewer. Never dereferences the address.
    ///
    /// A platform may wake more threads, spuriously.
    fn wake(word: *const Self::U32, n: u32);

    /// As [`wait_on`](Platform::wait_on), for the upper half of a 64-bit word.
    ///
    /// A platform may compare all 64 bits. A changed lower half may then end the wait spuriously.
    fn wait_on_upper(word: &Self::U64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd;

    /// As [`wake`](Platform::wake), for threads in [`wait_on_upper`](Platform::wait_on_upper).
    fn wake_upper(word: *const Self::U64, n: u32);

    /// As [`wait_on`](Platform::wait_on), for a thread whose record others have meanwhile.
    ///
    /// If the platform lets a thread end in its sleep, it calls `leave` before, and the thread's stack is whole then.
    fn wait_on_or_leave(word: &Self::U32, expected: u32, deadline_ns: Option<u64>, leave: impl Fn()) -> WaitEnd {
        let _ = leave;
        Self::wait_on(word, expected, deadline_ns)
    }

    /// As [`wait_on_or_leave`](Platform::wait_on_or_leave), for the upper half of a 64-bit word.
    fn wait_on_upper_or_leave(word: &Self::U64, expected: u64, deadline_ns: Option<u64>, leave: impl Fn()) -> WaitEnd {
        let _ = leave;
        Self::wait_on_upper(word, expected, deadline_ns)
    }

    /// Tells the core that this is a spin loop. It takes one PAUSE, ISB or the like, which is 10 to 80 ns.
    fn pause();

    /// Pauses `n` times in a row. A platform with simulated time need not make the pauses one by one.
    fn pauses(n: u32) {
        (0..n).for_each(|_| Self::pause());
    }

    /// Stays on the core for about `ns` nanoseconds without touching shared memory. Never sleeps.
    ///
    /// On hardware it may take longer by about one pause.
    fn pause_ns(ns: u32);

    /// Offers the core to another runnable thread.
    fn yield_now();

    /// Sleeps for about `ns` nanoseconds, or less if the system ends the sleep early.
    ///
    /// It is for waiting for a thread of lower priority, to which a yield gives nothing.
    fn nap_ns(ns: u32) {
        let nobody_knows_it = Self::U32::new(0);
        Self::wait_on(&nobody_knows_it, 0, Some(Self::now_ns() + u64::from(ns)));
    }

    /// Reads the monotonic clock, in nanoseconds from an unspecified origin. Never zero.
    fn now_ns() -> u64;

    /// Reads a cheap monotonic counter of unspecified rate.
    ///
    /// The counters of two cores may differ by less than a microsecond, or by more if the machine's own counters do. So
    /// a later value may be the smaller one: subtract with care.
    fn ticks() -> u64;

    /// Returns how many [`ticks`](Platform::ticks) pass in `ns` nanoseconds.
    fn ns_to_ticks(ns: u64) -> u64;

    /// Returns the identity of the calling thread.
    fn thread_id() -> ThreadId;

    /// Returns a small number of the calling thread, for locks that keep their owner in a few bits.
    ///
    /// Threads get their numbers when they first ask, from 1 upwards. No number is given out twice in a process. `None`
    /// means that the numbers are used up.
    fn thread_index() -> Option<NonZeroU32>;

    /// Returns the index of the core that the calling thread runs on, or 0 if that is unknown.
    ///
    /// The answer may be out of date as soon as it is returned.
    fn current_core() -> u32;

    /// Returns how many threads of this process can run at once. The answer is at least 1.
    ///
    /// It takes account of affinity and CPU quota, and is refreshed about once a second. A quota that is no whole
    /// number of cores is rounded up.
    fn parallelism() -> u32;

    /// Returns whether spinning can pay: more than one core may run this process, and the user has not switched
    /// spinning off.
    ///
    /// It is cheap enough to ask once in each slow path.
    fn may_spin() -> bool;

    /// Returns the time at which a thread is woken, for [`note_wake`](Platform::note_wake). 0 where nobody wants to know.
    fn wake_time_ns() -> u64 {
        0
    }

    /// Tells that the calling thread, which was woken at `woken_ns`, is on a core. `cores` says how many there are, `None` if
    /// the system must not be asked for more.
    fn note_wake(woken_ns: u64, cores: fn() -> Option<u32>) {
        let _ = (woken_ns, cores);
    }

    /// Returns who keeps the cores busy, so that a thread that is woken may have to wait for one.
    ///
    /// Stale at once. Cheap enough to ask in each notification.
    fn busy() -> Busy {
        Busy::Nobody
    }

    /// Returns on how many memory nodes (NUMA) threads of this process may run, or 0 if that is not known.
    ///
    /// It takes account of affinity and control group. The platform finds the answer once, as early as it can. The call
    /// reads no file and allocates nothing, and may be made wherever a lock is acquired.
    ///
    /// Locks ask because passing a lock from core to core is cheap within one node. There it costs less than finding
    /// out what it costs.
    fn memory_nodes() -> u32 {
        0
    }

    /// Returns whether an atomic read-modify-write may be done far from its core, where the line is not the core's own.
    ///
    /// Processors of Arm's do so. Then the line stays away until the core loads it, and a thread that only reads, modifies
    /// and writes never gets it. Locks ask so that they can load it once.
    fn atomics_may_be_far() -> bool {
        false
    }

    /// Returns whether this platform may ever be able to [`expel`](Platform::expel). A constant, so that code for it goes where
    /// it is of no use.
    fn has_sequences() -> bool {
        false
    }

    /// Returns whether a lock may begin to rely on [`expel`](Platform::expel): that works in this process, and has not been
    /// used a moment ago. Each use disturbs all threads of the process; that so few locks come to rely on it keeps it seldom.
    fn can_expel() -> bool {
        false
    }

    /// Looks whether `word` holds `expected`, and if so writes `new`. Returns whether it did.
    ///
    /// The look and the store are two steps, and the store compares nothing: what others write in between is lost. An
    /// [`expel`](Platform::expel) in between, a signal, or the loss of the core ends it with false and without the store. The
    /// store has Release ordering.
    ///
    /// # Safety
    /// [`can_expel`](Platform::can_expel) has been true in this process.
    unsafe fn store_unless_expelled(word: &Self::U64, expected: u64, new: u64) -> bool {
        let _ = (word, expected, new);
        false
    }

    /// Puts an end to each [`store_unless_expelled`](Platform::store_unless_expelled) of this process that has looked and not
    /// stored yet: when it returns, each has stored, or will not. Whoever looks after it began sees what the caller has
    /// written before.
    ///
    /// It takes microseconds, and interrupts all threads of the process that run. Returns false if nothing was ended, as the
    /// system refuses it meanwhile.
    fn expel() -> bool {
        false
    }

    /// Returns whether `address` fits into `bits` bits, so that a word with room for so many can hold it.
    ///
    /// It does not fit where addresses are longer, or where the system keeps a tag in their upper bits. Models answer
    /// no now and then, so that this case is tested too.
    fn fits(address: u64, bits: u32) -> bool {
        address >> bits == 0
    }

    /// Returns whether `thread` is on a core now.
    fn is_running(thread: ThreadId) -> RunState;

    /// Returns whether the calling thread's time slice is over, while it still has its core.
    ///
    /// This happens where a thread cannot be preempted at every moment. The answer is false where threads can always be
    /// preempted, as in user space, or where it cannot be known.
    fn is_core_wanted() -> bool {
        false
    }

    /// Marks a transition of an algorithm. On hardware it does nothing and costs nothing.
    fn step(step: Step);
}

/// A platform whose atomics can be made in a constant, so that a lock can be a `static`.
///
/// Model checkers cannot do this. So [`Platform`] does not ask for it.
pub trait StaticPlatform: Platform {
    /// A 32-bit atomic that holds 0.
    const U32_ZERO: Self::U32;
    /// A 64-bit atomic that holds 0.
    const U64_ZERO: Self::U64;
}
