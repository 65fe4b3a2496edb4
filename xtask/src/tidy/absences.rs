//! Words that code must not use in some place: the part of "What is not there" in ARCHITECTURE.md that shows in names.

use super::{Fault, File};
use crate::lexer;

struct Absence {
    /// Where: the beginnings of the paths.
    places: &'static [&'static str],
    words: &'static [&'static str],
    reason: &'static str,
}

const LOCKS: &str = "crates/locks/src/";

const ABSENCES: [Absence; 3] = [
    Absence {
        places: &[LOCKS],
        words: &["std", "libc", "AtomicBool", "AtomicU8", "AtomicU32", "AtomicU64", "AtomicUsize", "AtomicPtr"],
        reason: "a lock knows of the machine only what the seam offers, or no other world can run it",
    },
    Absence {
        places: &[LOCKS],
        words: &["loom", "shuttle", "SeqCst"],
        reason: "one text for all worlds, and one word per decision",
    },
    Absence {
        places: &[LOCKS, "crates/ondeck/src/"],
        words: &["target_os", "target_arch", "target_env", "unix", "windows"],
        reason: "what differs between machines lives in ondeck-platform",
    },
];

pub(super) fn check(files: &[File]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let is_here = |absence: &&Absence| absence.places.iter().any(|place| file.path.starts_with(place));
        for absence in ABSENCES.iter().filter(is_here) {
            for token in lexer::without_tests(&lexer::tokens(&file.text)) {
                if let Some(word) = token.word().filter(|word| absence.words.contains(word)) {
                    let text = format!("`{word}` must not be here: {}", absence.reason);
                    faults.push(Fault::new(&file.path, token.line, text));
                }
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn code_is_looked_at_and_comments_and_tests_are_not() {
        let source = "// std\nuse std::thread;\n#[cfg(test)]\nmod tests { use std::thread; }\n";
        let faults = check(&[file("crates/locks/src/a.rs", source)]);
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].line, 2);
        assert!(check(&[file("crates/lab/src/a.rs", source)]).is_empty());
    }

    #[test]
    fn machines_are_told_apart_in_one_crate() {
        let source = "#[cfg(target_os = \"linux\")]\nfn a() {}\n";
        assert_eq!(check(&[file("crates/ondeck/src/a.rs", source)]).len(), 1);
        assert!(check(&[file("crates/platform/src/a.rs", source)]).is_empty());
    }
}
