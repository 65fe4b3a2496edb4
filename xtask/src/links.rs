//! Links in the texts lead somewhere: to a file of the tree, and to a heading that it has. The map has the files that no manifest
//! shows.

use crate::files::{below, read};
use std::path::Path;

/// Not ours: what others wrote, and what is built.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

/// Targets of the links of a page, but for those out of the tree. Code is left out: a slice may look like a link.
fn links(page: &str) -> Vec<String> {
    let mut links = Vec::new();
    for (n, prose) in page.split("```").enumerate() {
        // What stands between two fences is code.
        if n % 2 == 0 {
            let ends = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '\n']).next());
            links.extend(ends.filter(|link| !link.contains("://") && !link.starts_with("mailto:")).map(str::to_owned));
        }
    }
    links
}

/// What a heading is called in links: small letters, digits, and hyphens for spaces.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let is_kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    text.chars().filter(is_kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn fault(root: &Path, page: &str, link: &str) -> Option<String> {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let path = root.join(page);
    let target = if file.is_empty() { path } else { path.parent()?.join(file) };
    if !target.exists() {
        return Some(format!("{page}: {link}: there is no such file"));
    }
    let place = format!("<a id=\"{heading}\">");
    let is_it = |line: &str| line.starts_with('#') && anchor(line) == heading || line.contains(&place);
    let has = |text: String| text.lines().any(is_it);
    let is_page = target.extension().is_some_and(|extension| extension == "md");
    let is_dead = !heading.is_empty() && is_page && !read(&target).is_ok_and(has);
    is_dead.then(|| format!("{page}: {link}: there is no such heading"))
}

#[test]
fn links_lead_somewhere() {
    let root = crate::root();
    let mut faults = Vec::new();
    let pages = below(&root, "", &|name| SKIPPED.contains(&name)).unwrap();
    for page in pages.iter().filter(|name| name.ends_with(".md")) {
        let text = read(&root.join(page)).unwrap();
        faults.extend(links(&text).iter().filter_map(|link| fault(&root, page, link)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A page that the table of contents does not name is not in the book.
#[test]
fn the_book_has_all_pages() {
    let docs = crate::root().join("docs");
    let named = links(&read(&docs.join("SUMMARY.md")).unwrap());
    let pages = crate::files::names(&docs).unwrap();
    let pages = pages.into_iter().filter(|name| name.ends_with(".md") && name != "SUMMARY.md");
    assert_eq!(pages.filter(|name| !named.contains(name)).collect::<Vec<_>>(), [""; 0]);
}

/// The packages' directories are of two names, but for xtask's.
fn package(path: &str) -> &str {
    path.match_indices('/').nth(1).map_or(path, |(end, _)| &path[..end])
}

/// The file that `line` of a file at `path` takes as a module, if it is another package's.
fn taken_from_another_package(path: &str, line: &str) -> Option<String> {
    let relative = line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]")?;
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let taken = parts.join("/");
    (package(&taken) != package(path)).then_some(taken)
}

#[test]
fn the_map_has_the_files_that_several_packages_compile() {
    let root = crate::root();
    let map = read(&root.join("ARCHITECTURE.md")).unwrap();
    let mut missing = Vec::new();
    for path in below(&root, "", &|name| SKIPPED.contains(&name)).unwrap().iter().filter(|name| name.ends_with(".rs")) {
        let text = read(&root.join(path)).unwrap();
        missing.extend(
            text.lines().filter_map(|line| taken_from_another_package(path, line)).filter(|it| !map.contains(it)),
        );
    }
    assert_eq!(missing, [""; 0], "see \"Couplings that no manifest shows\"");
}
