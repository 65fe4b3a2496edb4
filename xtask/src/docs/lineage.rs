//! The table of docs/lineage.md: every lock by what tells it from its neighbours.

use ondeck_kit::Grid;
use ondeck_lineage::{Entry, LOCKS};
use std::fs;
use std::path::Path;

pub(super) const PATH: &str = "docs/lineage.md";

/// The page with its table, whose other part is a paragraph for each lock, written by hand.
pub(super) fn page(root: &Path) -> Result<String, String> {
    let page = fs::read_to_string(root.join(PATH)).map_err(|error| format!("{PATH}: {error}"))?;
    let is_told = |entry: &&Entry| page.contains(&format!("\n**`{}`** ", entry.name));
    let untold: Vec<&str> = LOCKS.iter().filter(|entry| !is_told(entry)).map(|entry| entry.name).collect();
    if !untold.is_empty() {
        return Err(format!("{PATH}: no paragraph begins with **`NAME`** for {}", untold.join(", ")));
    }
    between_markers(&page, "locks", &locks())
        .ok_or_else(|| format!("{PATH}: no `<!-- locks -->` and `<!-- /locks -->`"))
}

fn locks() -> String {
    let yes_or_no = |is_so| if is_so { "yes" } else { "no" };
    let columns = ["lock", "awake", "woken", "may bypass a waiter", "may starve", "bytes", "RMWs", "timed"];
    let mut table = Grid::new(columns.into_iter().chain(["may be freed at once"]), [""; 0]);
    for lock in LOCKS {
        let home = if lock.name == "ondeck" { "crates/core" } else { "lab/lineage" };
        let (name, promises) = (lock.name, &lock.promises);
        table.row([
            format!("[`{name}`](../{home}/src/{}.rs)", name.replace('-', "_")),
            lock.awake.to_string(),
            lock.woken.to_string(),
            promises.bypass.to_string(),
            promises.starves.to_string(),
            lock.bytes.to_string(),
            lock.rmws.to_string(),
            yes_or_no(promises.timed).to_owned(),
            yes_or_no(promises.free_after_release).to_owned(),
        ]);
    }
    table.markdown_of_markdown()
}

/// `page` with `text` between the markers called `name`.
fn between_markers(page: &str, name: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(&format!("<!-- {name} -->\n"))?;
    let (_, after) = rest.split_once(&format!("<!-- /{name} -->"))?;
    Some(format!("{before}<!-- {name} -->\n{text}<!-- /{name} -->{after}"))
}

#[test]
fn only_what_is_between_the_markers_changes() {
    let page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n";
    assert_eq!(between_markers(page, "x", "new\n").unwrap(), "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n");
    assert_eq!(between_markers(page, "y", "new\n"), None);
}
