//! Linux since 6.6: who runs by eligibility and deadline. Slices are 3 ms, a switch takes 1 us.

use crate::common::{Body, body, now, on, toy, until};
use ondeck_platform::Platform;
use ondeck_sim::Simulated;
use ondeck_sim::machine::{Machine, Policy};

const MS: u64 = 1_000_000_000;
const US: u64 = 1_000_000;

fn machine() -> Machine {
    let mut machine = toy(1);
    machine.os.policy = Policy::Eevdf { slice_ps: 3 * MS };
    machine
}

fn works(ns: u32) -> Body {
    body(move || {
        Simulated::work(ns);
        now()
    })
}

fn run(bodies: Vec<Body>) -> Vec<u64> {
    on(&machine(), 1, bodies.into_iter().map(|body| (Some(0), body)).collect()).unwrap().value
}

#[test]
fn slices_are_not_shorter_the_more_threads_there_are() {
    // The first slice of each is half a one: 0 until 1.5, 1 until 3.001, 2 until 4.502. Then 3 ms each, in the same order:
    // 0 has 2.5 left, done at 7.003; 1 and 2 as well, at 9.504 and 12.005.
    assert_eq!(
        run(vec![works(4_000_000), works(4_000_000), works(4_000_000)]),
        [7 * MS + 3 * US, 9 * MS + 504 * US, 12 * MS + 5 * US]
    );
}

#[test]
fn sleep_gives_no_lead() {
    // 0 sleeps from the start to 10 ms. 1 has the CPU alone from 1.5 us on; its slices end at 1.5, 4.5, 7.5 and 10.5 of its
    // own ms. 0 comes back with the lag that it went with, as good as none; 1 is not preempted before its slice is over, at
    // 10.5015, for it has had no more than the average.
    let sleeps = body(|| {
        Simulated::sleep_ns(10_000_000);
        now()
    });
    let woken = run(vec![sleeps, works(30_000_000)])[0];
    assert!((10 * MS + 500 * US..10 * MS + 510 * US).contains(&woken), "{woken}");
}

#[test]
fn who_comes_back_behind_takes_the_cpu_from_who_is_ahead() {
    // 0 and 1 have had 1.5 ms each when 2 gets the CPU at 3.002 and sleeps at once, with a lag of 1 ms. At 4.0025 it comes
    // back, behind by 1.5 times as much, as it will be one of three. 0, which has had the CPU since, is ahead of the average.
    let sleeps = body(|| {
        Simulated::sleep_ns(1_000_000);
        now()
    });
    let woken = run(vec![works(10_000_000), works(10_000_000), sleeps])[2];
    assert!((4 * MS + 2 * US..4 * MS + 10 * US).contains(&woken), "{woken}");
}

#[test]
fn a_yield_in_vain_makes_the_slice_longer() {
    // 0 works 1 ms and yields; 1 runs until 2.501, its first half slice. 0 is back: its deadline is 4.5 of its own ms, of which
    // it has had 1; two yields in vain, as it alone is eligible, make it 10.5. So it works its 6 ms in one piece.
    let yields = body(|| {
        until(1_000_000);
        Simulated::yield_now();
        let back = now();
        Simulated::yield_now();
        Simulated::yield_now();
        Simulated::work(6_000_000);
        now() - back
    });
    let took = run(vec![yields, works(20_000_000)])[0];
    assert!((6 * MS..6 * MS + 5 * US).contains(&took), "{took}");
}

#[test]
fn a_yield_of_one_who_alone_is_eligible_changes_nothing() {
    // 0 works 1 ms and yields: 1 has had nothing, is behind and has the earlier deadline: it runs for its 1.5 ms, until 2.5011.
    // Then 0 has 1 ms and 1 has 1.5: the average is 1.25, only 0 is eligible, and yields in vain until it has had more.
    let yields = body(|| {
        until(1_000_000);
        Simulated::yield_now();
        let back = now();
        Simulated::work(100_000);
        Simulated::yield_now();
        assert_eq!(now(), back + 100 * US + 100_000, "it goes on");
        Simulated::work(500_000);
        Simulated::yield_now();
        now() - back
    });
    let ends = run(vec![yields, works(4_000_000)]);
    assert!(ends[0] > MS, "the last yield let the other go first: {ends:?}");
}
