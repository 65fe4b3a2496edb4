//! The tests of the woven workspace, what each reaches, and running one.

use super::generate::Kind;
use super::parallel::each;
use super::subject::Subject;
use crate::files::{read, write};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Test targets of the conformance crate. Those of minutes are asked for.
const TARGETS: [&str; 8] =
    ["loom_ondeck", "fair", "condvar", "condvar_races", "monitor", "schedule", "simulated", "hardware"];
const LONG: &str = "loom_deep";
/// Those of the crate that users have.
const FACADE: [&str; 4] = ["mutex", "condvar", "monitor", "out_of_memory"];

type Setting = (&'static str, &'static [(&'static str, &'static str)]);

/// Settings of the preloaded library in which the test programs run: what stands behind a program's name, and the variables.
const SETTINGS: [Setting; 4] = [
    ("", &[]),
    (" recorded", &[("ONDECK_LOCK", "glibc"), ("ONDECK_RECORD_RATE", "1")]),
    (" recorded, ondeck", &[("ONDECK_LOCK", "ondeck"), ("ONDECK_RECORD_RATE", "1")]),
    (" std-port", &[("ONDECK_LOCK", "std-port")]),
];
/// The programs that also run in the other settings, as the crate's own tests do it.
const RECORDED: &str = include_str!("../../../testprograms/recorded.txt");

/// Read by whoever runs a test, written by whoever must be the only one.
static MACHINE: RwLock<()> = RwLock::new(());

/// One test, to be run in a process of its own.
#[derive(Clone, Debug)]
pub(super) struct Test {
    /// Target and path, or program and setting.
    pub(super) name: String,
    binary: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// Whether it is a program with the library, and no test of cargo's.
    is_program: bool,
    /// Whether a failure counts only if nothing else runs meanwhile.
    pub(super) looks_at_times: bool,
    is_loom: bool,
}

/// A test that passes while nothing is broken: how long that takes, and which mutants it meets.
pub(super) struct Known {
    pub(super) test: Test,
    pub(super) takes: Duration,
    pub(super) reached: BTreeSet<usize>,
}

/// All tests that a mutant may be tried with, the shortest first.
pub(super) struct Tests(pub(super) Vec<Known>);

impl Tests {
    /// Builds the tests, those of `by` alone if it names some, and runs each once.
    pub(super) fn build(
        subject: Subject,
        work: &Path,
        target: &Path,
        is_long: bool,
        by: &[String],
    ) -> Result<Self, String> {
        let is_wanted = |source: &Source| by.is_empty() || by.iter().any(|name| source.has(name));
        let tests: Vec<Test> = build_all(subject, work, target, is_long, is_wanted)?;
        if tests.is_empty() {
            return Err(format!("{} has no tests that are called {}", subject.name(), by.join(" or ")));
        }
        println!("{} tests, each run once", tests.len());
        let reached = target.join("reached");
        std::fs::create_dir_all(&reached).map_err(|error| format!("{}: {error}", reached.display()))?;
        let known = each(&tests, |_, test| learn(test, &reached.join(test.name.replace([' ', ':', '/'], "_"))));
        let mut known = known.into_iter().collect::<Result<Vec<Known>, String>>()?;
        known.sort_by_key(|known| (known.test.looks_at_times, known.takes));
        let all: Duration = known.iter().map(|known| known.takes).sum();
        println!("together {:.0} s", all.as_secs_f64());
        Ok(Tests(known))
    }
}

/// The tests of all sources that are wanted.
fn build_all(
    subject: Subject,
    work: &Path,
    target: &Path,
    is_long: bool,
    is_wanted: impl Fn(&Source) -> bool,
) -> Result<Vec<Test>, String> {
    let sources = match subject {
        Subject::Lock => Source::of_lock(is_long),
        Subject::Preloaded => Source::of_preloaded(),
    };
    let mut tests = Vec::new();
    for source in sources.iter().filter(|source| is_wanted(source)) {
        tests.extend(source.build(work, target)?);
    }
    Ok(tests)
}

/// Builds the tests of these names, and leaves out the others.
pub(super) fn named(
    subject: Subject,
    work: &Path,
    target: &Path,
    names: &[&str],
) -> Result<BTreeMap<String, Test>, String> {
    let is_wanted = |source: &Source| names.iter().any(|name| source.has(name));
    let tests = build_all(subject, work, target, true, is_wanted)?;
    Ok(tests.into_iter().map(|test| (test.name.clone(), test)).collect())
}

/// Where tests come from: a binary of cargo's, or the test programs in some settings.
enum Source {
    Binary { name: String, words: Vec<&'static str>, is_ignored: bool, only: &'static str, looks_at_times: bool },
    Programs(&'static [Setting]),
}

impl Source {
    fn binary(name: &str, package: &'static str, target: &[&'static str]) -> Self {
        let words = [&["--package", package], target].concat();
        Source::Binary { name: name.to_owned(), words, is_ignored: false, only: "", looks_at_times: false }
    }

    fn of_lock(is_long: bool) -> Vec<Source> {
        let conformance = |name| Source::binary(name, "ondeck-conformance", &["--test", name]);
        let mut sources: Vec<Source> = TARGETS.into_iter().map(conformance).collect();
        if is_long {
            let words = vec!["--package", "ondeck-conformance", "--test", LONG];
            let (name, only) = (LONG.to_owned(), "");
            sources.push(Source::Binary { name, words, is_ignored: true, only, looks_at_times: false });
        }
        sources.extend(FACADE.map(|name| Source::binary(&format!("ondeck/{name}"), "ondeck", &["--test", name])));
        sources.extend(["ondeck", "ondeck-locks"].map(|name| Source::binary(name, name, &["--lib"])));
        // Some of the lock only the preloaded library asks for.
        sources.push(Source::Programs(&SETTINGS[..1]));
        sources
    }

    /// The recorder's own tests, the library's, the programs with it, how it comes into programs, and what profiles say of programs
    /// whose use of locks is known.
    fn of_preloaded() -> Vec<Source> {
        let cli = |name: &str, only, looks_at_times, words: [&'static str; 2]| {
            let words = [&["--package", "ondeck-cli"][..], &words].concat();
            Source::Binary { name: name.to_owned(), words, is_ignored: false, only, looks_at_times }
        };
        vec![
            Source::binary("record", "ondeck-record", &["--lib"]),
            Source::binary("record/truth", "ondeck-record", &["--test", "truth"]),
            Source::binary("pthread", "ondeck-pthread", &["--lib"]),
            Source::binary("pthread/direct", "ondeck-pthread", &["--test", "direct"]),
            Source::Programs(&SETTINGS),
            cli("cli", "launch::", false, ["--test", "cli"]),
            cli("known", "", true, ["--test", "known"]),
        ]
    }

    /// Whether the test of that name is one of these.
    fn has(&self, test: &str) -> bool {
        let first = test.split(' ').next();
        match self {
            Source::Binary { name, .. } => first == Some(name),
            Source::Programs(_) => first == Some(PROGRAM),
        }
    }

    fn build(&self, work: &Path, target: &Path) -> Result<Vec<Test>, String> {
        match self {
            Source::Binary { name, words, is_ignored, only, looks_at_times } => {
                let mut tests = list(name, &build(work, target, words)?, *is_ignored)?;
                tests.retain(|test| test.arguments[1].starts_with(only));
                tests.iter_mut().for_each(|test| test.looks_at_times = *looks_at_times);
                Ok(tests)
            }
            Source::Programs(settings) => programs(work, target, settings),
        }
    }
}

/// How the names of the test programs begin.
const PROGRAM: &str = "program";

/// The test programs with the library, in each of the settings.
fn programs(work: &Path, target: &Path, settings: &[Setting]) -> Result<Vec<Test>, String> {
    cargo(work, target, &["build", "--quiet", "--release", "--package", "ondeck-pthread"])?;
    let library = target.join("release/libondeck_pthread.so");
    let programs = target.join("programs");
    let script = work.join("testprograms/run");
    let status = Command::new(&script).arg(&programs).arg("--build").status();
    if !status.map_err(|error| format!("{}: {error}", script.display()))?.success() {
        return Err("the test programs cannot be built".to_owned());
    }
    let entries = std::fs::read_dir(&programs).map_err(|error| format!("{}: {error}", programs.display()))?;
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.retain(|name| !name.contains('.'));
    names.sort();
    let mut tests = Vec::new();
    for (setting, variables) in settings {
        let wanted = |name: &&String| setting.is_empty() || RECORDED.split_whitespace().any(|one| one == *name);
        let tests_of_it =
            names.iter().filter(wanted).map(|name| program(&programs, name, setting, &library, variables));
        tests.extend(tests_of_it);
    }
    Ok(tests)
}

fn program(programs: &Path, name: &str, setting: &str, library: &Path, variables: &[(&str, &str)]) -> Test {
    let mut environment: Vec<(String, String)> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    environment.push(("LD_PRELOAD".to_owned(), library.display().to_string()));
    Test {
        name: format!("{PROGRAM} {name}{setting}"),
        binary: programs.join(name),
        arguments: Vec::new(),
        environment,
        is_program: true,
        looks_at_times: false,
        is_loom: false,
    }
}

impl Test {
    /// Whether the test could tell such a mutant from the healthy lock: a weaker ordering shows under loom only.
    pub(super) fn can_see(&self, kind: Kind) -> bool {
        kind == Kind::Decision || self.is_loom
    }

    /// Whether it passes; `None` if it did not end in time and was killed.
    pub(super) fn run(&self, variable: &str, value: &OsStr, patience: Duration) -> Result<Option<bool>, String> {
        let _part = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        self.run_now(variable, value, patience, "1")
    }

    /// Like [`Test::run`], while no other test runs. A test that looks at times is given more attempts.
    pub(super) fn run_alone(&self, variable: &str, value: &OsStr, patience: Duration) -> Result<Option<bool>, String> {
        let _all = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
        self.run_now(variable, value, patience, "3")
    }

    fn run_now(
        &self,
        variable: &str,
        value: &OsStr,
        patience: Duration,
        attempts: &str,
    ) -> Result<Option<bool>, String> {
        let place = Place::new(self)?;
        let mut command = self.command();
        command.env(variable, value).env("ONDECK_GROUND", &place.0).env("ONDECK_ATTEMPTS", attempts);
        if self.is_program {
            command.current_dir(&place.0);
            if self.environment.iter().any(|(name, _)| name == "ONDECK_RECORD_RATE") {
                command.env("ONDECK_RECORD", &place.0).env("ONDECK_RECORD_MAX_MB", "1");
            }
        }
        Ok(end(command.spawn().map_err(|error| format!("{}: {error}", self.name))?, patience))
    }

    /// Whoever is broken may ask for memory and write without end.
    fn command(&self) -> Command {
        const LIMITED: &str = "ulimit -f 1000000 -c 0; exec \"$@\"";
        let mut command = Command::new("bash");
        // What is preloaded is for the program alone.
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={value}"));
        command.args(["-c", LIMITED, "bash", "env"]).args(variables).arg(&self.binary).args(&self.arguments);
        command.env("RUST_BACKTRACE", "0").env("ONDECK_LONG", "1");
        // A group of its own, so that the children of a test end with it.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command
    }
}

/// A directory of its own for one run of a test. A program finds there what it was built with.
struct Place(PathBuf);

impl Place {
    fn new(test: &Test) -> Result<Self, String> {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let directory = test.binary.parent().unwrap_or(Path::new("/"));
        let place = Place(directory.with_file_name(format!("place-{}-{number}", std::process::id())));
        let fail = |error: std::io::Error| format!("{}: {error}", place.0.display());
        std::fs::create_dir_all(&place.0).map_err(fail)?;
        if test.is_program {
            for entry in std::fs::read_dir(directory).map_err(fail)? {
                let entry = entry.map_err(fail)?;
                std::fs::hard_link(entry.path(), place.0.join(entry.file_name())).map_err(fail)?;
            }
        }
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left is below `target`, and in nobody's way.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a test with nothing broken, unless that was done since it was built.
fn learn(test: &Test, file: &Path) -> Result<Known, String> {
    let age = |file: &Path| std::fs::metadata(file).and_then(|data| data.modified()).ok();
    let seconds = file.with_extension("seconds");
    let library = test.environment.iter().find(|(name, _)| name == "LD_PRELOAD").map(|(_, path)| Path::new(path));
    let is_old = [Some(test.binary.as_path()), library].into_iter().flatten().any(|built| age(&seconds) < age(built));
    if is_old {
        // What is left there by another run would be believed.
        let _ = std::fs::remove_file(file);
        let begin = Instant::now();
        let patience = Duration::from_secs(3_000);
        let passes = |result: Result<Option<bool>, String>| result.map(|passed| passed == Some(true));
        let (variable, value) = ("ONDECK_REACHED", file.as_os_str());
        let passed = passes(test.run(variable, value, patience))?
            || test.looks_at_times && passes(test.run_alone(variable, value, patience))?;
        if !passed {
            return Err(format!("`{}` fails before anything is broken", test.name));
        }
        write(&seconds, begin.elapsed().as_secs_f64().to_string())?;
    }
    let takes = read(&seconds)?.parse().map_err(|error| format!("{}: {error}", seconds.display()))?;
    let bits = std::fs::read(file).unwrap_or_default();
    let is_set = |at: &usize| bits[at / 8] >> (at % 8) & 1 == 1;
    let reached = (0..8 * bits.len()).filter(is_set).collect();
    Ok(Known { test: test.clone(), takes: Duration::from_secs_f64(takes), reached })
}

/// Waits for a test: whether it passed, `None` if it did not end in time and was killed.
fn end(mut test: Child, patience: Duration) -> Option<bool> {
    let begin = Instant::now();
    let outcome = loop {
        match test.try_wait() {
            Ok(Some(status)) => break Some(status.success()),
            Ok(None) if begin.elapsed() < patience => std::thread::sleep(Duration::from_millis(5)),
            _ => break None,
        }
    };
    if outcome.is_none() {
        // The group has the number of its first process, which we have not waited for: it is still ours.
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", test.id())]).status();
        let _ = test.wait();
    }
    outcome
}

fn cargo(work: &Path, target: &Path, words: &[&str]) -> Result<Vec<u8>, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(words).current_dir(work).env("CARGO_TARGET_DIR", target).env("RUSTFLAGS", "-Awarnings");
    let output = cargo.output().map_err(|error| format!("cargo: {error}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("{words:?} does not compile:\n{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// Builds one test binary.
fn build(work: &Path, target: &Path, what: &[&str]) -> Result<PathBuf, String> {
    let words = [&["test", "--quiet", "--no-run", "--message-format=json-render-diagnostics"], what].concat();
    let output = cargo(work, target, &words)?;
    let text = String::from_utf8_lossy(&output);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    // Programs that the test starts are named too.
    let mut tests = messages.filter(|message| message["profile"]["test"] == true);
    let executable = tests.find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
    executable.ok_or_else(|| format!("cargo names no executable for {what:?}"))
}

/// The tests of a binary: those that are ignored, if so, or those that are not.
fn list(target: &str, binary: &Path, is_ignored: bool) -> Result<Vec<Test>, String> {
    let ignored = paths(binary, &["--ignored"])?;
    let paths = if is_ignored { ignored } else { &paths(binary, &[])? - &ignored };
    let test = |path: String| {
        let mut arguments = vec!["--exact".to_owned(), path.clone(), "--test-threads=1".to_owned()];
        arguments.extend(is_ignored.then(|| "--ignored".to_owned()));
        let is_loom = target.starts_with("loom") || ["small::", "loom::"].iter().any(|part| path.starts_with(part));
        Test {
            name: format!("{target} {path}"),
            binary: binary.to_path_buf(),
            arguments,
            environment: Vec::new(),
            is_program: false,
            looks_at_times: false,
            is_loom,
        }
    };
    Ok(paths.into_iter().map(test).collect())
}

fn paths(binary: &Path, words: &[&str]) -> Result<BTreeSet<String>, String> {
    let output = Command::new(binary).args(["--list", "--format", "terse"]).args(words).output();
    let output = output.map_err(|error| format!("{}: {error}", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}
