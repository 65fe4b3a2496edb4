//! The list of mutants that are known to survive and why; the record of what became of all, and the page about it.

use super::generate::{Kind, Mutant};
use super::subject::Subject;
use super::trial::Fate;
use crate::files::{names, read, write};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Lists, a file for each room.
const LISTS: &str = "crates/conformance/survivors";

/// Reasons by name of mutant.
#[derive(Default)]
pub(super) struct Survivors(BTreeMap<String, String>);

impl Survivors {
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let mut all = Survivors::default();
        for name in names(&root.join(LISTS))? {
            all.add(&read(&root.join(LISTS).join(&name))?).map_err(|error| format!("{LISTS}/{name}: {error}"))?;
        }
        Ok(all)
    }

    /// Takes in tables of reasons, each with the names of those that survive for it.
    fn add(&mut self, text: &str) -> Result<(), String> {
        let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
        for group in table.get("survivors").and_then(toml::Value::as_array).ok_or("no `[[survivors]]`")? {
            let why = group.get("why").and_then(toml::Value::as_str).ok_or("survivors without `why`")?;
            let names = group.get("names").and_then(toml::Value::as_array).ok_or("survivors without `names`")?;
            for name in names {
                let name = name.as_str().ok_or("a name that is no text")?;
                if self.0.insert(name.to_owned(), why.trim().to_owned()).is_some() {
                    return Err(format!("`{name}` is named twice"));
                }
            }
        }
        Ok(())
    }

    pub(super) fn know(&self, mutant: &Mutant) -> bool {
        self.0.contains_key(&mutant.name)
    }

    /// Names that are no mutant's any more.
    pub(super) fn unknown_to(&self, root: &Path) -> Result<Vec<String>, String> {
        let mut names: BTreeSet<&String> = self.0.keys().collect();
        for subject in Subject::ALL {
            for mutant in subject.mutants(root)? {
                names.remove(&mutant.name);
            }
        }
        Ok(names.into_iter().cloned().collect())
    }

    /// An error if somebody survived that the list does not name, or the other way round.
    pub(super) fn compare(&self, mutants: &[&(usize, Mutant)], fates: &[Fate]) -> Result<(), String> {
        let mut faults = Vec::new();
        for ((_, mutant), fate) in mutants.iter().zip(fates) {
            match (fate, self.0.contains_key(&mutant.name)) {
                (Fate::Killed { .. }, true) => {
                    faults.push(format!("on the list of survivors, but killed: {}", mutant.name))
                }
                (Fate::Survived { .. } | Fate::Unreached, false) => faults.push(format!("survived: {}", mutant.name)),
                _ => {}
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    }
}

/// What became of a mutant, as it is kept in a file of results/.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    mutant: String,
    /// `killed`, `endless` (a test had no end), `survived`, `unreached`, or empty if it was not tried.
    fate: String,
    /// The test that noticed.
    by: String,
    /// Tests that reach it and that there was no time for.
    left_out: usize,
    /// The function that it was in, as a hash.
    function: String,
}

impl Line {
    fn new(mutant: &Mutant, fate: &Fate) -> Self {
        let (fate, by, left_out) = match fate {
            Fate::Killed { by, has_no_end: false } => ("killed", by.as_str(), 0),
            Fate::Killed { by, has_no_end: true } => ("endless", by.as_str(), 0),
            Fate::Survived { n_left_out } => ("survived", "", *n_left_out),
            Fate::Unreached => ("unreached", "", 0),
            Fate::Untried => ("", "", 0),
        };
        let function = mutant.function.clone();
        Line { mutant: mutant.name.clone(), fate: fate.to_owned(), by: by.to_owned(), left_out, function }
    }
}

/// What became of a subject's mutants when they were tried last.
pub(super) struct Records(BTreeMap<String, Line>);

impl Records {
    pub(super) fn read(root: &Path, subject: Subject) -> Result<Self, String> {
        let mut lines = BTreeMap::new();
        for &kind in subject.kinds() {
            let file = record_file(root, subject, kind);
            if file.exists() {
                let fail = |error: csv::Error| format!("{}: {error}", file.display());
                for line in csv::Reader::from_path(&file).map_err(fail)?.into_deserialize() {
                    let line: Line = line.map_err(fail)?;
                    lines.insert(line.mutant.clone(), line);
                }
            }
        }
        Ok(Records(lines))
    }

    /// The line of a mutant, if it was tried in the function as it is.
    fn line(&self, mutant: &Mutant) -> Option<&Line> {
        self.0.get(&mutant.name).filter(|line| line.function == mutant.function && !line.fate.is_empty())
    }

    pub(super) fn has_tried(&self, mutant: &Mutant) -> bool {
        self.line(mutant).is_some()
    }

    /// The test that has killed a mutant, if it did by failing.
    pub(super) fn killer(&self, mutant: &Mutant) -> Option<&str> {
        self.line(mutant).filter(|line| line.fate == "killed").map(|line| line.by.as_str())
    }

    pub(super) fn has_survived(&self, mutant: &Mutant) -> bool {
        self.line(mutant).is_some_and(|line| ["survived", "unreached"].contains(&line.fate.as_str()))
    }
}

/// Takes what became of those that were tried into the record, which may be made in pieces, and writes the page from it: the
/// numbers by file, and each survivor with its reason.
pub(super) fn write_pages(
    root: &Path,
    subject: Subject,
    all: &[(usize, Mutant)],
    tried: &[&(usize, Mutant)],
    fates: &[Fate],
    survivors: &Survivors,
) -> Result<(), String> {
    let mut records = Records::read(root, subject)?;
    for ((_, mutant), fate) in tried.iter().zip(fates) {
        if !matches!(fate, Fate::Untried) {
            records.0.insert(mutant.name.clone(), Line::new(mutant, fate));
        }
    }
    for &kind in subject.kinds() {
        let of_kind = all.iter().map(|(_, mutant)| mutant).filter(|mutant| mutant.kind == kind);
        let line = |mutant| records.line(mutant).cloned().unwrap_or_else(|| Line::new(mutant, &Fate::Untried));
        let lines: Vec<Line> = of_kind.map(line).collect();
        if lines.iter().any(|line| !line.fate.is_empty()) {
            write_record(&record_file(root, subject, kind), &lines)?;
            let page = page(subject, kind, &lines, survivors);
            write(&root.join(format!("results/net-{}.md", name(subject, kind))), &page)?;
        }
    }
    Ok(())
}

fn name(subject: Subject, kind: Kind) -> &'static str {
    match (subject, kind) {
        (Subject::Lock, Kind::Ordering) => "orderings",
        (Subject::Lock, Kind::Decision) => "decisions",
        (Subject::Preloaded, _) => "preloaded",
    }
}

fn record_file(root: &Path, subject: Subject, kind: Kind) -> PathBuf {
    root.join(format!("results/net-{}.csv", name(subject, kind)))
}

fn write_record(file: &Path, lines: &[Line]) -> Result<(), String> {
    let fail = |error: csv::Error| format!("{}: {error}", file.display());
    let mut writer = csv::Writer::from_path(file).map_err(fail)?;
    lines.iter().try_for_each(|line| writer.serialize(line)).map_err(fail)?;
    writer.flush().map_err(|error| format!("{}: {error}", file.display()))
}

fn page(subject: Subject, kind: Kind, lines: &[Line], survivors: &Survivors) -> String {
    let what = match kind {
        Kind::Ordering => format!("ordering of {} weakened by one step", subject.about()),
        Kind::Decision => format!("decision of {} changed", subject.about()),
    };
    let (name, title) = (name(subject, kind), subject.name());
    format!(
        "# The net: {name}\n\nEvery {what}, one at a time.\nWritten by `cargo xtask net --subject {title} --write`, in \
         pieces, on a virtual machine with 2 CPUs;\nwhat became of each is in [net-{name}.csv](net-{name}.csv).\n\n{}{}{}",
        by_file(lines),
        by_reason(lines, survivors),
        by_killer(lines)
    )
}

fn by_file(lines: &[Line]) -> String {
    const FATES: [&str; 5] = ["killed", "endless", "survived", "unreached", ""];
    let mut files: BTreeMap<&str, [u32; 5]> = BTreeMap::new();
    for line in lines {
        let column = FATES.iter().position(|fate| *fate == line.fate).unwrap_or(FATES.len() - 1);
        files.entry(line.mutant.split(' ').next().unwrap_or_default()).or_default()[column] += 1;
    }
    let mut text =
        "| file | killed | no end of a test in 8 times its time | survived | reached by no test | not tried |\n"
            .to_owned();
    text += "|---|---|---|---|---|---|\n";
    for (file, [killed, endless, survived, unreached, untried]) in files {
        let _ = writeln!(text, "| `{file}` | {killed} | {endless} | {survived} | {unreached} | {untried} |");
    }
    text
}

fn by_reason(lines: &[Line], survivors: &Survivors) -> String {
    let mut reasons: BTreeMap<&str, String> = BTreeMap::new();
    for line in lines {
        let note = match (line.fate.as_str(), line.left_out) {
            ("survived", 0) => String::new(),
            ("survived", left_out) => format!(" ({left_out} long tests left out)"),
            ("unreached", _) => " (reached by no test)".to_owned(),
            _ => continue,
        };
        let why = survivors.0.get(&line.mutant).map_or("Not looked at.", String::as_str);
        let _ = writeln!(reasons.entry(why).or_default(), "- {}{note}", line.mutant);
    }
    let groups = reasons.into_iter().map(|(why, names)| format!("{why}\n\n{names}\n"));
    format!("\n## Survivors\n\n{}", groups.collect::<String>())
}

fn by_killer(lines: &[Line]) -> String {
    let mut killers: BTreeMap<&str, u32> = BTreeMap::new();
    for line in lines.iter().filter(|line| !line.by.is_empty()) {
        *killers.entry(&line.by).or_default() += 1;
    }
    let mut killers: Vec<_> = killers.into_iter().collect();
    killers.sort_by_key(|&(name, n)| (std::cmp::Reverse(n), name));
    let rows = killers.into_iter().map(|(test, n)| format!("| `{test}` | {n} |\n"));
    format!("## Who killed how many\n\n| test | mutants |\n|---|---|\n{}", rows.collect::<String>())
}
