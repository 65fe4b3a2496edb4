//! Text that must not be in the tree: where somebody's machine keeps things, and how somebody's work was organised.
//!
//! A reader elsewhere can do nothing with either.

use super::{Fault, File};

/// Beginnings of paths that exist on one machine only. Written in halves so that this file passes its own rule.
const MACHINE_PATHS: [&str; 6] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
    concat!("/t", "mp/"),
    concat!("C:\\", "Users"),
];

/// Words that speak of how the work was organised, as whole words in lower case.
const PROCESS_WORDS: [&str; 3] = [concat!("ses", "sion"), concat!("ses", "sions"), concat!("help", "ers wrote")];

/// Where packages come from; anything else in the lock file is a mirror of one machine.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn check(files: &[File]) -> Vec<Fault> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        faults.extend(complaint(&file.path, line).map(|text| Fault::new(&file.path, number, text)));
    }
    faults
}

fn complaint(path: &str, line: &str) -> Option<String> {
    if let Some(found) = MACHINE_PATHS.iter().find(|start| begins_a_path(line, start)) {
        return Some(format!("`{found}` is a place on one machine"));
    }
    if let Some(word) = PROCESS_WORDS.iter().find(|word| has_word(&line.to_lowercase(), word)) {
        return Some(format!("`{word}` speaks of how the work was organised"));
    }
    if names_small_issue(&line.to_lowercase()) {
        return Some("the number of a task says nothing to a reader; say what it was about".to_owned());
    }
    if path.ends_with("Cargo.lock") && line.starts_with("source = ") && !line.contains(REGISTRY) {
        return Some("a package from elsewhere than crates.io".to_owned());
    }
    if path.starts_with(".cargo/") && (line.contains("[source.") || line.contains("[registries")) {
        return Some("registries belong into the configuration of one machine".to_owned());
    }
    None
}

/// Whether an absolute path with this beginning is in the line: the middle of a longer path does not count.
fn begins_a_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/}".contains(c))
    })
}

/// Whether `word` stands in `text` with no letter or digit on either side.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        ![before, after].iter().flatten().any(|c| c.is_alphanumeric())
    })
}

/// "Issue" with a number below 1000 and no project's name before it: a task of ours. Other projects' have five digits.
fn names_small_issue(line: &str) -> bool {
    line.match_indices(concat!("iss", "ue ")).any(|(at, word)| {
        let digits = line[at + word.len()..].trim_start_matches('#');
        let n_digits = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        (1..=3).contains(&n_digits)
    })
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn faults(path: &str, text: &str) -> usize {
        check(&[file(path, text)]).len()
    }

    #[test]
    fn machine_paths_are_found_but_not_parts_of_others() {
        assert_eq!(faults("a.md", concat!("see /ho", "me/me/x\nand /ro", "ot/y")), 2);
        assert_eq!(faults("a.md", concat!("crates/t", "mp/x and {}/wo", "rk/")), 0);
    }

    #[test]
    fn words_of_process_are_found_as_words() {
        assert_eq!(faults("a.rs", concat!("// from an earlier ses", "sion.")), 1);
        assert_eq!(faults("a.rs", "// an obsession"), 0);
    }

    #[test]
    fn our_own_tasks_are_not_named_but_other_projects_are() {
        assert_eq!(faults("a.rs", concat!("// Iss", "ue 2, part 3")), 1);
        assert_eq!(faults("a.rs", "// Go issue 68578"), 0);
        assert_eq!(faults("a.rs", concat!("// iss", "ue #31")), 1);
    }

    #[test]
    fn packages_come_from_one_place() {
        assert_eq!(faults("Cargo.lock", "source = \"sparse+https://mirror.example/\""), 1);
        assert_eq!(faults("Cargo.lock", &format!("source = \"{REGISTRY}\"")), 0);
        assert_eq!(faults(".cargo/config.toml", "[source.crates-io]"), 1);
    }
}
