//! The comparison itself: it finds something in a profile that is wrong at one place.

use crate::compare::{EXACT, TruthComparison};
use crate::consistent;
use crate::run::ProfiledRun;
use ondeck_profile::{Condition, Frame, Lock, ProcessEnd, Profile};

/// One change, and a word of what is said of it.
type Wrong = (fn(&mut Profile), &'static str);

fn lock(profile: &mut Profile) -> &mut Lock {
    profile.locks.iter_mut().find(|lock| lock.name == "timed").expect("it was used")
}

fn condition(profile: &mut Profile) -> &mut Condition {
    profile.conditions.iter_mut().find(|one| one.name == "condition").expect("it was used")
}

fn holders(profile: &mut Profile) -> impl Iterator<Item = &mut Frame> {
    profile.frames.iter_mut().filter(|frame| frame.function == "holds_one")
}

/// Charges to the one that waited, as a simple recorder would.
fn charge_the_last(profile: &mut Profile) {
    let lock = lock(profile);
    lock.holders[0].stack = lock.waiters[0].stack;
}

fn wait_a_second_later(profile: &mut Profile) {
    let timeline = &mut lock(profile).timeline;
    timeline.amounts.splice(0..0, vec![0.0; (1.0 / timeline.slice).ceil() as usize]);
}

const WRONGS: [Wrong; 22] = [
    (|profile| profile.version += 1, "version"),
    (|profile| profile.processes[0].pid += 1, "process is missing"),
    (|profile| profile.processes[0].ended = ProcessEnd::Abruptly, "its end"),
    (|profile| profile.locks.clear(), "timed: found 0 times"),
    (|profile| lock(profile).name = "cold".to_owned(), "called"),
    (|profile| lock(profile).address += 8, "timed: found 0 times"),
    (|profile| lock(profile).acquisitions += 1.0, "acquisitions"),
    (|profile| lock(profile).waits -= 1.0, "waits"),
    (|profile| lock(profile).wait_ns *= 1.2, "waiting"),
    (|profile| lock(profile).handing_on_ns += 50e6, "handing on"),
    (|profile| lock(profile).hold_ns *= 0.8, "holding"),
    (|profile| lock(profile).longest_ns *= 2, "longest"),
    (|profile| lock(profile).most_waiting += 1, "most waiting"),
    (|profile| lock(profile).threads += 1, "threads"),
    (wait_a_second_later, "waits from"),
    (|profile| lock(profile).timeline.amounts.push(5e6), "over time"),
    (|profile| lock(profile).wait_histogram.0.clear(), "bars"),
    (charge_the_last, "charged"),
    (|profile| holders(profile).for_each(|frame| frame.function = "nobody".to_owned()), "nobody who is known"),
    (|profile| holders(profile).for_each(|frame| frame.line += 1), ": line "),
    (|profile| condition(profile).wait_ns *= 0.5, "condition variable"),
    (|profile| profile.conditions.clear(), "condition variable condition: found 0"),
];

pub(crate) fn figures_are_found(run: &ProfiledRun) -> Vec<String> {
    let mut missed = Vec::new();
    for (idx, (make_wrong, word)) in WRONGS.iter().enumerate() {
        let mut profile = run.profile.clone();
        make_wrong(&mut profile);
        let mut found = consistent::faults(&profile);
        found.extend(TruthComparison::new(&profile, &run.truths[0], EXACT).faults);
        if !found.iter().any(|fault| fault.contains(word)) {
            missed.push(format!("{idx}, {word}, is not found: {found:?}"));
        }
    }
    missed
}
