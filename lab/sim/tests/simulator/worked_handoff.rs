//! A hand-off that was computed by hand: one unlucky poll costs the holder as much as four acquisitions.

use crate::common::{line, now, on_cpus, toy, until};
use ondeck_core::Atomic;
use std::sync::atomic::Ordering::SeqCst;

/// The holder releases and acquires on its own line; the poll of another core arrives while it holds.
#[test]
fn a_poll_makes_the_holders_release_an_upgrade() {
    let machine = toy(2);
    let lock = line(1);
    let (theirs, ours) = (lock.clone(), lock);
    let holder = move || {
        let word = &theirs.0;
        word.swap(0, SeqCst); // at 0: W1, done at 4
        until(8);
        word.swap(1, SeqCst); // done at 12
        until(16);
        word.swap(0, SeqCst); // done at 20
        until(24);
        word.swap(1, SeqCst); // done at 28
        until(32);
        // The poll has made it a sharer: to the order point in 0.9 * 24 = 21.6, there at 53.6; the line is busy with the poll
        // until 25 + 48 = 73; back in 21.6 and 4.
        word.swap(0, SeqCst);
        now()
    };
    let poller = move || {
        until(1);
        // L2: at the order point at 25, where the holder has it; back at 49.
        assert_eq!(ours.0.load(SeqCst), 1);
        now()
    };
    let outcome = on_cpus(&machine, vec![Box::new(holder), Box::new(poller)]);
    assert_eq!(outcome.value, [98_600, 49_000]);
    assert_eq!(outcome.atomics, 6);
}
