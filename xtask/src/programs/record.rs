//! What a run leaves: rows, and beside them the machine, the command and what did not run.

use crate::docs::programs::{Row, to_csv};
use ondeck_lab::this_machine;
use ondeck_report::fingerprint;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The command with these words after it.
pub(super) fn command(words: &[String]) -> String {
    format!("cargo xtask programs {}", words.join(" ")).trim_end().to_owned()
}

/// Writes the rows, as the file `name`: to the record of this machine, if they are of all programs.
pub(super) fn write(
    root: &Path,
    is_whole: bool,
    name: &str,
    mut rows: Vec<Row>,
    command: &str,
    warnings: &[String],
) -> Result<(), String> {
    let machine = this_machine::fingerprint().machine;
    for row in &mut rows {
        row.machine.clone_from(&machine);
    }
    keep(root, is_whole, name, &to_csv(&rows)?, command, warnings)
}

/// Writes such a text, as the file `name`.
pub(super) fn keep(
    root: &Path,
    is_whole: bool,
    name: &str,
    text: &str,
    command: &str,
    warnings: &[String],
) -> Result<(), String> {
    let fingerprint = this_machine::fingerprint();
    let path =
        if is_whole { Path::new("results").join(&fingerprint.machine) } else { PathBuf::from("target") }.join(name);
    let origin = json!({
        "fingerprint": fingerprint,
        "command": command,
        "warnings": warnings,
        "rows_hash": fingerprint::hash(text),
    });
    let origin = serde_json::to_string_pretty(&origin).map_err(|error| error.to_string())? + "\n";
    let file = root.join(&path);
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    std::fs::write(&file, text).map_err(failed)?;
    std::fs::write(file.with_extension("csv.origin.json"), origin).map_err(failed)?;
    println!("{} is written", path.display());
    Ok(())
}
