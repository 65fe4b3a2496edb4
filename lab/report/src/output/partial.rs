//! The rows of a run that goes on. Each is in a file beside the one that the whole is for as soon as it is there, so that
//! no end of the run loses it.

use super::{Format, Results, csv_header, csv_rows, fingerprint_path};
use crate::row::Row;
use ondeck_kit::file::{OutFile, reason};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

/// A CSV file that gets one row after the other. The first one makes it.
#[derive(Debug)]
pub struct PartialFile {
    file: OutFile,
    begun: Option<File>,
}

impl PartialFile {
    /// Where the rows of a run go that is to end in `file`. Pipes and devices have no file beside them.
    pub fn of(file: &OutFile) -> Option<PartialFile> {
        file.beside(PARTIAL).map(|file| PartialFile { file, begun: None })
    }

    /// Appends the row.
    ///
    /// # Errors
    /// In one line. A part of the row may be there, so that nothing should follow.
    pub fn add(&mut self, row: &Row) -> Result<(), String> {
        let line = csv_rows(std::slice::from_ref(row));
        let (file, text) = match &mut self.begun {
            Some(file) => (file, line),
            none => (none.insert(self.file.begin()?), csv_header() + &line),
        };
        file.write_all(text.as_bytes()).map_err(|error| self.file.cannot(&error))
    }
}

/// Where the rows are of a run that was interrupted or has failed, if there are any.
pub fn left(file: &OutFile) -> Option<PathBuf> {
    file.beside(PARTIAL).map(|file| file.path().to_owned()).filter(|path| path.exists())
}

/// Writes what is known at the end of a run that is not whole, and gives the place.
pub fn keep(file: &OutFile, results: &Results) -> Result<PathBuf, String> {
    let partial = file.beside(PARTIAL).ok_or("pipes and devices have no file beside them")?;
    results.write(&partial, Format::Csv)?;
    Ok(partial.path().to_owned())
}

/// Removes the rows that are in the whole file now.
pub fn forget(file: &OutFile) -> Result<(), String> {
    let Some(path) = left(file) else { return Ok(()) };
    let cannot = |error: std::io::Error| format!("cannot remove {}: {}", path.display(), reason(&error));
    fs::remove_file(&path).map_err(cannot)?;
    // A run that is whole has written none.
    let _ = fs::remove_file(fingerprint_path(&path));
    Ok(())
}

const PARTIAL: &str = ".partial";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    #[test]
    fn rows_are_there_as_they_come_until_they_are_forgotten() {
        let directory = std::env::temp_dir().join(format!("ondeck-partial-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let file = OutFile::check(&directory.join("a.csv")).unwrap();
        let mut partial = PartialFile::of(&file).unwrap();
        assert!(left(&file).is_none() && forget(&file).is_ok());
        let row = |round| Row { workload: "solo".into(), round, ops_per_s: Some(0.1 + 0.2), ..Row::default() };
        let rows: Vec<Row> = (0..3).map(row).collect();
        for n in 1..=rows.len() {
            partial.add(&rows[n - 1]).unwrap();
            assert_eq!(read(&left(&file).unwrap()).unwrap().0.rows, rows[..n], "to the last digit");
        }
        let results = Results { command: "bench".into(), rows, ..Results::default() };
        assert_eq!(left(&file), keep(&file, &results).ok());
        assert_eq!(read(&left(&file).unwrap()), Ok((results, vec![])));
        forget(&file).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_full_disk_is_told() {
        let full = OutFile::check(std::path::Path::new("/dev/full")).unwrap();
        assert!(PartialFile::of(&full).is_none() && left(&full).is_none());
        let error = PartialFile { file: full, begun: None }.add(&Row::default()).unwrap_err();
        assert_eq!(error, "cannot write /dev/full: No space left on device");
    }
}
