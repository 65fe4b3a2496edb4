//! A report before it has a form: the page, the static pictures and the Markdown are made from it.

use crate::catalogue::Catalogue;
use crate::findings;
pub use crate::findings::{Finding, Origin};
use crate::inputs::Source;
use crate::main_table::MainTable;
use crate::plotting::{Charts, figures};
use ondeck_kit::figure::Figure;

/// What a report says, in the order in which it says it.
#[derive(Clone, Debug)]
pub struct Document {
    /// What the report is about, in at most eight words, names of locks and workloads counted as one.
    pub title: String,
    /// The first thing to know, in one sentence; empty where nothing can be said.
    pub verdict: String,
    /// All that the report is about, in one line: locks, workloads, machines.
    pub subject: String,
    /// What the figures say, the most important first.
    pub findings: Vec<Finding>,
    /// What was run, and where: one for each file.
    pub origins: Vec<Origin>,
    /// The figures themselves: one table for each file.
    pub tables: Vec<MainTable>,
    /// The charts. The first is what a reader sees first.
    pub figures: Vec<Figure>,
    /// How many charts there could be more, and how to see them, in a sentence; `None` if all are there.
    pub left_out: Option<String>,
}

impl Document {
    /// Reads the figures of the files, which are laid over each other.
    pub fn new(sources: &[Source], catalogue: &Catalogue) -> Document {
        let Charts { figures, left_out } = figures(sources, catalogue);
        let findings = findings::findings(sources, catalogue);
        let verdict = findings::verdict(sources, catalogue).or_else(|| first_sentence(&findings));
        let table = |source: &Source| {
            let title = if sources.len() > 1 { format!("Figures of {}", source.label) } else { "Figures".to_string() };
            MainTable::new(title, &source.board(catalogue))
        };
        Document {
            title: findings::title(sources, catalogue),
            verdict: verdict.unwrap_or_default(),
            subject: findings::subject(sources, catalogue),
            findings,
            origins: sources.iter().map(findings::origin).collect(),
            tables: sources.iter().map(table).collect(),
            figures,
            left_out,
        }
    }
}

fn first_sentence(findings: &[Finding]) -> Option<String> {
    let sentence = findings.first()?.sentences.first()?;
    (!sentence.starts_with(findings::UNKNOWN)).then(|| sentence.clone())
}
