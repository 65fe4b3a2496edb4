//! What the figures of a report say, in words: the answer before the data.
//!
//! Each question has a rule that reads its answer from the figures of one file; a question that the file has no figures
//! for is not asked. What a judging word means stands beside it: the figure, and with whom or what it is compared.

mod answer;
mod brief;
mod changes;
mod cost;
mod origin;
mod reach;
mod scaling;
mod speed;
mod subject;
mod verdict;

pub use answer::Finding;
pub(crate) use answer::UNKNOWN;
pub(crate) use brief::sentences;
pub use origin::{Origin, origin, origin_of_trace};
pub use subject::{subject, subject_of_traces, title, title_of_traces};
pub(crate) use verdict::verdict;

use crate::board::Board;
use crate::catalogue::Catalogue;
use crate::inputs::Source;
use crate::timeline;
use crate::trace::Trace;
use answer::{SHOWN, answer, close};
use reach::reach;

/// Reads the answer to a question from the figures of one file.
type Rule = fn(&Board) -> Vec<String>;

/// The questions, the most important first. Of each answer, a run ends with so many sentences.
const QUESTIONS: [(&str, Rule, usize); 7] = [
    ("Which lock keeps the speed of one thread?", scaling::kept, 2),
    ("Which lock is fastest when several threads want it?", speed::fastest, 1),
    ("What does that cost in CPUs and context switches?", cost::cpus, 2),
    ("How long do the threads wait?", cost::waits, 2),
    // A run has tables of times. Its shares are in its report.
    ("How are the turns shared among the threads?", cost::shares, 0),
    ("How long does a single operation take?", speed::times_of_one, 0),
    ("Does the speed come back after a spike?", |board| speed::recovery(board).into_iter().collect(), 1),
];

/// What the figures say, the most important first.
pub(crate) fn findings(sources: &[Source], catalogue: &Catalogue) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut nothing_in_common: Vec<Finding> = Vec::new();
    if let [first, others @ ..] = sources {
        for (compared, answer) in others.iter().filter_map(|other| changes::changes(first, other)) {
            if compared > 0 { &mut findings } else { &mut nothing_in_common }.push(answer);
        }
    }
    let boards: Vec<Board> = sources.iter().map(|source| source.board(catalogue)).collect();
    for (question, rule, _) in QUESTIONS {
        let per_file: Vec<Vec<String>> = boards.iter().map(|board| rule(board)).collect();
        findings.extend(answer(question, sources, per_file));
    }
    let per_file = sources.iter().zip(&boards).map(|(source, board)| reach(source, board)).collect();
    findings.extend(nothing_in_common);
    findings.extend(answer("How far do the figures reach?", sources, per_file));
    findings
}

/// What traces say.
pub fn of_traces(traces: &[Trace]) -> Option<Finding> {
    let sentences: Vec<String> = traces.iter().flat_map(timeline::sentences).collect();
    let n_hidden = sentences.len().saturating_sub(SHOWN);
    close("Who is at bat, awake and asleep?", sentences.into_iter().take(SHOWN).collect(), n_hidden)
}

#[cfg(test)]
mod tests;
