//! Code beside the locks that has a model in `proof/spec/`: the steps of its header, the comments where they happen, and the actions
//! of the module have the same names.
//!
//! The header has a section `Steps` that names the module and has a row for each step. A comment `module: step, step` says where
//! one happens. What an action models that is not our code, stands in the module in a line `\* of the program: action, action`.

use super::header::Header;
use super::source::all_lines;
use super::spec::defined_operator;
use super::tree::{File, fault};
use std::collections::BTreeSet;

const SECTION: &str = "Steps";
const OF_THE_PROGRAM: &str = "\\* of the program: ";

pub(super) fn check(files: &[File]) -> Vec<String> {
    let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
    rust.flat_map(|file| check_file(file, files)).collect()
}

fn check_file(file: &File, files: &[File]) -> Vec<String> {
    let header = Header::parse(&file.text);
    let Some(section) = header.section(SECTION) else { return Vec::new() };
    let fault = |text: String| fault(&file.path, 0, &text);
    let text = section.text();
    let before = text.split_once(".tla").map(|(before, _)| before);
    let Some((_, module)) = before.and_then(|before| before.rsplit_once("proof/spec/")) else {
        return vec![fault(format!("the section `{SECTION}` names no proof/spec/MODULE.tla"))];
    };
    let path = format!("proof/spec/{module}.tla");
    let Some(model) = files.iter().find(|file| file.path == path) else {
        return vec![fault(format!("{path} is missing"))];
    };
    let steps: BTreeSet<&str> = section.rows("step").into_iter().map(|(_, step)| step).collect();
    let (marked, actions) = (marked(module, files), actions(&model.text));
    let sides = [
        (&steps, &actions, format!("is no action of {path}")),
        (&actions, &steps, format!("of {path} has no row among the steps")),
        (&steps, &marked, format!("happens nowhere: there is no comment `{module}: STEP`")),
        (&marked, &steps, "is named by a comment, and has no row among the steps".to_owned()),
    ];
    let faults = sides.iter().flat_map(|(names, known, text)| names.difference(known).map(move |name| (name, text)));
    faults.map(|(name, text)| fault(format!("`{name}` {text}"))).collect()
}

/// The steps of a module that comments in the code name.
fn marked<'a>(module: &str, files: &'a [File]) -> BTreeSet<&'a str> {
    let start = format!("// {module}: ");
    let mut found = BTreeSet::new();
    for file in files.iter().filter(|file| !file.path.starts_with("xtask/") && file.text.contains(&start)) {
        let names = all_lines(&file.text).filter_map(|line| line.comment.strip_prefix(&start));
        found.extend(names.flat_map(|names| names.split(", ")));
    }
    found
}

/// The actions of a module, whose names begin with a small letter as those of groups of variables do, but for what its
/// program does.
fn actions(module: &str) -> BTreeSet<&str> {
    let is_action = |line: &&str| line.starts_with(|c: char| c.is_ascii_lowercase()) && !line.contains("== <<");
    let mut found: BTreeSet<&str> = module.lines().filter(is_action).filter_map(defined_operator).collect();
    for names in module.lines().filter_map(|line| line.strip_prefix(OF_THE_PROGRAM)) {
        for name in names.split(", ") {
            found.remove(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tree::file;
    use super::*;

    const CODE: &str = "//! A flip.\n//!\n//! # Steps\n//! `proof/spec/flip.tla` has it.\n//!\n//! | step | what |\n//! |---|---|\n\
        //! | `turn` | it turns |\n\nfn f() {\n    g(); // flip: turn\n}\n";
    const MODEL: &str =
        "\\* of the program: push\nvars == <<a>>\nIsUp == a = 1\nturn(t) ==\n  a' = 1\npush == a' = 0\n";

    fn faults(code: &str, model: &str) -> Vec<String> {
        check(&[file("crates/c/src/flip.rs", code), file("proof/spec/flip.tla", model)])
    }

    fn one_fault(code: &str, model: &str, part: &str) {
        let faults = faults(code, model);
        assert!(faults.len() == 1 && faults[0].contains(part), "{faults:?}");
    }

    #[test]
    fn header_code_and_module_have_the_same_steps() {
        assert_eq!(faults(CODE, MODEL), [""; 0]);
        one_fault(CODE, &MODEL.replace("turn", "Turn"), "`turn` is no action");
        one_fault(CODE, &MODEL.replace("of the program", "by nobody"), "`push` of proof/spec/flip.tla has no row");
        one_fault(&CODE.replace("// flip: turn", ""), MODEL, "`turn` happens nowhere");
        one_fault(&CODE.replace("// flip: turn", "// flip: turn, fall"), MODEL, "`fall` is named by a comment");
    }

    #[test]
    fn the_section_names_a_module_that_is_there() {
        one_fault(&CODE.replace("proof/spec/flip.tla", "A model"), MODEL, "names no proof/spec/MODULE.tla");
        one_fault(&CODE.replace("proof/spec/flip.tla", "proof/spec/flop.tla"), MODEL, "proof/spec/flop.tla is missing");
    }

    #[test]
    fn files_without_such_a_section_are_left_alone() {
        assert_eq!(faults("//! A flip.\n", MODEL), [""; 0]);
    }
}
