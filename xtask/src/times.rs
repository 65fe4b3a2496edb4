//! `cargo xtask times`: writes how long the steps of the last `.ci/run` here took into the table of CONTRIBUTING.md.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What `.ci/sections` leaves: a line for each step, with its seconds.
const MEASURED: &str = "target/ci/steps.tsv";
const PAGE: &str = "CONTRIBUTING.md";
const BEGIN: &str = "<!-- times -->\n";
const END: &str = "<!-- /times -->";

pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    if !words.is_empty() {
        return Err("usage: cargo xtask times".into());
    }
    let read = |file| fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"));
    let measured = read(MEASURED).map_err(|error| format!("{error}; .ci/run writes it"))?;
    let page = with_times(&read(PAGE)?, &measured)?;
    fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))
}

/// The page with these times in the rows of the steps that have them.
fn with_times(page: &str, measured: &str) -> Result<String, String> {
    // A step that ran twice took what it took last.
    let mut seconds = BTreeMap::new();
    for line in measured.lines() {
        let parts = line.split_once('\t').and_then(|(name, n)| Some((name, n.parse::<u32>().ok()?)));
        let (name, n) = parts.ok_or_else(|| format!("{MEASURED}: {line:?}; accepted: a step, a tab, seconds"))?;
        seconds.insert(name, n);
    }
    let no_table = || format!("{PAGE} has no table between {} and {END}", BEGIN.trim());
    let (before, rest) = page.split_once(BEGIN).ok_or_else(no_table)?;
    let (table, after) = rest.split_once(END).ok_or_else(no_table)?;
    let mut rows = String::new();
    for row in table.lines() {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        match (&cells[..], seconds.remove(cells.first().copied().unwrap_or_default())) {
            ([step, protects, _], Some(n)) => rows += &format!("| {step} | {protects} | {}:{:02} |\n", n / 60, n % 60),
            _ => rows += &format!("{row}\n"),
        }
    }
    match seconds.into_keys().next() {
        Some(step) => Err(format!("{PAGE}: no row for the step {step:?}")),
        None => Ok(format!("{before}{BEGIN}{rows}{END}{after}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "a\n<!-- times -->\n| step | protects | time |\n|---|---|---|\n| one | x, y | 0:01 |\n\
                         | two | z | 0:02 |\n<!-- /times -->\nb\n";

    #[test]
    fn times_go_into_their_rows() {
        let page = with_times(TABLE, "one\t9\none\t125\n").unwrap();
        assert_eq!(page, TABLE.replace("x, y | 0:01", "x, y | 2:05"));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(with_times(TABLE, "three\t5\n").unwrap_err(), "CONTRIBUTING.md: no row for the step \"three\"");
        assert!(with_times(TABLE, "one\tlong\n").unwrap_err().contains("accepted: a step, a tab, seconds"));
        assert!(with_times("no table", "").unwrap_err().contains("no table"));
    }

    #[test]
    fn each_step_of_the_gate_has_a_row() {
        let root = crate::root();
        let page = fs::read_to_string(root.join(PAGE)).unwrap();
        let mut n_steps = 0;
        for script in ["run", "quick"] {
            let text = fs::read_to_string(root.join(".ci").join(script)).unwrap();
            let steps = text.lines().filter_map(|line| line.strip_prefix("section '")?.strip_suffix('\''));
            for step in steps.filter(|step| !step.ends_with("done")) {
                n_steps += 1;
                assert!(page.contains(&format!("\n| {step} | ")), "no row for {step:?}");
            }
        }
        assert!(n_steps > 20, "{n_steps}");
    }
}
