//! The rows of a run that goes on. Each is in a file beside the one that the whole is for as soon as it is there, so that
//! no end of the run loses it.

use super::{Format, OutFile, Results, csv_header, csv_rows, fingerprint_path, reason};
use crate::row::Row;
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

impl OutFile {
    /// Where the rows of a run go while it goes on. Pipes and devices have no file beside them.
    pub fn partial(&self) -> Option<PartialFile> {
        self.beside(PARTIAL).map(|file| PartialFile { file, begun: None })
    }

    /// Where the rows of a run are that was interrupted or has failed, if there are any.
    pub fn left(&self) -> Option<PathBuf> {
        self.beside(PARTIAL).map(|file| file.path).filter(|path| path.exists())
    }

    /// Writes what is known at the end of a run that is not whole, and gives the place.
    pub fn keep(&self, results: &Results) -> Result<PathBuf, String> {
        let partial = self.beside(PARTIAL).ok_or("pipes and devices have no file beside them")?;
        results.write(&partial, Format::Csv)?;
        Ok(partial.path)
    }

    /// Removes the rows that are in the whole file now.
    pub fn forget(&self) -> Result<(), String> {
        let Some(path) = self.left() else { return Ok(()) };
        let cannot = |error: std::io::Error| format!("cannot remove {}: {}", path.display(), reason(&error));
        fs::remove_file(&path).map_err(cannot)?;
        // A run that is whole has written none.
        let _ = fs::remove_file(fingerprint_path(&path));
        Ok(())
    }
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
        let mut partial = file.partial().unwrap();
        assert!(file.left().is_none() && file.forget().is_ok());
        let row = |round| Row { workload: "solo".into(), round, ops_per_s: Some(0.1 + 0.2), ..Row::default() };
        let rows: Vec<Row> = (0..3).map(row).collect();
        for n in 1..=rows.len() {
            partial.add(&rows[n - 1]).unwrap();
            assert_eq!(read(&file.left().unwrap()).unwrap().0.rows, rows[..n], "to the last digit");
        }
        let results = Results { command: "bench".into(), rows, ..Results::default() };
        assert_eq!(file.left(), file.keep(&results).ok());
        assert_eq!(read(&file.left().unwrap()), Ok((results, vec![])));
        file.forget().unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_full_disk_is_told() {
        let full = OutFile::check(std::path::Path::new("/dev/full")).unwrap();
        assert!(full.partial().is_none() && full.left().is_none());
        let error = PartialFile { file: full, begun: None }.add(&Row::default()).unwrap_err();
        assert_eq!(error, "cannot write /dev/full: No space left on device");
    }
}
