//! docs/programs.md, its part on short sections: ours by glibc's, and glibc's by themselves.

use super::programs::{
    PLAIN, Row, Setting, Spread, introduction, median_of, parts, rounds_of, settings_of, short, within_rounds,
};
use super::rows::grouped;
use super::table::{code, or_dash, table};
use ondeck_report::stats;
use std::path::Path;

/// The rows of a machine, in its directory of `results/`.
pub(crate) const FILE: &str = "small-sections.csv";
/// The variant that is glibc's locks a second time.
pub(crate) const AGAIN: &str = "plain again";
/// A throughput below this part of glibc's is a loss.
const LEAST: f64 = 0.97;
/// Which part of glibc's ratios with itself lies below its spread, and which above. The lowest and the highest would lie further
/// apart the more rounds there are.
const TAIL: f64 = 0.05;

/// One setting of a program.
struct Finding<'a> {
    program: &'a str,
    /// What the program was told: threads, mutexes, choice, inside, outside, data.
    words: Vec<&'a str>,
    /// Operations per second with glibc's.
    plain: f64,
    /// Throughput with ours by that of each of the two runs with glibc's in the same round.
    ours: Spread,
    /// What nine of ten ratios of these two are between, either being the one that is divided.
    own: (f64, f64),
}

impl Finding<'_> {
    fn is_below(&self) -> bool {
        self.ours.median < LEAST
    }

    /// Whether that is more than glibc's differ from themselves.
    fn is_lost(&self) -> bool {
        self.is_below() && self.ours.median < self.own.0
    }

    fn threads(&self) -> &str {
        self.words[0]
    }
}

/// What stands between the markers of the page.
pub(super) fn part(root: &Path) -> Result<String, String> {
    parts(root, FILE, "--small", |file, rows: &[Row]| {
        let findings = findings(rows);
        let lost: Vec<&Finding> = findings.iter().filter(|finding| finding.is_lost()).collect();
        let losses = if lost.is_empty() {
            format!("No setting is below {LEAST} by more than glibc's locks differ from themselves.\n")
        } else {
            format!("Below {LEAST}, by more than glibc's locks differ from themselves:\n\n{}", table_of(&lost))
        };
        Ok(format!("{}{}\n{losses}", introduction(file, &rounds_of(rows))?, summary(&findings)))
    })
}

/// All settings, and what they come to.
#[cfg(any(test, feature = "lab"))]
pub(crate) fn whole(rows: &[Row]) -> String {
    let findings = findings(rows);
    format!("{}\n{}", table_of(&findings.iter().collect::<Vec<_>>()), summary(&findings))
}

/// The settings of the rows of which there are all three variants.
fn findings(rows: &[Row]) -> Vec<Finding<'_>> {
    settings_of(rows).into_iter().filter_map(finding).collect()
}

fn finding(((program, setting), rows): Setting<'_>) -> Option<Finding<'_>> {
    let ratios = |base: &str, is_it: &dyn Fn(&Row) -> bool| {
        within_rounds(&rows, base, is_it, |one, other| one.ops_per_s() / other.ops_per_s())
    };
    let is_ours = |row: &Row| ![PLAIN, AGAIN].contains(&row.variant.as_str());
    let ours = [PLAIN, AGAIN].map(|base| ratios(base, &is_ours)).concat();
    let own = [ratios(PLAIN, &|row| row.variant == AGAIN), ratios(AGAIN, &|row| row.variant == PLAIN)].concat();
    Some(Finding {
        program,
        words: setting.split(' ').collect(),
        plain: median_of(&rows, |row| !is_ours(row), Row::ops_per_s)?,
        ours: Spread::of(ours)?,
        own: (stats::quantile(&own, TAIL)?, stats::quantile(&own, 1.0 - TAIL)?),
    })
}

fn table_of(findings: &[&Finding]) -> String {
    table(findings)
        .column("program", |it| code(it.program))
        .column("threads", |it| it.threads())
        .column("mutexes", |it| it.words[1])
        .column("inside", |it| it.words[3])
        .column("outside", |it| it.words[4])
        .column("data", |it| it.words[5])
        .column("operations/s, glibc", |it| short(it.plain))
        .column("throughput, ratio", |it| it.ours)
        .column("glibc with itself", |it| format!("{:.2} to {:.2}", it.own.0, it.own.1))
        .text()
}

/// A line for each number of threads of each program, and one for all.
fn summary(findings: &[Finding]) -> String {
    let mut groups = grouped(findings, |finding| (code(finding.program), finding.threads()));
    groups.push((("all".to_owned(), "all"), findings.iter().collect()));
    let ratios = |findings: &[&Finding]| Spread::of(findings.iter().map(|finding| finding.ours.median));
    let two_digits = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.2}")));
    let n_of = |findings: &[&Finding], is_one: fn(&Finding) -> bool| findings.iter().filter(|it| is_one(it)).count();
    table(groups)
        .column("program", |of| of.0.0.clone())
        .column("threads", |of| of.0.1)
        .column("settings", |of| of.1.len())
        .column("ratio, median", |of| two_digits(ratios(&of.1).map(|ratio| ratio.median)))
        .column("lowest", |of| two_digits(ratios(&of.1).map(|ratio| ratio.low)))
        .column(format!("below {LEAST}"), |of| n_of(&of.1, |it| it.is_below()))
        .column("of these, beyond glibc's spread", |of| n_of(&of.1, |it| it.is_lost()))
        .text()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rounds of a setting. With glibc's locks the second run of a round is faster than the first by this factor, and ours
    /// are the first's throughput times that one.
    fn rows(threads: u32, again: f64, ours: f64) -> Vec<Row> {
        let setting = format!("{threads} 1 turn 5 50 apart");
        let of = |round: u32| {
            let pace = f64::from(round + 1);
            [(PLAIN, 1.0), (AGAIN, again), ("ondeck", ours)].map(|(variant, part)| {
                Row::new("x", (&setting, threads), variant, round).with((1.0, 1e6 * pace * part), (1.0, 0, 0))
            })
        };
        (0..3).flat_map(of).collect()
    }

    #[test]
    fn a_loss_is_one_only_beyond_the_spread_of_glibc_with_itself() {
        let verdict = |again, ours| {
            let rows = rows(8, again, ours);
            let found = &findings(&rows)[0];
            (found.is_below(), found.is_lost())
        };
        assert_eq!(verdict(1.02, 0.90), (true, true));
        assert_eq!(verdict(1.10, 0.98), (true, false));
        assert_eq!(verdict(1.00, 0.98), (false, false));
    }

    #[test]
    fn tables_have_a_line_for_each_setting_and_for_each_number_of_threads() {
        let rows = [rows(2, 1.0, 0.5), rows(8, 1.0, 1.0), rows(32, 1.0, 1.5)].concat();
        let text = whole(&rows);
        assert!(
            text.contains("| `x` | 32 | 1 | 5 | 50 | apart | 2.00 M | 1.50 (1.50 to 1.50) | 1.00 to 1.00 |\n"),
            "{text}"
        );
        let sums = "| `x` | 2 | 1 | 0.50 | 0.50 | 1 | 1 |\n| `x` | 8 | 1 | 1.00 | 1.00 | 0 | 0 |\n\
                    | `x` | 32 | 1 | 1.50 | 1.50 | 0 | 0 |\n| all | all | 3 | 1.00 | 0.50 | 1 | 1 |\n";
        assert!(text.ends_with(sums), "{text}");
    }
}
