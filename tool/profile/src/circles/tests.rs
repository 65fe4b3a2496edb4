use super::*;

/// The locks of a circle's steps, whether they are the same objects, and how many such circles there are.
type Found = (Vec<(u32, u32)>, bool, u32);

/// Locks whose class is their tens, at addresses in the order of their numbers.
fn found(steps: &[(u32, u32, [u32; 2])], is_vague: bool) -> Vec<Found> {
    let steps: Vec<Step> =
        steps.iter().map(|(held, taken, gates)| Step { held: *held, taken: *taken, gates: *gates }).collect();
    let locks = steps.iter().flat_map(|step| [step.held, step.taken]);
    let member = |lock: u32| Member { class: lock / 10, address: u64::from(lock) * 64, is_vague };
    let members = locks.map(|lock| (lock, member(lock))).collect();
    let ends = |step: usize| (steps[step].held, steps[step].taken);
    let all = circles(&steps, &members).into_iter();
    all.map(|one| (one.steps.into_iter().map(ends).collect(), one.same_objects, one.count)).collect()
}

const NO: [u32; 2] = [0, 0];

#[test]
fn both_orders_of_two_locks_are_a_circle_and_one_is_none() {
    assert_eq!(found(&[(10, 20, NO), (20, 30, NO), (10, 30, NO)], false), []);
    let pair = (vec![(10, 20), (20, 10)], true, 1);
    assert_eq!(found(&[(10, 20, NO), (20, 30, NO), (20, 10, NO)], false), [pair]);
}

#[test]
fn all_pairs_are_told() {
    let steps = [(10, 20, NO), (20, 10, NO), (20, 30, NO), (30, 20, NO)];
    assert_eq!(found(&steps, false), [(vec![(10, 20), (20, 10)], true, 1), (vec![(20, 30), (30, 20)], true, 1)]);
}

#[test]
fn a_longer_circle_is_found_if_there_is_no_pair() {
    let steps = [(10, 20, NO), (20, 30, NO), (30, 40, NO), (30, 10, NO), (40, 10, NO)];
    assert_eq!(found(&steps, false), [(vec![(10, 20), (20, 30), (30, 10)], true, 1)]);
}

#[test]
fn different_objects_of_two_classes_are_told_as_such() {
    assert_eq!(found(&[(11, 21, NO), (22, 12, NO)], false), [(vec![(11, 21), (22, 12)], false, 1)]);
    // The same objects are more certain, and more of them are no more news.
    let steps = [(11, 21, NO), (22, 12, NO), (21, 11, NO), (12, 22, NO)];
    assert_eq!(found(&steps, false), [(vec![(11, 21), (21, 11)], true, 2)]);
    let three = [(11, 21, NO), (22, 32, NO), (33, 13, NO)];
    assert_eq!(found(&three, false), [(vec![(11, 21), (22, 32), (33, 13)], false, 1)]);
}

#[test]
fn one_class_has_circles_of_the_same_objects_only() {
    let ascending: Vec<(u32, u32, [u32; 2])> =
        (11..19).flat_map(|one| (one + 1..20).map(move |other| (one, other, NO))).collect();
    assert_eq!(found(&ascending, false), []);
    assert_eq!(found(&[(11, 12, NO), (13, 12, NO), (14, 13, NO)], false), []);
    assert_eq!(found(&[(11, 12, NO), (12, 11, NO)], false), [(vec![(11, 12), (12, 11)], true, 1)]);
    let philosophers = [(11, 12, NO), (12, 13, NO), (13, 14, NO), (14, 11, NO)];
    assert_eq!(found(&philosophers, false), [(vec![(11, 12), (12, 13), (13, 14), (14, 11)], true, 1)]);
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
fn a_gate_keeps_two_steps_apart() {
    assert_eq!(found(&[(10, 20, [90, 0]), (20, 10, [80, 90])], false), []);
    assert_eq!(found(&[(10, 20, [90, 0]), (20, 10, [80, 0])], false).len(), 1);
    // Who takes 20 while having 10 is kept out by who has 10 as well.
    assert_eq!(found(&[(10, 20, NO), (20, 30, [10, 0]), (30, 10, NO)], false), []);
    assert_eq!(found(&[(10, 20, [90, 0]), (20, 30, NO), (30, 10, [0, 90])], false), []);
    assert_eq!(found(&[(10, 20, [90, 0]), (20, 30, NO), (30, 10, NO)], false).len(), 1);
    // Of two classes, one pair of objects is enough.
    let classes = [(11, 21, [90, 0]), (22, 12, [90, 0]), (13, 23, NO)];
    assert_eq!(found(&classes, false), [(vec![(13, 23), (22, 12)], false, 1)]);
}

#[test]
fn a_pair_behind_a_gate_does_not_hide_a_longer_circle() {
    let steps = [(10, 20, [90, 0]), (20, 10, [90, 0]), (20, 30, NO), (30, 10, NO)];
    assert_eq!(found(&steps, false), [(vec![(10, 20), (20, 30), (30, 10)], true, 1)]);
}

#[test]
fn many_steps_take_no_long_time() {
    let mut chance = 1_u64;
    let mut any = |below: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((chance >> 33) % below) as u32 + 10
    };
    let steps: Vec<(u32, u32, [u32; 2])> = (0..50_000).map(|_| (any(20_000), any(20_000), NO)).collect();
    let began = std::time::Instant::now();
    assert!(!found(&steps, false).is_empty());
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}
