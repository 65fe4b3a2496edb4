//! `cargo xtask times`: writes how long the steps of the last `.ci/run` here took into the table of CONTRIBUTING.md.

use crate::files::{read, write};
use std::path::Path;

/// What `.ci/sections` leaves: a line for each step, with its seconds.
const MEASURED: &str = "target/ci/steps.tsv";
const PAGE: &str = "CONTRIBUTING.md";

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let measured = read(&root.join(MEASURED)).map_err(|error| format!("{error}; .ci/run writes it"))?;
    let page = with_times(read(&root.join(PAGE))?, &measured)?;
    write(&root.join(PAGE), page)
}

/// The page with these times in the rows of the steps that have them. A step that ran twice took what it took last.
fn with_times(mut page: String, measured: &str) -> Result<String, String> {
    for line in measured.lines() {
        let parts = line.split_once('\t').and_then(|(name, n)| Some((name, n.parse::<u32>().ok()?)));
        let (name, n) = parts.ok_or_else(|| format!("{MEASURED}: {line:?}; accepted: a step, a tab, seconds"))?;
        let begin =
            page.find(&format!("\n| {name} | ")).ok_or_else(|| format!("{PAGE}: no row for the step {name:?}"))?;
        let end = page[begin + 1..].find('\n').map_or(page.len(), |length| begin + 1 + length);
        let cells = page[begin..end].trim_end_matches(" |");
        let time = begin + cells.rfind('|').unwrap_or(cells.len());
        page.replace_range(time..end, &format!("| {}:{:02} |", n / 60, n % 60));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "a\n\n| step | protects | time |\n|---|---|---|\n| one | x, y | 0:01 |\n\
                         | two | z | 0:02 |\n\nb\n";

    #[test]
    fn times_go_into_their_rows() {
        let page = with_times(TABLE.into(), "one\t9\none\t125\n").unwrap();
        assert_eq!(page, TABLE.replace("x, y | 0:01", "x, y | 2:05"));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(
            with_times(TABLE.into(), "three\t5\n").unwrap_err(),
            "CONTRIBUTING.md: no row for the step \"three\""
        );
        assert!(with_times(TABLE.into(), "one\tlong\n").unwrap_err().contains("accepted: a step, a tab, seconds"));
    }

    #[test]
    fn each_step_of_the_gate_has_a_row() {
        let root = crate::root();
        let page = read(&root.join(PAGE)).unwrap();
        let mut n_steps = 0;
        for script in ["run", "quick"] {
            let text = read(&root.join(".ci").join(script)).unwrap();
            let steps = text.lines().filter_map(|line| line.strip_prefix("section '")?.strip_suffix('\''));
            for step in steps.filter(|step| !step.ends_with("done")) {
                n_steps += 1;
                assert!(page.contains(&format!("\n| {step} | ")), "no row for {step:?}");
            }
        }
        assert!(n_steps > 20, "{n_steps}");
    }
}
