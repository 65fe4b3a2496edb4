//! The simulator beside published measurements and theory, as the Markdown tables of `docs/validation.md`.
//!
//! `cargo run --release -p ondeck-workloads --example validate [PART]` prints everything in nine minutes, or one part: unfitted,
//! hardware, models, tables or controls.
//!
//! A group of rows has a limit, and is declared to keep it or to miss it. A declaration that is wrong, either way, is a
//! fault: what the page says about the group is then no longer so. The program ends with the list of faults.

mod controls;
mod hardware;
mod models;
mod page;
mod programs;
mod published;
mod tables;
mod unfitted;

use ondeck_report::stats::median;
use ondeck_sim::machine::{Machine, builtin};
use std::process::ExitCode;

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
    fn holds(&self) -> bool {
        let (median, most) = errors(&self.rows);
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

/// The built-in machine of this name.
fn machine(name: &str) -> Machine {
    builtin(name).unwrap_or_else(|| panic!("there is no machine {name}"))
}

fn main() -> ExitCode {
    let part = std::env::args().nth(1);
    match run(part.as_deref()) {
        Ok(faults) if faults.is_empty() => return ExitCode::SUCCESS,
        Ok(faults) => eprintln!("{}", faults.join("\n")),
        Err(failure) => eprintln!("{failure}"),
    }
    ExitCode::FAILURE
}

/// Prints everything, or a part, and gives what is not as it is declared.
fn run(part: Option<&str>) -> Result<Vec<String>, String> {
    let is_wanted = |name: &str| part.is_none_or(|part| part == name);
    if is_wanted("unfitted") {
        println!("{}", unfitted::section()?);
    }
    let mut groups = Vec::new();
    for (name, all) in [
        ("hardware", hardware::groups as fn() -> Result<Vec<Group>, String>),
        ("models", models::groups),
        ("tables", tables::groups),
    ] {
        if is_wanted(name) {
            groups.extend(all()?);
        }
    }
    let controls = if is_wanted("controls") { controls::all()? } else { Vec::new() };
    print!("{}", page::tables(&groups, &controls));
    let faults = groups.iter().filter_map(Group::fault);
    Ok(faults.chain(controls.iter().filter_map(controls::Control::fault)).collect())
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

    /// The part that takes seconds. The program looks at all.
    #[test]
    fn hardware_is_simulated_as_declared() {
        assert_eq!(run(Some("hardware")), Ok(Vec::new()));
    }
}
