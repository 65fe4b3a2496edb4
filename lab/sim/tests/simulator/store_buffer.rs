//! What a thread reads while stores of its own are under way.

use crate::common::{Line, line, on_cpus, toy, until};
use ondeck_core::Atomic;
use ondeck_sim::{SimU64, Simulated};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Three lines of another core. The second store is granted while the load's answer is on its way: it must not be taken
/// for it.
#[test]
fn a_load_that_goes_past_stores_gets_its_own_answer() {
    let lines = [line(0), line(0), line(0)];
    let theirs = lines.clone();
    let ours = move || {
        until(1000);
        lines[0].0.store(1, Relaxed); // under way at 1000, granted at 1024, answered at 1048
        lines[1].0.store(1, Relaxed); // waits for that, granted at 1072
        Simulated::work(30);
        lines[2].0.load(Relaxed) // granted at about 1055, answered at 1079
    };
    let owner = move || {
        (0..3).for_each(|index| _ = theirs[index].0.swap(5 + index as u64, SeqCst));
        0
    };
    assert_eq!(on_cpus(&toy(2), vec![Box::new(ours), Box::new(owner)]).value, [7, 0]);
}

#[test]
fn a_new_word_has_nothing_of_the_one_that_lay_there_before() {
    let lines = [line(0), line(0)];
    let theirs = lines[0].clone();
    let ours = move || {
        until(1000);
        lines[0].0.store(1, Relaxed);
        let mut word = Line(SimU64::new(0));
        word.0.store(5, Relaxed); // waits for the other
        word = Line(SimU64::new(9));
        word.0.load(Relaxed)
    };
    let owner = move || theirs.0.swap(1, SeqCst);
    assert_eq!(on_cpus(&toy(2), vec![Box::new(ours), Box::new(owner)]).value, [9, 0]);
}
