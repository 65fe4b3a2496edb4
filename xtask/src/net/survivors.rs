//! The list of mutants that are known to survive and why, and the page that says what became of all.

use super::generate::Mutant;
use super::trial::Fate;
use crate::mutants::{read, write};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const LIST: &str = "crates/conformance/survivors.toml";
const PAGE: &str = "results/net.md";

/// Reasons by name of mutant.
pub(super) struct Survivors(BTreeMap<String, String>);

impl Survivors {
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        Self::parse(&read(&root.join(LIST))?).map_err(|error| format!("{LIST}: {error}"))
    }

    /// Tables of reasons, each with the names of those that survive for it.
    fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
        let mut reasons = BTreeMap::new();
        for group in table.get("survivors").and_then(toml::Value::as_array).ok_or("no `[[survivors]]`")? {
            let why = group.get("why").and_then(toml::Value::as_str).ok_or("survivors without `why`")?;
            let names = group.get("names").and_then(toml::Value::as_array).ok_or("survivors without `names`")?;
            for name in names {
                let name = name.as_str().ok_or("a name that is no text")?;
                if reasons.insert(name.to_owned(), why.trim().to_owned()).is_some() {
                    return Err(format!("`{name}` is named twice"));
                }
            }
        }
        Ok(Survivors(reasons))
    }

    /// An error if somebody survived that the list does not name, or the other way round.
    pub(super) fn compare(&self, mutants: &[&(usize, Mutant)], fates: &[Fate]) -> Result<(), String> {
        let mut faults = Vec::new();
        for ((_, mutant), fate) in mutants.iter().zip(fates) {
            match (fate, self.0.contains_key(&mutant.name)) {
                (Fate::Killed { .. }, true) => {
                    faults.push(format!("on the list of survivors, but killed: {}", mutant.name))
                }
                (Fate::Survived { .. }, false) => faults.push(format!("survived: {}", mutant.name)),
                _ => {}
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    }
}

/// `results/net.md`: the numbers by file, and each survivor with its reason.
pub(super) fn write_page(
    root: &Path,
    mutants: &[&(usize, Mutant)],
    fates: &[Fate],
    survivors: &Survivors,
) -> Result<(), String> {
    let mut page = String::from(
        "# The net\n\nEvery ordering of the flagship, its condition variable and the monitor weakened by one step, and every \
         decision\nchanged, one at a time: `cargo xtask net --long --write` wrote this page.\n\n",
    );
    let mut files: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
    let mut killers: BTreeMap<&str, u32> = BTreeMap::new();
    for ((_, mutant), fate) in mutants.iter().zip(fates) {
        let counts = files.entry(mutant.name.split(' ').next().unwrap_or_default()).or_default();
        match fate {
            Fate::Killed { by, .. } => {
                counts[0] += 1;
                *killers.entry(by).or_default() += 1;
            }
            Fate::Survived { .. } => counts[1] += 1,
            Fate::Unreached => counts[2] += 1,
        }
    }
    page += "| file | killed | survived | reached by no test |\n|---|---|---|---|\n";
    for (file, [killed, survived, unreached]) in files {
        let _ = writeln!(page, "| `{file}` | {killed} | {survived} | {unreached} |");
    }
    page += "\n## Survivors\n\n";
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for ((_, mutant), fate) in mutants.iter().zip(fates) {
        if !matches!(fate, Fate::Killed { .. }) {
            let why = survivors.0.get(&mutant.name).map_or("not looked at", String::as_str);
            by_reason.entry(why).or_default().push(&mutant.name);
        }
    }
    for (why, names) in by_reason {
        let _ = writeln!(page, "{why}\n");
        names.iter().for_each(|name| {
            let _ = writeln!(page, "- {name}");
        });
        page.push('\n');
    }
    page += "## Who killed how many\n\n| test | mutants |\n|---|---|\n";
    let mut killers: Vec<_> = killers.into_iter().collect();
    killers.sort_by_key(|&(name, n)| (std::cmp::Reverse(n), name));
    for (test, n) in killers {
        let _ = writeln!(page, "| `{test}` | {n} |");
    }
    write(&root.join(PAGE), &page)
}
