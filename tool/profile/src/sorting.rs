//! The order of a profile's locks, and names that tell them apart.

use crate::profile::{Lock, Profile};
use std::collections::HashMap;

/// Most waiting first, and each name once.
pub(crate) fn put_in_order(profile: &mut Profile) {
    profile.locks.sort_by(|a, b| b.wait_ns.total_cmp(&a.wait_ns).then(b.acquisitions.total_cmp(&a.acquisitions)));
    profile.conditions.sort_by(|a, b| b.wait_ns.total_cmp(&a.wait_ns));
    tell_all_apart(profile);
}

/// Each name of a lock once, and each of a condition.
pub(crate) fn tell_all_apart(profile: &mut Profile) {
    let pid = |process: u32| profile.processes.get(process as usize).map_or(0, |process| process.pid);
    // Several locks have no address in common.
    let address = |lock: &Lock| (lock.members <= 1).then_some(lock.address);
    let locks = profile.locks.iter_mut();
    tell_apart(locks.map(|lock| (address(lock), pid(lock.process), &mut lock.name)));
    let conditions = profile.conditions.iter_mut();
    tell_apart(conditions.map(|one| (Some(one.address), pid(one.process), &mut one.name)));
}

/// Makes names unique, each with the address and the process of what it names. Gives an address to names that are not unique, the process to those of one address, and a number to those of one address
/// at different times.
pub(crate) fn tell_apart<'a>(names: impl Iterator<Item = (Option<u64>, u32, &'a mut String)>) {
    let mut names: Vec<(Option<u64>, u32, &mut String)> = names.collect();
    for round in 0..3 {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (.., name) in &names {
            *counts.entry((*name).clone()).or_default() += 1;
        }
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for (address, pid, name) in &mut names {
            if counts[name.as_str()] < 2 {
                continue;
            }
            let number = numbers.entry(name.clone()).or_default();
            *number += 1;
            match round {
                0 => address.iter().for_each(|address| **name += &format!(" at {address:#x}")),
                1 => **name = format!("{name} of process {pid}"),
                _ if *number > 1 => **name = format!("{name} ({number})"),
                _ => {}
            }
        }
    }
}
