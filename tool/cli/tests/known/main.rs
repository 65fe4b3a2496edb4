//! `ondeck profile` on programs whose use of locks is known: what it says beside what the programs wrote down themselves, with
//! the C library's locks and with ours. `proof/testprograms/known/README.md` says what each program shows.
//!
//! Only figures of time have a tolerance, and where samples are taken those that are estimates.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

mod compare;
mod consistent;
mod kinds;
mod run;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "these tests need little of it")]
mod support;
mod truth;
mod wrong;

use compare::{EXACT, Tolerance, TruthComparison};
use ondeck_profile::{Lock, Profile, Spot};
use run::{LOCKS, ProfiledRun, run_profiled};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Most programs sleep most of the time, and run beside each other; one that needs the machine for itself writes.
static MACHINE: RwLock<()> = RwLock::new(());

/// What else a program's profile must have: faults.
type More = fn(&ProfiledRun) -> Vec<String>;

fn nothing_more(_: &ProfiledRun) -> Vec<String> {
    Vec::new()
}

fn faults_of(run: &ProfiledRun, lock: &str, tolerance: Tolerance, more: More) -> Vec<String> {
    let profile = &run.profile;
    let mut faults = consistent::faults(profile);
    let mut must = |is_so: bool, what: String| faults.extend((!is_so).then_some(what));
    must(profile.command == run.command, format!("the command: {:?}", profile.command));
    must(profile.lock == lock, format!("the lock: {:?}", profile.lock));
    must(tolerance.rate != 1 || profile.rate == 1, format!("the rate: {}", profile.rate));
    must(profile.dropped == ondeck_profile::Dropped::default(), format!("dropped: {:?}", profile.dropped));
    for truth in &run.truths {
        faults.extend(truth.faults().into_iter().map(|fault| format!("of the program itself: {fault}")));
        let tolerance = Tolerance { rate: profile.rate, ..tolerance };
        faults.extend(TruthComparison::new(profile, truth, tolerance).faults);
    }
    faults.extend(more(run));
    faults
}

/// What `run` gives, and whether a thread that slept meanwhile always had a core soon after its time was over.
fn watched<R>(run: impl FnOnce() -> R) -> (R, bool) {
    const NAP: Duration = Duration::from_millis(1);
    const SOON: Duration = Duration::from_millis(3);
    /// Also if `run` panics: the scope waits for its thread.
    struct SetOnDrop<'a>(&'a AtomicBool);
    impl Drop for SetOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut is_calm = true;
            while !is_over.load(Relaxed) {
                let begin = Instant::now();
                std::thread::sleep(NAP);
                is_calm &= begin.elapsed() < NAP + SOON;
            }
            is_calm
        });
        let over = SetOnDrop(&is_over);
        let result = run();
        drop(over);
        (result, watch.join().unwrap())
    })
}

/// Runs a program until its profile agrees with it: a thread that loses its core between its own clock and the recorder's
/// makes both right, and different. What is wrong is wrong three times on a calm machine, and each time on a busy one.
fn attempts(lock: &str, run: impl Fn() -> Result<Vec<String>, String>) -> Vec<String> {
    const MOST_CALM: usize = 3;
    const MOST: usize = 30;
    let (mut faults, mut n_calm) = (Vec::new(), 0);
    for attempt in 1..=MOST {
        let (found, is_calm) = watched(&run);
        faults = found.unwrap_or_else(|error| vec![error]);
        faults.iter_mut().for_each(|fault| *fault = format!("--lock {lock}: {fault}"));
        n_calm += usize::from(is_calm);
        if faults.is_empty() || n_calm == MOST_CALM {
            break;
        }
        println!("attempt {attempt}:\n{}", faults.join("\n"));
    }
    faults
}

/// With both locks side by side: most of the programs' time is sleep.
fn with_each_lock(faults: impl Fn(&'static str) -> Vec<String> + Sync) -> Vec<String> {
    let faults = &faults;
    std::thread::scope(|scope| {
        let runs = LOCKS.map(|lock| scope.spawn(move || faults(lock)));
        runs.into_iter().flat_map(|run| run.join().unwrap()).collect()
    })
}

/// Runs the program with each of the locks, every acquisition looked at, and compares all that is known.
#[track_caller]
fn check(name: &str, more: More) {
    let _beside_others = MACHINE.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    let with = |lock| attempts(lock, || Ok(faults_of(&run_profiled(name, lock, Some(1))?, lock, EXACT, more)));
    let faults = with_each_lock(with);
    assert!(faults.is_empty(), "{name}:\n{}", faults.join("\n"));
}

#[track_caller]
fn lock_of<'a>(profile: &'a Profile, name: &str) -> &'a Lock {
    let found = profile.locks.iter().find(|lock| compare::is_named(&lock.name, name));
    let names = || profile.locks.iter().map(|lock| lock.name.as_str()).collect::<Vec<_>>();
    found.unwrap_or_else(|| panic!("no lock {name} among {:?}", names()))
}

#[test]
fn each_lock_and_each_place_has_its_acquisitions_and_waits() {
    check("sites", |run| {
        let made = lock_of(&run.profile, "*makes_one*");
        let origin = made.origin.filter(|origin| origin.spot == Spot::Initialised);
        let inside = origin.and_then(|origin| run.profile.frames_of(origin.stack).next().cloned());
        let is_right =
            inside.as_ref().is_some_and(|frame| frame.function == "makes_one" && frame.file.ends_with("sites.c"));
        let seen = lock_of(&run.profile, "left").origin.map(|origin| origin.spot);
        let mut faults = Vec::new();
        if !is_right {
            faults.push(format!("initialised in makes_one, sites.c, expected; {origin:?}, {inside:?} found"));
        }
        if seen != Some(Spot::FirstSeen) {
            faults.push(format!("left comes from where it was first seen; {seen:?} found"));
        }
        faults
    });
}

/// Samples: acquisitions within six standard deviations, waits and times within a quarter.
#[test]
fn samples_stand_for_all() {
    let _alone = MACHINE.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    let with = |lock| {
        let tolerance = Tolerance { times: 0.25, rate: 0, waits: 0.25, charges: 0.1, ..EXACT };
        attempts(lock, || {
            let run = run_profiled("often", lock, None)?;
            if run.profile.rate <= 1 {
                return Err(format!("the default rate is {}", run.profile.rate));
            }
            Ok(faults_of(&run, lock, tolerance, nothing_more))
        })
    };
    let faults: Vec<String> = LOCKS.into_iter().flat_map(with).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Tests that one program is enough for: its name, and what else must be so.
macro_rules! checks {
    ($($test:ident: $program:literal, $more:expr;)*) => {
        $(
            #[test]
            fn $test() {
                check($program, $more);
            }
        )*
    };
}

checks! {
    a_hold_is_charged_to_who_took_it_for_all_who_wait: "charges", nothing_more;
    waits_on_condition_variables_are_no_lock_waits: "conditions", nothing_more;
    kinds_tries_and_deadlines_count_as_they_should: "kinds", nothing_more;
    c11s_mutexes_are_seen_and_what_would_be_wrong_is_found: "c11", wrong::figures_are_found;
    readers_and_writers_are_told_apart: "several", kinds::several;
    what_is_no_lock_is_told_apart: "waits", kinds::waits;
}

#[test]
fn children_have_figures_of_their_own() {
    check("children", |run| {
        // One more lives only to leave a child.
        let n = run.truths.len();
        if n == 4 { Vec::new() } else { vec![format!("4 process images expected, {n} wrote of themselves")] }
    });
}

/// Waits for them are recorded, as are who waited and how long.
#[test]
fn waits_for_robust_inheriting_and_shared_mutexes_are_seen() {
    let _beside_others = MACHINE.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    let with = |lock| {
        attempts(lock, || {
            let mut run = run_profiled("special", lock, Some(1))?;
            for truth in &mut run.truths {
                truth.locks.retain(|known| known.waits > 0);
            }
            Ok(faults_of(&run, lock, Tolerance { only_waits: true, ..EXACT }, nothing_more))
        })
    };
    let faults = with_each_lock(with);
    assert!(faults.is_empty(), "special:\n{}", faults.join("\n"));
}
