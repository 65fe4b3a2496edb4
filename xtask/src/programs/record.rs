//! What a run leaves: its rows, in `target/` and in the terminal.

use crate::files::{At, write};
use serde::Serialize;
use std::path::Path;

/// Writes the rows as CSV to `target/NAME`, and prints them.
pub(super) fn keep<T: Serialize>(root: &Path, name: &str, rows: &[T]) -> Result<(), String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row)).at(name)?;
    let text = writer.into_inner().at(name)?;
    println!("{}", String::from_utf8_lossy(&text));
    write(&root.join("target").join(name), text)?;
    println!("target/{name} is written");
    Ok(())
}
