//! What the simulator says of a lock: how often glibc's mutex and ours would be acquired, with the sections that are behind
//! what was measured.

use super::measures::Measures;
use crate::{Lock, LockKind, Profile};
use ondeck_lab::predict::{Sections, Seen};
use ondeck_lab::simulate::{self, MAX_CORES, Machine};
use serde::Serialize;
use std::thread;

/// The lock that predictions are made from: waiting and time outside are those of glibc's mutex only then.
pub(super) const MEASURED_WITH: &str = "glibc";

/// Where "here" is simulated if nobody has calibrated it: a made-up server with as many cores as the profile says. No model
/// of a real machine has any number of cores, and calibrating one takes seconds and says something else each time.
const ANYWHERE: &str = "mesh";

/// The larger machines: one of which 16 cores can be rented, and 64, so that nothing but their number differs between the
/// two; and the one with which docs/programs.md predicts.
const LARGER: &str = "graviton3";
/// Cores of the first of the larger machines; the other one is whole.
const SOME_CORES: u32 = 16;

/// Medians of so many seeds: the fewest in which one that is odd does not count.
const SEEDS: u32 = 3;

/// Windows, in seconds, in which rates of three seeds lie within a twentieth of those of windows of 0.1 s: at least so
/// long, so many sections, and no longer, as sections that are long enough to matter here are not longer than 0.1 ms.
const WINDOW: f64 = 0.005;
const SECTIONS: f64 = 3000.0;
const LONGEST_WINDOW: f64 = 0.02;
/// A window for finding sections, of which one after the other is tried.
const SHORT_WINDOW: f64 = 0.002;
/// Where threads share cores, each is to run once or twice: slices are 3 ms long. What it costs that a holder loses its core
/// is only partly seen in so short a time.
const SHARED_WINDOW: f64 = 0.01;

/// How much the simulated rate of glibc's mutex here may differ from the measured one, as a part of it, and the part of
/// acquisitions that wait; else nothing is concluded. In simulated runs of which the truth is known, as in `truth.rs`, the
/// rates differ by 11 % at most and the parts by 5 points, but for two in which sections of another kind were found.
const UNLIKE: f64 = 0.25;

/// How many times as often as glibc's a lock is to be acquired for "it would help": docs/programs.md takes a predicted
/// ratio of 1.1 for no difference.
const BETTER: f64 = 1.1;

/// What a lock is predicted to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// How long the simulated sections are, in ns.
    pub section_ns: f64,
    /// How long a thread works outside, in ns.
    pub outside_ns: f64,
    /// Acquisitions a second that were measured.
    pub measured_per_s: f64,
    /// The part of them that waited, measured.
    pub measured_waits: f64,
    /// The same with glibc's mutex here, simulated.
    pub simulated_waits: f64,
    /// Here, on 16 cores and on 64, in this order.
    pub machines: [OnMachine; 3],
}

/// What it is predicted to do on one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnMachine {
    /// Name of the machine's model, which `ondeck sim --machine` takes: what follows `-cores-` is for `--cores`.
    pub machine: String,
    /// Its cores.
    pub cores: u32,
    /// Threads that use the lock there: as many as in the profile, and on a larger machine at least one for each core.
    pub threads: u32,
    /// Acquisitions a second with glibc's mutex.
    pub glibc_per_s: f64,
    /// Acquisitions a second with ours.
    pub ondeck_per_s: f64,
    /// Whether the seeds of either fall into two groups.
    pub is_bistable: bool,
    /// How many figures of the machine's model are guesses, and how many it has.
    pub guesses: (u32, u32),
}

impl OnMachine {
    /// How many times as often ours is acquired.
    pub fn ratio(&self) -> f64 {
        self.ondeck_per_s / self.glibc_per_s
    }

    /// Whether threads wait for cores there.
    pub fn has_queues(&self) -> bool {
        self.threads > self.cores
    }

    /// Whether that is worth something.
    pub fn is_better(&self) -> bool {
        self.ratio() >= BETTER
    }
}

impl Prediction {
    /// What is predicted for the machine of the profile.
    pub fn here(&self) -> &OnMachine {
        &self.machines[0]
    }

    /// Whether glibc's mutex is acquired here about as often as was measured, and waited for. If not, the model lacks what
    /// counts.
    pub fn is_like_the_run(&self) -> bool {
        let (rate, waits) = (self.here().glibc_per_s / self.measured_per_s, self.simulated_waits - self.measured_waits);
        (rate - 1.0).abs() <= UNLIKE && waits.abs() <= UNLIKE
    }
}

/// What glibc's mutex and ours would make of the lock's sections; `None` where that says nothing: if the waiting is too
/// little to matter, too little is known, sections are long, or it was not glibc's mutex that was seen. `here` is a model of
/// the machine of the profile; without one, or with one of another number of cores, it is a made-up server. Takes up to a
/// second, and gives the same each time.
pub fn predict(lock: &Lock, profile: &Profile, here: Option<&Machine>) -> Option<Prediction> {
    let measures = Measures::of(lock, profile);
    let seen = what_to_predict(&measures, profile)?;
    let [here, larger @ ..] = machines(profile.cores, here)?;
    let (threads, cores) = (measures.threads, here.cpus.len() as u32);
    let seconds = window(seen.section_ns, seen.outside_ns, threads, cores, SHORT_WINDOW);
    let (sections, simulated) = seen.behind(&here, threads, seconds).ok()?;
    let [some, many] = larger.each_ref().map(|machine| on(machine, &sections, threads.max(machine.cpus.len() as u32)));
    let machines = [on(&here, &sections, threads)?, some?, many?];
    let Sections { section_ns, outside_ns } = sections;
    let (measured_per_s, measured_waits, simulated_waits) = (measures.per_s(), seen.waited, simulated.waited);
    Some(Prediction { section_ns, outside_ns, measured_per_s, measured_waits, simulated_waits, machines })
}

/// [`predict`]s the first locks of which there is something to predict, `most` at most, and all of them at once. For each lock
/// of the profile one entry.
pub fn predictions(profile: &Profile, most: usize, here: Option<&Machine>) -> Vec<Option<Prediction>> {
    let is_wanted = |lock: &Lock| what_to_predict(&Measures::of(lock, profile), profile).is_some();
    let wanted = profile.locks.iter().enumerate().filter(|(_, lock)| is_wanted(lock)).take(most);
    let mut all = vec![None; profile.locks.len()];
    thread::scope(|scope| {
        let begun: Vec<_> =
            wanted.map(|(index, lock)| (index, scope.spawn(move || predict(lock, profile, here)))).collect();
        for (index, thread) in begun {
            // What panicked has said so.
            all[index] = thread.join().ok().flatten();
        }
    });
    all
}

fn what_to_predict(measures: &Measures, profile: &Profile) -> Option<Seen> {
    let is_sensible = measures.is_known() && measures.is_short() && !measures.waits_for_long();
    let is_mutex = measures.lock.kind == LockKind::Mutex;
    let is_wanted = is_mutex && profile.lock == MEASURED_WITH && !measures.is_quiet() && is_sensible;
    // Threads that come once in a window at most would show nothing.
    measures.seen().filter(|seen| is_wanted && seen.turn_ns < LONGEST_WINDOW * 1e9)
}

fn on(machine: &Machine, sections: &Sections, threads: u32) -> Option<OnMachine> {
    let cores = machine.cpus.len() as u32;
    let seconds = window(sections.section_ns, sections.outside_ns, threads, cores, WINDOW);
    let rates = sections.simulate(machine, threads, seconds, SEEDS).ok()?;
    let on = OnMachine {
        machine: machine.name.clone(),
        cores,
        threads,
        glibc_per_s: rates.pthread,
        ondeck_per_s: rates.ondeck,
        is_bistable: rates.is_bistable,
        guesses: (machine.guesses, machine.figures),
    };
    // A ratio of nothing is none.
    (on.glibc_per_s > 0.0 && on.ondeck_per_s > 0.0).then_some(on)
}

/// The machine of the profile, or one as large, and the larger ones.
fn machines(cores: u32, here: Option<&Machine>) -> Option<[Machine; 3]> {
    let machine = |name, cores| simulate::machine(name, cores).ok();
    let here = here.filter(|here| here.cpus.len() as u32 == cores).cloned();
    let here = here.or_else(|| machine(ANYWHERE, Some(cores.clamp(1, MAX_CORES))))?;
    Some([here, machine(LARGER, Some(SOME_CORES))?, machine(LARGER, None)?])
}

/// How long is simulated, in seconds.
fn window(section_ns: f64, outside_ns: f64, threads: u32, cores: u32, least: f64) -> f64 {
    let apart_ns = (section_ns + outside_ns) / f64::from(threads.min(cores));
    let seconds = SECTIONS * section_ns.max(apart_ns) / 1e9;
    let least = if threads > cores { SHARED_WINDOW } else { least };
    seconds.clamp(least, LONGEST_WINDOW)
}
