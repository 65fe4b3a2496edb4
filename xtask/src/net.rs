//! `cargo xtask net`: breaks a part of the product in every way that an operator can, one at a time, and says what no test
//! notices: the flagship, its condition variable and the monitor, or what is preloaded into other people's programs.
//!
//! `net/generate.rs` finds what can be broken: each ordering weakened by one step, each decision changed. All of that is
//! woven into one copy of the workspace under `target/net` (`schemata.rs`, `subject.rs`), whose tests are built once; the
//! environment says which mutant runs. Each test is first run whole, to learn which mutants it reaches and how long it takes
//! (`tests.rs`); then each mutant is tried with the tests that reach it, the shortest first (`trial.rs`).
//!
//! `crates/conformance/survivors/` names those that are known to survive, each with the reason. A run
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

#[derive(clap::Args)]
pub(crate) struct Options {
    /// What is broken
    #[arg(long, value_enum, default_value_t = Subject::Lock)]
    subject: Subject,
    /// Only those of this kind
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Only those of this file
    #[arg(long, value_name = "NAME")]
    file: Option<String>,
    /// Only those whose name has this in it, or another such text
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// How long a survivor is tried
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    budget: u64,
    /// How long the trials of all may take; who is left then is not tried
    #[arg(long)]
    minutes: Option<u64>,
    /// Only those that survived when they were tried last
    #[arg(long)]
    survivors: bool,
    /// Only those whose function is not as it was when they were tried, and those that never were
    #[arg(long)]
    stale: bool,
    /// So many of them, by chance
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Only with these tests: the first word of the names that a run prints, such as `record` or `program`. Who survives
    /// these may be killed by others, and is not written
    #[arg(long, value_name = "NAME", conflicts_with = "again")]
    by: Vec<String>,
    /// With the models of minutes
    #[arg(long)]
    long: bool,
    /// Writes what became of them into results/
    #[arg(long)]
    write: bool,
    /// Tries so many of those that a test has killed, by chance, with that test alone
    #[arg(long, value_name = "N")]
    again: Option<usize>,
    /// Tries nothing, and compares the records with the sources
    #[arg(long, conflicts_with = "again")]
    check: bool,
}

pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    if options.check {
        return check(root, options.subject);
    }
    let subject = options.subject;
    let place = root.join("target/net").join(subject.name());
    let work = place.join("work");
    let mutants: Vec<(usize, Mutant)> = subject.copy(root, &work)?.into_iter().enumerate().collect();
    if let Some(n) = options.again {
        return again(root, subject, &place, &mutants, n);
    }
    let wanted = wanted(root, options, &mutants)?;
    println!("{} mutants, {} of them are tried", mutants.len(), wanted.len());
    let survivors = Survivors::read(root)?;
    // With none the pages can be written again.
    let fates = if wanted.is_empty() {
        Vec::new()
    } else {
        let tests = Tests::build(subject, &work, &place.join("target"), options.long, &options.by)?;
        let records = survivors::Records::read(root, subject)?;
        let killed = mutants.iter().filter_map(|(_, mutant)| Some((mutant, records.killer(mutant)?)));
        let most = options.minutes.map_or(Duration::MAX, |minutes| Duration::from_secs(60 * minutes));
        trial::run(&tests, &wanted, &killed.collect::<Vec<_>>(), Duration::from_secs(options.budget), most)
    };
    let verdict = if options.by.is_empty() { survivors.compare(&wanted, &fates) } else { Ok(()) };
    let n_untried = fates.iter().filter(|fate| matches!(fate, Fate::Untried)).count();
    let n_killed = fates.iter().filter(|fate| matches!(fate, Fate::Killed { .. })).count();
    println!("{} mutants, {} survived, {n_untried} not tried", wanted.len(), wanted.len() - n_killed - n_untried);
    if options.write {
        let is_sure = |fate: &Fate| options.by.is_empty() || matches!(fate, Fate::Killed { .. });
        let fates: Vec<Fate> =
            fates.into_iter().map(|fate| if is_sure(&fate) { fate } else { Fate::Untried }).collect();
        survivors::write_pages(root, subject, &mutants, &wanted, &fates, &survivors)?;
    }
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
            && (!options.survivors || records.has_survived(mutant))
            && (!options.stale || !records.has_tried(mutant))
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
        // A test of threads that meet by chance may miss it now and then.
        let mut left = 10;
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
