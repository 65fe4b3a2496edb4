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
    bring_along(root, &book)?;
    println!("{} pages: {}", chapters(&summary).len(), book.join("index.html").display());
    Ok(())
}

/// The pages that a table of contents names, as mdBook calls them.
fn chapters(summary: &str) -> Vec<String> {
    let link = |line: &str| Some(line.rsplit_once("](")?.1.trim_end().strip_suffix(".md)")?.to_owned());
    let named = summary.lines().filter_map(link);
    named.map(|page| format!("{}.html", if page == "README" { "index" } else { &page })).collect()
}

/// Puts the files that pages link to and that are no pages beside them, so that the book can go anywhere.
fn bring_along(root: &Path, book: &Path) -> Result<(), String> {
    let failed = |path: &Path| format!("{}: ", path.display());
    let pages = std::fs::read_dir(book).map_err(|error| failed(book) + &error.to_string())?;
    for page in pages.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "html")) {
        let text = std::fs::read_to_string(&page).map_err(|error| failed(&page) + &error.to_string())?;
        let (text, files) = with_files(&text, |path| root.join(path).is_file());
        for file in files {
            let copy = book.join(FILES).join(&file);
            let parent = copy.parent().unwrap_or(book);
            let copied = std::fs::create_dir_all(parent).and_then(|()| std::fs::copy(root.join(&file), &copy));
            copied.map_err(|error| failed(&copy) + &error.to_string())?;
        }
        std::fs::write(&page, text).map_err(|error| failed(&page) + &error.to_string())?;
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
