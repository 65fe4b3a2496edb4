//! The tests of the woven workspace, what each reaches, and the trials of mutants with them.

use super::generate::{Kind, Mutant};
use crate::mutants::{read, write};
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Test targets of the conformance crate. Those of minutes are asked for.
const TARGETS: [&str; 8] =
    ["loom_ondeck", "fair", "condvar", "condvar_races", "monitor", "schedule", "simulated", "hardware"];
const LONG: &str = "loom_deep";
/// Those of the crate that users have.
const FACADE: [&str; 4] = ["mutex", "condvar", "monitor", "out_of_memory"];

/// One test, to be run in a process of its own.
#[derive(Clone, Debug)]
struct Test {
    /// Target and path.
    name: String,
    binary: PathBuf,
    path: String,
    is_ignored: bool,
}

/// A test that passes while nothing is broken: how long that takes, and which mutants it meets.
struct Known {
    test: Test,
    takes: Duration,
    reached: BTreeSet<usize>,
}

/// All tests that a mutant may be tried with, the shortest first.
pub(super) struct Tests(Vec<Known>);

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

impl Tests {
    /// Builds the tests, and runs each once.
    pub(super) fn build(work: &Path, target: &Path, is_long: bool) -> Result<Self, String> {
        let mut targets = TARGETS.to_vec();
        targets.extend(is_long.then_some(LONG));
        let mut tests = Vec::new();
        for name in targets {
            let binary = build(work, target, &["--package", "ondeck-conformance", "--test", name])?;
            tests.extend(list(name, &binary, name == LONG)?);
        }
        for name in FACADE {
            let binary = build(work, target, &["--package", "ondeck", "--test", name])?;
            tests.extend(list(&format!("ondeck/{name}"), &binary, false)?);
        }
        for package in ["ondeck", "ondeck-locks"] {
            let binary = build(work, target, &["--package", package, "--lib"])?;
            tests.extend(list(package, &binary, false)?);
        }
        println!("{} tests, each run once", tests.len());
        let reached = target.join("reached");
        std::fs::create_dir_all(&reached).map_err(|error| format!("{}: {error}", reached.display()))?;
        let known = each(&tests, |_, test| learn(test, &reached.join(test.name.replace([' ', ':', '/'], "_"))));
        let mut known = known.into_iter().collect::<Result<Vec<Known>, String>>()?;
        known.sort_by_key(|known| known.takes);
        let all: Duration = known.iter().map(|known| known.takes).sum();
        println!("together {:.0} s", all.as_secs_f64());
        Ok(Tests(known))
    }
}

/// Tries the mutants, as many at once as there are cores. Says what became of each as it does.
pub(super) fn run(tests: &Tests, mutants: &[&(usize, Mutant)], budget: Duration, most: Duration) -> Vec<Fate> {
    let start = Instant::now();
    each(mutants, |_, (number, mutant)| {
        let begin = Instant::now();
        if begin - start > most {
            return Fate::Untried;
        }
        let fate = tests.try_mutant(*number, mutant, budget);
        let seconds = begin.elapsed().as_secs_f64();
        let verdict = match &fate {
            Fate::Killed { by, has_no_end: false } => format!("killed by {by}"),
            Fate::Killed { by, has_no_end: true } => format!("no end of {by}"),
            Fate::Survived { n_left_out: 0 } => "SURVIVED".to_owned(),
            Fate::Survived { n_left_out } => format!("SURVIVED, {n_left_out} tests left out"),
            Fate::Unreached => "UNREACHED".to_owned(),
            Fate::Untried => return fate,
        };
        println!("{number:4} {seconds:6.1} s  {verdict}  {}", mutant.name);
        fate
    })
}

impl Tests {
    fn try_mutant(&self, number: usize, mutant: &Mutant, budget: Duration) -> Fate {
        let reaching = self.0.iter().filter(|known| known.reached.contains(&number));
        let able: Vec<&Known> = reaching.filter(|known| known.test.can_see(mutant.kind)).collect();
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
            let passed =
                known.test.start(("ONDECK_MUTANT", number.to_string().as_ref())).map(|test| end(test, patience));
            let by = known.test.name.clone();
            match passed {
                Ok(Some(true)) => spent += begin.elapsed(),
                Ok(Some(false)) | Err(_) => return Fate::Killed { by, has_no_end: false },
                Ok(None) => return Fate::Killed { by, has_no_end: true },
            }
        }
        Fate::Survived { n_left_out }
    }
}

impl Test {
    /// Whether the test could tell such a mutant from the healthy lock: a weaker ordering shows under loom only.
    fn can_see(&self, kind: Kind) -> bool {
        let is_loom =
            self.name.starts_with("loom") || ["small::", "loom::"].iter().any(|part| self.path.starts_with(part));
        kind == Kind::Decision || is_loom
    }

    fn start(&self, variable: (&str, &std::ffi::OsStr)) -> Result<Child, String> {
        let mut command = Command::new(&self.binary);
        command
            .args(["--exact", &self.path, "--test-threads=1"])
            .env(variable.0, variable.1)
            .env("RUST_BACKTRACE", "0")
            .env("ONDECK_LONG", "1");
        if self.is_ignored {
            command.arg("--ignored");
        }
        // A group of its own, so that the children of a test end with it.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.spawn().map_err(|error| format!("{}: {error}", self.name))
    }
}

/// Runs a test with nothing broken, unless that was done since it was built.
fn learn(test: &Test, file: &Path) -> Result<Known, String> {
    let age = |file: &Path| std::fs::metadata(file).and_then(|data| data.modified()).ok();
    let seconds = file.with_extension("seconds");
    if age(&seconds) < age(&test.binary) {
        // What is left there by another run would be believed.
        let _ = std::fs::remove_file(file);
        let begin = Instant::now();
        let child = test.start(("ONDECK_REACHED", file.as_os_str()))?;
        if end(child, Duration::from_secs(3_000)) != Some(true) {
            return Err(format!("`{}` fails before anything is broken", test.name));
        }
        write(&seconds, &begin.elapsed().as_secs_f64().to_string())?;
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
    loop {
        match test.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if begin.elapsed() < patience => std::thread::sleep(Duration::from_millis(5)),
            _ => break,
        }
    }
    // The group has the number of its first process, which we have not waited for: it is still ours.
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", test.id())]).status();
    let _ = test.wait();
    None
}

/// Does `body` with each item, on all cores.
fn each<T: Sync, R: Send>(items: &[T], body: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let result = body(index, item);
                    done.lock().expect("nobody panics while holding it").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panicked while holding it");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Builds one test binary.
fn build(work: &Path, target: &Path, what: &[&str]) -> Result<PathBuf, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["test", "--quiet", "--no-run", "--message-format=json-render-diagnostics"])
        .args(what)
        .current_dir(work);
    cargo.env("CARGO_TARGET_DIR", target).env("RUSTFLAGS", "-Awarnings");
    let output = cargo.output().map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("{what:?} does not compile:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut executables = messages.filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
    executables.next_back().ok_or_else(|| format!("cargo names no executable for {what:?}"))
}

/// The tests of a binary: those that are ignored, if so, or those that are not.
fn list(target: &str, binary: &Path, is_ignored: bool) -> Result<Vec<Test>, String> {
    let mut command = Command::new(binary);
    command.args(["--list", "--format", "terse"]).args(is_ignored.then_some("--ignored"));
    let output = command.output().map_err(|error| format!("{}: {error}", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let ignored = if is_ignored { BTreeSet::new() } else { ignored(binary)? };
    let paths = text.lines().filter_map(|line| line.strip_suffix(": test")).filter(|path| !ignored.contains(*path));
    let test = |path: &str| {
        let (name, binary) = (format!("{target} {path}"), binary.to_path_buf());
        Test { name, binary, path: path.to_owned(), is_ignored }
    };
    Ok(paths.map(test).collect())
}

fn ignored(binary: &Path) -> Result<BTreeSet<String>, String> {
    let output = Command::new(binary).args(["--list", "--format", "terse", "--ignored"]).output();
    let output = output.map_err(|error| format!("{}: {error}", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}
