use super::Same::{Addresses, Classes, Objects};
use super::*;

/// The locks of a circle's steps, what they have in common, and how many such circles there are.
type Found = (Vec<(u32, u32)>, Same, u32);

/// Whose class is its tens, at addresses in the order of the numbers.
fn member(lock: u32, is_vague: bool) -> Member {
    Member { class: lock / 10, address: u64::from(lock) * 64, is_vague, is_one: true }
}

fn found_of(steps: &[Step], member: impl Fn(u32) -> Member) -> Vec<Found> {
    let locks = steps.iter().flat_map(|step| [step.held, step.taken]);
    let members = locks.map(|lock| (lock, member(lock))).collect();
    let ends = |step: usize| (steps[step].held, steps[step].taken);
    let all = circles(steps, &members).into_iter();
    all.map(|one| (one.steps.into_iter().map(ends).collect(), one.same, one.count)).collect()
}

fn found(steps: &[(u32, u32, [u32; 2])], is_vague: bool) -> Vec<Found> {
    let step = |(held, taken, outer): &(u32, u32, [u32; 2])| Step {
        held: *held,
        taken: *taken,
        shared: [false; 2],
        outer: *outer,
    };
    found_of(&steps.iter().map(step).collect::<Vec<_>>(), |lock| member(lock, is_vague))
}

/// A lock, and whether it is had, or taken, to read.
type Use = (u32, bool);

fn found_shared(steps: &[(Use, Use)]) -> Vec<Found> {
    let step = |(held, taken): &(Use, Use)| Step { held: held.0, taken: taken.0, shared: [held.1, taken.1], outer: NO };
    found_of(&steps.iter().map(step).collect::<Vec<_>>(), |lock| member(lock, false))
}

const NO: [u32; 2] = [0, 0];

#[test]
fn both_orders_of_two_locks_are_a_circle_and_one_is_none() {
    assert_eq!(found(&[(10, 20, NO), (20, 30, NO), (10, 30, NO)], false), []);
    let pair = (vec![(10, 20), (20, 10)], Objects, 1);
    assert_eq!(found(&[(10, 20, NO), (20, 30, NO), (20, 10, NO)], false), [pair]);
}

#[test]
fn all_pairs_are_told() {
    let steps = [(10, 20, NO), (20, 10, NO), (20, 30, NO), (30, 20, NO)];
    assert_eq!(found(&steps, false), [(vec![(10, 20), (20, 10)], Objects, 1), (vec![(20, 30), (30, 20)], Objects, 1)]);
}

#[test]
fn a_longer_circle_is_found_if_there_is_no_pair() {
    let steps = [(10, 20, NO), (20, 30, NO), (30, 40, NO), (30, 10, NO), (40, 10, NO)];
    assert_eq!(found(&steps, false), [(vec![(10, 20), (20, 30), (30, 10)], Objects, 1)]);
}

#[test]
fn different_objects_of_two_classes_are_told_as_such() {
    assert_eq!(found(&[(11, 21, NO), (22, 12, NO)], false), [(vec![(11, 21), (22, 12)], Classes, 1)]);
    // The same objects are more certain, and more of them are no more news.
    let steps = [(11, 21, NO), (22, 12, NO), (21, 11, NO), (12, 22, NO)];
    assert_eq!(found(&steps, false), [(vec![(11, 21), (21, 11)], Objects, 2)]);
    let three = [(11, 21, NO), (22, 32, NO), (33, 13, NO)];
    assert_eq!(found(&three, false), [(vec![(11, 21), (22, 32), (33, 13)], Classes, 1)]);
}

#[test]
fn one_class_has_circles_of_the_same_objects_only() {
    let ascending: Vec<(u32, u32, [u32; 2])> =
        (11..19).flat_map(|one| (one + 1..20).map(move |other| (one, other, NO))).collect();
    assert_eq!(found(&ascending, false), []);
    assert_eq!(found(&[(11, 12, NO), (13, 12, NO), (14, 13, NO)], false), []);
    assert_eq!(found(&[(11, 12, NO), (12, 11, NO)], false), [(vec![(11, 12), (12, 11)], Objects, 1)]);
    let philosophers = [(11, 12, NO), (12, 13, NO), (13, 14, NO), (14, 11, NO)];
    assert_eq!(found(&philosophers, false), [(vec![(11, 12), (12, 13), (13, 14), (14, 11)], Objects, 1)]);
}

/// Objects without a name, some of which were used first as the first of two, some as the second.
#[test]
fn classes_by_first_use_may_be_one_class_in_the_order_of_addresses() {
    let steps = [(11, 21, NO), (12, 22, NO), (21, 32, NO), (22, 31, NO)];
    let inverted = |steps: &[(u32, u32, [u32; 2])]| [steps, &[(9, 19, NO), (15, 25, NO)]].concat();
    assert_eq!(found(&inverted(&steps), true), []);
    // From 21 to 12, downwards.
    let both = [(11, 22, NO), (21, 12, NO)];
    assert_eq!(found(&both, true).len(), 1);
    assert_eq!(found(&[(11, 22, NO), (22, 11, NO)], true).len(), 1);
}

#[test]
fn an_outer_lock_keeps_two_steps_apart() {
    assert_eq!(found(&[(10, 20, [90, 0]), (20, 10, [80, 90])], false), []);
    assert_eq!(found(&[(10, 20, [90, 0]), (20, 10, [80, 0])], false).len(), 1);
    // Who takes 20 while having 10 is kept out by who has 10 as well.
    assert_eq!(found(&[(10, 20, NO), (20, 30, [10, 0]), (30, 10, NO)], false), []);
    assert_eq!(found(&[(10, 20, [90, 0]), (20, 30, NO), (30, 10, [0, 90])], false), []);
    assert_eq!(found(&[(10, 20, [90, 0]), (20, 30, NO), (30, 10, NO)], false).len(), 1);
    // Of two classes, one pair of objects is enough.
    let classes = [(11, 21, [90, 0]), (22, 12, [90, 0]), (13, 23, NO)];
    assert_eq!(found(&classes, false), [(vec![(13, 23), (22, 12)], Classes, 1)]);
}

#[test]
fn a_pair_behind_an_outer_lock_does_not_hide_a_longer_circle() {
    let steps = [(10, 20, [90, 0]), (20, 10, [90, 0]), (20, 30, NO), (30, 10, NO)];
    assert_eq!(found(&steps, false), [(vec![(10, 20), (20, 30), (30, 10)], Objects, 1)]);
}

/// In each edge, the first step goes with none of the next one's.
#[test]
fn a_longer_circle_is_found_behind_steps_that_exclude_each_other() {
    let steps = [
        (11, 21, [91, 92]),
        (12, 22, [93, 96]),
        (23, 33, [91, 93]),
        (24, 34, [92, 94]),
        (35, 15, [93, 92]),
        (36, 16, [91, 95]),
    ];
    assert_eq!(found(&steps, false), [(vec![(12, 22), (24, 34), (36, 16)], Classes, 1)]);
    let nested = steps.map(|(held, taken, outer)| (held, taken, [outer[0], 99]));
    assert_eq!(found(&nested, false), []);
}

#[test]
fn a_reader_does_not_wait_for_a_reader() {
    const READ: bool = true;
    const ALONE: bool = false;
    let (table, cache, mutex) = (10, 20, 30);
    let before = |how| ((table, how), (mutex, ALONE));
    let after = |how| ((mutex, ALONE), (table, how));
    assert_eq!(found_shared(&[before(READ), after(READ)]), []);
    let pair = [(vec![(table, mutex), (mutex, table)], Objects, 1)];
    assert_eq!(found_shared(&[before(READ), after(ALONE)]), pair);
    assert_eq!(found_shared(&[before(ALONE), after(READ)]), pair);
    // Who writes now and then.
    assert_eq!(found_shared(&[before(READ), after(READ), after(ALONE)]), pair);
    let readers = [((table, READ), (cache, READ)), ((cache, READ), (table, READ))];
    assert_eq!(found_shared(&readers), []);
    // At one of the two they wait.
    assert_eq!(found_shared(&[((table, READ), (cache, ALONE)), readers[1]]), []);
    assert_eq!(found_shared(&[((table, READ), (cache, ALONE)), ((cache, READ), (table, ALONE))]).len(), 1);
}

#[test]
fn each_lock_of_a_longer_circle_is_waited_for() {
    let ring =
        |first: bool, last: bool| [((10, first), (20, false)), ((20, false), (30, false)), ((30, false), (10, last))];
    assert_eq!(found_shared(&ring(true, true)), []);
    assert_eq!(found_shared(&ring(true, false)).len(), 1);
    // The step that reads the second lock comes first, and leads nowhere.
    let both =
        [((10, false), (20, true)), ((10, true), (20, false)), ((20, true), (30, false)), ((30, false), (10, true))];
    assert_eq!(found_shared(&both), []);
    let more = [both.as_slice(), &[((10, false), (20, false))]].concat();
    assert_eq!(found_shared(&more).len(), 1);
}

#[test]
fn a_later_lock_at_the_same_address_is_no_certain_one() {
    let step = |held, taken| Step { held, taken, shared: [false; 2], outer: NO };
    let steps = [step(10, 20), step(20, 10), step(20, 30), step(30, 20)];
    let found = found_of(&steps, |lock| Member { is_one: lock != 10, ..member(lock, false) });
    assert_eq!(found, [(vec![(20, 30), (30, 20)], Objects, 1), (vec![(10, 20), (20, 10)], Addresses, 1)]);
    // Of those of one kind, the certain one is told.
    let steps = [step(11, 21), step(21, 11), step(12, 22), step(22, 12)];
    let found = found_of(&steps, |lock| Member { is_one: lock != 11, ..member(lock, false) });
    assert_eq!(found, [(vec![(12, 22), (22, 12)], Objects, 2)]);
}

/// One part in which any leads to any, by one long way back.
#[test]
fn a_large_part_without_pairs_comes_to_an_end() {
    const N: u32 = 4000;
    let mut chance = 1_u64;
    let mut any = |below: u32| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((chance >> 33) % u64::from(below)) as u32
    };
    let forward = (0..20_000).map(|_| {
        let from = any(N - 1);
        (from, from + 1 + any(N - 1 - from))
    });
    let all = forward.chain((1..N).map(|to| (to - 1, to))).chain([(N - 1, 0)]);
    let steps: Vec<_> = all.map(|(from, to)| (from * 10 + 10, to * 10 + 10, NO)).collect();
    let found = found(&steps, false);
    let [(circle, Objects, 1)] = &found[..] else { panic!("{found:?}") };
    assert!(circle.len() > 2 && circle.contains(&(N * 10, 10)), "{circle:?}");
}

#[test]
fn many_small_parts_come_to_an_end() {
    let pairs = (1..=30_000).map(|pair| (pair * 20, pair * 20 + 10));
    let steps: Vec<_> = pairs.flat_map(|(one, other)| [(one, other, NO), (other, one, NO)]).collect();
    assert_eq!(found(&steps, false).len(), 30_000);
}

/// A deadlock of more threads than there are.
#[test]
fn a_circle_of_more_than_a_thousand_is_none() {
    let ring = |n: u32| (1..=n).map(|at| (at * 10, at % n * 10 + 10, NO)).collect::<Vec<_>>();
    assert_eq!(found(&ring(200), false).len(), 1);
    assert_eq!(found(&ring(1001), false), []);
}
