//! Linux since 6.6: who runs by eligibility and deadline. Slices are 3 ms, a switch takes 1 us.

use crate::common::{Body, MS, US, body, now, on, share, timed, toy, until, works};
use ondeck_core::Platform;
use ondeck_sim::Simulated;
use ondeck_sim::machine::{Eevdf, Machine, Policy};

fn machine() -> Machine {
    let mut machine = toy(1);
    machine.os.policy = Policy::Eevdf(Eevdf { slice_ps: 3 * MS, ..Eevdf::default() });
    machine
}

fn run(bodies: Vec<Body>) -> Vec<u64> {
    share(&machine(), bodies)
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
    let sleeps = timed(|| Simulated::sleep_ns(10_000_000));
    let woken = run(vec![sleeps, works(30_000_000)])[0];
    assert!((10 * MS + 500 * US..10 * MS + 510 * US).contains(&woken), "{woken}");
}

#[test]
fn who_comes_back_behind_takes_the_cpu_from_who_is_ahead() {
    // 0 and 1 have had 1.5 ms each when 2 gets the CPU at 3.002 and sleeps at once, with a lag of 1 ms. At 4.0025 it comes
    // back, behind by 1.5 times as much, as it will be one of three. 0, which has had the CPU since, is ahead of the average.
    let sleeps = timed(|| Simulated::sleep_ns(1_000_000));
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

/// The same machine, whose clock ticks every 4 ms. A run begins 1 ms after a tick.
fn ticking(changes: impl FnOnce(&mut Eevdf)) -> Machine {
    let mut machine = machine();
    let mut eevdf = Eevdf { slice_ps: 3 * MS, tick_ps: 4 * MS, ..Eevdf::default() };
    changes(&mut eevdf);
    machine.os.policy = Policy::Eevdf(eevdf);
    machine
}

#[test]
fn slices_end_when_the_clock_ticks() {
    // Slices of 1.5 and 3 ms last from tick to tick: 0 from 0 to 3, 1 to 7, 0 for its last ms.
    let ends = share(&ticking(|_| ()), vec![works(4_000_000), works(6_000_000)]);
    assert_eq!(ends, [8 * MS + US, 10 * MS + 3 * US]);
}

#[test]
fn a_wake_ends_a_slice_that_is_over() {
    // 0 has the CPU until 3 ms, then 1, which sleeps at once, 2 until 7, and 0 again, whose slice of 3 ms is over at 10. The
    // tick is at 11, and 2 has 0.1 ms left. But if 1 is woken at 10.5, the system sees that the slice is over, and 2 is next.
    let ends = |wakes_at_ns: u64| {
        let sleeps = body(move || {
            Simulated::sleep_ns(wakes_at_ns - now() / 1000);
            0
        });
        share(&ticking(|_| ()), vec![works(20_000_000), sleeps, works(4_100_000)])[2]
    };
    let (undisturbed, disturbed) = (ends(90_000_000), ends(10_500_000));
    assert!((11_100 * US..11_120 * US).contains(&undisturbed), "{undisturbed}");
    assert!((10_600 * US..10_620 * US).contains(&disturbed), "{disturbed}");
}

/// Two CPUs. 0 and 2 begin on the first, and 0 has had more than the average when it goes to sleep for `ns`. The second CPU
/// idles soon after. Where 0 is woken, and when the other one of the first CPU is done.
fn sleeps_ahead(delays_dequeue: bool, ns: u64) -> (u64, u64) {
    let mut machine = ticking(|eevdf| (eevdf.delays_dequeue, eevdf.tick_ps) = (delays_dequeue, 0));
    machine.cpus.push(machine.cpus[0]);
    let two = crate::common::toy(2);
    (machine.cpus, machine.cores, machine.distance_ps) = (two.cpus, two.cores, two.distance_ps);
    machine.os.balance_ps = 900 * MS;
    let sleeps = body(move || {
        until(1_000_000);
        Simulated::sleep_ns(ns);
        Simulated::current_core().into()
    });
    let ends =
        on(&machine, 1, vec![(None, sleeps), (Some(1), works(1_050_000)), (None, works(5_000_000))]).unwrap().value;
    (ends[0], ends[2])
}

#[test]
fn who_sleeps_in_debt_waits_for_its_own_cpu() {
    // It has had 1 ms, the other nothing. It comes back 0.1 ms later, when the other has caught up by as much.
    assert_eq!(sleeps_ahead(false, 100_000).0, 1, "the idle one");
    assert_eq!(sleeps_ahead(true, 100_000).0, 0, "its own, which is busy");
    // After 1.1 ms the other has caught up, but nobody has looked: it is in the queue still.
    assert_eq!(sleeps_ahead(true, 1_100_000).0, 0);
    // After its slice somebody has: the sleeper has left, and is placed as any other.
    assert_eq!(sleeps_ahead(true, 4_000_000).0, 1);
}

#[test]
fn debts_end_with_the_sleep() {
    // 0 works for 1 ms, ahead of 1, and sleeps until 5.2. The slice of 1 ends at 5.5. With delay, the debt was paid when its
    // first slice ended, and 0 is next. Without, 0 comes back as far ahead as it went, and 1 has another slice.
    let first_turn = |delays_dequeue| {
        let sleeps = timed(|| {
            until(1_000_000);
            Simulated::sleep_ns(4_200_000);
        });
        share(
            &ticking(|eevdf| (eevdf.delays_dequeue, eevdf.tick_ps) = (delays_dequeue, 0)),
            vec![sleeps, works(20_000_000)],
        )[0]
    };
    let (with, without) = (first_turn(true), first_turn(false));
    assert!((5_500 * US..5_510 * US).contains(&with), "{with}");
    assert!((8_500 * US..8_510 * US).contains(&without), "{without}");
}

#[test]
fn a_yield_that_forfeits_lets_the_other_go_first() {
    // 0 and 1 are level when 0 yields at 1 ms of its half slice. 1 has the CPU then; 0, which gave up the rest, waits for
    // longer than one that only put off its deadline.
    let waits = |yield_forfeits| {
        let yields = body(|| {
            until(1_000_000);
            Simulated::yield_now();
            let back = now();
            Simulated::yield_now();
            now() - back
        });
        share(
            &ticking(|eevdf| (eevdf.yield_forfeits, eevdf.tick_ps) = (yield_forfeits, 0)),
            vec![yields, works(20_000_000)],
        )[0]
    };
    // Back at 2.5 ms with a ms had, where the other has had 1.5: it alone is eligible, and a yield that forfeits nothing is in
    // vain.
    assert!(waits(false) < 10 * US, "{}", waits(false));
    assert!(waits(true) > MS, "{}", waits(true));
}
