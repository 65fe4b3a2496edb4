//! What every operating system's file must do, for this system and for the portable fallback.

use super::WaitEnd;
use crate::platform::atomic::upper_half;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::thread;

/// No wait here takes as long: a thread that waits until then has lost a wake.
const HANG_NS: u64 = 20_000_000_000;
/// Turns of a game of ping-pong: enough for wakes to meet the other side awake, falling asleep and asleep.
const TURNS: u32 = 2000;

macro_rules! system_tests {
    ($name:ident, $os:path) => {
        mod $name {
            use super::*;
            use $os as os;

            #[test]
            fn a_changed_word_ends_the_wait_at_once() {
                assert_eq!(os::wait(&AtomicU32::new(1), 0, None), WaitEnd::Woken);
                assert_eq!(os::wait_upper(&AtomicU64::new(1 << 32), 0, None), WaitEnd::Woken);
                assert_eq!(os::wait_upper(&AtomicU64::new(1 << 63), 1 << 62, None), WaitEnd::Woken);
            }

            #[test]
            fn a_deadline_in_the_past_ends_the_wait() {
                assert_eq!(os::wait(&AtomicU32::new(0), 0, Some(0)), WaitEnd::TimedOut);
                assert_eq!(os::wait_upper(&AtomicU64::new(0), 0, Some(1)), WaitEnd::TimedOut);
            }

            #[test]
            fn no_wait_times_out_before_its_deadline() {
                let (word, wide) = (AtomicU32::new(7), AtomicU64::new(7 << 32));
                let deadline = os::now_ns() + 3_000_000;
                while os::wait(&word, 7, Some(deadline)) != WaitEnd::TimedOut {}
                assert!(os::now_ns() >= deadline);
                let deadline = os::now_ns() + 3_000_000;
                while os::wait_upper(&wide, 7 << 32, Some(deadline)) != WaitEnd::TimedOut {}
                assert!(os::now_ns() >= deadline);
            }

            #[test]
            fn no_wake_is_lost() {
                let turn = AtomicU32::new(0);
                let play = |mine: u32| {
                    for round in (mine..TURNS).step_by(2) {
                        while turn.load(SeqCst) != round {
                            let seen = turn.load(SeqCst);
                            let deadline = Some(os::now_ns() + HANG_NS);
                            let is_hung = seen != round && os::wait(&turn, seen, deadline) == WaitEnd::TimedOut;
                            assert!(!is_hung, "asleep in turn {round}");
                        }
                        turn.store(round + 1, SeqCst);
                        os::wake(turn.as_ptr(), 1);
                    }
                };
                thread::scope(|threads| {
                    threads.spawn(|| play(1));
                    play(0);
                });
                assert_eq!(turn.load(Relaxed), TURNS);
            }

            #[test]
            fn no_wake_of_all_is_lost_on_the_upper_half() {
                let word = AtomicU64::new(5);
                thread::scope(|threads| {
                    for _ in 0..3 {
                        threads.spawn(|| {
                            while word.load(SeqCst) == 5 {
                                let deadline = Some(os::now_ns() + HANG_NS);
                                assert_eq!(os::wait_upper(&word, 5, deadline), WaitEnd::Woken);
                            }
                        });
                    }
                    word.store(5 | 9 << 32, SeqCst);
                    os::wake(upper_half(word.as_ptr()), u32::MAX);
                });
            }

            #[test]
            fn waking_a_freed_address_is_harmless() {
                let address: *const AtomicU32 = Box::into_raw(Box::new(AtomicU32::new(0)));
                // SAFETY: the box was made above, and nobody else has it.
                drop(unsafe { Box::from_raw(address.cast_mut()) });
                os::wake(address.cast(), 1);
                os::wake(address.cast(), u32::MAX);
                os::wake(core::ptr::without_provenance(4096), 1);
            }

            #[test]
            fn the_clock_is_monotonic_and_not_zero() {
                let mut last = 0;
                for _ in 0..1000 {
                    let now = os::now_ns();
                    assert!(now >= last && now > 0);
                    last = now;
                }
            }

            #[test]
            fn threads_that_live_together_differ() {
                let ours = os::thread_id();
                assert_ne!(ours, 0);
                assert_eq!(ours, os::thread_id());
                let theirs = thread::spawn(os::thread_id).join().unwrap();
                assert_ne!(ours, theirs);
            }

            #[test]
            fn memory_nodes_are_counted_once() {
                let first = os::memory_nodes();
                let others = thread::scope(|threads| threads.spawn(os::memory_nodes).join().unwrap());
                assert_eq!(others, first);
            }

            #[test]
            fn there_is_a_core() {
                assert!(os::parallelism() >= 1);
                // Where it is unknown it is zero; no machine has this many.
                assert!(os::current_core() < 1 << 16);
                os::yield_now();
            }

            #[test]
            fn the_environment_is_read() {
                // Cargo sets it for tests of this package, and nobody sets the other.
                let version = std::ffi::CString::new(env!("CARGO_PKG_VERSION")).unwrap();
                assert_eq!(
                    os::environment_is(c"CARGO_PKG_VERSION", &version),
                    std::env::var_os("CARGO_PKG_VERSION").is_some()
                );
                assert!(!os::environment_is(c"CARGO_PKG_VERSION", c"0"));
                assert!(!os::environment_is(c"ONDECK_NOBODY_SETS_THIS", c""));
            }
        }
    };
}

system_tests!(system, crate::platform::hardware::os);
system_tests!(portable, crate::platform::hardware::portable);
