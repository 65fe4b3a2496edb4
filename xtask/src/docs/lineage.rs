//! The table of docs/lineage.md: every lock by what tells it from its neighbours.

use super::between_markers;
use super::table::{table, yes_or_no};
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
    table(LOCKS)
        .column("lock", |lock| {
            let home = if lock.name == "ondeck" { "crates/core" } else { "lab/lineage" };
            format!("[`{}`](../{home}/src/{}.rs)", lock.name, lock.name.replace('-', "_"))
        })
        .column("awake", |lock| lock.awake)
        .column("woken", |lock| lock.woken)
        .column("may bypass a waiter", |lock| lock.promises.bypass)
        .column("may starve", |lock| lock.promises.starves)
        .column("bytes", |lock| lock.bytes)
        .column("RMWs", |lock| lock.rmws)
        .column("timed", |lock| yes_or_no(lock.promises.timed))
        .column("may be freed at once", |lock| yes_or_no(lock.promises.free_after_release))
        .text()
}
