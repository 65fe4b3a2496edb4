//! `cargo xtask validate [--check]`: the simulator beside what is published and what theory says; writes the tables of
//! `docs/validation.md`, or with `--check` says whether they are up to date. With the name of a part it only prints that.
//!
//! A group of rows has a limit, and is declared to keep it or to miss it. A declaration that is wrong, either way, is a
//! fault: what the page says about a group is then no longer so.

mod controls;
mod hardware;
mod models;
mod page;
mod programs;
mod published;
mod tables;
mod unfitted;

use ondeck_report::stats::median;
use std::path::Path;
use std::process::Command;

/// A figure that is compared.
struct Row {
    /// What it is of.
    what: String,
    /// Its unit.
    unit: &'static str,
    /// What it should be.
    expected: f64,
    /// What the simulator gives.
    simulated: f64,
    /// How far off it may be, as a share, where the row has a limit of its own.
    limit: Option<f64>,
}

impl Row {
    /// How far off it is, as a share of what it should be.
    fn error(&self) -> f64 {
        self.simulated / self.expected - 1.0
    }
}

/// How far off the rows of a group may be, as shares.
#[derive(Clone, Copy)]
enum Limit {
    /// Each row at most this, or what it says itself.
    Each(f64),
    /// The median of the rows, and each of them.
    MedianAndMost(f64, f64),
}

/// What is said of a group beforehand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Declared {
    /// It keeps its limit.
    Held,
    /// It does not.
    Missed,
}

/// Rows that are judged together.
struct Group {
    title: String,
    /// What `expected` is, in a word or two.
    expected: &'static str,
    limit: Limit,
    declared: Declared,
    rows: Vec<Row>,
}

impl Group {
    /// The median of the errors, without their signs, and the largest.
    fn errors(&self) -> (f64, f64) {
        errors(&self.rows)
    }

    fn holds(&self) -> bool {
        let (median, most) = self.errors();
        match self.limit {
            Limit::Each(limit) => self.rows.iter().all(|row| row.error().abs() <= row.limit.unwrap_or(limit)),
            Limit::MedianAndMost(limit, limit_of_each) => median <= limit && most <= limit_of_each,
        }
    }

    /// What is wrong with the declaration, if anything is.
    fn fault(&self) -> Option<String> {
        match (self.declared, self.holds()) {
            (Declared::Held, false) => Some(format!("{}: its limit is broken", self.title)),
            (Declared::Missed, true) => Some(format!("{}: declared to miss its limit, which it keeps", self.title)),
            _ => None,
        }
    }
}

/// The median of the errors, without their signs, and the largest.
fn errors<'a>(rows: impl IntoIterator<Item = &'a Row>) -> (f64, f64) {
    let errors: Vec<f64> = rows.into_iter().map(|row| row.error().abs()).collect();
    (median(&errors).unwrap_or(f64::NAN), errors.into_iter().fold(0.0, f64::max))
}

/// Everything that is compared.
struct Validation {
    unfitted: Vec<unfitted::Unfitted>,
    groups: Vec<Group>,
    controls: Vec<controls::Control>,
}

pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    if cfg!(debug_assertions) {
        return again_optimized(root, words);
    }
    let (part, is_check) = match words {
        [] => (None, false),
        [word] if word == "--check" => (None, true),
        [word] if [UNFITTED, CONTROLS].contains(&word.as_str()) || MAKERS.iter().any(|(name, _)| word == name) => {
            (Some(word.as_str()), false)
        }
        _ => return Err("usage: cargo xtask validate [--check|unfitted|hardware|models|tables|controls]".into()),
    };
    let validation = compute(part)?;
    if part.is_none() {
        page::keep(root, &validation, is_check)?;
    }
    let faults = validation.groups.iter().filter_map(Group::fault);
    let faults: Vec<String> = faults.chain(validation.controls.iter().filter_map(controls::Control::fault)).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// The simulator takes ten times as long without optimization.
fn again_optimized(root: &Path, words: &[String]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["run", "--quiet", "--release", "--package", "xtask", "--", "validate"]).args(words);
    let status = command.status().map_err(|error| format!("cargo run: {error}"))?;
    if status.success() { Ok(()) } else { Err("cargo xtask validate has failed".into()) }
}

/// Takes a group that is there.
type Keep<'a> = dyn FnMut(Group) + 'a;

/// Makes the groups of a part.
type Maker = fn(&mut Keep) -> Result<(), String>;

/// What can be looked at by itself.
const MAKERS: [(&str, Maker); 3] =
    [("hardware", hardware::groups), ("models", models::groups), ("tables", tables::groups)];
/// And these.
const UNFITTED: &str = "unfitted";
const CONTROLS: &str = "controls";

/// Everything, or a part; each group is printed as soon as it is there.
fn compute(part: Option<&str>) -> Result<Validation, String> {
    let is_wanted = |name: &str| part.is_none_or(|part| part == name);
    let mut validation = Validation { unfitted: Vec::new(), groups: Vec::new(), controls: Vec::new() };
    if is_wanted(UNFITTED) {
        validation.unfitted = unfitted::all()?;
        print!("{}", unfitted::section(&validation.unfitted));
    }
    for (_, groups) in MAKERS.into_iter().filter(|(name, _)| is_wanted(name)) {
        groups(&mut |group| {
            print!("{}", page::group(&group));
            validation.groups.push(group);
        })?;
    }
    if is_wanted(CONTROLS) {
        validation.controls = controls::all()?;
        print!("{}", page::controls(&validation.controls));
    }
    Ok(validation)
}

/// A machine file of the workspace as it is now, which need not be the one that was built in.
fn machine(name: &str) -> ondeck_sim::machine::Machine {
    let path = crate::root().join(format!("crates/sim/machines/{name}.toml"));
    ondeck_sim::machine::load(path).unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(simulated: &[f64], limit: Limit, declared: Declared) -> Group {
        let row = |&simulated: &f64| Row { what: String::new(), unit: "ns", expected: 100.0, simulated, limit: None };
        let rows = simulated.iter().map(row).collect();
        Group { title: "group".into(), expected: "published", limit, declared, rows }
    }

    #[test]
    fn a_declaration_must_be_so_either_way() {
        let each = Limit::Each(0.1);
        assert_eq!(group(&[95.0, 109.0], each, Declared::Held).fault(), None);
        assert_eq!(group(&[89.0, 100.0], each, Declared::Held).fault().unwrap(), "group: its limit is broken");
        assert_eq!(group(&[89.0, 100.0], each, Declared::Missed).fault(), None);
        assert!(group(&[95.0], each, Declared::Missed).fault().is_some());
    }

    #[test]
    fn median_and_most_are_both_limits() {
        let limit = Limit::MedianAndMost(0.05, 0.2);
        let holds = |simulated: &[f64]| group(simulated, limit, Declared::Held).holds();
        assert!(holds(&[100.0, 96.0, 119.0]));
        assert!(!holds(&[100.0, 96.0, 121.0]));
        assert!(!holds(&[94.0, 94.0, 100.0]));
        assert!(!holds(&[100.0, 111.0]), "the median of two is between them");
    }

    #[test]
    fn a_row_may_have_a_limit_of_its_own() {
        let mut wide = group(&[120.0], Limit::Each(0.02), Declared::Held);
        assert!(!wide.holds());
        wide.rows[0].limit = Some(0.25);
        assert!(wide.holds());
    }
}
