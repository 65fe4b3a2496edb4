//! `cargo xtask book`: docs/ as a book, by mdBook.
//!
//! mdBook is taken from PATH, or built below `target/` where it is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

const USAGE: &str = "usage: cargo xtask book\n\nWrites the pages of docs/ as a book to target/book/index.html.";

pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    if !words.is_empty() {
        return Err(USAGE.to_owned());
    }
    let book = root.join("target/book");
    run_it(Command::new(mdbook(root)?).arg("build").arg(root.join("docs")))?;
    let summary =
        std::fs::read_to_string(root.join("docs/SUMMARY.md")).map_err(|error| format!("SUMMARY.md: {error}"))?;
    let missing: Vec<String> = chapters(&summary).into_iter().filter(|page| !book.join(page).is_file()).collect();
    if !missing.is_empty() {
        return Err(format!("mdBook has not written {}", missing.join(", ")));
    }
    println!("{} pages: {}", chapters(&summary).len(), book.join("index.html").display());
    Ok(())
}

/// The pages that a table of contents names, as mdBook calls them.
fn chapters(summary: &str) -> Vec<String> {
    let link = |line: &str| Some(line.rsplit_once("](")?.1.trim_end().strip_suffix(".md)")?.to_owned());
    let named = summary.lines().filter_map(link);
    named.map(|page| format!("{}.html", if page == "README" { "index" } else { &page })).collect()
}

/// The program, with as little of it as the book needs.
fn mdbook(root: &Path) -> Result<PathBuf, String> {
    if Command::new("mdbook").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Ok("mdbook".into());
    }
    let tools = root.join("target/tools");
    let program = tools.join("bin/mdbook");
    if !program.is_file() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let words = ["install", "--locked", "--no-default-features", "mdbook", "--root"];
        run_it(Command::new(cargo).args(words).arg(&tools))?;
    }
    Ok(program)
}

fn run_it(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}; its report is above")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Each page of docs/ is a chapter, and each chapter a page.
    #[test]
    fn the_book_has_all_pages() {
        let docs = crate::root().join("docs");
        let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
        let named: BTreeSet<String> = chapters(&summary).into_iter().collect();
        let files = std::fs::read_dir(&docs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let pages = files.filter_map(|file| file.strip_suffix(".md").map(str::to_owned));
        let pages: BTreeSet<String> = pages
            .filter(|page| page != "SUMMARY")
            .map(|page| format!("{}.html", if page == "README" { "index" } else { &page }))
            .collect();
        assert_eq!(named, pages);
    }
}
