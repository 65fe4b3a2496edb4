//! A report before it has a form: the page, the static pictures and the tables are made from it.

use crate::catalogue::Catalogue;
use crate::findings;
pub use crate::findings::{Finding, Origin};
use crate::inputs::Source;
use crate::plotting::{Charts, figures};
use crate::timeline::{self, Lanes};
use crate::trace::Trace;
use ondeck_kit::figure::Figure;

/// What a report says, in the order in which it says it.
#[derive(Clone, Debug, PartialEq)]
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
    /// The pictures of traces.
    pub timelines: Vec<Lanes>,
    /// The charts. The first is what a reader sees first.
    pub figures: Vec<Figure>,
    /// How many charts there could be more, and how to see them, in a sentence; `None` if all are there.
    pub left_out: Option<String>,
}

impl Document {
    /// Reads the figures of the files, which are laid over each other.
    pub fn new(sources: &[Source], traces: &[Trace], catalogue: &Catalogue) -> Document {
        let Charts { figures, left_out } = figures(sources, catalogue);
        let mut timelines: Vec<Lanes> = traces.iter().filter_map(Lanes::new).collect();
        timeline::make_ids_unique(&mut timelines);
        let (title, subject) = match sources {
            [] => (findings::title_of_traces(traces), findings::subject_of_traces(traces)),
            _ => (findings::title(sources, catalogue), findings::subject(sources, catalogue)),
        };
        let mut all_findings = findings::findings(sources, catalogue);
        all_findings.extend(findings::of_traces(traces));
        let verdict = findings::verdict(sources, catalogue).or_else(|| first_sentence(&all_findings));
        let origins = sources.iter().map(findings::origin).chain(traces.iter().map(findings::origin_of_trace));
        Document {
            title,
            verdict: verdict.unwrap_or_default(),
            subject,
            findings: all_findings,
            origins: origins.collect(),
            timelines,
            figures,
            left_out,
        }
    }
}

fn first_sentence(findings: &[Finding]) -> Option<String> {
    let sentence = findings.first()?.sentences.first()?;
    (!sentence.starts_with(findings::UNKNOWN)).then(|| sentence.clone())
}
