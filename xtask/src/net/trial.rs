//! The trials of mutants with the tests that reach them.

use super::generate::Mutant;
use super::parallel::each;
use super::tests::{Known, Tests};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What became of a mutant.
pub(super) enum Fate {
    /// `by` the test of that name; by its having no end if so.
    Killed { by: String, has_no_end: bool },
    /// All tests that reach it passed, but for so many that there was no time for.
    Survived { n_left_out: usize },
    /// No test reaches it.
    Unreached,
    /// The time for all was over.
    Untried,
}

/// Tries the mutants, as many at once as there are cores. Says what became of each as it does. `before` are mutants that tests
/// have killed earlier.
pub(super) fn run(
    tests: &Tests,
    mutants: &[&(usize, Mutant)],
    before: &[(&Mutant, &str)],
    budget: Duration,
    most: Duration,
) -> Vec<Fate> {
    let start = Instant::now();
    let mut killers = Killers::default();
    before.iter().for_each(|(mutant, by)| killers.note(mutant, by));
    let killers = Mutex::new(killers);
    each(mutants, |_, (number, mutant)| {
        let begin = Instant::now();
        if begin - start > most {
            return Fate::Untried;
        }
        let order = killers.lock().expect("nobody panics while holding it").order(tests, *number, mutant);
        let fate = tests.try_mutant(*number, order, budget);
        let seconds = begin.elapsed().as_secs_f64();
        let verdict = match &fate {
            Fate::Killed { by, has_no_end } => {
                killers.lock().expect("nobody panics while holding it").note(mutant, by);
                format!("{} {by}", if *has_no_end { "no end of" } else { "killed by" })
            }
            Fate::Survived { n_left_out: 0 } => "SURVIVED".to_owned(),
            Fate::Survived { n_left_out } => format!("SURVIVED, {n_left_out} tests left out"),
            Fate::Unreached => "UNREACHED".to_owned(),
            Fate::Untried => return fate,
        };
        println!("{number:4} {seconds:6.1} s  {verdict}  {}", mutant.name);
        fate
    })
}

/// How many mutants each test has noticed, by function and by file: those that noticed most may notice the next one there too.
#[derive(Default)]
struct Killers(BTreeMap<String, BTreeMap<String, usize>>);

impl Killers {
    fn places(mutant: &Mutant) -> [&str; 2] {
        let function = mutant.name.split(':').next().unwrap_or_default();
        [function, function.split(' ').next().unwrap_or_default()]
    }

    fn note(&mut self, mutant: &Mutant, by: &str) {
        for place in Self::places(mutant) {
            *self.0.entry(place.to_owned()).or_default().entry(by.to_owned()).or_default() += 1;
        }
    }

    /// The tests that reach a mutant: first those that notice most in its function for the time that they take, then in its file,
    /// then the shortest.
    fn order<'a>(&self, tests: &'a Tests, number: usize, mutant: &Mutant) -> Vec<&'a Known> {
        let reaching = tests.0.iter().filter(|known| known.reached.contains(&number));
        let mut able: Vec<&Known> = reaching.filter(|known| known.test.can_see(mutant.kind)).collect();
        let gain = |place: &str, known: &Known| {
            let n_killed = self.0.get(place).and_then(|by| by.get(&known.test.name)).copied().unwrap_or_default();
            // Who looks at times and fails is asked again and again.
            let n_runs = if known.test.looks_at_times { 30 } else { 1 };
            // Each run has to start a process.
            n_killed * 1_000_000 / (n_runs * known.takes.as_millis() as usize + 50)
        };
        able.sort_by_key(|known| Self::places(mutant).map(|place| Reverse(gain(place, known))));
        able
    }
}

impl Tests {
    fn try_mutant(&self, number: usize, able: Vec<&Known>, budget: Duration) -> Fate {
        if able.is_empty() {
            return Fate::Unreached;
        }
        let (mut spent, mut n_left_out) = (Duration::ZERO, 0);
        for known in able {
            if spent + known.takes > budget {
                n_left_out += 1;
                continue;
            }
            let begin = Instant::now();
            let patience = Duration::from_secs(5) + 8 * known.takes;
            let by = known.test.name.clone();
            match known.try_twice(number, patience) {
                Ok(Some(true)) => spent += begin.elapsed(),
                Ok(None) => return Fate::Killed { by, has_no_end: true },
                Ok(Some(false)) | Err(_) => return Fate::Killed { by, has_no_end: false },
            }
        }
        Fate::Survived { n_left_out }
    }
}

impl Known {
    /// How a test ends with a mutant. A failure counts if it repeats: who fails by chance has not noticed the mutant.
    fn try_twice(&self, number: usize, patience: Duration) -> Result<Option<bool>, String> {
        let number = number.to_string();
        let (variable, value) = ("ONDECK_MUTANT", number.as_ref());
        match self.test.run(variable, value, patience) {
            Ok(Some(true)) => Ok(Some(true)),
            _ if self.test.looks_at_times => self.test.run_alone(variable, value, patience),
            Ok(None) => Ok(None),
            _ => self.test.run(variable, value, patience),
        }
    }
}
