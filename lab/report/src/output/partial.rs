//! What a run leaves that was interrupted or has failed: the rows that were finished, in a file beside the one that the
//! whole is for. Another run of the same command goes on from there.

use super::{Format, OutFile, Results, read, reason};
use crate::fingerprint::Fingerprint;
use crate::row::Row;
use std::fs;
use std::path::PathBuf;

/// What the warning about a run that has failed begins with: it is about the rows that are missing.
pub const FAILED: &str = "the run failed, and what should follow is missing";

/// What earlier runs of a command have finished.
#[derive(Debug, Default)]
pub struct EarlierRuns {
    /// The rows.
    pub rows: Vec<Row>,
    /// What casts doubt on them.
    pub warnings: Vec<String>,
}

impl EarlierRuns {
    /// All warnings, each once, with those of the run that goes on.
    pub fn warnings_with(self, later: Vec<String>) -> Vec<String> {
        let mut all = self.warnings;
        let new: Vec<String> = later.into_iter().filter(|warning| !all.contains(warning)).collect();
        all.extend(new);
        all
    }
}

impl OutFile {
    /// Where the rows of an interrupted run are, if there has been one.
    pub fn left(&self) -> Option<PathBuf> {
        self.partial().map(|partial| partial.path).filter(|path| path.exists())
    }

    /// What an interrupted run of `command` on the machine `now` has left; nothing if there has been none.
    ///
    /// # Errors
    /// In one line, if it was another command, machine or program, or if that is not known.
    pub fn earlier(&self, now: &Fingerprint, command: &str) -> Result<EarlierRuns, String> {
        let Some(path) = self.left() else { return Ok(EarlierRuns::default()) };
        let refuse = |what: String, to_do: &str| Err(format!("{} {what}; {to_do} remove that file", path.display()));
        let (left, doubts) = read(&path).map_err(|error| error.to_string())?;
        let Some(then) = left.fingerprint else {
            let doubt = doubts.first().map_or(String::new(), |doubt| format!(" ({doubt})"));
            return refuse(format!("does not say which command and machine it is from{doubt}"), "to start again,");
        };
        if left.command != command {
            return refuse(format!("is from another command: {}", left.command), "run that one with --resume, or");
        }
        let differences = then.differences(now);
        if !differences.is_empty() {
            let what = format!("is from another machine or program: {}", differences.join(", "));
            return refuse(what, "use --resume there, or");
        }
        let lasting = |warning: &String| !warning.starts_with(FAILED) && !is_about_earlier(warning);
        Ok(EarlierRuns { rows: left.rows, warnings: left.warnings.into_iter().filter(lasting).collect() })
    }

    /// Keeps the results of a run that is not whole, and gives the place. `format` is that of the whole; what follows a
    /// header elsewhere gets one here, so that it can be read.
    pub fn keep(&self, results: &Results, format: Format) -> Result<PathBuf, String> {
        let partial = self.partial().ok_or("pipes and devices have no file beside them")?;
        results.write(&partial, if format == Format::Json { Format::Json } else { Format::Csv })?;
        Ok(partial.path)
    }

    /// Removes what an interrupted run has left: its rows are in the whole file now.
    pub fn forget(&self) -> Result<(), String> {
        let Some(path) = self.left() else { return Ok(()) };
        let cannot = |error: std::io::Error| format!("cannot remove {}: {}", path.display(), reason(&error));
        fs::remove_file(&path).map_err(cannot)?;
        // JSON has none.
        let _ = fs::remove_file(super::fingerprint_path(&path));
        Ok(())
    }

    fn partial(&self) -> Option<OutFile> {
        self.beside(".partial")
    }
}

/// What the results say whose rows are of more than one run.
pub fn about_earlier(n: usize, total: usize) -> String {
    format!("the rows of {n} of {total} measurements{ABOUT_EARLIER}")
}

const ABOUT_EARLIER: &str = " were made in an earlier run, which was interrupted or failed";

fn is_about_earlier(warning: &str) -> bool {
    warning.ends_with(ABOUT_EARLIER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(command: &str) -> Results {
        let row = Row { workload: "solo".into(), lock: "std".into(), ops_per_s: Some(0.1 + 0.2), ..Row::default() };
        let row = Row { seed: Some(7), trace_hash: Some("0a".into()), ..row };
        let warnings = vec!["noise".into(), format!("{FAILED}: why"), about_earlier(1, 2)];
        Results { fingerprint: Some(Fingerprint::default()), command: command.into(), warnings, rows: vec![row] }
    }

    /// A file of its own for the test, in a directory that is removed.
    fn in_directory(name: &str, test: impl FnOnce(OutFile)) {
        let directory = std::env::temp_dir().join(format!("ondeck-partial-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        test(OutFile::check(&directory.join("a.csv")).unwrap());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn what_is_kept_is_taken_up_by_the_same_command_on_the_same_machine() {
        in_directory("same", |file| {
            let now = Fingerprint::default();
            assert!(file.left().is_none() && file.earlier(&now, "x").unwrap().rows.is_empty());
            for (format, is_whole) in [(Format::CsvRows, false), (Format::Csv, false), (Format::Json, true)] {
                let path = file.keep(&results("bench"), format).unwrap();
                assert_eq!(Some(path), file.left());
                let earlier = file.earlier(&now, "bench").unwrap();
                let warnings = earlier.warnings;
                let with = |later: &[&str]| {
                    let earlier = EarlierRuns { rows: vec![], warnings: warnings.clone() };
                    earlier.warnings_with(later.iter().map(|warning| warning.to_string()).collect())
                };
                assert_eq!(with(&["more", "noise"]), ["noise", "more"]);
                assert_eq!(earlier.rows[0].ops_per_s, Some(0.1 + 0.2), "to the last digit");
                assert_eq!(earlier.rows[0].trace_hash.is_some(), is_whole, "JSON has all of a row");
            }
            assert!(file.earlier(&now, "other").unwrap_err().contains("another command: bench; run that one"));
            let elsewhere = Fingerprint { cpu: "toy".into(), ..now };
            let error = file.earlier(&elsewhere, "bench").unwrap_err();
            assert!(error.contains(r#"cpu was "" and is "toy""#) && !error.contains('\n'), "{error}");
            file.forget().unwrap();
            assert!(file.left().is_none() && file.forget().is_ok());
        });
    }

    #[test]
    fn rows_of_unknown_origin_are_not_taken_up() {
        in_directory("unknown", |file| {
            let path = file.keep(&results("bench"), Format::Csv).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replace(",std,", ",pthread,")).unwrap();
            let error = file.earlier(&Fingerprint::default(), "bench").unwrap_err();
            for words in ["a.csv.partial does not say", "is about other rows", "remove that file"] {
                assert!(error.contains(words), "no {words:?} in {error}");
            }
        });
    }
}
