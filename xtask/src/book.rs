//! `cargo xtask book`: docs/ as a book, by mdBook.
//!
//! mdBook is taken from PATH, or built below `target/` where it is missing.

use crate::command::{cargo, is_there, succeed};
use crate::files::{At, names, read, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes the pages of docs/ as a book to target/book.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let book = root.join("target/book");
    succeed(Command::new(mdbook(root)?).arg("build").arg(root.join("docs")))?;
    let chapters = chapters(&read(&root.join("docs/SUMMARY.md"))?);
    let missing: Vec<&str> = chapters.iter().map(String::as_str).filter(|page| !book.join(page).is_file()).collect();
    if !missing.is_empty() {
        return Err(format!("mdBook has not written {}", missing.join(", ")));
    }
    bring_along(root, &book)?;
    println!("{} pages: {}", chapters.len(), book.join("index.html").display());
    Ok(())
}

/// The pages that a table of contents names, as mdBook calls them.
fn chapters(summary: &str) -> Vec<String> {
    summary.lines().filter_map(|line| page_of(line.rsplit_once("](")?.1.trim_end().strip_suffix(')')?)).collect()
}

/// What mdBook makes of a file, if it is a page.
fn page_of(file: &str) -> Option<String> {
    match file.strip_suffix(".md")? {
        "SUMMARY" => None,
        "README" => Some("index.html".to_owned()),
        page => Some(format!("{page}.html")),
    }
}

/// Puts the files that pages link to and that are no pages beside them, so that the book can go anywhere.
fn bring_along(root: &Path, book: &Path) -> Result<(), String> {
    for name in names(book)?.iter().filter(|name| name.ends_with(".html")) {
        let page = book.join(name);
        let (text, files) = with_files(&read(&page)?, |path| root.join(path).is_file());
        for file in files {
            let content = std::fs::read(root.join(&file)).at(&file)?;
            write(&book.join(FILES).join(&file), content)?;
        }
        write(&page, text)?;
    }
    Ok(())
}

/// Where the files are in the book.
const FILES: &str = "files";

/// A page with its links out of docs/ turned to copies, and the files that these are of. mdBook has made `.html` of the `.md`
/// in a link, whether that is a page or not.
fn with_files(page: &str, is_file: impl Fn(&str) -> bool) -> (String, Vec<String>) {
    const OUT: &str = "href=\"../";
    let (mut text, mut files) = (String::new(), Vec::new());
    let mut parts = page.split(OUT);
    text += parts.next().unwrap_or_default();
    for part in parts {
        let link = part.split('"').next().unwrap_or_default();
        let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
        let source = path.strip_suffix(".html").map(|stem| format!("{stem}.md")).filter(|source| is_file(source));
        match source.or_else(|| is_file(path).then(|| path.to_owned())) {
            Some(file) => {
                let mark = if fragment.is_empty() { "" } else { "#" };
                text += &format!("href=\"{FILES}/{file}{mark}{fragment}{}", &part[link.len()..]);
                files.push(file);
            }
            None => text += &format!("{OUT}{part}"),
        }
    }
    (text, files)
}

/// The program, with as little of it as the book needs.
fn mdbook(root: &Path) -> Result<PathBuf, String> {
    if is_there("mdbook") {
        return Ok("mdbook".into());
    }
    let tools = root.join("target/tools");
    let program = tools.join("bin/mdbook");
    if !program.is_file() {
        let words = ["install", "--locked", "--no-default-features", "mdbook", "--root"];
        succeed(cargo(root).args(words).arg(&tools))?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_a_page_links_to_outside_comes_along() {
        let is_file = |path: &str| ["results/ports.md", "crates/a.toml"].contains(&path);
        let page =
            "<a href=\"../results/ports.html#t1\">p</a> <a href=\"../crates/a.toml\">a</a> <a href=\"../gone\">g</a>";
        let (text, files) = with_files(page, is_file);
        assert_eq!(
            text,
            "<a href=\"files/results/ports.md#t1\">p</a> <a href=\"files/crates/a.toml\">a</a> <a href=\"../gone\">g</a>"
        );
        assert_eq!(files, ["results/ports.md", "crates/a.toml"]);
    }

    /// Each page of docs/ is a chapter, and each chapter a page.
    #[test]
    fn the_book_has_all_pages() {
        let docs = crate::root().join("docs");
        let summary = read(&docs.join("SUMMARY.md")).unwrap();
        let named: BTreeSet<String> = chapters(&summary).into_iter().collect();
        let pages: BTreeSet<String> = names(&docs).unwrap().iter().filter_map(|name| page_of(name)).collect();
        assert_eq!(named, pages);
    }
}
