//! docs/programs.md: what programs of others do with our locks in the place of glibc's, as a part of what they do without.

pub(crate) use super::rows::Spread;
#[cfg(any(test, feature = "lab"))]
pub(crate) use super::rows::to_csv;
use super::rows::{grouped, read};
use super::table::{code, or_dash, table};
use ondeck_report::fingerprint::Fingerprint;
use ondeck_report::stats;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const PATH: &str = "docs/programs.md";
/// The rows of a machine, in its directory of `results/`.
pub(crate) const FILE: &str = "programs.csv";
/// The variant that the others are compared with.
pub(super) const PLAIN: &str = "plain";
/// A ratio this far from 1 is worth a reader's eye.
const LOUD: f64 = 0.05;

/// One run of a program in one setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) machine: String,
    pub(crate) program: String,
    pub(crate) setting: String,
    pub(crate) threads: u32,
    /// With which locks: glibc's, or the name of ours.
    pub(crate) variant: String,
    pub(crate) round: u32,
    pub(crate) seconds: f64,
    pub(crate) ops: f64,
    pub(crate) cpu_s: f64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

impl Row {
    #[cfg(any(test, feature = "lab"))]
    pub(crate) fn new(program: &str, setting: (&str, u32), variant: &str, round: u32) -> Row {
        let (setting, threads) = (setting.0.to_owned(), setting.1);
        Row { program: program.to_owned(), setting, threads, variant: variant.to_owned(), round, ..Row::default() }
    }

    /// The row with its seconds and operations, and with CPU seconds and switches, voluntary and not.
    #[cfg(any(test, feature = "lab"))]
    pub(crate) fn with(self, (seconds, ops): (f64, f64), cost: (f64, u64, u64)) -> Row {
        Row { seconds, ops, cpu_s: cost.0, voluntary_switches: cost.1, involuntary_switches: cost.2, ..self }
    }

    pub(crate) fn ops_per_s(&self) -> f64 {
        self.ops / self.seconds
    }

    pub(crate) fn cpu_us_per_op(&self) -> f64 {
        self.cpu_s / self.ops * 1e6
    }

    fn switches_per_op(&self) -> f64 {
        (self.voluntary_switches + self.involuntary_switches) as f64 / self.ops
    }
}

impl Spread {
    /// Of what is made of two rows of a round.
    pub(crate) fn within_rounds(
        rows: &[&Row],
        base: &str,
        is_ours: impl Fn(&Row) -> bool,
        figure: impl Fn(&Row, &Row) -> f64,
    ) -> Option<Spread> {
        Spread::of(within_rounds(rows, base, is_ours, figure))
    }

    /// Of the ratios within rounds: ours by glibc's.
    pub(crate) fn of_ratios(rows: &[&Row], figure: fn(&Row) -> f64) -> Option<Spread> {
        Spread::within_rounds(rows, PLAIN, |row| row.variant != PLAIN, |ours, plain| figure(ours) / figure(plain))
    }

    /// In bold, if every round says the same, and so loudly that it is not chance: five rounds agree once in 16 times anyway.
    fn marked(&self) -> String {
        let is_agreed = self.low > 1.0 || self.high < 1.0;
        self.bold_if(is_agreed && (self.median - 1.0).abs() > LOUD)
    }
}

/// What is made of two rows of a round: one of the variant `base` and one that is ours. A round with only one of them has none.
pub(super) fn within_rounds(
    rows: &[&Row],
    base: &str,
    is_ours: impl Fn(&Row) -> bool,
    figure: impl Fn(&Row, &Row) -> f64,
) -> Vec<f64> {
    let of_base = |round| rows.iter().find(|row| row.variant == base && row.round == round);
    let ours = rows.iter().filter(|row| is_ours(row));
    let figure = |row: &&Row| Some(figure(row, of_base(row.round)?)).filter(|figure| figure.is_finite());
    ours.filter_map(figure).collect()
}

/// The median of a figure over those of the rows.
pub(super) fn median_of(rows: &[&Row], is_one: impl Fn(&Row) -> bool, figure: fn(&Row) -> f64) -> Option<f64> {
    stats::median(&rows.iter().filter(|row| is_one(row)).map(|row| figure(row)).collect::<Vec<f64>>())
}

/// What stands between the markers of the page: a table for each machine that has figures.
pub(super) fn part(root: &Path) -> Result<String, String> {
    parts(root, FILE, "", |file, rows: &[Row]| Ok(introduction(file, &rounds_of(rows))? + &rows_of(rows)))
}

/// What `of_file` makes of each machine's file of that name; how to get one, by a flag of the command, if there is none.
pub(super) fn parts<T: DeserializeOwned>(
    root: &Path,
    name: &str,
    flag: &str,
    of_file: impl Fn(&Path, &[T]) -> Result<String, String>,
) -> Result<String, String> {
    let mut text = String::new();
    for file in files(root, name)? {
        text += &of_file(&file, &read(&file)?).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if text.is_empty() {
        let command = format!("cargo xtask programs {flag}");
        text = format!("\nNothing is on record yet; `{}` makes the record of a machine.\n", command.trim_end());
    }
    Ok(text + "\n")
}

/// The files of that name, one for each machine that has it.
fn files(root: &Path, name: &str) -> Result<Vec<PathBuf>, String> {
    let results = root.join("results");
    let entries = fs::read_dir(&results).map_err(|error| format!("{}: {error}", results.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path().join(name)).collect();
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}

/// How many rounds the rows are of, in words.
pub(super) fn rounds_of(rows: &[Row]) -> String {
    format!("{} rounds in turn", rows.iter().map(|row| row.round + 1).max().unwrap_or_default())
}

/// What stands above the table of a file: the machine, how it was measured, and what did not run.
pub(super) fn introduction(file: &Path, how: &str) -> Result<String, String> {
    let origin = fs::read_to_string(file.with_extension("csv.origin.json")).map_err(|error| error.to_string())?;
    let origin: serde_json::Value = serde_json::from_str(&origin).map_err(|error| error.to_string())?;
    let fingerprint: Fingerprint =
        serde_json::from_value(origin["fingerprint"].clone()).map_err(|error| error.to_string())?;
    let mut text = format!("\nOn {}; {how}.\n", fingerprint.line());
    for warning in origin["warnings"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str) {
        text += &format!("\nNot run: {warning}\n");
    }
    Ok(text + "\n")
}

/// A program with its setting, and the rows of these.
pub(super) type Setting<'a> = ((&'a str, &'a str), Vec<&'a Row>);

/// The settings of the rows, in their order.
pub(super) fn settings_of(rows: &[Row]) -> Vec<Setting<'_>> {
    grouped(rows, |row| (row.program.as_str(), row.setting.as_str()))
}

fn rows_of(rows: &[Row]) -> String {
    let median = |rows: &[&Row], is_plain: bool, figure| {
        or_dash(median_of(rows, |row| (row.variant == PLAIN) == is_plain, figure).map(short))
    };
    let ratio = |rows: &[&Row], figure| or_dash(Spread::of_ratios(rows, figure).map(|spread| spread.marked()));
    table(settings_of(rows))
        .column("program", |of| code(of.0.0))
        .column("threads", |of| of.0.1)
        .column("operations/s, glibc", |of| median(&of.1, true, Row::ops_per_s))
        .column("throughput, ratio", |of| ratio(&of.1, Row::ops_per_s))
        .column("CPU us/operation, glibc", |of| median(&of.1, true, Row::cpu_us_per_op))
        .column("CPU per operation, ratio", |of| ratio(&of.1, Row::cpu_us_per_op))
        .column("switches/operation, glibc", |of| median(&of.1, true, Row::switches_per_op))
        .column("ours", |of| median(&of.1, false, Row::switches_per_op))
        .text()
}

/// Three digits, in the unit that a reader would choose.
pub(super) fn short(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{:.2} M", value / 1e6),
        value if value >= 1e4 => format!("{:.0} k", value / 1e3),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value if value >= 0.0005 => format!("{value:.3}"),
        value if value > 0.0 => format!("{value:.0e}"),
        _ => "0".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let row =
            |variant: &str, round, ops, cpu| Row::new("x", ("2", 2), variant, round).with((2.0, ops), (cpu, 5, 5));
        let figures = [("plain", 100.0, 1.0), ("ondeck", 120.0, 1.0)];
        (0..3u32)
            .flat_map(|round| figures.map(|(name, ops, cpu)| row(name, round, ops + f64::from(round), cpu)))
            .collect()
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        let mut rows = rows();
        rows[5].variant = "ondeck".into();
        let line = "| `x` | 2 | 50.50 | **1.20** (1.20 to 1.20) | 9901 | **0.83** (0.83 to 0.84) | 0.099 | 0.083 |\n";
        assert!(rows_of(&rows).ends_with(line), "{}", rows_of(&rows));
        rows.retain(|row| row.variant == "plain");
        assert_eq!(Spread::of_ratios(&rows.iter().collect::<Vec<_>>(), Row::ops_per_s), None);
    }

    #[test]
    fn rows_survive_their_file() {
        let text = to_csv(&rows()).unwrap();
        let back: Vec<Row> = csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect();
        assert_eq!(back, rows());
    }

    #[test]
    fn figures_have_three_digits_or_so() {
        let texts = [1_234_567.0, 45_678.0, 123.4, 1.234, 0.0123, 0.000012, 0.0].map(short);
        assert_eq!(texts, ["1.23 M", "46 k", "123", "1.23", "0.012", "1e-5", "0"]);
    }
}
