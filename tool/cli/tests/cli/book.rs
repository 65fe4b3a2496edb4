//! The book's chapter of commands: what the program says of itself, and nothing else.

use crate::support::command;
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "\
# Commands

This page has the help of each command, as the program prints it. `ondeck help COMMAND` shows the same in your terminal.
";

/// Set to write the chapter instead of checking it.
const WRITE: &str = "ONDECK_WRITE_BOOK";

fn help(words: &[&str]) -> String {
    let output = command(words).env("COLUMNS", "80").output().expect("the program can be started");
    String::from_utf8(output.stdout).expect("all output is text")
}

/// The names under `Commands:`, in that order.
fn commands() -> Vec<String> {
    let whole = help(&["--help"]);
    let (_, list) = whole.split_once("Commands:\n").expect("it lists its commands");
    // What a long line goes on with stands further in.
    let lines = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_chapter_of_commands_is_what_the_program_says() {
    let mut chapter = HEAD.to_owned();
    let _ = write!(chapter, "\n```text\n{}```\n", help(&["--help"]));
    for name in commands() {
        let _ = write!(chapter, "\n## `ondeck {name}`\n\n```text\n{}```\n", help(&["help", &name]));
    }
    // Lines of help that are empty but for their indentation.
    let chapter: String = chapter.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, &chapter).expect("docs/ can be written");
    }
    let stands = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(stands == chapter, "docs/commands.md is stale: {WRITE}=1 cargo test -p ondeck-cli --test cli book");
}
