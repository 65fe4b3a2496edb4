//! Plain stores: S1 (the thread goes on at once), S2 (read-modify-writes and barriers wait for them).

use crate::common::{Body, Line, at, body, line, now, on_cpus, timed, toy, until};
use ondeck_core::{Atomic, Platform};
use ondeck_sim::{SimU64, Simulated};
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

/// Takes lines to core 0 at the beginning, and gives when it has them.
fn owner(lines: &[&Arc<Line>]) -> Body {
    let lines: Vec<Arc<Line>> = lines.iter().map(|line| Arc::clone(line)).collect();
    timed(move || lines.iter().for_each(|line| _ = line.0.fetch_add(1, SeqCst)))
}

#[test]
fn s1_the_storing_thread_goes_on_and_others_see_it_later() {
    let word = line(0);
    let (theirs, third) = (word.clone(), word.clone());
    let storer = timed(move || {
        until(10);
        theirs.0.store(9, Release); // goes on at 10.3; there at 34, where it is granted; the line is here at 58
    });
    let watcher = at(9, &third, |third| {
        assert_eq!(third.0.load(Relaxed), 1); // there at 33, before the store, busy until 81, so the store is at 81
        until(60);
        assert_eq!(third.0.load(Relaxed), 1); // a hit at 60: shared until 81
        until(82);
        assert_eq!(third.0.load(Relaxed), 9); // there at 106, busy until 81 + 48 = 129: at 129, back at 153
    });
    let outcome = on_cpus(&toy(3), vec![owner(&[&word]), storer, watcher]);
    assert_eq!(outcome.value, [4_000, 10_300, 153_000]);
}

#[test]
fn s1_a_store_to_an_own_line_is_seen_at_once() {
    let word = line(0);
    let storer = timed(move || {
        word.0.store(1, Relaxed); // 0.3
        word.0.store(2, Relaxed); // 0.6
        word.0.swap(3, SeqCst); // nothing to wait for: 4.6
    });
    assert_eq!(on_cpus(&toy(1), vec![storer]).value, [4_600]);
}

#[test]
fn s1_loads_find_own_stores_that_nobody_else_sees_yet() {
    let (word, other) = (line(0), line(0));
    let (theirs, own) = (word.clone(), other.clone());
    let storer = timed(move || {
        own.0.load(Relaxed);
        until(10);
        theirs.0.store(8, Relaxed); // 10.3
        theirs.0.store(9, Relaxed); // 10.6
        assert_eq!(theirs.0.load(Relaxed), 9); // the youngest: a hit, 11.6
        assert_eq!(own.0.load(Relaxed), 0); // another word: goes past the stores, 12.6
    });
    assert_eq!(on_cpus(&toy(2), vec![owner(&[&word]), storer]).value, [4_000, 12_600]);
}

#[test]
fn s1_stores_are_seen_in_their_order() {
    // The first store is back at 58, and only then is the second one done, although its line is there. A load that arrives at
    // 57 finds it undone, one that arrives at 59 done.
    for (ns, value) in [(33, 0), (35, 9)] {
        let (far, near) = (line(0), line(0));
        let (theirs, own, watched) = (far.clone(), near.clone(), near);
        let storer = timed(move || {
            own.0.load(Relaxed);
            until(10);
            theirs.0.store(9, Relaxed);
            own.0.store(9, Relaxed);
        });
        let watcher = body(move || {
            until(ns);
            watched.0.load(Relaxed)
        });
        assert_eq!(on_cpus(&toy(3), vec![owner(&[&far]), storer, watcher]).value, [4_000, 10_600, value]);
    }
}

#[test]
fn s1_a_full_buffer_waits_for_the_oldest_store() {
    let words = [line(0), line(0), line(0)];
    let mut machine = toy(2);
    machine.memory.store_buffer = 2;
    let owner = owner(&words.each_ref());
    let storer = timed(move || {
        until(20);
        // Each is asked for when the one before is back: 44 and 68, then 92 and 116. The third finds room at 68.
        words.iter().for_each(|word| word.0.store(9, Relaxed));
    });
    assert_eq!(on_cpus(&machine, vec![owner, storer]).value, [12_000, 68_300]);
}

/// What a thread does at 10 that has an own line.
fn after_a_store(act: fn(&Line)) -> u64 {
    let (far, near) = (line(0), line(0));
    let storer = at(0, &far, move |far| {
        near.0.load(Relaxed);
        until(10);
        far.0.store(9, Relaxed); // granted at 34, back at 58
        act(&near);
    });
    on_cpus(&toy(2), vec![owner(&[&far]), storer]).value[1]
}

#[test]
fn s2_read_modify_writes_and_barriers_wait_for_stores() {
    assert_eq!(after_a_store(|_| ()), 10_300);
    assert_eq!(after_a_store(|own| _ = own.0.swap(1, SeqCst)), 58_000 + 4_000);
    assert_eq!(after_a_store(|_| Simulated::barrier()), 58_000 + 5_000);
    // With nothing to wait for: 300 ps for a store to an own line, 5 ns for the barrier.
    let own = line(0);
    let storer = timed(move || {
        own.0.store(1, Relaxed);
        Simulated::barrier();
    });
    assert_eq!(on_cpus(&toy(1), vec![storer]).value, [5_300]);
}

#[test]
fn s2_the_kernel_is_entered_without_stores_under_way() {
    // From 58 on: a wake that finds nobody takes 120.
    assert_eq!(after_a_store(|_| Simulated::wake(&ondeck_sim::SimU32::new(0), 1)), 58_000 + 120_000);
    // A sleep of 1 us begins at 58, ends at 1058; the CPU runs it 2 us later.
    assert_eq!(after_a_store(|_| Simulated::sleep_ns(1_000)), 58_000 + 1_000_000 + 2_000_000);
}

#[test]
fn a_store_that_is_granted_while_a_load_is_on_its_way_back_leaves_its_value_alone() {
    let (stored, loaded) = (line(0), line(4));
    let (a, b, delayed) = (stored.clone(), loaded.clone(), stored.clone());
    let storer = body(move || {
        until(10);
        a.0.store(9, Relaxed); // there at 34; granted at 81, when the line is free
        until(40);
        b.0.load(Relaxed) // granted at 64, back at 88
    });
    let reader = timed(move || {
        until(9);
        delayed.0.load(Relaxed); // there at 33; the line is busy until 81
    });
    let outcome = on_cpus(&toy(3), vec![owner(&[&stored, &loaded]), storer, reader]);
    assert_eq!(outcome.value, [8_000, 5, 57_000]);
}

/// A place for one word after another.
struct Place(UnsafeCell<Line>);

// SAFETY: simulated threads take turns in one thread of the system, and no reference is used over a `put`.
unsafe impl Sync for Place {}

impl Place {
    fn new() -> Arc<Place> {
        Arc::new(Place(UnsafeCell::new(Line(Atomic::new(0)))))
    }

    fn word(&self) -> &SimU64 {
        // SAFETY: as above.
        &unsafe { &*self.0.get() }.0
    }

    /// Takes the word away that is there, and puts another one there.
    fn put(&self, value: u64) {
        // SAFETY: as above.
        unsafe { *self.0.get() = Line(Atomic::new(value)) };
    }
}

#[test]
fn a_store_does_not_outlive_its_word() {
    let place = Place::new();
    let ours = place.clone();
    let owner = timed(move || ours.word().fetch_add(1, SeqCst));
    let storer = body(move || {
        until(10);
        place.word().store(9, Relaxed);
        place.put(5);
        assert_eq!(place.word().load(Relaxed), 5, "the value of a word that is gone");
        Simulated::barrier();
        place.word().load(Relaxed)
    });
    assert_eq!(on_cpus(&toy(2), vec![owner, storer]).value, [4_000, 5]);
}

#[test]
fn a_store_does_not_outlive_its_word_that_another_thread_has_taken_away() {
    let place = Place::new();
    let (first, second) = (place.clone(), place.clone());
    let owner = timed(move || first.word().fetch_add(1, SeqCst));
    let storer = timed(move || {
        until(10);
        second.word().store(9, Relaxed); // would be granted at 34
    });
    let other = body(move || {
        until(20);
        now(); // catches up
        place.put(5);
        until(200);
        place.word().load(Relaxed)
    });
    assert_eq!(on_cpus(&toy(3), vec![owner, storer, other]).value, [4_000, 10_300, 5]);
}
