//! Functions that leave the lock by a jump. On a busy machine they seldom wait for each other, and so it is seldom seen how they
//! took it.

use crate::alone;
use crate::support::programs::{compiled, recording_of};

#[test]
fn who_leaves_the_lock_by_a_jump_is_named_and_nobody_instead() {
    let _cores = alone();
    // By the default rate, of most holds only the unlock is known.
    let profile = recording_of(&[], &[&compiled("jumpers.c", &["-O2"])]);
    let names = |lock: &str| {
        let lock = profile.locks.iter().find(|one| one.name == lock).expect("it was used");
        let of = |site: &ondeck_profile::Site| ondeck_profile::busiest(&profile, &[*site]).unwrap_or_default().0;
        lock.holders.iter().map(of).collect::<std::collections::BTreeSet<String>>()
    };
    assert_eq!(names("mutex"), ["inner", "named", "pointed"].map(str::to_owned).into());
    let unknown = "[unknown, called by works]";
    let of_two = names("other");
    assert!(of_two.iter().all(|name| ["first", "second", unknown].contains(&name.as_str())), "{of_two:?}");
}
