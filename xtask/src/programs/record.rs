//! What a run leaves: rows, and beside them the machine, the command and what did not run.

use super::wish::Wish;
use crate::docs;
use crate::docs::programs::to_csv;
use ondeck_lab::this_machine;
use ondeck_report::fingerprint;
use serde::Serialize;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the rows, as the file `name`: to the record of this machine, and then to the pages, if they are of all programs.
pub(super) fn keep<T: Serialize>(
    root: &Path,
    wish: &Wish,
    name: &str,
    rows: &[T],
    skipped: &[String],
) -> Result<(), String> {
    let (text, fingerprint) = (to_csv(rows)?, this_machine::fingerprint());
    let record = Path::new("results").join(&fingerprint.machine);
    let path = if wish.is_whole() { record } else { PathBuf::from("target") }.join(name);
    let origin = json!({
        "fingerprint": fingerprint,
        "command": wish.command,
        "warnings": skipped,
        "rows_hash": fingerprint::hash(&text),
    });
    let origin = serde_json::to_string_pretty(&origin).map_err(|error| error.to_string())? + "\n";
    let file = root.join(&path);
    fs::create_dir_all(file.parent().unwrap_or(root))
        .and_then(|()| fs::write(&file, text))
        .and_then(|()| fs::write(file.with_extension("csv.origin.json"), origin))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{} is written", path.display());
    if wish.is_whole() { docs::run(root, &[]) } else { Ok(()) }
}
