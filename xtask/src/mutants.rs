//! `cargo xtask mutants`: breaks each lock one edit at a time and demands that a named test notices.
//!
//! `crates/conformance/mutants/<lock>.toml` lists the edits: what to find (it must occur exactly once), what to put in
//! its place, and the rung (test target and filter) that must fail. Failing is anything but success: a panic, the
//! abort of a deadlocked model, or no end within [`PATIENCE`]. The workspace is copied to `target/mutants/work`, so that
//! nothing is broken here; its builds share one target directory, so that only the edited crate is built again.
//!
//! What became of a mutant is kept (`verdicts.rs`) with the hash of its edit, of all crates that its test is built from but
//! for the files of locks that have nothing to do with it, and of the compiler.

use crate::table;
use crate::verdicts::{ALL, Built, Input, Verdicts};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a rung may run. The slowest takes a fifth of it when nothing is broken.
const PATIENCE: Duration = Duration::from_secs(100);
/// How long all rungs of a test target together may run while nothing is broken.
const PATIENCE_WITH_ALL: Duration = Duration::from_secs(600);

/// One deliberate breakage.
struct Mutant {
    lock: String,
    name: String,
    file: PathBuf,
    find: String,
    replace: String,
    rung: String,
}

/// What became of a mutant.
enum Fate {
    /// By which test, or in which other way.
    Killed(String),
    Survived,
}

/// What becomes of a mutant that is not noticed.
const SURVIVED: &str = "SURVIVED";
/// And of one that is.
const KILLED: &str = "killed";

/// Runs all mutants, or those of the locks that `--lock NAME` names, once for each; with `--all` also those whose verdict is
/// kept.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let is_all = words.last().is_some_and(|word| word == ALL);
    let only = locks(&words[..words.len() - usize::from(is_all)]);
    let only = only.ok_or("usage: cargo xtask mutants [--lock NAME]... [--all]")?;
    let directory = root.join("crates/conformance/mutants");
    let all = load(&directory, &[])?;
    let mutants = load(&directory, &only)?;
    let mut verdicts = Verdicts::read(root, "mutants", is_all)?;
    let built = Built::of(root, "ondeck-conformance")?;
    let mut to_try = Vec::new();
    let mut faults = Vec::new();
    for mutant in mutants {
        mutant.edited(root)?;
        let input = mutant.input(root, &built, &all)?;
        match verdicts.take(&mutant.title(), &input) {
            Some(verdict) if verdict == KILLED => {}
            Some(verdict) => faults.push(format!("{}: {verdict}", mutant.title())),
            None => to_try.push((mutant, input)),
        }
    }
    faults.extend(try_all(root, &to_try, &mut verdicts)?);
    verdicts.write(|title| all.iter().any(|mutant| mutant.title() == title))?;
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Tries the mutants, and keeps what becomes of them; what is returned tells of those that survived.
fn try_all(root: &Path, mutants: &[(Mutant, Input)], verdicts: &mut Verdicts) -> Result<Vec<String>, String> {
    let nursery = Nursery::prepare(root)?;
    for rung in together(mutants.iter().map(|(mutant, _)| mutant.rung.as_str())) {
        if let Fate::Killed(by) = nursery.try_rung(&rung, PATIENCE_WITH_ALL)? {
            return Err(format!("`{rung}` fails before anything is broken: {by}"));
        }
    }
    let width = |of: fn(&Mutant) -> &str| mutants.iter().map(|(mutant, _)| of(mutant).len()).max().unwrap_or(0);
    let (locks, names) = (width(|mutant| &mutant.lock), width(|mutant| &mutant.name));
    let mut faults = Vec::new();
    for (mutant, input) in mutants {
        let start = Instant::now();
        let fate = nursery.with_edit(mutant, || nursery.try_rung(&mutant.rung, PATIENCE))?;
        let (verdict, how) = match &fate {
            Fate::Killed(by) => (KILLED, format!(" by {by}")),
            Fate::Survived => (SURVIVED, String::new()),
        };
        faults.extend(verdicts.keep(&mutant.title(), input, verdict).err());
        faults.extend((verdict == SURVIVED).then(|| format!("{}: {SURVIVED}", mutant.title())));
        let seconds = start.elapsed().as_secs_f64();
        println!("{:locks$}  {:names$}  {seconds:5.1} s  {verdict}{how}  [{}]", mutant.lock, mutant.name, mutant.rung);
    }
    println!("{} mutants, {} survived", mutants.len(), faults.len());
    Ok(faults)
}

/// The locks that the words name.
fn locks(words: &[String]) -> Option<Vec<&str>> {
    fn lock(pair: &[String]) -> Option<&str> {
        match pair {
            [flag, lock] if flag == "--lock" => Some(lock),
            _ => None,
        }
    }
    words.chunks(2).map(lock).collect()
}

/// All rungs of a test target as one, which takes less time than one after the other; those with flags by themselves.
fn together<'a>(rungs: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut filters: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for rung in rungs {
        let (target, filter) = rung.split_once(' ').unwrap_or((rung, ""));
        let alone = if filter.contains("--") { filter } else { "" };
        filters.entry((target, alone)).or_default().insert(filter);
    }
    let joined = |filters: BTreeSet<&str>| filters.into_iter().collect::<Vec<&str>>().join(" ");
    filters.into_iter().map(|((target, _), filters)| format!("{target} {}", joined(filters))).collect()
}

/// The mutants of the locks in `only`, or of all if it is empty.
fn load(directory: &Path, only: &[&str]) -> Result<Vec<Mutant>, String> {
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut mutants = Vec::new();
    for file in files {
        let lock = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        if only.is_empty() || only.contains(&lock.as_str()) {
            let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            mutants.extend(parse(&lock, &text).map_err(|error| format!("{}: {error}", file.display()))?);
        }
    }
    if mutants.is_empty() {
        return Err(format!("no mutants in {}", directory.display()));
    }
    let without = only.iter().find(|lock| mutants.iter().all(|mutant: &Mutant| mutant.lock != **lock));
    match without {
        Some(lock) => {
            Err(format!("`{lock}` has no mutants; --lock takes the name of a file in {}", directory.display()))
        }
        None => Ok(mutants),
    }
}

fn parse(lock: &str, text: &str) -> Result<Vec<Mutant>, String> {
    let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
    let file = table.get("file").and_then(toml::Value::as_str).ok_or("no `file`")?;
    let list = table.get("mutant").and_then(toml::Value::as_array).ok_or("no `[[mutant]]`")?;
    let one = |value: &toml::Value| {
        let field = |name: &str| {
            let text = value.get(name).and_then(toml::Value::as_str).map(str::to_owned);
            text.ok_or_else(|| format!("a mutant without `{name}`: {value:?}"))
        };
        Ok(Mutant {
            lock: lock.to_owned(),
            name: field("name")?,
            file: value.get("file").and_then(toml::Value::as_str).unwrap_or(file).into(),
            find: field("find")?,
            replace: field("replace")?,
            rung: field("rung")?,
        })
    };
    list.iter().map(one).collect()
}

impl Mutant {
    /// What tells it from all others.
    fn title(&self) -> String {
        format!("{}: {}", self.lock, self.name)
    }

    /// What its fate depends on: the edit, how long its test may take, and everything that the test is built from. Of `all` the
    /// locks with mutants, those whose names its own files do not mention have nothing to do with it.
    fn input(&self, root: &Path, built: &Built, all: &[Mutant]) -> Result<Input, String> {
        const LOCKS: &str = "crates/locks/src";
        let module = |file: &Path| {
            let inside = file.strip_prefix(LOCKS).ok()?.iter().next()?.to_str()?;
            Some(inside.trim_end_matches(".rs").to_owned())
        };
        let others: BTreeSet<String> = all.iter().filter_map(|mutant| module(&mutant.file)).collect();
        let mut ours: Vec<String> = Vec::from_iter(module(&self.file));
        let mut next = 0;
        while let Some(name) = ours.get(next) {
            let text = texts(&root.join(LOCKS), name)?;
            let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let named = others.iter().filter(|other| words.contains(other.as_str()) && !ours.contains(other));
            ours.extend(named.cloned().collect::<Vec<String>>());
            next += 1;
        }
        let Mutant { find, replace, rung, .. } = self;
        let input = Input::new("mutants").and("edit", format!("{find}\0{replace}\0{rung}").as_bytes());
        let input = input.and("patience", format!("{PATIENCE:?}").as_bytes());
        let is_foreign = |file: &str| {
            let of_lock = module(Path::new(file));
            of_lock.is_some_and(|module| others.contains(&module) && !ours.contains(&module))
        };
        let target = rung.split(' ').next().unwrap_or_default();
        let input = input.and_files(root, &format!("crates/conformance/tests/{target}.rs"))?;
        input.and_built(root, built, is_foreign)
    }

    /// The text of its file in the workspace at `root`, with the edit.
    fn edited(&self, root: &Path) -> Result<String, String> {
        let text = read(&root.join(&self.file))?;
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            n => Err(format!("{} / {}: `find` occurs {n} times in {}", self.lock, self.name, self.file.display())),
        }
    }

    /// The table of locks without those that the rung does not name.
    fn shortened(&self, table: &str) -> String {
        let named: BTreeSet<&str> = self.rung.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        table::with_only(table, |file| named.contains(file))
    }
}

/// The copy of the workspace in which mutants live.
struct Nursery {
    work: PathBuf,
    target: PathBuf,
}

impl Nursery {
    fn prepare(root: &Path) -> Result<Self, String> {
        let home = root.join("target/mutants");
        let nursery = Nursery { work: home.join("work"), target: home.join("target") };
        fs::create_dir_all(&nursery.work).map_err(|error| format!("{}: {error}", nursery.work.display()))?;
        for part in ["Cargo.toml", "Cargo.lock", "crates", "xtask"] {
            mirror(&root.join(part), &nursery.work.join(part), &[])?;
        }
        Ok(nursery)
    }

    /// Runs `body` while the mutant's file is edited, with tests for no more locks than its rung speaks of.
    fn with_edit<R>(&self, mutant: &Mutant, body: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
        let (file, table) = (self.work.join(&mutant.file), self.work.join(table::PATH));
        let (healthy, whole) = (read(&file)?, read(&table)?);
        write(&file, &mutant.edited(&self.work)?)?;
        write(&table, &mutant.shortened(&whole))?;
        let result = body().map_err(|error| format!("{} / {}: {error}", mutant.lock, mutant.name));
        write(&file, &healthy)?;
        write(&table, &whole)?;
        result
    }

    /// Builds and runs a rung: the name of a test target, then words for the test binary.
    fn try_rung(&self, rung: &str, patience: Duration) -> Result<Fate, String> {
        let mut words = rung.split_whitespace();
        let target = words.next().ok_or("an empty rung")?;
        let mut test = Command::new(self.build(target)?);
        test.args(words).arg("--nocapture").current_dir(self.work.join("crates/conformance"));
        test.env("RUST_BACKTRACE", "0")
            .env("ONDECK_LONG", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // A group of its own, so that the children of a test end with it.
        let child = test.process_group(0).spawn().map_err(|error| format!("{rung}: {error}"))?;
        judge(child, rung, patience)
    }

    fn build(&self, target: &str) -> Result<PathBuf, String> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "--quiet", "--package", "ondeck-conformance", "--no-run", "--test", target]);
        cargo.arg("--message-format=json-render-diagnostics").current_dir(&self.work);
        let output = cargo.env("CARGO_TARGET_DIR", &self.target).output().map_err(|error| format!("cargo: {error}"))?;
        if !output.status.success() {
            return Err(format!("does not compile:\n{}", String::from_utf8_lossy(&output.stderr)));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let mut executables = messages.filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
        executables.next_back().ok_or_else(|| format!("cargo names no executable for `{target}`"))
    }
}

/// Waits for a test run and names what failed in it.
fn judge(mut child: Child, rung: &str, patience: Duration) -> Result<Fate, String> {
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("{rung}: {error}"))? {
            break Some(status);
        }
        if start.elapsed() > patience {
            // The group has the number of its first process, which we have not waited for: it is still ours.
            let group = format!("-{}", child.id());
            Command::new("kill").args(["-KILL", "--", &group]).status().map_err(|error| format!("kill: {error}"))?;
            child.wait().map_err(|error| format!("{rung}: {error}"))?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = stdout.join().unwrap_or_default() + &stderr.join().unwrap_or_default();
    match status {
        Some(status) if status.success() => {
            let ran = !text.contains("running 0 tests");
            if ran { Ok(Fate::Survived) } else { Err(format!("the rung `{rung}` selects no test")) }
        }
        Some(status) => Ok(Fate::Killed(culprit(&text).unwrap_or_else(|| status.to_string()))),
        None => Ok(Fate::Killed(format!("no end within {patience:?}"))),
    }
}

/// The name of the thread that panicked first, which is that of its test.
fn culprit(text: &str) -> Option<String> {
    let name = text.split_once("thread '")?.1.split_once('\'')?.0;
    let reason = text.split_once("panicked at ")?.1.lines().nth(1)?;
    let mut brief = String::new();
    let _ = write!(brief, "{name}: {}", reason.chars().take(60).collect::<String>());
    Some(brief)
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A broken pipe loses the name of the culprit, not the verdict.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Makes `copy` the same as `original`, touching only what differs, so that cargo builds only that again; `but` for those
/// copies, which are somebody else's to write.
pub(crate) fn mirror(original: &Path, copy: &Path, but: &[PathBuf]) -> Result<(), String> {
    if but.iter().any(|excepted| excepted == copy) {
        return Ok(());
    }
    if original.is_file() {
        let text = fs::read(original).map_err(|error| format!("{}: {error}", original.display()))?;
        if fs::read(copy).is_ok_and(|old| old == text) {
            return Ok(());
        }
        // With its rights: some are programs.
        return fs::copy(original, copy).map(|_| ()).map_err(|error| format!("{}: {error}", copy.display()));
    }
    fs::create_dir_all(copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    let originals = names(original)?;
    for stale in names(copy)?.difference(&originals) {
        let stale = copy.join(stale);
        if but.contains(&stale) {
            continue;
        }
        let removed = if stale.is_dir() { fs::remove_dir_all(&stale) } else { fs::remove_file(&stale) };
        removed.map_err(|error| format!("{}: {error}", stale.display()))?;
    }
    originals.iter().try_for_each(|name| mirror(&original.join(name), &copy.join(name), but))
}

/// What is in a directory.
fn names(directory: &Path) -> Result<BTreeSet<String>, String> {
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

/// The module `name` of a directory: its file, and those of the directory of that name. A directory below that holds the tests
/// of a file.
fn texts(directory: &Path, name: &str) -> Result<String, String> {
    let inside = directory.join(name);
    let mut text = read(&directory.join(format!("{name}.rs")))?;
    if inside.is_dir() {
        for file in names(&inside)?.into_iter().map(|name| inside.join(name)).filter(|file| file.is_file()) {
            text += &read(&file)?;
        }
    }
    Ok(text)
}

pub(crate) fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

pub(crate) fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Here, so that an edit that has lost its place is known before the mutants are run.
    #[test]
    fn every_edit_finds_its_place() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is above");
        let mutants = load(&root.join("crates/conformance/mutants"), &[]).unwrap();
        let lost: Vec<String> = mutants.iter().filter_map(|mutant| mutant.edited(root).err()).collect();
        assert!(lost.is_empty(), "{}", lost.join("\n"));
    }

    #[test]
    fn locks_are_named_one_by_one_or_not_at_all() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        assert_eq!(locks(&words("--lock ondeck --lock mcs")), Some(vec!["ondeck", "mcs"]));
        assert_eq!(locks(&[]), Some(vec![]));
        for wrong in ["--lock", "ondeck", "--lock a b", "--locks a"] {
            assert_eq!(locks(&words(wrong)), None, "{wrong}");
        }
        let mutants = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/conformance/mutants");
        let refused = load(&mutants, &["mcs", "msc"]).err();
        assert!(refused.is_some_and(|error| error.starts_with("`msc` has no mutants")));
    }

    #[test]
    fn rungs_of_a_target_are_tried_together() {
        let rungs = ["loom b", "loom a", "loom b", "loom c --exact", "hardware a"];
        assert_eq!(together(rungs.into_iter()), ["hardware a", "loom a b", "loom c --exact"]);
    }
}
