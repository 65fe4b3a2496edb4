//! Words that GLOSSARY.md replaces by others. Its last table is the list, so the rule and its reason stay one text.

use super::forbidden::has_word;
use super::{Fault, File};
use crate::lexer;

const GLOSSARY: &str = "GLOSSARY.md";
/// The heading of the table that lists them.
const HEADING: &str = "## Words we avoid";

/// Looks at the comments of the crates. A lineage section may use the words of the design it tells of.
pub(super) fn check(files: &[File]) -> Vec<Fault> {
    let Some(glossary) = files.iter().find(|file| file.path == GLOSSARY) else {
        return vec![Fault::new(GLOSSARY, 0, "is missing")];
    };
    let avoided = avoided(&glossary.text);
    if avoided.is_empty() {
        return vec![Fault::new(GLOSSARY, 0, format!("no table under `{HEADING}`"))];
    }
    let looked_at = files.iter().filter(|file| file.is_rust() && file.path.starts_with("crates/"));
    looked_at.flat_map(|file| check_file(file, &avoided)).collect()
}

/// Pairs of a word to avoid, in lower case, and what to say instead.
fn avoided(glossary: &str) -> Vec<(String, &str)> {
    let table = glossary.lines().skip_while(|line| *line != HEADING).skip(1);
    let rows = table.take_while(|line| !line.starts_with('#')).filter(|line| line.starts_with('|')).skip(2);
    let cells = rows.filter_map(|row| row.trim_matches('|').split_once('|'));
    cells.flat_map(|(avoid, say)| avoid.split(',').map(move |word| (word.trim().to_lowercase(), say.trim()))).collect()
}

fn check_file(file: &File, avoided: &[(String, &str)]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut in_lineage = false;
    for token in lexer::tokens(&file.text) {
        let Some(comment) = token.comment() else { continue };
        if let Some(heading) = comment.strip_prefix("//! # ") {
            in_lineage = heading.starts_with("Lineage");
        }
        if in_lineage && comment.starts_with("//!") {
            continue;
        }
        let lower = comment.to_lowercase();
        for (word, say) in avoided.iter().filter(|(word, _)| has_word(&lower, word)) {
            faults.push(Fault::new(&file.path, token.line, format!("`{word}`: the glossary says {say}")));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn faults(source: &str) -> Vec<Fault> {
        let glossary = format!("# G\n{HEADING}\n\n| avoid | say |\n|---|---|\n| newcomer, hart | arrival or core |\n");
        check(&[file(GLOSSARY, &glossary), file("crates/a.rs", source)])
    }

    #[test]
    fn comments_are_looked_at_and_code_is_not() {
        assert_eq!(
            faults("let newcomer = \"newcomer\"; // the Newcomer"),
            [Fault::new("crates/a.rs", 1, "`newcomer`: the glossary says arrival or core")]
        );
        assert!(faults("// a chart of newcomers").is_empty());
    }

    #[test]
    fn lineage_may_quote() {
        assert!(faults("//! # Lineage\n//! its newcomer").is_empty());
        assert_eq!(faults("//! # Lineage\n//! it\n//! # State word\n//! a newcomer").len(), 1);
    }

    #[test]
    fn a_glossary_without_the_table_is_a_fault() {
        assert_eq!(check(&[file(GLOSSARY, "# G\n")]).len(), 1);
        assert_eq!(check(&[]).len(), 1);
    }
}
