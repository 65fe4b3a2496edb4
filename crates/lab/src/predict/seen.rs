//! What a recorder sees of a program's sections, and what sections are behind what it has seen.
//!
//! A thread that is not inside and does not wait is outside, by the clock. But part of that time is the lock's own: the way
//! in and out, waking a sleeper, and, where threads share cores, standing in line for a core. Inside, the data may come from
//! another core. A simulation that is given such times would charge for all of that twice. It knows what it charges,
//! though: so one looks for the sections of which a simulated recorder sees what the real one has seen.

use super::Sections;
use crate::lock::LockSpec;
use crate::plan::{Cut, Pin, Plan, Point};
use crate::simulate::{self, Machine, MachinePlan, Timeline};
use ondeck_sim::timeline::{Mark, What};
use std::sync::atomic::AtomicBool;

/// The lock that is watched, and the steps of it in which a contender finds it locked and in which a holder begins to leave.
const WATCHED: &str = "pthread-port";
const FINDS_IT_LOCKED: &str = "look";
const LEAVES: &str = "sign_out";

/// Part of the sections that count: the holders of the longest may have lost their core.
pub const KEPT: f64 = 0.99;

/// How often the first guess is corrected. Each time takes away more than half of what is wrong, mostly.
const CORRECTIONS: usize = 5;
/// What else is tried, as parts of the time outside that was seen: there are sections of which the same is seen but for the
/// waits, and two threads that have fallen into step stay so. Not where threads share cores, which breaks their step.
const PARTS: [f64; 9] = [0.8, 0.6, 0.45, 0.33, 0.25, 0.17, 0.1, 0.05, 0.0];
/// What is tried around the best of these.
const AROUND: [f64; 4] = [1.15, 0.87, 1.07, 0.93];
/// What is as near as two seeds are: the search is over.
const NEAR: f64 = 0.02;

/// What a recorder has seen of a mutex of glibc's, in ns for each acquisition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The mean hold without the longest hundredth ([`KEPT`]).
    pub section_ns: f64,
    /// The mean wait, of those who did not wait too.
    pub wait_ns: f64,
    /// The rest of a thread's time, mean.
    pub outside_ns: f64,
}

impl Seen {
    /// What is seen of `sections` on `machine`, in a window of `seconds`.
    ///
    /// # Errors
    /// As [`Sections::simulate`].
    pub fn of(sections: &Sections, machine: &Machine, threads: u32, seconds: f64) -> Result<Seen, Cut> {
        let lock = LockSpec::parse(WATCHED).expect("it is in the table");
        let points = vec![Point { workload: sections.workload(machine), lock, threads }];
        let plan = Plan { points, rounds: 1, seconds: Some(seconds), seed: 1, pin: Pin::None, earlier: Vec::new() };
        let machine_words = machine.name.clone();
        let plan = MachinePlan { plan, machine: machine.clone(), machine_words, record: true };
        let outcome = simulate::run(&plan, &AtomicBool::new(false), &mut |_| ())?;
        Ok(Times::of(&outcome.timeline.unwrap_or_default()).seen())
    }

    /// The sections that this is seen of on `machine`, as near as was found, and what is seen of these.
    ///
    /// # Errors
    /// As [`Sections::simulate`].
    pub fn behind(&self, machine: &Machine, threads: u32, seconds: f64) -> Result<(Sections, Seen), Cut> {
        // Who shares a core stands outside for longer than it works there, as many times as there are sharers.
        let own = f64::from((machine.cpus.len() as u32).min(threads)) / f64::from(threads);
        let most_ns = self.outside_ns * own;
        let mut search = Search { wanted: self, machine, threads, seconds, best: None };
        let mut guess = Sections { section_ns: self.section_ns, outside_ns: most_ns };
        for _ in 0..CORRECTIONS {
            let (_, seen) = search.look(guess)?;
            guess.section_ns = (guess.section_ns + self.section_ns - seen.section_ns).max(0.0);
            guess.outside_ns = (guess.outside_ns + (self.outside_ns - seen.outside_ns) * own).max(0.0);
        }
        let shares_cores = own < 1.0;
        for part in PARTS.into_iter().filter(|_| !shares_cores) {
            guess.outside_ns = part * most_ns;
            let (_, seen) = search.look(guess)?;
            guess.section_ns = (guess.section_ns + self.section_ns - seen.section_ns).max(0.0);
        }
        for factor in AROUND {
            let (best, seen) = search.best(guess)?;
            let section_ns = (best.section_ns + self.section_ns - seen.section_ns).max(0.0);
            search.look(Sections { section_ns, outside_ns: best.outside_ns * factor })?;
        }
        search.best(guess)
    }

    /// How much what was seen of two differs, as a part of what a thread's turn takes: inside, waiting and outside.
    pub fn distance(&self, other: &Seen) -> f64 {
        let turn = self.section_ns + self.wait_ns + self.outside_ns;
        let differ = |part: fn(&Seen) -> f64| (part(self) - part(other)).abs();
        let all = differ(|seen| seen.section_ns) + differ(|seen| seen.wait_ns) + differ(|seen| seen.outside_ns);
        all / turn.max(1.0)
    }
}

/// A search for sections.
struct Search<'a> {
    wanted: &'a Seen,
    machine: &'a Machine,
    threads: u32,
    seconds: f64,
    best: Option<(Sections, Seen)>,
}

impl Search<'_> {
    /// Simulates `guess`; or, if it has been found what is wanted, tells that again.
    fn look(&mut self, guess: Sections) -> Result<(Sections, Seen), Cut> {
        let distance = |seen: &Seen| self.wanted.distance(seen);
        if let Some(best) = self.best.filter(|(_, best)| distance(best) < NEAR) {
            return Ok(best);
        }
        let seen = Seen::of(&guess, self.machine, self.threads, self.seconds)?;
        if self.best.is_none_or(|(_, best)| distance(&seen) < distance(&best)) {
            self.best = Some((guess, seen));
        }
        Ok((guess, seen))
    }

    /// The best so far; without one, `guess`.
    fn best(&mut self, guess: Sections) -> Result<(Sections, Seen), Cut> {
        self.best.map_or_else(|| self.look(guess), Ok)
    }
}

/// Where a thread is, and since when in ps.
#[derive(Clone, Copy)]
enum Place {
    /// At its first attempt.
    Unknown,
    Waiting(u64),
    Inside(u64),
    Outside(u64),
}

/// How long threads were inside, one by one, and at the other places all together; in ps.
#[derive(Default)]
struct Times {
    inside: Vec<u64>,
    waiting: u64,
    outside: u64,
}

impl Times {
    fn of(timeline: &Timeline) -> Times {
        let mut times = Times::default();
        let mut places = vec![Place::Unknown; timeline.threads as usize];
        for event in &timeline.events {
            let Some(place) = places.get_mut(event.thread as usize) else { continue };
            let next = match event.what {
                // It may look again and again.
                What::Step(step) if step.name == FINDS_IT_LOCKED && !matches!(place, Place::Waiting(_)) => {
                    Place::Waiting(event.at_ps)
                }
                What::Marked(Mark::Holds) => Place::Inside(event.at_ps),
                What::Step(step) if step.name == LEAVES => Place::Outside(event.at_ps),
                _ => continue,
            };
            match std::mem::replace(place, next) {
                Place::Unknown => {}
                Place::Waiting(since) => times.waiting += event.at_ps - since,
                Place::Inside(since) => times.inside.push(event.at_ps - since),
                Place::Outside(since) => times.outside += event.at_ps - since,
            }
        }
        times
    }

    fn seen(mut self) -> Seen {
        self.inside.sort_unstable();
        let kept = &self.inside[..(self.inside.len() as f64 * KEPT).ceil() as usize];
        let mean_ns = |sum_ps: u64, n: usize| sum_ps as f64 / 1e3 / n.max(1) as f64;
        let n = self.inside.len();
        Seen {
            section_ns: mean_ns(kept.iter().sum(), kept.len()),
            wait_ns: mean_ns(self.waiting, n),
            outside_ns: mean_ns(self.outside, n),
        }
    }
}
