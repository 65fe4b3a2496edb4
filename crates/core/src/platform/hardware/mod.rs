//! This machine. One file per operating system behind the same functions, one file per processor for its clock.
//!
//! An operating system's file has: `wait`, `wait_upper`, `wake` (sleeping on an address), `yield_now`, `now_ns`,
//! `thread_id`, `current_core`, `parallelism` (asked afresh, not cached), `process_time_ns`, `memory_nodes` and
//! `environment_is`.

mod busy;
mod clock;
mod parallelism;
mod processor;
mod sequence;

mod thread_index;

// Miri has no futex of all kinds and no files: there, and where there is nothing better, it is the fallback.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod linux;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
use linux as os;

#[cfg(all(target_os = "macos", not(miri)))]
mod macos;
#[cfg(all(target_os = "macos", not(miri)))]
use macos as os;

#[cfg(all(windows, not(miri)))]
mod windows;
#[cfg(all(windows, not(miri)))]
use windows as os;

// Compiled into the tests of every system, so that the fallback is run where there is no system that needs it.
#[cfg(any(test, miri, not(any(target_os = "linux", target_os = "android", target_os = "macos", windows))))]
mod portable;
#[cfg(any(miri, not(any(target_os = "linux", target_os = "android", target_os = "macos", windows))))]
use portable as os;

#[cfg(test)]
mod tests;

use crate::platform::atomic::upper_half;
use crate::platform::counters::{CoreCounters, Counted};
use crate::{Busy, Platform, RunState, StaticPlatform, Step, ThreadId, WaitEnd};
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// The machine that the program runs on.
///
/// # Environment
/// `ONDECK_SPIN=0` switches spinning off for the whole process. [`may_spin`](Platform::may_spin) is false then. Set it
/// for processes with a CPU quota, where a spinning thread uses up time that the holder needs.
///
/// The variable is read once, by `getenv`, when a thread first asks. A `setenv` in another thread at that very moment
/// is a data race in most C libraries. glibc is safe from 2.41 on. So a library that is loaded early asks early.
///
/// # System calls
/// Waiting and waking make system calls. Who waits for a quiet lock that is held for long makes `membarrier`,
/// and so does who notifies a waiter of one that is held, or writes under a reader-writer lock that was read often. The first of
/// these locks makes `mmap` and `madvise` once. [`parallelism`](Platform::parallelism) makes some about once a second. On
/// Linux these include `openat` and `read`. A notified thread that comes up late asks for the CPU time of the process, every
/// 10 ms at most. If a sandbox kills the process for them, set `ONDECK_SPIN=0`: `may_spin`
/// then does not ask for `parallelism`, and late threads do not ask.
///
/// # Before `main`
/// On Linux the loader runs constructors. One reads from `/sys` how many memory nodes there are. On a machine with
/// one node it reads one file, in about 10 us. On x86-64, another one asks the C library for its restartable sequences, and
/// makes one system call, `membarrier`. In a process that has threads already, as when a library is loaded late, it may take
/// some milliseconds.
///
/// # Restartable sequences
/// On Linux on x86-64, [`can_expel`](Platform::can_expel) is true with glibc 2.35 or newer, linked dynamically, and Linux 5.10
/// or newer, unless
/// `GLIBC_TUNABLES=glibc.pthread.rseq=0` switches them off, a filter refuses `membarrier`, or the program has the thread sanitizer,
/// which would not see their stores (if it exports the name `__tsan_init`; rustc has to be told so).
#[derive(Clone, Copy, Debug)]
pub struct Hardware;

impl Hardware {
    /// Whether the processor is an AMD of Zen 3, where restartable sequences gain least.
    pub fn is_zen_3() -> bool {
        processor::is_zen_3()
    }

    /// From here on no mutex of this process, and no writer of a reader-writer lock, begins to do without a locked instruction. For
    /// processors on which that gains nothing. Readers use restartable sequences all the same.
    pub fn stay_loud() {
        sequence::stay_loud();
    }

    /// From here on no lock of this process relies on restartable sequences, and none calls `membarrier`. To be called before
    /// the program installs a filter that ends it for that call; what another thread has begun by then is not stopped. From a
    /// constructor with a priority, it also comes before the call at the start.
    pub fn forgo_sequences() {
        sequence::forgo();
    }
}

impl Platform for Hardware {
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    type Ptr<T: 'static> = AtomicPtr<T>;

    #[inline]
    fn wait_on(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
        os::wait(word, expected, deadline_ns)
    }

    #[inline]
    fn wake(word: *const AtomicU32, n: u32) {
        os::wake(word.cast(), n);
    }

    #[inline]
    fn wait_on_upper(word: &AtomicU64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
        os::wait_upper(word, expected, deadline_ns)
    }

    #[inline]
    fn wake_upper(word: *const AtomicU64, n: u32) {
        os::wake(upper_half(word.cast()), n);
    }

    #[inline(always)]
    fn pause() {
        clock::pause();
    }

    #[inline]
    fn pause_ns(ns: u32) {
        clock::pause_ns(ns);
    }

    #[inline]
    fn yield_now() {
        os::yield_now();
    }

    #[inline]
    fn now_ns() -> u64 {
        os::now_ns()
    }

    #[inline(always)]
    fn ticks() -> u64 {
        clock::ticks()
    }

    #[inline]
    fn ns_to_ticks(ns: u64) -> u64 {
        clock::ns_to_ticks(ns)
    }

    #[inline]
    fn thread_id() -> ThreadId {
        // No system gives out zero; the fallback only spares the callers a panic path.
        ThreadId::new(os::thread_id()).unwrap_or(ThreadId::MAX)
    }

    #[inline]
    fn thread_index() -> Option<NonZeroU32> {
        thread_index::get()
    }

    #[inline]
    fn current_core() -> u32 {
        os::current_core()
    }

    #[inline]
    fn parallelism() -> u32 {
        parallelism::effective()
    }

    #[inline]
    fn may_spin() -> bool {
        parallelism::may_spin()
    }

    #[inline]
    fn wake_time_ns() -> u64 {
        os::now_ns()
    }

    #[inline]
    fn note_wake(woken_ns: u64, cores: fn() -> Option<u32>) {
        busy::note_wake(woken_ns, cores);
    }

    #[inline]
    fn busy() -> Busy {
        busy::busy()
    }

    #[inline]
    fn memory_nodes() -> u32 {
        os::memory_nodes()
    }

    #[inline(always)]
    fn atomics_may_be_far() -> bool {
        cfg!(target_arch = "aarch64")
    }

    #[inline(always)]
    fn has_sequences() -> bool {
        sequence::EXIST
    }

    #[inline]
    fn can_expel() -> bool {
        sequence::can_expel()
    }

    #[inline(always)]
    unsafe fn store_unless_expelled(word: &AtomicU64, expected: u64, new: u64) -> bool {
        // SAFETY: the caller owes the same.
        unsafe { sequence::store(word, expected, new) }
    }

    fn expel() -> bool {
        sequence::expel()
    }

    #[inline]
    fn is_running(_thread: ThreadId) -> RunState {
        RunState::Unknown
    }

    #[inline(always)]
    fn step(_step: Step) {}
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
impl CoreCounters for Hardware {
    const MAY_COUNT: bool = sequence::EXIST;

    fn take_counter() -> Option<NonZeroU32> {
        sequence::counters::take()
    }

    fn pays_alone() -> bool {
        sequence::counters::pays_alone(Self::is_zen_3())
    }

    unsafe fn give_counter(counter: u32) {
        // SAFETY: the caller owes the same.
        unsafe { sequence::counters::give(counter) }
    }

    #[inline(always)]
    unsafe fn count_unless_expelled(word: &AtomicU64, amount: u64) -> bool {
        // SAFETY: the caller owes the same.
        unsafe { sequence::counters::count(word, amount) }
    }

    fn expel_counts() {
        sequence::counters::expel();
    }

    fn counted(counter: u32) -> Counted {
        sequence::counters::counted(counter)
    }

    #[inline(always)]
    fn is_noted(word: *const AtomicU64) -> bool {
        sequence::counters::is_noted(word)
    }

    fn note(word: *const AtomicU64, is_spread: bool) {
        sequence::counters::note(word, is_spread);
    }

    #[inline]
    fn is_sampled(one_in: u32) -> bool {
        sequence::counters::is_sampled(one_in)
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
impl CoreCounters for Hardware {}

impl StaticPlatform for Hardware {
    const U32_ZERO: AtomicU32 = AtomicU32::new(0);
    const U64_ZERO: AtomicU64 = AtomicU64::new(0);
}
