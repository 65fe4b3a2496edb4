//! The list of mutants that are known to survive and why, and the page that says what became of all.

use super::generate::{Kind, Mutant};
use super::trial::Fate;
use crate::mutants::{read, write};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const LIST: &str = "crates/conformance/survivors.toml";

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

/// `results/net-orderings.md` or `-decisions.md`: the numbers by file, and each survivor with its reason.
pub(super) fn write_page(
    root: &Path,
    kind: Kind,
    mutants: &[&(usize, Mutant)],
    fates: &[Fate],
    survivors: &Survivors,
) -> Result<(), String> {
    let (name, what) = match kind {
        Kind::Ordering => {
            ("orderings", "ordering of the flagship, its condition variable and the monitor weakened by one step")
        }
        Kind::Decision => ("decisions", "decision of the flagship, its condition variable and the monitor changed"),
    };
    let mut page = format!(
        "# The net: {name}\n\nEvery {what}, one at a time.\nWritten by `cargo xtask net --kind {name} --write`, on a virtual \
         machine with 2 CPUs.\n\n"
    );
    let of_kind = |((_, mutant), _): &(&&(usize, Mutant), &Fate)| mutant.kind == kind;
    let tried: Vec<(&Mutant, &Fate)> =
        mutants.iter().zip(fates).filter(of_kind).map(|((_, mutant), fate)| (mutant, fate)).collect();
    if tried.is_empty() {
        return Ok(());
    }
    page += &by_file(&tried);
    page += &by_reason(&tried, survivors);
    page += &by_killer(&tried);
    write(&root.join(format!("results/net-{name}.md")), &page)
}

fn by_file(tried: &[(&Mutant, &Fate)]) -> String {
    let mut files: BTreeMap<&str, [u32; 5]> = BTreeMap::new();
    for (mutant, fate) in tried {
        let column = match fate {
            Fate::Killed { has_no_end: false, .. } => 0,
            Fate::Killed { has_no_end: true, .. } => 1,
            Fate::Survived { .. } => 2,
            Fate::Unreached => 3,
            Fate::Untried => 4,
        };
        files.entry(mutant.name.split(' ').next().unwrap_or_default()).or_default()[column] += 1;
    }
    let mut text =
        "| file | killed | no end of a test in 8 times its time | survived | reached by no test | no time left |\n"
            .to_owned();
    text += "|---|---|---|---|---|---|\n";
    for (file, [killed, endless, survived, unreached, untried]) in files {
        let _ = writeln!(text, "| `{file}` | {killed} | {endless} | {survived} | {unreached} | {untried} |");
    }
    text
}

fn by_reason(tried: &[(&Mutant, &Fate)], survivors: &Survivors) -> String {
    let mut reasons: BTreeMap<&str, String> = BTreeMap::new();
    for (mutant, fate) in tried {
        let note = match fate {
            Fate::Killed { .. } | Fate::Untried => continue,
            Fate::Survived { n_left_out: 0 } => String::new(),
            Fate::Survived { n_left_out } => format!(" ({n_left_out} long tests left out)"),
            Fate::Unreached => " (reached by no test)".to_owned(),
        };
        let why = survivors.0.get(&mutant.name).map_or("Not looked at.", String::as_str);
        let _ = writeln!(reasons.entry(why).or_default(), "- {}{note}", mutant.name);
    }
    let groups = reasons.into_iter().map(|(why, names)| format!("{why}\n\n{names}\n"));
    format!("\n## Survivors\n\n{}", groups.collect::<String>())
}

fn by_killer(tried: &[(&Mutant, &Fate)]) -> String {
    let mut killers: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, fate) in tried {
        if let Fate::Killed { by, .. } = fate {
            *killers.entry(by).or_default() += 1;
        }
    }
    let mut killers: Vec<_> = killers.into_iter().collect();
    killers.sort_by_key(|&(name, n)| (std::cmp::Reverse(n), name));
    let rows = killers.into_iter().map(|(test, n)| format!("| `{test}` | {n} |\n"));
    format!("## Who killed how many\n\n| test | mutants |\n|---|---|\n{}", rows.collect::<String>())
}
