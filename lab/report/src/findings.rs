//! What the figures of a report say, in words: the answer before the data.
//!
//! Each question has a rule that reads its answer from the figures of one file; a question that the file has no figures
//! for is not asked. What a judging word means stands beside it: the figure, and with whom or what it is compared.

mod answer;
mod changes;
mod cost;
mod origin;
mod speed;
mod subject;
mod verdict;

pub use answer::Finding;
pub(crate) use answer::UNKNOWN;
pub use origin::{Origin, origin, origin_of_trace};
pub use subject::{subject, subject_of_traces, title, title_of_traces};
pub(crate) use verdict::verdict;

use crate::board::Board;
use crate::catalogue::Catalogue;
use crate::inputs::Source;
use crate::sentences::{ONE_ROUND, between_seeds};
use crate::timeline;
use crate::trace::Trace;
use crate::wording::counted;
use answer::{SHOWN, answer, close};

/// Reads the answer to a question from the figures of one file.
type Rule = fn(&Board) -> Vec<String>;

/// The questions, the most important first.
const QUESTIONS: [(&str, Rule); 7] = [
    ("Which lock keeps the speed of one thread?", speed::kept),
    ("Which lock is fastest when several threads want it?", speed::fastest),
    ("What does that cost in CPUs and context switches?", cost::cpus),
    ("How long do the threads wait?", cost::waits),
    ("How are the turns shared among the threads?", cost::shares),
    ("How long does a single operation take?", speed::times_of_one),
    ("Does the speed come back after a spike?", speed::recovery),
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
    for (question, rule) in QUESTIONS {
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

/// What so many rounds can and cannot tell, and whether there are warnings.
fn reach(source: &Source, board: &Board) -> Vec<String> {
    let rounds = match board.rounds {
        // As when the machine ran at another speed in all of them.
        0 => "None: no round counts.".to_string(),
        1 => ONE_ROUND.to_string(),
        // Of two equal locks, each further round agrees with the first with probability 1/2.
        n => {
            let by_chance =
                if n <= 20 { format!("1 of {} cases", 1_u32 << (n - 1)) } else { format!("1 of 2^{} cases", n - 1) };
            format!(
                "A lock counts as ahead if it is ahead in each of {n} rounds. For two equal locks, this happens by chance in \
                 {by_chance}."
            )
        }
    };
    let n_warnings = source.results.warnings.len() + source.notes.len();
    let warnings =
        (n_warnings > 0).then(|| format!("The figures came with {}; see the end.", counted(n_warnings, "warning")));
    std::iter::once(rounds).chain(between_seeds(board)).chain(warnings).collect()
}

#[cfg(test)]
mod tests;
