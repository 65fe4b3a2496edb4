//! How long a file and a function may be: a function that fits a screen is read whole, a file that does not grow
//! without end stays about one thing.

use super::{Fault, File};
use crate::lexer::{self, Function};

const MOST_FILE_LINES: usize = 600;
/// Counted from `fn` to the closing brace.
const MOST_FUNCTION_LINES: usize = 60;

pub(super) fn check(files: &[File]) -> Vec<Fault> {
    files.iter().filter(|file| file.is_rust()).flat_map(too_long).collect()
}

/// What is too long in a file.
fn too_long(file: &File) -> Vec<Fault> {
    let mut found = Vec::new();
    let n_lines = file.text.lines().count();
    if n_lines > MOST_FILE_LINES {
        found.push(Fault::new(&file.path, 0, format!("{n_lines} lines; at most {MOST_FILE_LINES}")));
    }
    if is_test(&file.path) {
        return found;
    }
    let tokens = lexer::without_tests(&lexer::tokens(&file.text));
    for Function { name, start, end, .. } in lexer::functions(&tokens) {
        let line = tokens[start].line;
        let n_lines = tokens[end - 1].last_line - line + 1;
        if n_lines > MOST_FUNCTION_LINES {
            let text = format!("`{name}` has {n_lines} lines; at most {MOST_FUNCTION_LINES}");
            found.push(Fault::new(&file.path, line, text));
        }
    }
    found
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn function(n_lines: usize) -> String {
        format!("fn long(a: [u8; 2]) {{\n{}}}\n", "a;\n".repeat(n_lines - 2))
    }

    #[test]
    fn the_last_line_that_fits_fits() {
        assert!(check(&[file("a.rs", &function(60))]).is_empty());
        let faults = check(&[file("a.rs", &function(61))]);
        assert_eq!(faults, [Fault::new("a.rs", 1, "`long` has 61 lines; at most 60")]);
    }

    #[test]
    fn tests_may_be_long_but_files_may_not() {
        assert!(check(&[file("crates/a/tests/b.rs", &function(61))]).is_empty());
        assert!(check(&[file("a.rs", &format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(61)))]).is_empty());
        assert_eq!(check(&[file("crates/a/tests/b.rs", &"\n".repeat(601))]).len(), 1);
    }
}
