//! Libraries that are loaded at the place of others that were unloaded: each wait has the names of what was there then.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::support::programs::{compiled, library, may_trace, profile_of, profiled};
use ondeck_profile::Profile;
use std::collections::BTreeMap;

/// For each plugin, how many waits were in its function, and how many for its lock.
fn waits(profile: &Profile) -> BTreeMap<&'static str, (u64, u64)> {
    let mut waits = BTreeMap::new();
    for (name, section, lock_name) in
        [("alpha", "alpha_section", "alpha_lock"), ("beta_", "beta__section", "beta__lock")]
    {
        let is_inside = |stack: u32| profile.frames_of(stack).any(|frame| frame.function.contains(section));
        let (mut inside, mut locks) = (0.0, 0.0);
        for lock in &profile.locks {
            let sites = lock.waiters.iter();
            inside += sites.filter(|site| is_inside(site.stack)).map(|site| site.count).sum::<f64>();
            locks += if lock.name.contains(lock_name) { lock.waits } else { 0.0 };
        }
        waits.insert(name, (inside.round() as u64, locks.round() as u64));
    }
    waits
}

#[test]
fn a_library_at_the_place_of_another_keeps_its_names() {
    // A wait with a wrong name is missing there: no plugin has more waits than acquisitions, and each has some.
    let plugin = |name, turns| compiled("plugin.c", &["-O1", "-shared", "-fPIC", name, turns]);
    let (alpha, beta) = (plugin("-DNAME=alpha", "-DTURNS=60"), plugin("-DNAME=beta_", "-DTURNS=10"));
    let program = compiled("plugins.c", &["-O1", "-ldl"]);
    let mut ways = vec![vec!["--rate", "1", "--library", library()]];
    ways.push([&ways[0][..], &["--lock", "glibc"]].concat());
    if may_trace() {
        ways.push(vec!["--futex"]);
    }
    for (way, flags) in ways.into_iter().enumerate() {
        for order in [[&alpha, &beta, &alpha], [&beta, &alpha, &beta]].into_iter().take(if way == 0 { 2 } else { 1 }) {
            let [first, second, third] = order.map(String::as_str);
            let words = ["--", &program, "inside", first, second, third];
            let profile = profile_of(&[&flags[..], &words].concat());
            let waits = waits(&profile);
            let (n_alpha, n_beta) = if first == alpha { (240, 20) } else { (120, 40) };
            for (name, most) in [("alpha", n_alpha), ("beta_", n_beta)] {
                let (inside, locks) = waits[name];
                let possible = 1..=most;
                assert!(possible.contains(&inside) && possible.contains(&locks), "{flags:?} {order:?}: {waits:?}");
            }
        }
        // The lock is in the library, and no function of the library is on a stack.
        let profile = profile_of(&[&flags[..], &["--", &program, "outside", &alpha, &beta]].concat());
        for (name, (_, locks)) in waits(&profile) {
            assert!((1..=20).contains(&locks), "{flags:?}: {locks} waits for the lock of {name}");
        }
    }
}

/// The loader tells of such a program by its segments, and not as a whole.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_with_holes_between_its_segments_keeps_its_names() {
    let program = compiled("waits.c", &["-O1", "-no-pie", "-Wl,--section-start=.text=0x900000"]);
    let (profile, run) = profiled(&["--rate", "1", "--library", library(), "--", &program, "60"]);
    assert_eq!(run.code, Some(7), "its own");
    let names: Vec<&str> = profile.locks.iter().map(|lock| lock.name.as_str()).collect();
    assert!(names.contains(&"held") && names.contains(&"later"), "{names:?}");
    let waiters = profile.locks.iter().flat_map(|lock| &lock.waiters);
    for waiter in waiters {
        assert!(profile.frames_of(waiter.stack).any(|frame| frame.function == "hold"), "{names:?}");
    }
}
