//! docs/profile.md: what `ondeck profile` advises beside what `ondeck run` then does.

use super::programs::{introduction, parts};
use super::rows::Spread;
use super::table::{Table, code, or_dash, table};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The rows of a machine, in its directory of `results/`.
pub(crate) const FILE: &str = "advice.csv";
/// What differs by no more is no difference.
const SAME: f64 = 0.05;

/// One program in one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) program: String,
    pub(crate) setting: String,
    /// Which verdict, by its name in the sources.
    pub(crate) finding: String,
    /// How many times as often the lock is acquired here, simulated; empty where the advice makes no prediction.
    pub(crate) predicted: Option<f64>,
    /// Throughput with `ondeck run` by that without: median, lowest and highest round.
    pub(crate) measured: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Row {
    #[cfg(any(test, feature = "lab"))]
    pub(crate) fn cells(&self) -> Vec<String> {
        table_of(std::slice::from_ref(self)).lines.remove(0)
    }

    /// The verdict in the words of the page.
    fn verdict(&self) -> &str {
        match self.finding.as_str() {
            "NoLocks" | "NoWaits" | "Quiet" => "no lock holds it back",
            "Spread" => "no single lock, but all together",
            "Lock(Helped)" => "try ondeck's mutex",
            "Lock(HelpedOnMore)" => "try it with more cores",
            "Lock(NotHelped)" => "no other mutex will help",
            "Lock(NotPredicted)" => "measure it",
            "Lock(Late)" => "too few cores; or measure it",
            "Lock(Long)" => "shorten a section",
            "Lock(SometimesLong)" => "find a rare, slow path",
            "Lock(Unknown)" => "record more",
            other => other,
        }
    }

    /// Whether both say the same, where both say something: programs gain less than their lock, so only signs can agree.
    fn agreement(&self) -> &'static str {
        let sign = |low: f64, high: f64| i32::from(low > 1.0 + SAME) - i32::from(high < 1.0 - SAME);
        let is_quiet = matches!(self.finding.as_str(), "NoLocks" | "NoWaits" | "Quiet" | "Lock(NotHelped)");
        let said = self.predicted.map(|ratio| sign(ratio, ratio)).or(is_quiet.then_some(0));
        let found = sign(self.measured, self.measured) * i32::from(sign(self.low, self.high) != 0);
        match said {
            None => "nothing predicted",
            Some(said) if said == found => "yes",
            Some(said) if said * found < 0 => "**no: wrong sign**",
            Some(0) => "**no**: a difference",
            Some(_) => "no clear difference",
        }
    }
}

/// What stands between the markers of the page.
pub(super) fn part(root: &Path) -> Result<String, String> {
    parts(root, FILE, "--advice", |file, rows: &[Row]| {
        Ok(introduction(file, "one profile and 5 rounds in turn each")? + &table_of(rows).text())
    })
}

fn table_of(rows: &[Row]) -> Table<&Row> {
    table(rows)
        .column("program", |row| code(&row.program))
        .column("threads", |row| row.setting.clone())
        .column("the verdict says", |row| row.verdict().to_owned())
        .column("predicted for the lock", |row| or_dash(row.predicted.map(|ratio| format!("{ratio:.2}"))))
        .column("measured for the program", |row| Spread { median: row.measured, low: row.low, high: row.high })
        .column("agreed", |row| row.agreement())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(finding: &str, predicted: Option<f64>, [measured, low, high]: [f64; 3]) -> Row {
        let (program, setting) = ("x".to_owned(), "2".to_owned());
        Row { program, setting, finding: finding.into(), predicted, measured, low, high }
    }

    #[test]
    fn signs_agree_or_not() {
        let gains = [1.5, 1.2, 1.8];
        for (finding, predicted, measured, expected) in [
            ("Lock(Helped)", Some(2.0), gains, "yes"),
            ("Lock(Helped)", Some(2.0), [1.5, 0.9, 1.8], "no clear difference"),
            ("Lock(Helped)", Some(2.0), [0.8, 0.7, 0.9], "**no: wrong sign**"),
            ("Lock(NotHelped)", Some(1.01), [1.0, 0.9, 1.1], "yes"),
            ("Lock(NotHelped)", Some(1.01), gains, "**no**: a difference"),
            ("Quiet", None, gains, "**no**: a difference"),
            ("Quiet", None, [1.2, 0.8, 1.4], "yes"),
            ("Lock(NotPredicted)", None, gains, "nothing predicted"),
        ] {
            assert_eq!(row(finding, predicted, measured).agreement(), expected, "{finding} {predicted:?} {measured:?}");
        }
        let cells = row("Lock(Helped)", Some(2.0), gains).cells();
        assert_eq!(cells, ["`x`", "2", "try ondeck's mutex", "2.00", "1.50 (1.20 to 1.80)", "yes"]);
    }
}
