//! `cargo xtask programs`: programs of others, unmodified, with glibc's locks and with ours preloaded, in turn.
//!
//! Each program (`table.rs`) has settings, mostly numbers of threads, and a check of what it has computed. A round runs each
//! setting with both kinds of locks in an order drawn anew, so that what the machine does in the meantime meets both; ratios
//! are taken within rounds. The rows are in `results/MACHINE/programs.csv`, of which `cargo xtask docs` makes the table in
//! `docs/programs.md`. With `--check` everything runs once, briefly, and only what comes out is compared.

mod batch;
mod correct;
mod needs;
mod predict;
mod preload;
mod process;
mod record;
mod servers;
mod table;

use crate::docs;
use crate::docs::programs::{Row, Spread};
use preload::Variant;
use process::Usage;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use table::{PROGRAMS, Program, Setting};

const USAGE: &str = "\
usage: cargo xtask programs [--only NAME,...] [--rounds N] [--library PATH] [--lock NAME] [--check | --predict]

Runs programs with glibc's locks and with a preloaded library, in turn.
  --only NAME,...   some of the programs; the figures go to target/programs.csv, and the record stays as it is
  --rounds N        how often each setting runs with each kind of locks; 5
  --library PATH    what is preloaded, if not libondeck_pthread.so as built from here
  --lock NAME       the lock that the library shall put in the mutexes' place; figures as with --only
  --check           each program once, briefly: only compares what comes out, and writes nothing
  --predict         with glibc's locks and few threads, to measure sections, of which a simulated machine of many cores
                    tells what those locks and ours would do there; takes no other flag than --only";

/// What the words after `cargo xtask programs` ask for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    only: Vec<String>,
    rounds: Option<u32>,
    library: Option<PathBuf>,
    lock: Option<String>,
    is_check: bool,
    is_predict: bool,
}

impl Wish {
    fn parse(words: &[String]) -> Result<Wish, String> {
        let mut wish = Wish::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--check" => wish.is_check = true,
                "--predict" => wish.is_predict = true,
                _ => wish.set(word, words.next())?,
            }
        }
        if wish.is_predict && wish != (Wish { only: wish.only.clone(), is_predict: true, ..Wish::default() }) {
            return Err(USAGE.into());
        }
        let name = wish.only.iter().find(|name| PROGRAMS.iter().all(|program| program.name != **name));
        match name {
            None => Ok(wish),
            Some(name) => {
                let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
                Err(format!("no program is called `{name}`; there are {}", names.join(", ")))
            }
        }
    }

    /// A flag that has a value.
    fn set(&mut self, flag: &str, value: Option<&String>) -> Result<(), String> {
        let value = value.ok_or(USAGE)?;
        match flag {
            "--only" => self.only.extend(value.split(',').map(str::to_owned)),
            "--rounds" => self.rounds = Some(rounds(value)?),
            "--library" => self.library = Some(value.into()),
            "--lock" => self.lock = Some(value.clone()),
            _ => return Err(USAGE.into()),
        }
        Ok(())
    }

    /// Whether the figures are those of all programs with what is built from here, as the page shows them.
    fn is_whole(&self) -> bool {
        self.only.is_empty() && self.lock.is_none()
    }
}

fn rounds(value: &str) -> Result<u32, String> {
    let rounds = value.parse().ok().filter(|rounds| *rounds > 0);
    rounds.ok_or_else(|| format!("--rounds {value}: a number from 1 is wanted"))
}

/// Where a program runs.
struct Ground {
    /// The workspace.
    root: PathBuf,
    /// For its files; empty at first, and gone afterwards.
    place: PathBuf,
    /// Whether only what comes out matters, not the figures.
    is_short: bool,
}

impl Ground {
    fn new(root: &Path, name: &str, is_short: bool) -> Result<Ground, String> {
        let memory = Path::new("/dev/shm");
        // In memory, so that no disk is measured.
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        sweep(&parent);
        let place = parent.join(format!("{PLACE}{}-{name}", std::process::id()));
        std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        Ok(Ground { root: root.to_owned(), place, is_short })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// The one when figures are wanted, else the other.
    fn either<T>(&self, long: T, short: T) -> T {
        if self.is_short { short } else { long }
    }

    /// How long a program may take that takes seconds alone: it may have a slow machine, and others beside it.
    fn limit(&self) -> Duration {
        Duration::from_secs(self.either(90, 45))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.place);
    }
}

/// What places are called, before the number of the process that uses one.
const PLACE: &str = "ondeck-programs-";

/// Removes the places of processes that were killed, and so left theirs behind.
fn sweep(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PLACE).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// What one run has shown.
struct Sample {
    seconds: f64,
    ops: f64,
    usage: Usage,
    /// What must be the same with every lock.
    result: String,
}

/// Why a program gave no figures.
enum Fault {
    /// It cannot run here, with glibc's locks either.
    Skipped(String),
    /// It cannot run with the library, or does something else then.
    Failed(String),
}

pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let wish = Wish::parse(words)?;
    if wish.is_predict {
        return predict::run(root, &wish.only);
    }
    let library = preload::library(root, &wish)?;
    let variants = [Variant::plain(), Variant::preloaded(&library, wish.lock.as_deref())];
    let n_rounds = if wish.is_check { 1 } else { wish.rounds.unwrap_or(5) };
    let (mut rows, mut skipped, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for program in PROGRAMS.iter().filter(|program| wish.only.is_empty() || wish.only.iter().any(|n| n == program.name))
    {
        match run_program(root, program, &variants, n_rounds, wish.is_check) {
            Ok(new) => rows.extend(new),
            Err(Fault::Skipped(reason)) => skipped.push(format!("{}: {}", program.name, one_line(&reason))),
            Err(Fault::Failed(reason)) => failed.push(format!("{}: {reason}", program.name)),
        }
    }
    for line in &skipped {
        println!("skipped {line}");
    }
    if !failed.is_empty() {
        return Err(format!("{}\n{} of the programs fail with {}", failed.join("\n"), failed.len(), library.display()));
    }
    if wish.is_check {
        return Ok(());
    }
    let mut command = vec!["cargo xtask programs"];
    command.extend(words.iter().map(String::as_str));
    record::write(root, wish.is_whole(), rows, &command.join(" "), skipped)?;
    if wish.is_whole() { docs::run(root, &[]) } else { Ok(()) }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All rounds of a program; prints a line for each of its settings.
fn run_program(
    root: &Path,
    program: &Program,
    variants: &[Variant; 2],
    n_rounds: u32,
    is_check: bool,
) -> Result<Vec<Row>, Fault> {
    needs::provide(program.needs).map_err(Fault::Skipped)?;
    let ground = Ground::new(root, program.name, is_check).map_err(Fault::Skipped)?;
    (program.prepare)(&ground).map_err(Fault::Skipped)?;
    let mut rows = Vec::new();
    let mut dice = Dice::new();
    // What has no figures needs no second look.
    for round in 0..if program.is_measured { n_rounds } else { 1 } {
        for setting in program.settings {
            let pair = run_pair(&ground, program, setting, variants, dice.is_tail())?;
            if program.is_measured {
                rows.extend(pair.iter().zip(variants).map(|(sample, variant)| {
                    Row::new(program.name, (setting.label, setting.threads), &variant.name, round).with(
                        (sample.seconds, sample.ops),
                        (sample.usage.cpu_s, sample.usage.voluntary, sample.usage.involuntary),
                    )
                }));
            }
        }
    }
    for setting in program.settings {
        println!("{}", line(program, setting, &rows, is_check));
    }
    Ok(rows)
}

/// Both kinds of locks in one setting, in that order of `variants` or, if `is_swapped`, the other.
fn run_pair(
    ground: &Ground,
    program: &Program,
    setting: &Setting,
    variants: &[Variant; 2],
    is_swapped: bool,
) -> Result<[Sample; 2], Fault> {
    let plain = || (program.run)(ground, setting, &variants[0]).map_err(Fault::Skipped);
    let ours = || {
        let failed = |reason| Fault::Failed(format!("{}{reason}", title(setting)));
        (program.run)(ground, setting, &variants[1]).map_err(failed)
    };
    let pair = if is_swapped {
        // A program that fails so is tried without the library too: only then it is known whose fault that is.
        let ours = ours();
        [plain()?, ours?]
    } else {
        [plain()?, ours()?]
    };
    let [before, after] = &pair;
    if before.result == after.result {
        return Ok(pair);
    }
    let text = format!("{}with the library it gives\n{}\nand without\n{}", title(setting), after.result, before.result);
    Err(Fault::Failed(text))
}

fn title(setting: &Setting) -> String {
    if setting.label.is_empty() { String::new() } else { format!("{}: ", setting.label) }
}

fn line(program: &Program, setting: &Setting, rows: &[Row], is_check: bool) -> String {
    let name = format!("{} {}", program.name, setting.label);
    let name = name.trim_end();
    if is_check || !program.is_measured {
        return format!("{name}: the same results");
    }
    let rows: Vec<&Row> = rows.iter().filter(|row| row.setting == setting.label).collect();
    let ratio = |figure: fn(&Row) -> f64| Spread::of_ratios(&rows, figure).map_or("-".into(), |spread| spread.text());
    format!("{name}: throughput {}, CPU time per operation {}", ratio(Row::ops_per_s), ratio(Row::cpu_us_per_op))
}

/// Which kind of locks comes first; Marsaglia's xorshift, begun with the clock.
struct Dice(u64);

impl Dice {
    fn new() -> Dice {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Dice(now.as_nanos() as u64 | 1)
    }

    fn is_tail(&mut self) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 63 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Wish, String> {
        Wish::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_understood_or_refused() {
        assert_eq!(parse(""), Ok(Wish::default()));
        let wish = parse("--only leveldb,node --rounds 3 --library a.so --lock std --check").unwrap();
        assert_eq!((wish.only.len(), wish.rounds, wish.is_check), (2, Some(3), true));
        assert_eq!((wish.library, wish.lock.as_deref()), (Some("a.so".into()), Some("std")));
        assert!(parse("--only leveldb").is_ok_and(|wish| !wish.is_whole()));
        assert!(parse("--only redis").unwrap_err().contains("`redis`; there are uncontended, sysbench-mutex"));
        assert!(parse("--rounds 0").unwrap_err().contains("from 1"));
        assert_eq!(parse("--rounds"), Err(USAGE.into()));
        assert_eq!(parse("--quick yes"), Err(USAGE.into()));
        assert!(parse("--predict --only node").is_ok_and(|wish| wish.is_predict));
        assert_eq!(parse("--predict --rounds 3"), Err(USAGE.into()));
    }

    #[test]
    fn results_that_differ_are_a_failure_and_no_run_a_skip() {
        fn nothing(_: &Ground) -> Result<(), String> {
            Ok(())
        }
        fn differs(_: &Ground, _: &Setting, variant: &Variant) -> Result<Sample, String> {
            let result = variant.name.clone();
            Ok(Sample { seconds: 1.0, ops: 1.0, usage: Usage::default(), result })
        }
        fn never(_: &Ground, _: &Setting, _: &Variant) -> Result<Sample, String> {
            Err("no such thing".into())
        }
        let variants = [Variant::plain(), Variant::preloaded(Path::new("/a.so"), None)];
        let settings: &[Setting] = &[Setting { label: "", threads: 1, is_busy: false }];
        let of = |run| Program { name: "test", needs: &[], settings, is_measured: true, prepare: nothing, run };
        let fault = run_program(&crate::root(), &of(differs), &variants, 3, true).err();
        assert!(matches!(fault, Some(Fault::Failed(text)) if text.contains("it gives\nondeck\nand without\nplain")));
        let fault = run_program(&crate::root(), &of(never), &variants, 3, true).err();
        assert!(matches!(fault, Some(Fault::Skipped(text)) if text == "no such thing"));
    }
}
