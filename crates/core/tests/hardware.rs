//! The promises of the trait `Platform`, on this machine.

#![allow(clippy::disallowed_types, reason = "no lock, but a test of the platform")]

use ondeck_core::{Hardware, Platform, Token};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

type Permit = Token<Hardware>;

#[test]
fn a_permit_given_before_is_taken_once() {
    let permit = Permit::new();
    // SAFETY: the token is alive.
    unsafe { Token::unpark(&permit) };
    // SAFETY: the token is alive.
    unsafe { Token::unpark(&permit) };
    assert!(permit.park(None));
    assert!(!permit.park(Some(Hardware::now_ns())), "the second permit is lost");
}

#[test]
fn park_gives_up_at_its_deadline_and_not_before() {
    let permit = Permit::default();
    let deadline = Hardware::now_ns() + 2_000_000;
    assert!(!permit.park(Some(deadline)));
    assert!(Hardware::now_ns() >= deadline);
}

#[test]
fn a_permit_wakes_its_thread_and_publishes_what_was_done_before() {
    const ROUNDS: u32 = 1000;
    let (ping, pong) = (Permit::new(), Permit::new());
    let value = AtomicU32::new(0);
    thread::scope(|threads| {
        threads.spawn(|| {
            for round in 1..=ROUNDS {
                assert!(ping.park(None));
                assert_eq!(value.load(Relaxed), round);
                // SAFETY: the token outlives the scope.
                unsafe { Token::unpark(&pong) };
            }
        });
        for round in 1..=ROUNDS {
            value.store(round, Relaxed);
            // SAFETY: the token outlives the scope.
            unsafe { Token::unpark(&ping) };
            assert!(pong.park(None));
        }
    });
}

#[test]
fn the_token_may_go_once_park_has_returned() {
    let owner = thread::spawn(|| {
        for _ in 0..1000 {
            let permit = Box::new(Permit::new());
            let address = (&raw const *permit).expose_provenance();
            let giver = thread::scope(|threads| {
                // SAFETY: the token is freed only after `park` has returned true, so after the store of the permit.
                let giver = threads
                    .spawn(move || unsafe { Token::unpark(std::ptr::with_exposed_provenance::<Permit>(address)) });
                assert!(permit.park(None));
                drop(permit);
                giver.join()
            });
            giver.unwrap();
        }
    });
    owner.join().unwrap();
}

#[test]
fn a_pause_takes_the_time_asked() {
    // What the measurement of the counter's rate may be wrong by, with a wide margin: 2 %.
    for ns in [0, 1, 40, 100, 400, 1000, 10_000, 100_000] {
        for _ in 0..20 {
            let start = Hardware::now_ns();
            Hardware::pause_ns(ns);
            let took = Hardware::now_ns() - start;
            assert!(took >= u64::from(ns) * 98 / 100, "{took} instead of {ns}");
        }
    }
    Hardware::pause();
}

#[test]
fn ticks_never_go_back_and_pass_at_the_stated_rate() {
    let mut last = Hardware::ticks();
    for _ in 0..10_000 {
        let now = Hardware::ticks();
        assert!(now >= last);
        last = now;
    }
    let (start_ns, start) = (Hardware::now_ns(), Hardware::ticks());
    while Hardware::now_ns() - start_ns < 5_000_000 {
        Hardware::pause();
    }
    let (end, end_ns) = (Hardware::ticks(), Hardware::now_ns());
    // The interval on the clock contains the one on the counter, so only an error of the rate can make it shorter.
    assert!(end - start <= Hardware::ns_to_ticks(end_ns - start_ns) * 102 / 100);
    assert!(end > start);
}

#[test]
fn ticks_of_long_times_do_not_overflow() {
    let (second, century) = (1_000_000_000, 3_155_760_000_000_000_000);
    assert!(Hardware::ns_to_ticks(0) == 0);
    assert!(Hardware::ns_to_ticks(second) > 1_000_000);
    assert!(Hardware::ns_to_ticks(century) > Hardware::ns_to_ticks(second));
    assert!(Hardware::ns_to_ticks(u64::MAX) >= Hardware::ns_to_ticks(century));
}

#[test]
fn several_cores_may_spin_and_one_may_not() {
    // One test, because the answers may change between two questions only if the machine does.
    let cores = Hardware::parallelism();
    assert!(cores >= 1);
    let is_off = std::env::var_os("ONDECK_SPIN").is_some_and(|value| value == "0");
    assert_eq!(Hardware::may_spin(), cores > 1 && !is_off);
}
