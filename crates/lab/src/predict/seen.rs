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
/// waits, and two threads that have fallen into step stay so.
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
    /// The part of the acquisitions that found it locked.
    pub waited: f64,
    /// The mean wait, of those who did not wait too.
    pub wait_ns: f64,
    /// The rest of a thread's time, mean.
    pub outside_ns: f64,
    /// How long it takes until as many acquisitions are made as there are threads: all of the above, with what was cut off.
    pub turn_ns: f64,
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
        let per_s = outcome.rows.first().and_then(|row| row.ops_per_s).unwrap_or_default();
        Ok(Times::of(&outcome.timeline.unwrap_or_default()).seen(f64::from(threads) * 1e9 / per_s))
    }

    /// The sections that this is seen of on `machine`, as near as was found, and what is seen of these.
    ///
    /// # Errors
    /// As [`Sections::simulate`].
    pub fn behind(&self, machine: &Machine, threads: u32, seconds: f64) -> Result<(Sections, Seen), Cut> {
        // Who shares a core stands outside for longer than it works there, as many times as there are sharers.
        let own = f64::from((machine.cpus.len() as u32).min(threads)) / f64::from(threads);
        let (most_ns, shares_cores) = (self.outside_ns * own, own < 1.0);
        let mut search = Search { wanted: self, machine, threads, seconds, shares_cores, best: None };
        let mut guess = Sections { section_ns: self.section_ns, outside_ns: most_ns };
        for _ in 0..CORRECTIONS {
            let (_, seen) = search.look(guess)?;
            let too_short_ns =
                if shares_cores { self.turn_ns - seen.turn_ns } else { self.outside_ns - seen.outside_ns };
            guess.section_ns = (guess.section_ns + self.section_ns - seen.section_ns).max(0.0);
            guess.outside_ns = (guess.outside_ns + too_short_ns * own).max(0.0);
        }
        // Where threads share cores, what is seen changes by leaps with any change of the sections, so that the best of many
        // guesses is best by chance.
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

    /// How much what was seen of two differs, as a part of a turn.
    ///
    /// Threads that share cores lose them now and then for some ms, wherever they are: so few times in a simulated window
    /// that only the shorter sections and the rate can be compared.
    fn distance(&self, other: &Seen, shares_cores: bool) -> f64 {
        let differ = |part: fn(&Seen) -> f64| (part(self) - part(other)).abs();
        let times = if shares_cores {
            differ(|seen| seen.section_ns) + differ(|seen| seen.turn_ns)
        } else {
            differ(|seen| seen.section_ns) + differ(|seen| seen.wait_ns) + differ(|seen| seen.outside_ns)
        };
        times / self.turn_ns
    }
}

/// A search for sections.
struct Search<'a> {
    wanted: &'a Seen,
    machine: &'a Machine,
    threads: u32,
    seconds: f64,
    shares_cores: bool,
    best: Option<(Sections, Seen)>,
}

impl Search<'_> {
    /// Simulates `guess`; or, if it has been found what is wanted, tells that again.
    fn look(&mut self, guess: Sections) -> Result<(Sections, Seen), Cut> {
        let distance = |seen: &Seen| self.wanted.distance(seen, self.shares_cores);
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
    n_waits: usize,
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
                Place::Waiting(since) => {
                    times.waiting += event.at_ps - since;
                    times.n_waits += 1;
                }
                Place::Inside(since) => times.inside.push(event.at_ps - since),
                Place::Outside(since) => times.outside += event.at_ps - since,
            }
        }
        times
    }

    fn seen(mut self, turn_ns: f64) -> Seen {
        self.inside.sort_unstable();
        let kept = &self.inside[..(self.inside.len() as f64 * KEPT).ceil() as usize];
        let mean_ns = |sum_ps: u64, n: usize| sum_ps as f64 / 1e3 / n.max(1) as f64;
        let n = self.inside.len();
        Seen {
            section_ns: mean_ns(kept.iter().sum(), kept.len()),
            waited: self.n_waits as f64 / n.max(1) as f64,
            wait_ns: mean_ns(self.waiting, n),
            outside_ns: mean_ns(self.outside, n),
            turn_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_more_than_the_sections_and_these_are_found() {
        let machine = simulate::machine("mesh", Some(4)).unwrap();
        let sections = Sections { section_ns: 300.0, outside_ns: 600.0 };
        let seen = Seen::of(&sections, &machine, 4, 0.002).unwrap();
        assert!(seen.section_ns > 330.0 && seen.outside_ns > 1200.0 && seen.waited > 0.1, "{seen:?}");
        // All of a turn is in one of its parts, but for what the ends of the run have cut.
        let parts = seen.section_ns + seen.wait_ns + seen.outside_ns;
        assert!((parts / seen.turn_ns - 1.0).abs() < 0.1, "{seen:?}");
        let (found, again) = seen.behind(&machine, 4, 0.002).unwrap();
        assert!((found.section_ns / 300.0 - 1.0).abs() < 0.1, "{found:?}");
        assert!((found.outside_ns / 600.0 - 1.0).abs() < 0.15, "{found:?}");
        assert!(seen.distance(&again, false) < 0.05, "{again:?}");
    }

    #[test]
    fn what_nothing_shows_is_found_too() {
        let machine = simulate::machine("mesh", Some(2)).unwrap();
        let nothing = Seen { section_ns: 0.0, waited: 0.0, wait_ns: 0.0, outside_ns: 0.0, turn_ns: 1.0 };
        let (found, _) = nothing.behind(&machine, 2, 0.001).unwrap();
        assert_eq!(found, Sections { section_ns: 0.0, outside_ns: 0.0 });
    }
}
