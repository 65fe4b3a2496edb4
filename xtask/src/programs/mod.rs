//! `cargo xtask programs`: programs of others, unmodified, with glibc's locks and with ours preloaded, in turn.
//!
//! Each program (`table.rs`) has settings, mostly numbers of threads, and a check of what it has computed. A round runs each
//! setting with both kinds of locks in an order drawn anew, so that what the machine does in the meantime meets both; ratios
//! are taken within rounds. The rows are in `results/MACHINE/programs.csv`, of which `cargo xtask docs` makes the table in
//! `docs/programs.md`. With `--check` everything runs once, briefly, and only what comes out is compared. `--predict`,
//! `--profiles`, `--advice`, `--overhead` and `--responses` run the same programs for other figures, and `--small` one program of ours in
//! many settings.

mod advice;
mod batch;
mod correct;
mod expected;
mod needs;
mod overhead;
mod predict;
mod preload;
mod process;
mod profiles;
mod record;
mod responses;
mod servers;
mod small;
mod table;
mod wish;

use crate::docs;
use crate::docs::programs::{Row, Spread};
use preload::Variant;
use process::Usage;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use table::{PROGRAMS, Program, Setting};
use wish::{Mode, Wish};

/// Where a program runs.
struct Ground {
    /// The workspace.
    root: PathBuf,
    /// For its files; empty at first, and gone afterwards.
    place: PathBuf,
    /// Whether only what comes out matters, not the figures.
    is_short: bool,
    /// Whether clients are to tell how long they waited.
    has_times: bool,
}

impl Ground {
    fn new(root: &Path, name: &str, is_short: bool) -> Result<Ground, String> {
        let memory = Path::new("/dev/shm");
        // In memory, so that no disk is measured.
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        sweep(&parent);
        let place = parent.join(format!("{PLACE}{}-{name}", std::process::id()));
        std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        Ok(Ground { root: root.to_owned(), place, is_short, has_times: false })
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
    /// How long clients waited, if that was asked for.
    times: Option<responses::Times>,
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
    match wish.mode {
        Mode::Compare => compare(root, words, &wish),
        Mode::Predict => predict::run(root, &wish.only),
        Mode::Profiles => profiles::run(root, words, &wish),
        Mode::Advice => advice::run(root, words, &wish),
        Mode::Overhead => overhead::run(root, words, &wish),
        Mode::Responses => responses::run(root, words, &wish),
        Mode::Small => small::run(root, words, &wish),
    }
}

/// Runs with glibc's locks and with ours.
fn compare(root: &Path, words: &[String], wish: &Wish) -> Result<(), String> {
    let library = preload::library(root, wish)?;
    let variants = [Variant::plain(), Variant::preloaded(&library, wish.lock.as_deref())];
    let n_rounds = if wish.is_check { 1 } else { wish.rounds.unwrap_or(5) };
    let (mut rows, mut skipped, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for program in PROGRAMS.iter().filter(|program| wish.wants(program.name)) {
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
    record::write(root, wish.is_whole(), docs::programs::FILE, rows, &record::command(words), &skipped)?;
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
                let samples = pair.iter().zip(variants);
                rows.extend(samples.map(|(sample, variant)| row(program, setting, variant, round, sample)));
            }
        }
    }
    for setting in program.settings {
        println!("{}", line(program, setting, &rows, is_check));
    }
    Ok(rows)
}

fn row(program: &Program, setting: &Setting, variant: &Variant, round: u32, sample: &Sample) -> Row {
    Row::new(program.name, (setting.label, setting.threads), &variant.name, round)
        .with((sample.seconds, sample.ops), (sample.usage.cpu_s, sample.usage.voluntary, sample.usage.involuntary))
}

/// Where a program can run for figures, with all that it needs.
fn prepared(root: &Path, program: &Program) -> Result<Ground, String> {
    needs::provide(program.needs)?;
    let ground = Ground::new(root, program.name, false)?;
    (program.prepare)(&ground)?;
    Ok(ground)
}

/// Programs, and settings of each.
type List = [(&'static str, &'static [&'static str])];

/// Does that with each of the programs that is wanted, in its settings. Gives those that cannot run here, with the reason.
fn each_of(
    root: &Path,
    list: &List,
    wish: &Wish,
    mut act: impl FnMut(&Ground, &'static Program, &[&'static Setting]) -> Result<(), String>,
) -> Result<Vec<String>, String> {
    if let Some(name) = wish.only.iter().find(|name| list.iter().all(|(listed, _)| listed != name)) {
        let names: Vec<&str> = list.iter().map(|(name, _)| *name).collect();
        return Err(format!("{name} has no such figures; these have: {}", names.join(", ")));
    }
    let mut skipped = Vec::new();
    for (name, labels) in list.iter().filter(|(name, _)| wish.wants(name)) {
        let program = PROGRAMS.iter().find(|program| program.name == *name).ok_or("no such program")?;
        let settings: Vec<&Setting> = program.settings.iter().filter(|it| labels.contains(&it.label)).collect();
        match prepared(root, program) {
            Ok(ground) => act(&ground, program, &settings)?,
            Err(reason) => skipped.push(format!("{name}: {}", one_line(&reason))),
        }
    }
    for line in &skipped {
        println!("skipped {line}");
    }
    Ok(skipped)
}

/// All rounds of a program with any variants, each once in each setting of a round, in an order drawn anew. Nothing is compared.
fn measure(
    ground: &Ground,
    program: &Program,
    settings: &[&Setting],
    variants: &mut [Variant],
    n_rounds: u32,
) -> Result<Vec<Row>, String> {
    let (mut rows, mut dice) = (Vec::new(), Dice::new());
    for round in 0..n_rounds {
        for setting in settings {
            dice.shuffle(variants);
            for variant in &*variants {
                let failed = |what| format!("{}: {}{}: {what}", program.name, title(setting), variant.name);
                let sample = (program.run)(ground, setting, variant).map_err(failed)?;
                rows.push(row(program, setting, variant, round, &sample));
            }
        }
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

/// Which kind of locks comes first, and which next; Marsaglia's xorshift, begun with the clock.
struct Dice(u64);

impl Dice {
    fn new() -> Dice {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Dice(now.as_nanos() as u64 | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 32
    }

    fn is_tail(&mut self) -> bool {
        self.next() >> 31 == 1
    }

    /// Every order is as likely.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_programs_have_their_settings() {
        for (name, labels) in overhead::MEASURED.iter().chain(advice::ADVISED) {
            let program = PROGRAMS.iter().find(|program| program.name == *name).expect(name);
            for label in *labels {
                assert!(program.settings.iter().any(|setting| setting.label == *label), "{name} {label}");
            }
        }
    }

    #[test]
    fn results_that_differ_are_a_failure_and_no_run_a_skip() {
        fn nothing(_: &Ground) -> Result<(), String> {
            Ok(())
        }
        fn differs(_: &Ground, _: &Setting, variant: &Variant) -> Result<Sample, String> {
            let result = variant.name.clone();
            Ok(Sample { seconds: 1.0, ops: 1.0, usage: Usage::default(), result, times: None })
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
