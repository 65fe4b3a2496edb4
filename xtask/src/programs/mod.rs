//! `cargo xtask programs`: programs of others, unmodified, with glibc's locks and with ours preloaded, in turn.
//!
//! Each program (`list.rs`) has settings, mostly numbers of threads, and a check of what it has computed. A round runs each
//! setting with both kinds of locks, each of which comes first in every other round, so that what the machine does in the
//! meantime meets both; ratios are taken within rounds. What comes out is printed as the table of `docs/programs.md`. With
//! `--recorded` the second kind is glibc's locks under `ondeck profile`; that table is in `docs/profile.md`. With
//! `--check` everything runs once, briefly, and only what comes out is compared. With `--profiles` the programs run under
//! `ondeck profile`, which must find the lock that is known to be hot; that table is in `results/verdicts.md`.

mod batch;
mod correct;
mod list;
mod place;
mod process;
mod profiles;
mod run;
mod servers;

use crate::command::{cargo, metadata, succeed};
use clap::Parser;
use clap::builder::PossibleValuesParser;
use list::PROGRAMS;
use ondeck_report::stats::median;
use ondeck_report::wording::count;
use ondeck_rounds::order;
use ondeck_workloads::this_machine;
use place::Place;
use process::Locks;
use run::{Fault, Program, Run, Sample, Setting, attempt};
use std::iter;
use std::path::{Path, PathBuf};

/// A ratio this far from 1 is worth a reader's eye.
const LOUD: f64 = 0.05;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask programs", disable_help_flag = true)]
struct Options {
    /// Some of the programs
    #[arg(long, value_name = "NAME", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(PROGRAMS.iter().map(|program| program.name)))]
    only: Vec<String>,
    /// How often each setting runs with each kind of locks
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The lock that is put in the mutexes' place
    #[arg(long, value_name = "NAME", conflicts_with = "profiles")]
    lock: Option<String>,
    /// Each program once, briefly: only looks at what comes out
    #[arg(long, conflicts_with = "rounds")]
    check: bool,
    /// With glibc's locks, recorded, instead of ours: what `ondeck profile` costs
    #[arg(long, conflicts_with_all = ["lock", "check", "profiles"])]
    recorded: bool,
    /// Under `ondeck profile`: the lock that is known to be hot must be found, and who waits for it
    #[arg(long, conflicts_with = "rounds")]
    profiles: bool,
}

impl Options {
    fn programs(&self) -> Vec<&'static Program> {
        let is_wanted = |program: &&Program| {
            let is_named = self.only.is_empty() || self.only.iter().any(|name| name == program.name);
            is_named && (!self.profiles || program.known.is_some())
        };
        PROGRAMS.iter().filter(is_wanted).collect()
    }
}

pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let words = iter::once("cargo xtask programs").chain(words.iter().map(String::as_str));
    let options = Options::try_parse_from(words).map_err(|error| error.to_string())?;
    let programs = options.programs();
    if programs.is_empty() {
        return Err(format!("nothing is known of the locks of {}", options.only.join(", ")));
    }
    let built = build(root, options.profiles || options.recorded)?;
    let (mut lines, mut skipped, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for program in programs {
        let name = program.name;
        let place = Place::new(root, name, program.needs, options.check);
        let place = place.and_then(|place| (program.prepare)(&place).map(|()| place)).map_err(Fault::Skipped);
        match place.and_then(|place| one(program, &place, &built, &options)) {
            Ok(new) => lines.extend(new),
            Err(Fault::Failed(reason)) => failed.push(format!("{name}: {reason}")),
            Err(Fault::Skipped(reason)) => {
                skipped.push(format!("{name}: {}", reason.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
        }
    }
    if !options.check {
        let (head, how) = match options.profiles {
            true => (profiles::HEAD, "one run each".to_owned()),
            false => (HEAD, format!("{} rounds in turn", options.rounds)),
        };
        let rule = "---|".repeat(head.split('|').count());
        let machine = this_machine::fingerprint().line();
        println!("\nOn {machine}; {how}.\n\n| {head} |\n|{rule}\n{}\n", lines.join("\n"));
    }
    skipped.iter().for_each(|line| println!("skipped {line}"));
    match failed.len() {
        0 => Ok(()),
        n_failed => Err(format!("{}\n{n_failed} of the programs fail", failed.join("\n"))),
    }
}

/// Builds the library, and the command if that is asked for, as they are released; says where they are.
fn build(root: &Path, with_command: bool) -> Result<PathBuf, String> {
    let mut cargo = cargo(root);
    cargo.args(["build", "--quiet", "--release", "--package", "ondeck-preload"]);
    succeed(cargo.args(if with_command { &["--package", "ondeck-cli"][..] } else { &[] }))?;
    let metadata = metadata(self::cargo(root).arg("--locked"))?;
    let target = metadata["target_directory"].as_str().ok_or("`cargo metadata` names no target directory")?;
    Ok(Path::new(target).join("release"))
}

/// All that is asked for of one program, in lines of the table.
fn one(program: &Program, place: &Place, built: &Path, options: &Options) -> Result<Vec<String>, Fault> {
    if let Some(known) = program.known.as_ref().filter(|_| options.profiles) {
        let line = profiles::line(program, place, known, &built.join("ondeck"))?;
        println!("{}: as expected", program.name);
        return Ok(vec![line]);
    }
    let others = match options.recorded {
        true => Locks::Recorded { ondeck: built.join("ondeck"), profile: place.file("profile.json") },
        false => Locks::Ours { library: built.join("libondeck_pthread.so"), lock: options.lock.clone() },
    };
    let locks = [Locks::Glibc, others];
    let mut lines = Vec::new();
    for (setting, rounds) in measure(program, place, &locks, if options.check { 1 } else { options.rounds })? {
        if options.check || rounds[0].iter().any(|sample| sample.ops == 0.0) {
            println!("{} {}: the same results", program.name, setting.label);
        } else {
            lines.push(line_of(program, setting, &rounds));
            println!("{}", lines[lines.len() - 1]);
        }
    }
    Ok(lines)
}

/// What a round gives: a sample with glibc's locks, and one with ours.
type Round = [Sample; 2];

/// All rounds of a program, in each of which every setting runs with both. Both must compute the same.
fn measure<'a>(
    program: &'a Program,
    place: &Place,
    locks: &[Locks; 2],
    n_rounds: u32,
) -> Result<Vec<(&'a Setting, Vec<Round>)>, Fault> {
    let mut all: Vec<(&Setting, Vec<Round>)> = program.settings.iter().map(|setting| (setting, Vec::new())).collect();
    for round in 0..n_rounds {
        for (setting, rounds) in &mut all {
            let mut samples = Round::default();
            for idx in order(samples.len(), round as usize) {
                samples[idx] = attempt(program, &Run { place, setting, locks: &locks[idx] })?;
            }
            let [theirs, ours] = &samples;
            if theirs.result != ours.result {
                let title = format!("{} {}", setting.label, locks[1].name());
                let text = format!("{} gives\n{}\nand glibc\n{}", title.trim_start(), ours.result, theirs.result);
                return Err(Fault::Failed(text));
            }
            rounds.push(samples);
        }
        // What has no figures needs no second look.
        if all.iter().flat_map(|(_, rounds)| rounds).flatten().all(|sample| sample.ops == 0.0) {
            break;
        }
    }
    Ok(all)
}

const HEAD: &str = "program | threads | operations/s, glibc | throughput, ratio | CPU us/operation, glibc | \
                    CPU per operation, ratio | switches/operation, glibc | ours";

fn line_of(program: &Program, setting: &Setting, rounds: &[Round]) -> String {
    let ops_per_s = |sample: &Sample| sample.ops / sample.seconds;
    let cpu_us = |sample: &Sample| sample.usage.cpu_s / sample.ops * 1e6;
    let switches = |sample: &Sample| (sample.usage.voluntary + sample.usage.involuntary) as f64 / sample.ops;
    let middle = |which: usize, figure: &dyn Fn(&Sample) -> f64| {
        median(&rounds.iter().map(|round| figure(&round[which])).collect::<Vec<_>>()).map_or_else(|| "-".into(), count)
    };
    let ratio = |figure: &dyn Fn(&Sample) -> f64| {
        spread(rounds.iter().map(|[theirs, ours]| figure(ours) / figure(theirs)).filter(|ratio| ratio.is_finite()))
    };
    let cells = [
        format!("`{}`", program.name),
        setting.label.to_owned(),
        middle(0, &ops_per_s),
        ratio(&ops_per_s),
        middle(0, &cpu_us),
        ratio(&cpu_us),
        middle(0, &switches),
        middle(1, &switches),
    ];
    format!("| {} |", cells.join(" | "))
}

/// The median, and the range around it. In bold, if every round says the same, and so loudly that it is not chance: five
/// rounds agree once in 16 times anyway.
fn spread(ratios: impl Iterator<Item = f64>) -> String {
    let ratios: Vec<f64> = ratios.collect();
    let Some(middle) = median(&ratios) else { return "-".to_owned() };
    let (low, high) = ratios.iter().fold((f64::MAX, 0.0), |(low, high), ratio| (ratio.min(low), ratio.max(high)));
    let mark = if (low > 1.0 || high < 1.0) && (middle - 1.0).abs() > LOUD { "**" } else { "" };
    format!("{mark}{middle:.2}{mark} ({low:.2} to {high:.2})")
}

#[cfg(test)]
mod tests {
    use super::process::Usage;
    use super::*;

    const fn a_program(name: &'static str, run: fn(&Run) -> Result<Sample, String>) -> Program {
        const ONE: &[Setting] = &[Setting { label: "2", threads: 2 }];
        Program { name, needs: &[], settings: ONE, prepare: |_| Ok(()), run, known: None }
    }

    fn sample(ops: f64, cpu_s: f64) -> Sample {
        let usage = Usage { cpu_s, voluntary: 5, involuntary: 5 };
        Sample { seconds: 2.0, ops, usage, ..Sample::default() }
    }

    #[test]
    fn results_that_differ_are_a_failure_and_no_run_a_skip() {
        let differs =
            a_program("differs", |run| Ok(Sample { result: run.locks.name().to_owned(), ..Sample::default() }));
        let never = a_program("never", |_| Err("no such thing".into()));
        let without =
            a_program(
                "without",
                |run| if *run.locks == Locks::Glibc { Ok(Sample::default()) } else { Err("no".into()) },
            );
        let locks = [Locks::Glibc, Locks::Ours { library: PathBuf::new(), lock: None }];
        let fault = |program: &Program| {
            let place = Place::new(&crate::root(), program.name, program.needs, true).unwrap();
            measure(program, &place, &locks, 3).err().unwrap()
        };
        assert_eq!(fault(&differs), Fault::Failed("2 ondeck gives\nondeck\nand glibc\nglibc".into()));
        assert_eq!(fault(&never), Fault::Skipped("2 glibc: no such thing".into()));
        assert_eq!(fault(&without), Fault::Failed("2 ondeck: no".into()));
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        let program = a_program("x", |_| Err(String::new()));
        let rounds: Vec<Round> = [0.0, 1.0, 2.0].map(|n| [sample(100.0 + n, 1.0), sample(120.0 + n, 1.0)]).into();
        let line = "| `x` | 2 | 50.5 | **1.20** (1.20 to 1.20) | 9.90 k | **0.83** (0.83 to 0.84) | 0.0990 | 0.0826 |";
        assert_eq!(line_of(&program, &program.settings[0], &rounds), line);
        assert_eq!(spread([0.9, 1.2, 1.3].into_iter()), "1.20 (0.90 to 1.30)");
        assert_eq!(spread(iter::empty()), "-");
    }

    #[test]
    fn options_are_taken_or_refused() {
        let parse = |words: &str| Options::try_parse_from(iter::once("x").chain(words.split_whitespace()));
        let names =
            |words: &str| parse(words).unwrap().programs().iter().map(|program| program.name).collect::<Vec<_>>();
        assert_eq!(names("--only node,xz --lock std"), ["node", "xz"]);
        assert_eq!(names("--only node,xz --profiles --check"), ["node"]);
        assert_eq!(names("--rounds 2").len(), PROGRAMS.len());
        for refused in ["--only nodejs", "--rounds 0", "--check --rounds 2", "--profiles --lock std", "--quick"] {
            assert!(parse(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn what_is_known_is_known_of_a_setting() {
        for program in PROGRAMS {
            let known =
                |known: &run::ExpectedProfile| program.settings.iter().any(|setting| setting.label == known.setting);
            assert!(program.known.as_ref().is_none_or(known), "{}", program.name);
        }
    }
}
