//! The result files that a report is made from.

use crate::board::Board;
use crate::catalogue::Catalogue;
use crate::output::{self, Results, text_of};
use crate::row::{Row, is_simulated, machine, simulated};
use ondeck_kit::file::ReadError;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// More machines than this in one file are no machines.
const MOST_PARTS: usize = 32;

/// One result file, or what it has of one machine.
#[derive(Clone, Debug)]
pub struct Source {
    /// Short name that tells it from the other files of the report.
    pub label: String,
    /// What it holds.
    pub results: Results,
    /// What is odd about the file, in sentences.
    pub notes: Vec<String>,
}

/// Reads the files, in their order. What one file has of several machines or platforms becomes a source each: no median
/// is formed over machines.
///
/// # Errors
/// If one is no result file.
pub fn read(files: &[PathBuf]) -> Result<Vec<Source>, ReadError> {
    let texts: Result<Vec<String>, ReadError> = files.iter().map(|file| text_of(file)).collect();
    parse(files, &texts?)
}

/// The same of files whose texts are known.
///
/// # Errors
/// If one is no result file.
pub fn parse(files: &[PathBuf], texts: &[String]) -> Result<Vec<Source>, ReadError> {
    let mut sources = Vec::new();
    for ((file, text), label) in files.iter().zip(texts).zip(labels(files)) {
        let (results, notes) = output::parse(file, text)?;
        let parts = Source { label, results, notes }.by_machine();
        if parts.len() > MOST_PARTS {
            let what = format!("has rows of {} machines; a report shows at most {MOST_PARTS} of a file", parts.len());
            return Err(ReadError::new(file, what));
        }
        sources.extend(parts);
    }
    name_simulated(&mut sources);
    Ok(sources)
}

/// Where the machines of several files differ, those that are simulated are named beside their file.
fn name_simulated(sources: &mut [Source]) {
    let machine_of = |source: &Source| source.results.rows.first().map(machine);
    let machines: BTreeSet<Option<String>> = sources.iter().map(machine_of).collect();
    if machines.len() < 2 {
        return;
    }
    for source in sources {
        let Some(row) = source.results.rows.first() else { continue };
        let name = machine(row);
        if is_simulated(row) && !source.label.ends_with(&name) {
            source.label += &format!(", {name}");
        }
    }
}

impl Source {
    /// The source itself if its rows are of one machine and platform; else one for each, in the order of appearance.
    fn by_machine(mut self) -> Vec<Source> {
        let mut parts: Vec<Vec<Row>> = Vec::new();
        let mut places: HashMap<(String, String), usize> = HashMap::new();
        for row in std::mem::take(&mut self.results.rows) {
            let place = *places.entry((row.platform.clone(), row.machine.clone())).or_insert(parts.len());
            if place == parts.len() {
                parts.push(Vec::new());
            }
            parts[place].push(row);
        }
        if parts.len() <= 1 {
            self.results.rows = parts.pop().unwrap_or_default();
            return vec![self];
        }
        let n = parts.len();
        let differ = |of: fn(&Row) -> &String| parts.iter().any(|part| of(&part[0]) != of(&parts[0][0]));
        let (platforms_differ, machines_differ) = (differ(|row| &row.platform), differ(|row| &row.machine));
        let source = |(place, rows): (usize, Vec<Row>)| {
            let Row { platform, machine, .. } = &rows[0];
            let words = [(platforms_differ, platform), (machines_differ, machine)];
            let words: Vec<&str> = words.iter().filter(|word| word.0).map(|word| word.1.as_str()).collect();
            let name = if is_simulated(&rows[0]) { simulated(machine) } else { words.join(" on ") };
            let mut part = self.clone();
            part.label = format!("{}, {name}", self.label);
            // A fingerprint is of one machine. That of a real one is not of what is simulated after it, under its name.
            part.results.fingerprint = part.results.fingerprint.filter(|fingerprint| {
                fingerprint.machine == *machine && fingerprint.simulation.is_some() == is_simulated(&rows[0])
            });
            match place {
                0 => part
                    .notes
                    .push(format!("{} has rows of {n} machines or platforms: each is shown apart", self.label)),
                _ => part.notes.clear(),
            }
            part.results.rows = rows;
            part
        };
        parts.into_iter().enumerate().map(source).collect()
    }

    /// The rows, arranged: the flagship first, then workloads and locks as in the catalogue.
    pub fn board(&self, catalogue: &Catalogue) -> Board<'_> {
        let mut catalogue = catalogue.clone();
        catalogue.locks.insert(0, crate::FLAGSHIP.to_string());
        Board::new(&self.results.rows, &catalogue).on_simulated(self.results.simulated_cpus())
    }
}

/// The files' names, with as many of their directories as it takes to tell them apart.
fn labels(files: &[PathBuf]) -> Vec<String> {
    let most = files.iter().map(|file| file.components().count()).max().unwrap_or(1);
    let with_parents = |file: &Path, parents: usize| {
        let parts: Vec<_> = file.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        parts[parts.len().saturating_sub(parents + 1)..].join("/")
    };
    let at_depth = |parents: usize| files.iter().map(|file| with_parents(file, parents)).collect::<Vec<String>>();
    let are_distinct = |labels: &Vec<String>| labels.iter().collect::<BTreeSet<&String>>().len() == labels.len();
    let mut labels = (0..most).map(at_depth).find(are_distinct).unwrap_or_else(|| at_depth(most));
    // The same file twice.
    let mut seen: HashMap<String, usize> = HashMap::new();
    for label in &mut labels {
        let twins = seen.entry(label.clone()).or_default();
        *twins += 1;
        if *twins > 1 {
            *label += &format!(" ({twins})");
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprint;

    fn labels_of(files: &[&str]) -> Vec<String> {
        labels(&files.iter().map(PathBuf::from).collect::<Vec<PathBuf>>())
    }

    #[test]
    fn machines_and_platforms_are_kept_apart() {
        let row = |platform: &str, machine: &str, round| Row {
            platform: platform.into(),
            machine: machine.into(),
            round,
            ..Row::default()
        };
        let split = |rows: Vec<Row>| {
            let fingerprint = Some(Fingerprint { machine: "big".into(), ..Fingerprint::default() });
            let results = Results { fingerprint, rows, ..Results::default() };
            Source { label: "a.csv".into(), results, notes: vec!["odd".into()] }.by_machine()
        };
        let one = split(vec![row("hardware", "big", 0), row("hardware", "big", 1)]);
        assert_eq!((one.len(), one[0].label.as_str(), one[0].results.rows.len()), (1, "a.csv", 2));
        let two = split(vec![row("hardware", "big", 0), row("hardware", "small", 0), row("hardware", "big", 1)]);
        let labels: Vec<&str> = two.iter().map(|source| source.label.as_str()).collect();
        assert_eq!(labels, ["a.csv, big", "a.csv, small"]);
        assert_eq!(two[0].results.rows, [row("hardware", "big", 0), row("hardware", "big", 1)]);
        assert!(two[0].results.fingerprint.is_some() && two[1].results.fingerprint.is_none());
        assert_eq!((two[0].notes.len(), two[1].notes.len()), (2, 0), "a warning is said once");
        let both = split(vec![row("hardware", "big", 0), row("sim", "big", 0)]);
        assert_eq!(both[1].label, "a.csv, simulated big");
        assert!(both[0].results.fingerprint.is_some() && both[1].results.fingerprint.is_none());
        assert_eq!(split(vec![row("hardware", "big", 0), row("sim", "x", 0)])[1].label, "a.csv, simulated x");
    }

    #[test]
    fn what_is_simulated_is_named_beside_what_is_not() {
        let source = |label: &str, platform: &str| {
            let row = Row { platform: platform.into(), machine: "big".into(), ..Row::default() };
            Source { label: label.into(), results: Results { rows: vec![row], ..Results::default() }, notes: vec![] }
        };
        let named = |mut sources: Vec<Source>| {
            name_simulated(&mut sources);
            sources.into_iter().map(|source| source.label).collect::<Vec<String>>()
        };
        let (measured, made) = (source("a.csv", "hardware"), source("b.csv", "sim"));
        assert_eq!(named(vec![measured.clone(), made.clone()]), ["a.csv", "b.csv, simulated big"]);
        assert_eq!(named(vec![made.clone(), made.clone()]), ["b.csv", "b.csv"], "the title says it of all");
        assert_eq!(named(vec![measured, source("c.csv, simulated big", "sim")])[1], "c.csv, simulated big");
    }

    #[test]
    fn labels_are_as_short_as_tells_them_apart() {
        assert_eq!(labels_of(&["results/a.csv"]), ["a.csv"]);
        assert_eq!(labels_of(&["results/a.csv", "b.csv"]), ["a.csv", "b.csv"]);
        assert_eq!(labels_of(&["x/results/a.csv", "y/results/a.csv"]), ["x/results/a.csv", "y/results/a.csv"]);
        assert_eq!(labels_of(&["a.csv", "a.csv", "a.csv"]), ["a.csv", "a.csv (2)", "a.csv (3)"]);
    }
}
