//! `cargo xtask programs`: programs of others, unmodified, with glibc's locks and with ours preloaded, in turn.
//!
//! Each program (`table.rs`) has settings, mostly numbers of threads, and a check of what it has computed. A round runs each
//! setting with both kinds of locks, each of which comes first in every other round, so that what the machine does in the
//! meantime meets both; ratios are taken within rounds. The rows are in `target/programs.csv`. With `--check` everything runs
//! once, briefly, and only what comes out is compared. `--predict`, `--profiles`, `--advice`, `--overhead` and `--responses` run the same programs for other
//! figures, and `--small` one program of ours in many settings.

mod advice;
mod batch;
mod correct;
mod expected;
mod ground;
mod needs;
mod overhead;
mod predict;
mod preload;
mod process;
mod profiles;
mod record;
mod responses;
mod rows;
mod servers;
mod small;
mod table;
mod wish;

use ground::{Ground, Run};
use ondeck_rounds::order;
use preload::Variant;
use process::Usage;
use responses::Times;
use rows::{Row, Spread};
use std::path::Path;
use table::{List, PROGRAMS, Setting};
use wish::Wish;

/// What one run has shown.
#[derive(Default)]
struct Sample {
    seconds: f64,
    ops: f64,
    usage: Usage,
    /// What must be the same with every lock.
    result: String,
    /// How long clients waited, if that was asked for.
    times: Option<Times>,
}

impl Sample {
    fn new(seconds: f64, ops: f64, usage: Usage) -> Sample {
        Sample { seconds, ops, usage, ..Sample::default() }
    }
}

/// Why a program gave no figures.
#[derive(Debug, PartialEq)]
enum Fault {
    /// It cannot run here, with glibc's locks either.
    Skipped(String),
    /// It cannot run with what is ours, or does something else then.
    Failed(String),
}

impl From<String> for Fault {
    fn from(reason: String) -> Fault {
        Fault::Failed(reason)
    }
}

pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let (mode, wish) = Wish::parse(words)?;
    (mode.run)(root, &wish)
}

/// Runs with glibc's locks and with ours.
fn compare(root: &Path, wish: &Wish) -> Result<(), String> {
    let library = preload::library(root, wish)?;
    let variants = [Variant::plain(), Variant::preloaded(&library, wish.lock.as_deref())];
    let list: Vec<_> = PROGRAMS.iter().map(|program| (program.name, &[][..])).collect();
    let mut rows = Vec::new();
    each(root, wish, &list, |ground, settings| {
        let is_measured = ground.program.is_measured && !wish.is_check;
        // What has no figures needs no second look.
        let n_rounds = if is_measured { wish.rounds.unwrap_or(5) } else { 1 };
        let new = measure(ground, settings, &variants, n_rounds)?;
        for setting in settings {
            let name = format!("{} {}", ground.program.name, setting.label);
            let said = if is_measured { ratios(setting, &new) } else { "the same results".to_owned() };
            println!("{}: {said}", name.trim_end());
        }
        if is_measured {
            rows.extend(new);
        }
        Ok(())
    })?;
    if wish.is_check { Ok(()) } else { record::keep(root, "programs.csv", &rows) }
}

fn ratios(setting: &Setting, rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.setting == setting.label).collect();
    let ratio =
        |figure: fn(&Row) -> f64| Spread::of_ratios(&rows, figure).map_or("-".into(), |spread| spread.to_string());
    format!("throughput {}, CPU time per operation {}", ratio(Row::ops_per_s), ratio(Row::cpu_us_per_op))
}

/// Does that with each listed program that is wanted, in its settings. Prints those that cannot run here, with the reason; an
/// error names those that have failed.
fn each(
    root: &Path,
    wish: &Wish,
    list: &List,
    mut act: impl FnMut(&mut Ground, &[&'static Setting]) -> Result<(), Fault>,
) -> Result<(), String> {
    if let Some(name) = wish.only.iter().find(|name| list.iter().all(|(listed, _)| listed != name)) {
        let names: Vec<&str> = list.iter().map(|(name, _)| *name).collect();
        return Err(format!("{name} has no such figures; these have: {}", names.join(", ")));
    }
    let (mut skipped, mut failed) = (Vec::new(), Vec::new());
    for (name, labels) in list.iter().filter(|(name, _)| wish.wants(name)) {
        let program = table::program(name).ok_or_else(|| format!("{name} is in no table"))?;
        let is_listed = |setting: &&Setting| labels.is_empty() || labels.contains(&setting.label);
        let settings: Vec<&Setting> = program.settings.iter().filter(is_listed).collect();
        let ground = Ground::new(root, program, wish.is_check).map_err(Fault::Skipped);
        match ground.and_then(|mut ground| act(&mut ground, &settings)) {
            Ok(()) => {}
            Err(Fault::Failed(reason)) => failed.push(format!("{name}: {reason}")),
            Err(Fault::Skipped(reason)) => {
                let words: Vec<&str> = reason.split_whitespace().collect();
                skipped.push(format!("{name}: {}", words.join(" ")));
            }
        }
    }
    for line in &skipped {
        println!("skipped {line}");
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n{} of the programs fail", failed.join("\n"), failed.len()))
}

/// All rounds of a program, in each of which every setting runs with every variant. All of them must compute the same.
fn measure(ground: &Ground, settings: &[&Setting], variants: &[Variant], n_rounds: u32) -> Result<Vec<Row>, Fault> {
    Ok(measure_times(ground, settings, variants, n_rounds)?.into_iter().map(|(row, _)| row).collect())
}

/// The same, with how long clients waited.
fn measure_times(
    ground: &Ground,
    settings: &[&Setting],
    variants: &[Variant],
    n_rounds: u32,
) -> Result<Vec<(Row, Option<Times>)>, Fault> {
    let mut rows = Vec::new();
    for round in 0..n_rounds {
        for setting in settings {
            let mut others: Option<(&str, String)> = None;
            for variant in order(variants.len(), round as usize).map(|idx| &variants[idx]) {
                let Sample { seconds, ops, usage, result, times } = attempt(&Run { ground, setting, variant })?;
                let (name, other) = others.get_or_insert((&variant.name, result.clone()));
                if result != *other {
                    let text = format!("{} gives\n{result}\nand {name}\n{other}", title(setting, variant));
                    return Err(Fault::Failed(text));
                }
                let row = Row::new(ground.program.name, (setting.label, setting.threads), &variant.name, round)
                    .with((seconds, ops), (usage.cpu_s, usage.voluntary, usage.involuntary));
                rows.push((Row { machine: ground.machine.clone(), ..row }, times));
            }
        }
    }
    Ok(rows)
}

fn title(setting: &Setting, variant: &Variant) -> String {
    format!("{} {}", setting.label, variant.name).trim_start().to_owned()
}

/// Runs a program once. If that fails, a run without anything of ours shows whose fault it is.
fn attempt(run: &Run) -> Result<Sample, Fault> {
    let program = run.ground.program;
    (program.run)(run).map_err(|reason| {
        let reason = format!("{}: {reason}", title(run.setting, run.variant));
        let runs_without = || (program.run)(&Run { variant: &Variant::plain(), ..*run }).is_ok();
        if !run.variant.is_plain() && runs_without() { Fault::Failed(reason) } else { Fault::Skipped(reason) }
    })
}

#[cfg(test)]
mod tests {
    use super::table::Program;
    use super::*;

    #[test]
    fn listed_programs_have_their_settings() {
        let known: Vec<_> = expected::EXPECTED.iter().map(|expected| expected.program).collect();
        let lists = [overhead::MEASURED, advice::ADVISED, predict::MEASURED, responses::MEASURED, &known];
        for (name, labels) in lists.into_iter().flatten() {
            let program = table::program(name).expect(name);
            for label in *labels {
                assert!(program.settings.iter().any(|setting| setting.label == *label), "{name} {label}");
            }
        }
    }

    #[test]
    fn a_program_without_such_figures_is_refused_with_those_that_have_them() {
        let wish = Wish { only: vec!["rsyslog".to_owned()], ..Wish::default() };
        let fault = each(&crate::root(), &wish, responses::MEASURED, |_, _| Ok(())).unwrap_err();
        assert_eq!(fault, "rsyslog has no such figures; these have: node, mariadb, memcached");
    }

    const fn a_program(name: &'static str, run: fn(&Run) -> Result<Sample, String>) -> Program {
        const ONE: &[Setting] = &[Setting { label: "", threads: 1, is_busy: false }];
        Program { name, needs: &[], settings: ONE, is_measured: true, prepare: |_| Ok(()), run }
    }
    const DIFFERS: Program =
        a_program("differs", |run| Ok(Sample { result: run.variant.name.clone(), ..Sample::default() }));
    const NEVER: Program = a_program("never", |_| Err("no such thing".into()));
    const WITHOUT: Program =
        a_program("without", |run| if run.variant.is_plain() { Ok(Sample::default()) } else { Err("no".into()) });

    #[test]
    fn results_that_differ_are_a_failure_and_no_run_a_skip() {
        let variants = [Variant::plain(), Variant::preloaded(Path::new("/a.so"), None)];
        let fault = |program: &'static Program| {
            let ground = Ground::new(&crate::root(), program, true).unwrap();
            measure(&ground, &program.settings.iter().collect::<Vec<_>>(), &variants, 3).unwrap_err()
        };
        assert_eq!(fault(&DIFFERS), Fault::Failed("ondeck gives\nondeck\nand plain\nplain".into()));
        assert_eq!(fault(&NEVER), Fault::Skipped("plain: no such thing".into()));
        assert_eq!(fault(&WITHOUT), Fault::Failed("ondeck: no".into()));
    }
}
