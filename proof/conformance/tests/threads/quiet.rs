//! Quiet locks on this machine: released by restartable sequences, which signals, a loss of the core and `membarrier` end.
//!
//! Where the machine has none, locks stay loud, and the tests only see that they work.

use ondeck_conformance::child::{stay_on_one_core, succeed, test_in_child};
use ondeck_conformance::{CheckedCell, HardwareHarness, Harness, within};
use ondeck_core::{Hardware, Platform};
use ondeck_lineage::ondeck::RawCondvar;
use ondeck_lineage::{RawLock, RawOndeck};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

type Lock = RawOndeck<Hardware>;

const PATIENCE: Duration = Duration::from_secs(60);
/// As many releases as make a lock quiet, and some.
const ENOUGH: u32 = 1100;

fn acquire_and_release(lock: &Lock) {
    lock.acquire();
    // SAFETY: just acquired.
    unsafe { lock.release() };
}

/// Whether releases are not counted: twice, as the count of a loud lock is not told while it is full.
fn is_quiet(lock: &Lock) -> bool {
    (0..2).all(|_| {
        acquire_and_release(lock);
        lock.n_releases().is_none()
    })
}

/// Releases the lock until it is quiet; false on a machine where it does not become so.
fn hush(lock: &Lock) -> bool {
    // After an expulsion it takes a millisecond.
    let until = Instant::now() + Duration::from_millis(20);
    while Instant::now() < until {
        if is_quiet(lock) {
            return true;
        }
        (0..ENOUGH).for_each(|_| acquire_and_release(lock));
    }
    false
}

/// glibc has areas since 2.35, the kernel this `membarrier` since 5.10. A test that finds no quiet lock there would show nothing.
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
fn must_be_quiet() -> bool {
    // SAFETY: no arguments.
    let version = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: a C string of the library's.
    let version = unsafe { std::ffi::CStr::from_ptr(version) }.to_string_lossy();
    let minor: u32 = version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(0);
    let is_switched_off = std::env::var("GLIBC_TUNABLES").is_ok_and(|all| all.contains("rseq=0"));
    // A query of `membarrier` says which of its commands there are.
    // SAFETY: no memory.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, 0, 0, 0) };
    minor >= 35 && commands > 0 && commands & 1 << 7 != 0 && !is_switched_off
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
fn must_be_quiet() -> bool {
    false
}

#[test]
fn a_lock_that_is_asked_nothing_becomes_quiet() {
    let lock = Lock::new();
    assert_eq!(hush(&lock), must_be_quiet());
    assert!(lock.is_at_rest());
    lock.acquire();
    assert!(!lock.is_at_rest() && !lock.try_acquire());
    // SAFETY: acquired above.
    unsafe { lock.release() };
    assert!(lock.try_acquire());
    // SAFETY: as above.
    unsafe { lock.release_fair() };
    assert!(lock.is_at_rest());
}

/// Many times: a quiet lock is held for long, and those who wait for it get it. Some of them give up before.
#[test]
fn who_waits_for_a_quiet_lock_is_heard() {
    within(PATIENCE, "quiet locks", || {
        let lock = Arc::new(Lock::new());
        for round in 0..200_u32 {
            hush(&lock);
            lock.acquire();
            let waiters: Vec<_> = (0..3_u64)
                .map(|waiter| {
                    let lock = lock.clone();
                    thread::spawn(move || {
                        let deadline_ns = Hardware::now_ns() + 3_000 * waiter;
                        if waiter != 1 {
                            acquire_and_release(&lock);
                        } else if ondeck_lineage::RawTimedLock::try_acquire_until(&*lock, deadline_ns) {
                            // SAFETY: just acquired.
                            unsafe { lock.release() };
                        }
                    })
                })
                .collect();
            Hardware::pause_ns(round * 1_000);
            // SAFETY: acquired above.
            unsafe { lock.release() };
            waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
            assert!(lock.is_at_rest());
        }
    });
}

/// Many come to a quiet lock at once, and its holder does not let it go before one of them sleeps.
fn is_asked_by_many(notifies: bool) {
    for n_threads in [1, 2, 8, 32] {
        let shared = Arc::new((Lock::new(), RawCondvar::<Hardware>::new()));
        for _ in 0..8 {
            hush(&shared.0);
            let waiter = notifies.then(|| {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.0.acquire();
                    // SAFETY: just acquired, and held again after the wait.
                    unsafe { shared.1.wait(&shared.0, None) };
                    // SAFETY: as above.
                    unsafe { shared.0.release() };
                })
            });
            while notifies && shared.1.looks_idle() {
                thread::yield_now();
            }
            hush(&shared.0);
            shared.0.acquire();
            let arrivals: Vec<_> = (0..n_threads)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || acquire_and_release(&shared.0))
                })
                .collect();
            if notifies {
                shared.1.notify_one();
            }
            while shared.0.shows_sleeper() != Some(true) {
                thread::yield_now();
            }
            // SAFETY: acquired above.
            unsafe { shared.0.release() };
            arrivals.into_iter().chain(waiter).for_each(|thread| thread.join().unwrap());
            assert!(shared.0.is_at_rest());
        }
    }
}

#[test]
fn a_quiet_lock_is_asked_by_many() {
    within(PATIENCE, "quiet locks", || is_asked_by_many(false));
    within(PATIENCE, "quiet locks", || is_asked_by_many(true));
}

mod without_spinning {
    use super::*;

    #[test]
    #[ignore = "run by `a_quiet_lock_is_asked_by_many` in a child process"]
    fn child() {
        within(PATIENCE, "quiet locks", || is_asked_by_many(false));
        within(PATIENCE, "quiet locks", || is_asked_by_many(true));
        within(PATIENCE, "quiet locks", || take_turns(4, 50_000));
    }

    #[test]
    fn a_quiet_lock_is_asked_by_many() {
        let mut command = test_in_child(module_path!(), "child");
        succeed(command.env("ONDECK_SPIN", "0").spawn().unwrap());
    }
}

/// Threads that mostly have the lock to themselves, and now and then hold it for long.
fn take_turns(n_threads: u32, n_rounds: u32) {
    struct Shared {
        locks: [Lock; 4],
        data: [<HardwareHarness as Harness>::Cell; 4],
        entered: AtomicU64,
    }
    let shared = Arc::new(Shared {
        locks: std::array::from_fn(|_| Lock::new()),
        data: std::array::from_fn(|_| CheckedCell::new(0)),
        entered: AtomicU64::new(0),
    });
    let threads: Vec<_> = (0..n_threads)
        .map(|me| {
            let shared = shared.clone();
            thread::spawn(move || {
                for round in 0..n_rounds {
                    let which = ((me + round / 4096) % 4) as usize;
                    shared.locks[which].acquire();
                    // SAFETY: just acquired.
                    unsafe { shared.data[which].update(|count| count + 1) };
                    if round % 2048 == 2047 {
                        Hardware::pause_ns(50_000);
                    }
                    shared.entered.fetch_add(1, Relaxed);
                    // SAFETY: as above.
                    unsafe { shared.locks[which].release() };
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    // SAFETY: all others have finished.
    let sum: u64 = shared.data.iter().map(|data| unsafe { data.update(|count| count) }).sum();
    assert_eq!(sum, shared.entered.load(Relaxed), "an update was lost");
    assert!(shared.locks.iter().all(RawLock::is_at_rest));
}

#[test]
fn turns_are_taken() {
    within(PATIENCE, "quiet locks", || {
        take_turns(2, 300_000);
        take_turns(8, 50_000);
    });
}

mod on_one_core {
    use super::*;

    #[test]
    #[ignore = "run by `turns_are_taken` in a child process"]
    fn child() {
        stay_on_one_core();
        within(PATIENCE, "quiet locks", || take_turns(4, 50_000));
    }

    #[test]
    fn turns_are_taken() {
        succeed(test_in_child(module_path!(), "child").spawn().unwrap());
    }
}

/// A signal ends the sequence that it interrupts, and its handler has sequences of its own.
mod with_signals {
    use super::*;

    static HANDLERS: Lock = Lock::INIT;
    static N_HANDLED: AtomicU64 = AtomicU64::new(0);

    extern "C" fn handle(_signal: libc::c_int) {
        if HANDLERS.try_acquire() {
            // SAFETY: just acquired.
            unsafe { HANDLERS.release() };
        }
        N_HANDLED.fetch_add(1, Relaxed);
    }

    #[test]
    #[ignore = "run by `turns_are_taken` in a child process"]
    fn child() {
        let each = libc::timeval { tv_sec: 0, tv_usec: 50 };
        let timer = libc::itimerval { it_interval: each, it_value: each };
        // SAFETY: the handler uses nothing but a lock that is only tried.
        unsafe { libc::signal(libc::SIGPROF, handle as *const () as libc::sighandler_t) };
        // SAFETY: a valid timer.
        assert_eq!(unsafe { libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut()) }, 0);
        within(PATIENCE, "quiet locks", || {
            while N_HANDLED.load(Relaxed) < 30 {
                take_turns(3, 50_000);
            }
        });
    }

    #[test]
    fn turns_are_taken() {
        succeed(test_in_child(module_path!(), "child").spawn().unwrap());
    }
}

/// A child of a fork has quiet locks of its parent's, and threads of its own.
mod after_a_fork {
    use super::*;

    #[test]
    #[ignore = "run by `a_quiet_lock_is_heard` in a child process"]
    fn child() {
        let lock = Arc::new(Lock::new());
        hush(&lock);
        // SAFETY: this process has one more thread, the one that waits for the test, and the child uses nothing of it.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            lock.acquire();
            let is_in = Arc::new(AtomicBool::new(false));
            let waiter = thread::spawn({
                let (lock, is_in) = (lock.clone(), is_in.clone());
                move || {
                    acquire_and_release(&lock);
                    is_in.store(true, Relaxed);
                }
            });
            thread::sleep(Duration::from_millis(5));
            // SAFETY: acquired above.
            unsafe { lock.release() };
            waiter.join().unwrap();
            let is_quiet = hush(&lock) == must_be_quiet();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!is_in.load(Relaxed) || !is_quiet)) };
        }
        let mut status = -1;
        // SAFETY: our child, and a local.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(status, 0);
    }

    #[test]
    fn a_quiet_lock_is_heard() {
        succeed(test_in_child(module_path!(), "child").spawn().unwrap());
    }
}

/// Without the C library's areas, locks stay loud.
mod without_areas {
    use super::*;

    #[test]
    #[ignore = "run by `locks_stay_loud` in a child process"]
    fn child() {
        assert!(!hush(&Lock::new()));
        take_turns(2, 50_000);
    }

    #[test]
    fn locks_stay_loud() {
        let mut command = test_in_child(module_path!(), "child");
        succeed(command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0").spawn().unwrap());
    }
}
