//! The answer to one question.

use crate::inputs::Source;
use ondeck_kit::wording::{counted, list_some, plain};

/// With this an answer begins that is none.
pub(crate) const UNKNOWN: &str = "Unknown: ";

/// A person reads so many sentences of one answer.
pub(super) const SHOWN: usize = 6;

/// So many locks are named in one breath.
pub(super) const NAMED_LOCKS: usize = 8;
/// So many numbers of threads stand in a sentence.
const NAMED_NUMBERS: usize = 16;

/// One thing that the figures say.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The question, in a few words: "Which lock kept its speed?"
    pub question: String,
    /// One or more sentences. Every word that judges has a figure beside it.
    pub sentences: Vec<String>,
}

/// The sentences of all files, those of each with its name if they are not the same. What is left out is counted. `None`
/// without a sentence.
pub(super) fn answer(question: &str, sources: &[Source], mut per_file: Vec<Vec<String>>) -> Option<Finding> {
    let is_said_once = per_file.iter().all(|said| *said == per_file[0]);
    if is_said_once {
        per_file.truncate(1);
    }
    let shown_per_file = (SHOWN / per_file.len().max(1)).max(1);
    let mut sentences = Vec::new();
    let mut n_hidden = 0;
    for (source, said) in sources.iter().zip(per_file) {
        let shown = shown_per_file.min(SHOWN - sentences.len());
        n_hidden += said.len().saturating_sub(shown);
        let of_file = |said: String| if is_said_once { said } else { format!("{}: {said}", source.label) };
        sentences.extend(said.into_iter().take(shown).map(of_file));
    }
    if sentences.is_empty() {
        return None;
    }
    let hidden = (n_hidden > 0).then(|| format!("Left out: {}; see the figures.", counted(n_hidden, "more sentence")));
    let sentences = sentences.iter().chain(&hidden).map(|sentence| plain(sentence)).collect();
    Some(Finding { question: plain(question), sentences })
}

/// Numbers of threads as in a sentence; of many, the first.
pub(super) fn numbers(threads: &[u32]) -> String {
    list_some(&threads.iter().map(u32::to_string).collect::<Vec<String>>(), NAMED_NUMBERS)
}
