//! Who is ahead of whom under the fair policy, and by how much.

use crate::common::{MS, US, all, body, fair, now, on, share, timed, toy, until, works};
use ondeck_core::{Atomic, Platform};
use ondeck_sim::{Options, SimU32, Simulated};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

#[test]
fn a_woken_thread_keeps_the_lead_that_it_slept_for() {
    // The two others have had 6 and 4 ms by then, so it is put half a latency, 3 ms, behind the 4. A slice is 2 ms; when it
    // is over the thread is still behind by 1 ms, and has one more.
    let machine = fair(1, 6 * MS, MS, MS);
    let sleeps = timed(|| {
        Simulated::sleep_ns(10_000_000);
        Simulated::work(2_900_000);
    });
    assert_eq!(share(&machine, vec![sleeps, works(20_000_000), works(20_000_000)])[0], 12_900_000_000 + US);
}

#[test]
fn a_thread_that_is_started_late_is_not_ahead() {
    // 0 works on CPU 0 for 50 ms and is gone. 1, started there at 60 ms, is not behind for what 0 had: when 2 comes at 61 ms,
    // 1 loses the CPU at the end of its slice, at 63, and 2 is done after a switch and 1 ms.
    let starts = body(|| {
        until(60_000_000);
        let late = Simulated::start_thread(Some(0), Box::new(|| Simulated::work(30_000_000)));
        until(61_000_000);
        let later = Simulated::start_thread(Some(0), Box::new(|| Simulated::work(1_000_000)));
        Simulated::join(later);
        let done = now();
        Simulated::join(late);
        done
    });
    let outcome = on(&toy(2), 1, vec![(Some(0), works(50_000_000)), (Some(1), starts)]).unwrap();
    assert!((64 * MS..64 * MS + 20 * US).contains(&outcome.value[1]), "{:?}", outcome.value);
}

#[test]
fn a_thread_that_comes_while_another_runs_is_not_ahead_of_it() {
    // 0 has had 8 ms when 1 comes, which starts with as much: both get slices of 3 ms in turn. 1 from 8.001 to 11.001, 0 from
    // 11.002 to 14.002, 1 from 14.003 on. Its 5.5 ms would be over at 13.501 if it had a claim on what 0 had before.
    let done = Arc::new(AtomicU64::new(0));
    let end = done.clone();
    let outcome = ondeck_sim::run(&toy(1), &Options::default(), || {
        let first = Simulated::start_thread(Some(0), Box::new(|| Simulated::work(20_000_000)));
        Simulated::sleep_ns(8_000_000);
        let work = move || {
            Simulated::work(5_500_000);
            end.store(now(), SeqCst);
        };
        let second = Simulated::start_thread(Some(0), Box::new(work));
        [first, second].into_iter().for_each(Simulated::join);
    });
    outcome.unwrap();
    assert_eq!(done.load(SeqCst), 16 * MS + 503 * US);
}

#[test]
fn what_a_yielder_had_counts_for_whoever_comes() {
    // In tenths of a ms: 0 works 5 and yields; 1 works 2 and yields; 0 goes on, though it had more, and starts 2, which has
    // had as little as 1, which was passed over: 2. 0 works 1 and yields (6); 1 works 2.5 and yields (4.5) to 2; 2 works 1.5
    // and yields (3.5) to 1, which yields to the one that had least: 2, not 0.
    let order = Arc::new(Mutex::new(Vec::new()));
    let turn = |name: char| {
        let order = order.clone();
        move |us: u32| {
            order.lock().unwrap().push(name);
            Simulated::work(1_000 * us);
            Simulated::yield_now();
        }
    };
    let (zero, one, two) = (turn('0'), turn('1'), turn('2'));
    let starts = timed(move || {
        zero(500);
        let late = Simulated::start_thread(
            Some(0),
            Box::new(move || {
                [150, 1].into_iter().for_each(two);
            }),
        );
        zero(100);
        zero(1);
        Simulated::join(late);
    });
    let yields = timed(move || [200, 250, 1, 1].into_iter().for_each(one));
    on(&toy(1), 1, all(Some(0), vec![starts, yields])).unwrap();
    assert_eq!(order.lock().unwrap()[..7], ['0', '1', '0', '1', '2', '1', '2']);
}

#[test]
fn a_lead_is_not_cut_where_little_was_had() {
    // 0 sleeps on CPU 1 from the start, where two others have 5 ms each by then. At 9.5 ms it is woken to CPU 0, whose thread
    // has had half a ms: behind it by half a latency, 3 ms, it takes the CPU at once.
    let word = Arc::new(SimU32::new(0));
    let theirs = word.clone();
    let wakes = timed(move || {
        Simulated::sleep_ns(9_000_000);
        Simulated::work(500_000);
        Simulated::wake(&raw const *theirs, 1);
        Simulated::work(20_000_000);
    });
    let sleeps = timed(move || {
        Simulated::wait_on(&word, 0, None);
        assert_eq!(Simulated::current_core(), 0);
    });
    let mut machine = toy(2);
    machine.os.wake_affine = true;
    let bodies = vec![(Some(0), wakes), (None, sleeps), (Some(1), works(20_000_000)), (Some(1), works(20_000_000))];
    let outcome = on(&machine, 1, bodies).unwrap();
    assert!((9_500 * US..9_510 * US).contains(&outcome.value[1]), "{:?}", outcome.value);
}
