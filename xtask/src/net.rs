//! `cargo xtask net`: breaks a part of the product in every way that an operator can, one at a time, and says what no test
//! notices: the flagship, its condition variable and the monitor, or what is preloaded into other people's programs.
//!
//! `net/generate.rs` finds what can be broken: each ordering weakened by one step, each decision changed. All of that is
//! woven into one copy of the workspace under `target/net` (`schemata.rs`, `subject.rs`), whose tests are built once; the
//! environment says which mutant runs. Each test is first run whole, to learn which mutants it reaches and how long it takes
//! (`tests.rs`); then each mutant is tried with the tests that reach it, the shortest first (`trial.rs`).
//!
//! `crates/conformance/survivors.toml` names those that are known to survive, each with the reason. A run
//! fails on a survivor that is not named there, and on a name that is none any more. What became of each is kept in
//! results/ (`survivors.rs`), and believed while the function that the mutant is in is as it was.

mod generate;
mod parallel;
mod schemata;
mod subject;
mod survivors;
mod tests;
mod trial;

use generate::{Kind, Mutant};
use std::path::Path;
use std::time::Duration;
use subject::Subject;
use survivors::Survivors;
use tests::Tests;
use trial::Fate;

const USAGE: &str = "\
usage: cargo xtask net [--subject lock|preloaded] [--kind orderings|decisions] [--file NAME] [--only TEXT]...
                       [--stale] [--survivors] [--sample N] [--budget SECONDS] [--minutes N] [--long] [--write]
       cargo xtask net --again N [--subject lock|preloaded]
       cargo xtask net --check [--subject lock|preloaded]";

struct Options {
    subject: Subject,
    kind: Option<Kind>,
    file: Option<String>,
    /// Those whose name has one of these in it; all if there are none.
    only: Vec<String>,
    /// How long a survivor is tried.
    budget: Duration,
    /// How long the trials of all may take; who is left then is not tried.
    most: Duration,
    /// Only those that survived when they were tried last.
    are_survivors: bool,
    /// Only those whose function is not as it was when they were tried, and those that never were.
    are_stale: bool,
    /// So many of them, by chance.
    sample: Option<usize>,
    /// With the models of minutes.
    is_long: bool,
    is_written: bool,
    /// So many of those that a test has killed, by chance, are tried with that test alone.
    again: Option<usize>,
    /// Nothing is tried; the records are compared with the sources.
    is_check: bool,
}

pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let options = options(words).ok_or(USAGE)?;
    if options.is_check {
        return check(root, options.subject);
    }
    let subject = options.subject;
    let place = root.join("target/net").join(subject.name());
    let work = place.join("work");
    let mutants: Vec<(usize, Mutant)> = subject.copy(root, &work)?.into_iter().enumerate().collect();
    if let Some(n) = options.again {
        return again(root, subject, &place, &mutants, n);
    }
    let wanted = wanted(root, &options, &mutants)?;
    println!("{} mutants, {} of them are tried", mutants.len(), wanted.len());
    let survivors = Survivors::read(root)?;
    // With none the pages can be written again.
    let fates = if wanted.is_empty() {
        Vec::new()
    } else {
        let tests = Tests::build(subject, &work, &place.join("target"), options.is_long)?;
        let records = survivors::Records::read(root, subject)?;
        let killed = mutants.iter().filter_map(|(_, mutant)| Some((mutant, records.killer(mutant)?)));
        trial::run(&tests, &wanted, &killed.collect::<Vec<_>>(), options.budget, options.most)
    };
    let verdict = survivors.compare(&wanted, &fates);
    if options.is_written {
        survivors::write_pages(root, subject, &mutants, &wanted, &fates, &survivors)?;
    }
    let n_untried = fates.iter().filter(|fate| matches!(fate, Fate::Untried)).count();
    let n_killed = fates.iter().filter(|fate| matches!(fate, Fate::Killed { .. })).count();
    println!("{} mutants, {} survived, {n_untried} not tried", wanted.len(), wanted.len() - n_killed - n_untried);
    verdict
}

/// Those that the options ask for.
fn wanted<'a>(
    root: &Path,
    options: &Options,
    mutants: &'a [(usize, Mutant)],
) -> Result<Vec<&'a (usize, Mutant)>, String> {
    let records = survivors::Records::read(root, options.subject)?;
    let is_wanted = |mutant: &Mutant| {
        options.kind.is_none_or(|kind| mutant.kind == kind)
            && options.file.as_ref().is_none_or(|file| mutant.name.starts_with(&format!("{file} ")))
            && (options.only.is_empty() || options.only.iter().any(|only| mutant.name.contains(only.as_str())))
            && (!options.are_survivors || records.has_survived(mutant))
            && (!options.are_stale || !records.has_tried(mutant))
    };
    let mut wanted: Vec<_> = mutants.iter().filter(|(_, mutant)| is_wanted(mutant)).collect();
    if let Some(n) = options.sample {
        choose(&mut wanted, n);
    }
    Ok(wanted)
}

/// Leaves `n` of them, by chance.
fn choose<T>(items: &mut Vec<T>, n: usize) {
    let chance = std::hash::RandomState::new();
    let mut place = 0_usize;
    items.sort_by_cached_key(|_| {
        place += 1;
        std::hash::BuildHasher::hash_one(&chance, place)
    });
    items.truncate(n);
}

/// Tries `n` of those that the record calls killed, each with the test that killed it, all of one binary, chosen by chance: a
/// record that says what is not so is found sooner or later, for the price of building one binary.
fn again(root: &Path, subject: Subject, place: &Path, mutants: &[(usize, Mutant)], n: usize) -> Result<(), String> {
    let records = survivors::Records::read(root, subject)?;
    let all = mutants.iter().filter_map(|(number, mutant)| Some((*number, mutant, records.killer(mutant)?)));
    let mut killed: Vec<(usize, &Mutant, &str)> = all.collect();
    choose(&mut killed, usize::MAX);
    let binary = |by: &str| by.split(' ').next().unwrap_or_default().to_owned();
    let first = killed.first().map(|(_, _, by)| binary(by)).ok_or("the record knows of none that was killed")?;
    killed.retain(|(_, _, by)| binary(by) == first);
    killed.truncate(n);
    let names: Vec<&str> = killed.iter().map(|(_, _, by)| *by).collect();
    let tests = tests::named(subject, &place.join("work"), &place.join("target"), &names)?;
    let mut faults = Vec::new();
    for (number, mutant, by) in &killed {
        let test = tests
            .get(*by)
            .ok_or_else(|| format!("the record says that `{by}` kills mutants, and there is no such test"))?;
        // A test of threads that meet by chance may miss it once.
        let mut left = 3;
        let passes = || test.run_alone("ONDECK_MUTANT", number.to_string().as_ref(), Duration::from_secs(60));
        while left > 0 && passes()? == Some(true) {
            left -= 1;
        }
        println!("{}  {} by {by}", mutant.name, if left == 0 { "SURVIVED" } else { "killed" });
        if left == 0 {
            faults.push(format!("the record says that `{by}` kills it, and it does not: {}", mutant.name));
        }
    }
    println!("{} of {} killed again", killed.len() - faults.len(), killed.len());
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Fails if somebody was not tried since its function has changed, or survived without a reason.
fn check(root: &Path, subject: Subject) -> Result<(), String> {
    let survivors = Survivors::read(root)?;
    let mutants = subject.mutants(root)?;
    let records = survivors::Records::read(root, subject)?;
    let n_stale = mutants.iter().filter(|mutant| !records.has_tried(mutant)).count();
    println!("{}: {} mutants, {n_stale} of them not tried as they are now", subject.name(), mutants.len());
    let open = mutants.iter().filter(|mutant| records.has_survived(mutant) && !survivors.know(mutant));
    let mut faults: Vec<String> = open.map(|mutant| format!("survived: {}", mutant.name)).collect();
    if n_stale > 0 {
        faults.push(format!("`cargo xtask net --subject {} --stale --write` tries {n_stale} more", subject.name()));
    }
    let gone = survivors.unknown_to(root)?;
    faults.extend(gone.into_iter().map(|name| format!("on the list of survivors, but no mutant: {name}")));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn options(words: &[String]) -> Option<Options> {
    let mut options = Options {
        subject: Subject::Lock,
        kind: None,
        file: None,
        only: Vec::new(),
        budget: Duration::from_secs(60),
        most: Duration::MAX,
        are_survivors: false,
        are_stale: false,
        sample: None,
        again: None,
        is_long: false,
        is_written: false,
        is_check: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--check" => options.is_check = true,
            "--survivors" => options.are_survivors = true,
            "--stale" => options.are_stale = true,
            "--long" => options.is_long = true,
            "--write" => options.is_written = true,
            "--subject" => {
                let name = words.next()?;
                options.subject = Subject::ALL.into_iter().find(|subject| subject.name() == name)?;
            }
            "--file" => options.file = Some(words.next()?.clone()),
            "--only" => options.only.push(words.next()?.clone()),
            "--sample" => options.sample = Some(words.next()?.parse().ok()?),
            "--again" => options.again = Some(words.next()?.parse().ok()?),
            "--budget" => options.budget = Duration::from_secs(words.next()?.parse().ok()?),
            "--minutes" => options.most = Duration::from_secs(60 * words.next()?.parse::<u64>().ok()?),
            "--kind" => {
                options.kind = Some(match words.next()?.as_str() {
                    "orderings" => Kind::Ordering,
                    "decisions" => Kind::Decision,
                    _ => return None,
                });
            }
            _ => return None,
        }
    }
    Some(options)
}

#[cfg(test)]
mod options_tests {
    use super::*;

    #[test]
    fn options_are_taken_or_refused() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        let all = options(&words("--kind orderings --file ondeck/deck.rs --budget 5 --long --write")).expect("right");
        assert_eq!((all.kind, all.file.as_deref()), (Some(Kind::Ordering), Some("ondeck/deck.rs")));
        assert_eq!((all.budget, all.is_long, all.is_written), (Duration::from_secs(5), true, true));
        assert_eq!(all.subject, Subject::Lock);
        let preloaded = options(&words("--subject preloaded --stale --sample 3")).expect("right");
        assert_eq!((preloaded.subject, preloaded.are_stale, preloaded.sample), (Subject::Preloaded, true, Some(3)));
        for wrong in ["--kind", "--kind both", "--budget x", "--subject", "--subject all", "ondeck"] {
            assert!(options(&words(wrong)).is_none(), "{wrong}");
        }
    }
}
