//! docs/profile.md: what it costs a program to be recorded.

use super::programs::{PLAIN, Row, Spread, introduction, of_setting, parts, read, rounds_of, settings_of, short};
use super::table;
use ondeck_report::stats;
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
    parts(root, FILE, "--overhead", machine)
}

fn machine(file: &Path) -> Result<String, String> {
    let rows: Vec<Row> = read(file)?;
    Ok(introduction(file, &rounds_of(&rows))? + &rows_of(&rows))
}

fn rows_of(rows: &[Row]) -> String {
    let head = [
        "program",
        "threads",
        "operations/s, glibc",
        "recorded, ratio",
        "ns more",
        "operations/s, ondeck",
        "recorded, ratio",
        "ns more",
        "asked",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines.extend(settings_of(rows).into_iter().map(|(program, setting)| line_of(program, setting, rows)));
    table(&lines)
}

/// The line of one setting.
pub(crate) fn line_of(program: &str, setting: &str, rows: &[Row]) -> Vec<String> {
    let rows = of_setting(rows, program, setting);
    let mut cells = vec![format!("`{program}`"), setting.to_owned()];
    for (base, name) in KINDS {
        let speeds: Vec<f64> = rows.iter().filter(|row| row.variant == base).map(|row| row.ops_per_s()).collect();
        cells.push(stats::median(&speeds).map_or("-".into(), short));
        cells.push(ratio(&rows, base, name).map_or("-".into(), |spread| spread.text()));
        let ns = ns_more(&rows, base, name).filter(|_| program == UNCONTENDED);
        cells.push(ns.map_or("-".into(), |spread| spread.text()));
    }
    cells.push(asked(program, &rows));
    cells
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
