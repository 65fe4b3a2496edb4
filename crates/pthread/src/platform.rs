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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::tests::{in_child, recorded};
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Lets the calling thread run on these of the first 64 cores.
    fn set_affinity(cores: u64) -> bool {
        let size = size_of_val(&cores);
        // SAFETY: reads as much as it is told.
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size, &raw const cores) == 0 }
    }

    fn any_core() -> u64 {
        // SAFETY: always may be called.
        1 << (unsafe { libc::sched_getcpu() } % 64)
    }

    fn counted(cores: u32, at: u64) {
        CORES.store(cores, Relaxed);
        COUNTED_AT.store(at, Relaxed);
        QUOTA.store(u32::MAX, Relaxed);
        IS_OFF.store(0, Relaxed);
    }

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
    fn cores_are_counted_by_affinity() {
        in_child(|| {
            if !set_affinity(any_core()) {
                return;
            }
            let before = Hardware::ticks();
            assert_eq!(count_cores(), 1);
            assert_eq!(CORES.load(Relaxed), 1);
            assert!((before..=Hardware::ticks()).contains(&COUNTED_AT.load(Relaxed)));
        });
    }

    /// As a kernel does it that has more cores than there is room for, and a sandbox that does not know the call.
    #[test]
    fn who_is_refused_the_affinity_has_several_cores() {
        let step = |code: u32, skips: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: skips, k };
        let mut steps = [
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_sched_getaffinity as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        in_child(|| {
            // SAFETY: numbers only.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
            // SAFETY: reads the filter, which is alive.
            if unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) } == 0 {
                assert_eq!(count_cores(), 2);
                assert_eq!(CORES.load(Relaxed), 2);
            }
        });
    }

    #[test]
    fn what_was_counted_is_believed_for_a_second() {
        in_child(|| {
            // Whoever is held up for a second between the two counts again.
            let is_believed = (0..100).any(|_| {
                counted(77, Hardware::ticks());
                Preloaded::parallelism() == 77
            });
            assert!(is_believed);
            counted(77, Hardware::ticks().wrapping_sub(Hardware::ns_to_ticks(2 * SECOND_NS)));
            assert_ne!(Preloaded::parallelism(), 77);
            counted(0, Hardware::ticks());
            assert_ne!(Preloaded::parallelism(), 0);
        });
    }

    #[test]
    fn a_quota_counts_as_that_many_cores() {
        in_child(|| {
            counted(77, Hardware::ticks());
            QUOTA.store(1, Relaxed);
            assert_eq!(Preloaded::parallelism(), 1);
            assert!(!Preloaded::may_spin());
        });
    }

    #[test]
    fn who_has_several_cores_may_spin_unless_that_is_off() {
        in_child(|| {
            // Whatever is counted anew: more than one core here, or the first look tells.
            let spins = |cores| {
                (0..100).any(|_| {
                    counted(cores, Hardware::ticks());
                    Preloaded::may_spin()
                })
            };
            assert!(spins(77) && spins(2));
            counted(1, Hardware::ticks().wrapping_add(Hardware::ns_to_ticks(SECOND_NS / 2)));
            assert!(!Preloaded::may_spin());
            counted(77, Hardware::ticks());
            IS_OFF.store(1, Relaxed);
            assert!(!Preloaded::may_spin());
        });
    }

    #[test]
    fn the_environment_switches_spinning_off() {
        if is_again() {
            // What was asked before the program began.
            assert_eq!(Preloaded::parallelism(), Hardware::parallelism());
            let is_off = std::env::var_os("ONDECK_SPIN").is_some_and(|value| value == "0");
            assert_eq!(Preloaded::may_spin(), !is_off && Hardware::parallelism() > 1);
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
            Preloaded::wake(&word, 3);
            Preloaded::wake_upper(&words, 4);
            pending.done();
            wait.told(|| {
                // The word is another one, so nobody sleeps.
                Preloaded::wait_on(&word, 1, None);
                Preloaded::wait_on_upper(&words, 1 << 32, None);
                (0..5).for_each(|_| Preloaded::pause_ns(1));
                for name in ["accept", "grab", "accept", "claim", "accept"] {
                    Preloaded::step(Step { lock: "ondeck", name });
                }
            });
            wait.end(true, LOCK);
            let locks = read().locks().unwrap();
            let lock = locks.iter().find(|lock| lock.address == LOCK).unwrap();
            assert_eq!((lock.parks, lock.spins, lock.rotations, lock.wakes), (2, 5, 3, 7));
        });
    }

    /// On a machine with one core this shows nothing.
    #[test]
    fn who_begins_on_one_core_spins_once_it_has_more() {
        if is_again() {
            assert!(!Preloaded::may_spin());
            CORES.store(0, Relaxed);
            if set_affinity(u64::MAX) && count_cores() > 1 {
                assert!(Preloaded::parallelism() > 1);
                assert!(Preloaded::may_spin());
            }
            return;
        }
        let core = any_core();
        again("who_begins_on_one_core_spins_once_it_has_more", |command| {
            // SAFETY: one system call.
            unsafe {
                command.pre_exec(move || if set_affinity(core) { Ok(()) } else { Err(std::io::Error::last_os_error()) })
            };
        });
    }
}
