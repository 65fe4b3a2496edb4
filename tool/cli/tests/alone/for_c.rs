//! `ondeck profile` with a program that has ondeck's locks from C++: they are recorded as pthread's are, however the library
//! is linked.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::alone;
use crate::support::ondeck;
use crate::support::programs::{built, compiled, library, recorded};
use ondeck_profile::{Lock, LockKind, Profile, Site, busiest};

const ROUNDS: f64 = 20.0;

fn lock<'p>(profile: &'p Profile, name: &str) -> &'p Lock {
    let names: Vec<&str> = profile.locks.iter().map(|lock| lock.name.as_str()).collect();
    profile.locks.iter().find(|lock| lock.name == name).unwrap_or_else(|| panic!("no lock {name} among {names:?}"))
}

#[track_caller]
fn is_near(what: &str, found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.1, "{what}: {found} and not {expected}");
}

#[test]
fn ondecks_locks_in_cpp_are_recorded_as_pthreads_are() {
    let _cores = alone();
    let built = built("../../crates/capi", &["--package", "ondeck-capi"]);
    let [shared, archive] = ["libondeck_c.so", "libondeck_c.a"].map(|name| built.join(name).display().to_string());
    // A static program has no library preloaded, and tables for walking stacks only if the linker is told so.
    for (from, flags) in [(&shared, &[][..]), (&archive, &[]), (&archive, &["-static", "-Wl,--eh-frame-hdr"])] {
        let usual = ["-std=c++17", "-O2", from, "-ldl", "-lm"];
        let program = compiled("cache.cpp", &[&usual, flags].concat());
        let (profile, run) = recorded(&["--rate", "1"], &[&program]);
        assert_eq!(run.code, Some(0), "{from}: {}", run.stderr);
        judge(&profile, &run.stdout, flags.is_empty());
        let run = ondeck(&["profile", "--library", library(), "--", &program]);
        assert_eq!(run.code, Some(0), "{from}: {}", run.stderr);
        let verdict = run.stderr.split("\n\n").next().unwrap_or_default();
        let has = |words: &str| verdict.contains(words);
        assert!(has("`rebuild`") && has("`cache`") && has("blocked in"), "{from}: {}", run.stderr);
    }
}

fn judge(profile: &Profile, printed: &str, is_preloaded: bool) {
    let numbers: Vec<f64> = printed.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [looked_up, look_up_ns, condition_waits, condition_ns, ref catalogue @ ..] = numbers[..] else {
        panic!("{printed}")
    };
    assert_eq!(profile.processes.len(), 1, "recorded by the library and by the program: {:?}", profile.processes);
    let function = |sites| busiest(profile, sites).map(|(name, _)| name);
    let cache = lock(profile, "cache");
    assert_eq!(cache.acquisitions, looked_up + ROUNDS);
    is_near("waited for the cache", cache.wait_ns, look_up_ns);
    let [waits, holds] = [&cache.waiters, &cache.holders].map(|sites| function(sites));
    assert_eq!([waits.as_deref(), holds.as_deref()], [Some("look_up"), Some("rebuild")]);
    assert!(cache.spins.is_some(), "ondeck's");
    if is_preloaded {
        let journal = lock(profile, "journal");
        assert_eq!((journal.acquisitions, journal.spins), (ROUNDS, None));
    }
    // A wait on a condition variable is none for a lock.
    assert!(lock(profile, "queue_lock").wait_ns < 0.1 * condition_ns);
    let filled = profile.conditions.iter().find(|condition| condition.name == "filled").expect("was waited on");
    let [waits, notifies] = [&filled.waiters, &filled.notifiers].map(|sites| function(sites));
    assert_eq!([waits.as_deref(), notifies.as_deref()], [Some("consume"), Some("produce")]);
    assert_eq!(filled.waits, condition_waits);
    is_near("waited on the condition", filled.wait_ns, condition_ns);
    judge_readers(profile, catalogue);
}

/// Who waits to write waits for who has gone on to read, too.
fn judge_readers(profile: &Profile, waited: &[f64]) {
    let catalogue = lock(profile, "catalogue");
    assert_eq!(catalogue.kind, LockKind::RwLock);
    let in_all = |sites: &[Site], function: &str, access: &str| -> f64 {
        let has = |site: &&Site| {
            let mut frames = profile.frames_of(site.stack);
            frames.next().is_some_and(|frame| frame.function == access)
                && frames.any(|frame| frame.function.starts_with(function))
        };
        sites.iter().filter(has).map(|site| site.ns).sum()
    };
    let wait_ns =
        [("find", "(reading)"), ("add", "(writing)")].map(|(name, how)| in_all(&catalogue.waiters, name, how));
    is_near("waited for the catalogue", catalogue.wait_ns, waited.iter().sum());
    wait_ns.iter().zip(waited).for_each(|(found, expected)| is_near("waited to read, or to write", *found, *expected));
    let held = ["(reading)", "(writing)"].map(|how| in_all(&catalogue.holders, "reindex", how));
    assert!(held.iter().all(|ns| *ns > 0.2 * catalogue.wait_ns), "{held:?} of {}", catalogue.wait_ns);
}
