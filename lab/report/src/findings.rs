//! What the figures of a report say, in words: the answer before the data.
//!
//! Each question has a rule that reads its answer from the figures of one file; a question that the file has no figures
//! for is not asked. What a judging word means stands beside it: the figure, and with whom or what it is compared.

mod answer;
mod brief;
mod origin;
mod reach;
mod scaling;
mod speed;
mod subject;
mod verdict;
mod waits;

pub use answer::Finding;
pub(crate) use answer::UNKNOWN;
pub(crate) use brief::sentences;
pub use origin::{Origin, origin};
pub use subject::{subject, title};
pub(crate) use verdict::verdict;

use crate::board::Board;
use crate::catalogue::Catalogue;
use crate::inputs::Source;
use answer::answer;
use reach::reach;

/// Reads the answer to a question from the figures of one file.
type Rule = fn(&Board) -> Vec<String>;

/// The questions, the most important first. Of each answer, a run ends with so many sentences.
const QUESTIONS: [(&str, Rule, usize); 3] = [
    ("Which lock keeps the speed of one thread?", scaling::kept, 2),
    ("Which lock is fastest when several threads want it?", speed::fastest, 1),
    ("How long do the threads wait?", waits::waits, 2),
];

/// What the figures say, the most important first.
pub(crate) fn findings(sources: &[Source], catalogue: &Catalogue) -> Vec<Finding> {
    let boards: Vec<Board> = sources.iter().map(|source| source.board(catalogue)).collect();
    let asked = QUESTIONS
        .iter()
        .filter_map(|(question, rule, _)| answer(question, sources, boards.iter().map(|board| rule(board)).collect()));
    let per_file = sources.iter().zip(&boards).map(|(source, board)| reach(source, board)).collect();
    asked.chain(answer("How far do the figures reach?", sources, per_file)).collect()
}

#[cfg(test)]
mod tests;
