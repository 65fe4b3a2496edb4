//! Locks that are no mutexes, and waits that are for no lock: beside what `compare` looks at.

use crate::lock_of;
use crate::run::{ProfiledRun, run_alone};
use ondeck_profile::{Condition, Lock, LockKind, Profile, Site, WaitKind};

/// How much of the time is of stacks that begin with that frame, and go through that function.
fn ns_of(profile: &Profile, sites: &[Site], access: &str, function: &str) -> f64 {
    let is_it = |site: &&Site| {
        let mut frames = profile.frames_of(site.stack);
        let has_access = frames.next().is_some_and(|frame| frame.function == access);
        has_access && frames.any(|frame| frame.function.contains(function))
    };
    sites.iter().filter(is_it).map(|site| site.ns).sum()
}

fn is_near(found: f64, expected: f64) -> bool {
    expected > 0.0 && (found / expected - 1.0).abs() < 0.1
}

/// Who waits, and who is waited for: all of the lock's waiting is of these two, in these ways.
fn who_for_whom(run: &ProfiledRun, name: &str, pairs: &[[(&str, &str); 2]]) -> Vec<String> {
    let (profile, lock) = (&run.profile, lock_of(&run.profile, name));
    let mut faults = Vec::new();
    let (mut waited, mut charged) = (0.0, 0.0);
    for [(waiting, waiter), (holding, holder)] in pairs {
        let one = ns_of(profile, &lock.waiters, waiting, waiter);
        let other = ns_of(profile, &lock.holders, holding, holder);
        if !is_near(other, one) {
            faults
                .push(format!("{name}: {waiter} {waiting} waited {one} ns, {holder} {holding} is charged {other} ns"));
        }
        (waited, charged) = (waited + one, charged + other);
    }
    if !is_near(waited, lock.wait_ns) || !is_near(charged, lock.wait_ns) {
        faults.push(format!("{name}: {waited} ns waited and {charged} ns charged of {} ns", lock.wait_ns));
    }
    faults
}

fn fact(run: &ProfiledRun, name: &str) -> f64 {
    run.truths[0].facts[name] as f64
}

pub(crate) fn several(run: &ProfiledRun) -> Vec<String> {
    let (reading, writing) = ("(reading)", "(writing)");
    let mut faults = who_for_whom(
        run,
        "table",
        &[[(reading, "waits_to_read"), (writing, "writes")], [(writing, "waits_to_write"), (reading, "reads")]],
    );
    faults.extend(who_for_whom(run, "crowd", &[[(writing, "waits_for_the_crowd"), (reading, "reads_with_others")]]));
    let mut must = |is_so: bool, what: String| faults.extend((!is_so).then_some(what));
    for lock in &run.profile.locks {
        let expected = if lock.name == "known_first" { LockKind::Mutex } else { LockKind::RwLock };
        must(lock.kind == expected, format!("{}: {:?}", lock.name, lock.kind));
    }
    let crowd = lock_of(&run.profile, "crowd");
    must((crowd.acquisitions, crowd.waits) == (8.0, 2.0), format!("{} of {}", crowd.waits, crowd.acquisitions));
    must(is_near(crowd.wait_ns, fact(run, "crowd_waited_ns")), format!("crowd waited {} ns", crowd.wait_ns));
    // Two rounds of 10, 20 and 40 ms, of which the writer waits for the longest.
    must(crowd.hold_ns > 140e6, format!("the crowd's holds: {} ns", crowd.hold_ns));
    let nested = &lock_of(&run.profile, "nested").takers;
    let [around, inside] = ["reads_around", "reads_inside"].map(|name| {
        let is_it =
            |site: &&Site| run.profile.frames_of(site.stack).nth(1).is_some_and(|frame| frame.function.contains(name));
        nested.iter().filter(is_it).fold((0.0, 0.0), |(count, ns), site| (count + site.count, ns + site.ns))
    });
    must((around.0, inside.0) == (1.0, 3.0), format!("readings: {around:?} around {inside:?}"));
    must(around.1 >= 30e6 && inside.1 < 10e6, format!("readings: {around:?} around {inside:?}"));
    let across = lock_of(&run.profile, "*waits_across*");
    let is_right = across.waits == 1.0 && across.holders.is_empty() && across.takers.is_empty();
    must(is_right, format!("of several processes: {across:?}"));
    let alone = run_alone("several");
    must(alone[0].facts["refuses"] as f64 == fact(run, "refuses"), "a deadline that is none".to_owned());
    faults
}

pub(crate) fn waits(run: &ProfiledRun) -> Vec<String> {
    let profile = &run.profile;
    let mut faults = Vec::new();
    let mut must = |is_so: bool, what: String| faults.extend((!is_so).then_some(what));
    let condition = |name: &str| profile.conditions.iter().find(|one| one.name.starts_with(name));
    for (name, kind) in [("semaphore", WaitKind::Semaphore), ("barrier", WaitKind::Barrier), ("once", WaitKind::Once)] {
        let found = condition(name).map(|one: &Condition| one.kind);
        must(found == Some(kind), format!("{name}: {found:?}"));
    }
    let of_reused = |kind| profile.conditions.iter().find(|one| one.name.starts_with("reused") && one.kind == kind);
    for (kind, least) in [(WaitKind::Semaphore, 10e6), (WaitKind::Condition, 30e6)] {
        let ns = of_reused(kind).map_or(0.0, |one| one.wait_ns);
        must((least..least + 15e6).contains(&ns), format!("{kind:?} in reused memory: {ns} ns"));
    }
    let alone = profile.conditions.iter().find(|one| one.name.contains("come_alone"));
    let each = alone.map_or(f64::NAN, |one| one.wait_ns / one.waits);
    must(each < 2000.0, format!("alone at a barrier: {each} ns each, {alone:?}"));
    let joins: Vec<&Condition> = profile.conditions.iter().filter(|one| one.kind == WaitKind::Join).collect();
    let ns: f64 = ["in joins", "in lets_spin"]
        .iter()
        .filter_map(|name| joins.iter().find(|one| one.name.starts_with(name)))
        .map(|one| one.wait_ns)
        .sum();
    must(is_near(ns, fact(run, "joined_ns")), format!("joined for {ns} ns: {joins:?}"));
    let spin: &Lock = lock_of(profile, "spin");
    must(spin.kind == LockKind::Spin && spin.waits == 1.0 && spin.spins.is_none(), format!("{spin:?}"));
    must(is_near(spin.wait_ns, fact(run, "spun_ns")), format!("spun for {} ns", spin.wait_ns));
    faults
}
