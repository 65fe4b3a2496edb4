//! The platform as a preloaded library needs it: this machine, without what may surprise the program around a lock.
//!
//! [`Hardware`] asks files of the system, once a second, how many threads may run: that takes 12 KiB of stack, which a small
//! one has not, and opens descriptors and makes system calls, which a sandbox or a program that closes all of them does not
//! expect. Here all is asked once, before the program starts.

use crate::handler::or_leave;
use crate::probes;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use ondeck_core::{CoreCounters, Hardware, Platform, Step, ThreadId, WaitEnd};

/// This machine, for programs that know nothing of us.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreloadPlatform;

/// How many threads may run at once, by cores, affinity and quota; several before that was asked.
static PARALLELISM: AtomicU32 = AtomicU32::new(2);
/// Whether the user has switched spinning off.
static IS_OFF: AtomicU32 = AtomicU32::new(0);

/// Before the program starts: asks what needs files, or the environment.
pub(crate) fn ask_early() {
    let parallelism = Hardware::parallelism();
    PARALLELISM.store(parallelism, Relaxed);
    // It says no for one core as well, so that is looked at first.
    if parallelism > 1 && !Hardware::may_spin() {
        IS_OFF.store(1, Relaxed);
    }
}

impl CoreCounters for PreloadPlatform {
    ondeck_core::as_on_hardware! { counters }
}

impl Platform for PreloadPlatform {
    ondeck_core::as_on_hardware! {
        types, wakes, pause, yield_now, now_ns, ticks, ns_to_ticks, memory_nodes, atomics_may_be_far, is_running,
        sequences
    }

    #[inline]
    fn wait_on(word: &Self::U32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
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
    fn wait_on_upper(word: &Self::U64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
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
    fn wait_on_or_leave(word: &Self::U32, expected: u32, deadline_ns: Option<u64>, leave: impl Fn()) -> WaitEnd {
        or_leave(leave, || Self::wait_on(word, expected, deadline_ns))
    }

    #[inline]
    fn wait_on_upper_or_leave(word: &Self::U64, expected: u64, deadline_ns: Option<u64>, leave: impl Fn()) -> WaitEnd {
        or_leave(leave, || Self::wait_on_upper(word, expected, deadline_ns))
    }

    #[inline]
    fn pause_ns(ns: u32) {
        ondeck_record::spun();
        Hardware::pause_ns(ns);
    }

    #[inline]
    fn current_core() -> u32 {
        crate::real::core()
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
        PARALLELISM.load(Relaxed)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::tests::{in_child, recorded};
    use core::sync::atomic::AtomicU64;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    /// Runs the test of that name again from the start of a process, where this asks for a part of it.
    fn again(name: &str, prepare: impl FnOnce(&mut Command)) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("platform::tests::{name}"), "--test-threads=1"]).env("ONDECK_PART", name);
        command.env_remove("ONDECK_SPIN");
        prepare(&mut command);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    fn is_again() -> bool {
        std::env::var_os("ONDECK_PART").is_some()
    }

    #[test]
    fn who_has_several_cores_may_spin_unless_that_is_off() {
        in_child(|| {
            let spins = |cores| {
                PARALLELISM.store(cores, Relaxed);
                PreloadPlatform::may_spin()
            };
            assert_eq!([77, 2, 1].map(spins), [true, true, false]);
            IS_OFF.store(1, Relaxed);
            assert!(!spins(77));
        });
    }

    #[test]
    fn the_environment_switches_spinning_off() {
        if is_again() {
            // What was asked before the program began.
            assert_eq!(PreloadPlatform::parallelism(), Hardware::parallelism());
            let is_off = std::env::var_os("ONDECK_SPIN").is_some_and(|value| value == "0");
            assert_eq!(PreloadPlatform::may_spin(), !is_off && Hardware::parallelism() > 1);
            return;
        }
        again("the_environment_switches_spinning_off", |_| {});
        for value in ["0", "1"] {
            again("the_environment_switches_spinning_off", |command| {
                command.env("ONDECK_SPIN", value);
            });
        }
    }

    #[test]
    fn what_a_lock_does_is_recorded() {
        const LOCK: u64 = 0x5000;
        recorded("platform", |read| {
            let (word, words) = (AtomicU32::new(0), AtomicU64::new(0));
            let marks = ondeck_record::Marks::default();
            marks.taken(LOCK);
            let wait = marks.wait(LOCK).unwrap();
            let pending = marks.release(LOCK).unwrap();
            PreloadPlatform::wake(&word, 3);
            PreloadPlatform::wake_upper(&words, 4);
            // How many those are is not known.
            PreloadPlatform::wake_upper(&words, u32::MAX);
            pending.done();
            wait.told(|| {
                // The word is another one, so nobody sleeps.
                PreloadPlatform::wait_on(&word, 1, None);
                PreloadPlatform::wait_on_upper(&words, 1 << 32, None);
                (0..5).for_each(|_| PreloadPlatform::pause_ns(1));
                for name in ["accept", "grab", "accept", "claim", "accept"] {
                    PreloadPlatform::step(Step { lock: "ondeck", name });
                }
            });
            wait.end(true, LOCK);
            let locks = read().locks().unwrap();
            let lock = locks.iter().find(|lock| lock.address == LOCK).unwrap();
            assert_eq!((lock.parks, lock.spins, lock.rotations, lock.wakes), (2, 5, 3, 8));
        });
    }

    #[test]
    fn who_begins_on_one_core_does_not_spin() {
        const NAME: &str = "who_begins_on_one_core_does_not_spin";
        if is_again() {
            assert_eq!((PreloadPlatform::parallelism(), PreloadPlatform::may_spin()), (1, false));
            return;
        }
        // SAFETY: always may be called.
        let core: u64 = 1 << (unsafe { libc::sched_getcpu() } % 64);
        // SAFETY: reads as much as it is told.
        let pin =
            move || match unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&core), &raw const core) }
            {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            };
        again(NAME, |command| {
            // SAFETY: one system call.
            unsafe { command.pre_exec(pin) };
        });
    }
}
