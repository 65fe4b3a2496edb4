//! The result files that a report is made from.

use crate::board::Board;
use crate::lock::locks;
use crate::output::{Results, Unreadable, read};
use crate::workload::WORKLOADS;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One result file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Short name that tells it from the other files of the report.
    pub label: String,
    /// What it holds.
    pub results: Results,
    /// What is odd about the file, in sentences.
    pub notes: Vec<String>,
}

impl Source {
    /// Reads the files, in their order.
    pub fn read_all(files: &[PathBuf]) -> Result<Vec<Source>, Unreadable> {
        let labels = labels(files);
        let source = |(file, label): (&PathBuf, String)| {
            let (results, notes) = read(file)?;
            Ok(Source { label, results, notes })
        };
        files.iter().zip(labels).map(source).collect()
    }

    /// The rows, arranged: workloads and locks in the order in which `ondeck list` names them, then as they appear.
    pub fn board(&self) -> Board<'_> {
        let workloads: Vec<String> = WORKLOADS.iter().map(|workload| workload.name.to_string()).collect();
        let flagship = super::FLAGSHIP.to_string();
        let names = std::iter::once(flagship).chain(locks().into_iter().map(|lock| lock.name.to_string()));
        Board::new(&self.results.rows, &workloads, &names.collect::<Vec<String>>())
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
    let are_distinct =
        |labels: &Vec<String>| labels.iter().collect::<std::collections::BTreeSet<&String>>().len() == labels.len();
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

    fn labels_of(files: &[&str]) -> Vec<String> {
        labels(&files.iter().map(PathBuf::from).collect::<Vec<PathBuf>>())
    }

    #[test]
    fn labels_are_as_short_as_tells_them_apart() {
        assert_eq!(labels_of(&["results/a.csv"]), ["a.csv"]);
        assert_eq!(labels_of(&["results/a.csv", "b.csv"]), ["a.csv", "b.csv"]);
        assert_eq!(labels_of(&["x/results/a.csv", "y/results/a.csv"]), ["x/results/a.csv", "y/results/a.csv"]);
        assert_eq!(labels_of(&["a.csv", "a.csv", "a.csv"]), ["a.csv", "a.csv (2)", "a.csv (3)"]);
    }
}
