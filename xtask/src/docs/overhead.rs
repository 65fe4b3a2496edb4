//! docs/profile.md: what it costs a program to be recorded.

use super::programs::{PLAIN, Row, Setting, Spread, introduction, median_of, parts, rounds_of, settings_of, short};
use super::table::{Table, code, or_dash, table};
use std::path::Path;

/// The rows of a machine, in its directory of `results/`.
pub(crate) const FILE: &str = "profile-overhead.csv";
/// What follows the name of a lock that is recorded.
pub(crate) const RECORDED: &str = " recorded";
/// The variants: a lock, and its name where it is recorded.
const KINDS: [(&str, &str); 2] = [(PLAIN, "glibc"), (OURS, OURS)];
const OURS: &str = "ondeck";
/// The program whose operations are nothing but lock and unlock by one thread.
const UNCONTENDED: &str = "uncontended";
/// What recording may cost with ours: ns for such a pair, and which part of the throughput must be left of others.
const MOST_NS: f64 = 2.0;
const LEAST_LEFT: f64 = 0.97;

/// What stands between the markers of the page.
pub(super) fn part(root: &Path) -> Result<String, String> {
    parts(root, FILE, "--overhead", |file, rows: &[Row]| {
        Ok(introduction(file, &rounds_of(rows))? + &table_of(settings_of(rows)).text())
    })
}

/// The line of one setting.
#[cfg(any(test, feature = "lab"))]
pub(crate) fn line_of(program: &str, setting: &str, rows: &[Row]) -> Vec<String> {
    let found = settings_of(rows).into_iter().find(|found| found.0 == (program, setting));
    table_of(vec![found.unwrap_or(((program, setting), Vec::new()))]).lines.remove(0)
}

fn table_of(settings: Vec<Setting>) -> Table<Setting> {
    let mut table = table(settings).column("program", |of| code(of.0.0)).column("threads", |of| of.0.1);
    for (base, name) in KINDS {
        table = table
            .column(format!("operations/s, {name}"), |(_, rows)| {
                or_dash(median_of(rows, |row| row.variant == base, Row::ops_per_s).map(short))
            })
            .column("recorded, ratio", |(_, rows)| or_dash(ratio(rows, base, name)))
            .column("ns more", |((program, _), rows)| {
                or_dash(ns_more(rows, base, name).filter(|_| *program == UNCONTENDED))
            });
    }
    table.column("asked", |((program, _), rows)| asked(program, rows))
}

/// Throughput of a recorded lock by that of the same lock, within rounds.
fn ratio(rows: &[&Row], base: &str, name: &str) -> Option<Spread> {
    let is_recorded = |row: &Row| row.variant.strip_suffix(RECORDED) == Some(name);
    Spread::within_rounds(rows, base, is_recorded, |recorded, other| recorded.ops_per_s() / other.ops_per_s())
}

/// What an operation takes longer in ns, within rounds, if one thread does them all.
fn ns_more(rows: &[&Row], base: &str, name: &str) -> Option<Spread> {
    let is_recorded = |row: &Row| row.variant.strip_suffix(RECORDED) == Some(name);
    let ns = |row: &Row| 1e9 / row.ops_per_s();
    Spread::within_rounds(rows, base, is_recorded, |recorded, other| ns(recorded) - ns(other))
}

/// What is asked of ours, and whether the median is so.
fn asked(program: &str, rows: &[&Row]) -> String {
    let (what, is_so) = if program == UNCONTENDED {
        (format!("at most {MOST_NS} ns"), ns_more(rows, OURS, OURS).map(|spread| spread.median <= MOST_NS))
    } else {
        (format!("at least {LEAST_LEFT}"), ratio(rows, OURS, OURS).map(|spread| spread.median >= LEAST_LEFT))
    };
    match is_so {
        Some(true) => format!("{what}: yes"),
        Some(false) => format!("{what}: **no**"),
        None => format!("{what}: not measured"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rounds of a program: so many operations per second with each variant.
    fn rows(program: &str, speeds: [f64; 4]) -> Vec<Row> {
        let variants = ["plain", "glibc recorded", "ondeck", "ondeck recorded"];
        let of = |round| {
            let row = move |(variant, ops): (&str, f64)| {
                // The machine is slower in the second round, with all of them.
                let seconds = f64::from(round + 1);
                Row::new(program, ("1", 1), variant, round).with((seconds, ops), (1.0, 0, 0))
            };
            variants.into_iter().zip(speeds).map(row)
        };
        (0..2u32).flat_map(of).collect()
    }

    #[test]
    fn recorded_is_compared_with_the_same_lock() {
        let line = line_of("node", "1", &rows("node", [1000.0, 500.0, 2000.0, 1900.0]));
        let expected = ["`node`", "1", "750", "0.50 (0.50 to 0.50)", "-", "1500", "0.95 (0.95 to 0.95)", "-"];
        assert_eq!(line[..8], expected);
        assert_eq!(line[8], "at least 0.97: **no**");
        let line = line_of("node", "1", &rows("node", [1000.0, 500.0, 2000.0, 1950.0]));
        assert_eq!(line[8], "at least 0.97: yes");
    }

    #[test]
    fn calls_are_compared_in_nanoseconds() {
        let line = line_of(UNCONTENDED, "1", &rows(UNCONTENDED, [1e8, 1e8 / 1.2, 1e8, 1e8 / 1.1]));
        assert_eq!((line[4].as_str(), line[7].as_str()), ("3.00 (2.00 to 4.00)", "1.50 (1.00 to 2.00)"));
        assert_eq!(line[8], "at most 2 ns: yes");
        assert_eq!(line_of(UNCONTENDED, "2", &[])[8], "at most 2 ns: not measured");
    }
}
