//! The seam as a preloaded library needs it: this machine, without what may surprise the program around a lock.
//!
//! [`Hardware`] asks files of the system, once a second, how many threads may run: that takes 12 KiB of stack, which a small
//! one has not, and opens descriptors, which a sandbox or a program that closes all of them does not expect. Here files are
//! asked once, before the program starts; later only the affinity is, by one system call.

use crate::probes;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use ondeck_platform::{Hardware, Platform, Step, ThreadId, Waited};

/// This machine, for programs that know nothing of us.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preloaded;

/// How many threads the system lets run at once, whatever the affinity is; as many as there are cores if there is no quota.
static QUOTA: AtomicU32 = AtomicU32::new(u32::MAX);
/// Cores that may run us, 0 before they were counted, and when that was.
static CORES: AtomicU32 = AtomicU32::new(0);
static COUNTED_AT: AtomicU64 = AtomicU64::new(0);
/// Whether the user has switched spinning off.
static IS_OFF: AtomicU32 = AtomicU32::new(0);

/// Before the program starts: asks what needs files, or the environment.
pub(crate) fn ask_early() {
    let effective = Hardware::parallelism();
    if effective < count_cores() {
        QUOTA.store(effective, Relaxed);
    }
    // It says no for one core as well, so that is looked at first.
    if effective > 1 && !Hardware::may_spin() {
        IS_OFF.store(1, Relaxed);
    }
}

fn count_cores() -> u32 {
    const MOST: usize = 128;
    let mut set = [0_u64; MOST];
    // SAFETY: fills as much of the set as the system has, whose size is given in bytes.
    let n_bytes = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&set), set.as_mut_ptr()) };
    let n_words = usize::try_from(n_bytes).unwrap_or(0).div_ceil(size_of::<u64>());
    let n_cores = set.iter().take(n_words).map(|word| word.count_ones()).sum::<u32>();
    // More than 8192 of them are refused; then there is more than one.
    let n_cores = if n_cores == 0 { 2 } else { n_cores };
    CORES.store(n_cores, Relaxed);
    COUNTED_AT.store(Hardware::ticks(), Relaxed);
    n_cores
}

impl Platform for Preloaded {
    ondeck_platform::as_on_hardware! {
        types, pause, yield_now, now_ns, ticks, ns_to_ticks, current_core, memory_nodes,
        atomics_may_be_far, is_running
    }

    #[inline]
    fn wait_on(word: &Self::U32, expected: u32, deadline_ns: Option<u64>) -> Waited {
        ondeck_record::slept();
        Hardware::wait_on(word, expected, deadline_ns)
    }

    #[inline]
    fn wake(word: *const Self::U32, n: u32) {
        ondeck_record::woke(n);
        probes::wake(word as u64, n);
        Hardware::wake(word, n);
    }

    #[inline]
    fn wait_on_upper(word: &Self::U64, expected: u64, deadline_ns: Option<u64>) -> Waited {
        ondeck_record::slept();
        Hardware::wait_on_upper(word, expected, deadline_ns)
    }

    #[inline]
    fn wake_upper(word: *const Self::U64, n: u32) {
        ondeck_record::woke(n);
        probes::wake(word as u64, n);
        Hardware::wake_upper(word, n);
    }

    #[inline]
    fn pause_ns(ns: u32) {
        ondeck_record::spun();
        Hardware::pause_ns(ns);
    }

    #[inline]
    fn thread_id() -> ThreadId {
        ThreadId::new(crate::thread::id().into()).unwrap_or(ThreadId::MIN)
    }

    /// No lock that may be a program's mutex keeps its owner in a few bits.
    #[inline]
    fn thread_index() -> Option<NonZeroU32> {
        None
    }

    #[inline]
    fn parallelism() -> u32 {
        const REFRESH_NS: u64 = 1_000_000_000;
        let (cores, age) = (CORES.load(Relaxed), Hardware::ticks().abs_diff(COUNTED_AT.load(Relaxed)));
        let is_fresh = cores != 0 && age < Hardware::ns_to_ticks(REFRESH_NS);
        let cores = if is_fresh { cores } else { count_cores() };
        cores.min(QUOTA.load(Relaxed))
    }

    #[inline]
    fn may_spin() -> bool {
        IS_OFF.load(Relaxed) == 0 && Self::parallelism() > 1
    }

    /// Who accepts a lock that was passed on has been put on deck in another's place. The name is a constant, so nothing is
    /// compared while the program runs.
    #[inline(always)]
    fn step(step: Step) {
        if step.name == "accept" {
            ondeck_record::rotated();
        }
    }
}
