//! The table of docs/lineage.md: every lock by what tells it from its neighbours.

use super::table as markdown;
use ondeck_locks::{Entry, LOCKS};

pub(super) const PATH: &str = "docs/lineage.md";

const HEAD: [&str; 9] =
    ["lock", "awake", "woken", "may bypass a waiter", "may starve", "bytes", "RMWs", "timed", "may be freed at once"];

pub(super) fn table() -> String {
    let rows = [HEAD.map(str::to_owned).to_vec()].into_iter().chain(LOCKS.iter().map(row));
    markdown(&rows.collect::<Vec<_>>())
}

/// A paragraph per lock is the other half of the page, and written by hand.
pub(super) fn check_story(page: &str) -> Result<(), String> {
    let is_told = |entry: &&Entry| page.contains(&format!("\n**`{}`** ", entry.name));
    let untold: Vec<&str> = LOCKS.iter().filter(|entry| !is_told(entry)).map(|entry| entry.name).collect();
    if untold.is_empty() {
        return Ok(());
    }
    Err(format!("{PATH}: no paragraph begins with **`NAME`** for {}", untold.join(", ")))
}

fn row(entry: &Entry) -> Vec<String> {
    let said = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let promises = &entry.promises;
    vec![
        format!("[`{0}`](../crates/locks/src/{1}.rs)", entry.name, entry.name.replace('-', "_")),
        entry.awake.to_owned(),
        entry.woken.to_owned(),
        promises.bypass.to_owned(),
        promises.starves.to_owned(),
        entry.bytes.to_string(),
        entry.rmws.to_string(),
        said(promises.timed),
        said(promises.free_after_release),
    ]
}
