//! What the figures of a report say, in words.

use super::document::{Answer, Origin};
use super::source::Source;
use super::verdict::sentences;

/// What the report is about, in one line.
pub fn title(sources: &[Source]) -> String {
    let labels: Vec<String> = sources.iter().map(|source| source.label.clone()).collect();
    format!("Locks compared: {}", super::text::list(&labels))
}

/// What the figures say, the most important first. `peers` are the locks of other projects.
pub fn answers(sources: &[Source], peers: &[&str]) -> Vec<Answer> {
    let answer = |source: &Source| Answer {
        question: format!("What do the figures of {} say?", source.label),
        sentences: sentences(&source.board(), peers),
    };
    sources.iter().map(answer).collect()
}

/// Where the figures of a file come from.
pub fn origin(source: &Source) -> Origin {
    let results = &source.results;
    let machine = results.fingerprint.as_ref().map(|fingerprint| ("Machine".to_string(), fingerprint.line()));
    Origin {
        label: source.label.clone(),
        facts: machine.into_iter().collect(),
        command: results.command.clone(),
        warnings: results.warnings.iter().chain(&source.notes).cloned().collect(),
    }
}
