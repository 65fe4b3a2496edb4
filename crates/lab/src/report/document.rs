//! A report before it has a form: the page, the static pictures and the tables are made from it.

use super::answers;
use super::figure::Figure;
use super::figures::{Charts, figures};
use super::lanes::{self, Lanes};
use super::source::Source;
use super::trace::Trace;
use serde::Serialize;

/// What a report says, in the order in which it says it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// What the report is about, in one line.
    pub title: String,
    /// What the figures say, the most important first.
    pub answers: Vec<Answer>,
    /// What was run, and where: one for each file.
    pub origins: Vec<Origin>,
    /// The pictures of traces. The page has them as they are, and no script changes them.
    #[serde(skip)]
    pub timelines: Vec<Lanes>,
    /// The charts.
    pub figures: Vec<Figure>,
    /// How many charts there could be more, and how to see them, in a sentence; `None` if all are there.
    pub left_out: Option<String>,
}

/// One thing that the figures say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The question, in a few words: "Which lock kept its speed?"
    pub question: String,
    /// One or more sentences. Every word that judges has a figure beside it.
    pub sentences: Vec<String>,
}

/// Where a file's figures come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Origin {
    /// The file, as [`Source::label`].
    pub label: String,
    /// What is known of it, by name: processor, kernel, load, date.
    pub facts: Vec<(String, String)>,
    /// The command that measures it again; empty if unknown.
    pub command: String,
    /// What the run warned of, and what is odd about the file.
    pub warnings: Vec<String>,
}

impl Document {
    /// Reads the figures of the files, which are laid over each other. `peers` are the locks of other projects.
    pub fn new(sources: &[Source], traces: &[Trace], peers: &[&str]) -> Document {
        let Charts { figures, left_out } = figures(sources);
        let mut timelines: Vec<Lanes> = traces.iter().filter_map(Lanes::new).collect();
        lanes::make_ids_unique(&mut timelines);
        let title = match sources {
            [] => answers::title_of_traces(traces),
            _ => answers::title(sources),
        };
        let mut all_answers = answers::answers(sources, peers);
        all_answers.extend(answers::of_traces(traces));
        let origins = sources.iter().map(answers::origin).chain(traces.iter().map(answers::origin_of_trace));
        Document { title, answers: all_answers, origins: origins.collect(), timelines, figures, left_out }
    }
}
