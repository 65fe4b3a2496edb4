//! Result files: written whole or not at all, read with errors that name the file and the line.
//!
//! Two formats hold the same rows. CSV is plain, header and rows, for whatever reads CSV; what machine and command
//! made it stands in a second file beside it, with a hash of the rows that it is about, because one of the two may be
//! replaced without the other. JSON has everything in one.

mod file;
mod partial;
mod place;

pub use file::{OutFile, fingerprint_path};
pub use partial::PartialFile;

use crate::fingerprint::{Fingerprint, hash};
use crate::row::{COLUMNS, RUN_FIELDS, Row};
use crate::wording::QUEUES;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::path::{Path, PathBuf};

/// Format of a result file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Header and one line per row.
    Csv,
    /// One object with `fingerprint`, `command`, `warnings` and `rows`.
    Json,
}

impl Format {
    /// What the extension of a file name asks for.
    pub fn of_extension(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Format::Csv),
            "json" => Some(Format::Json),
            _ => None,
        }
    }
}

/// Everything that a measurement leaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The machine. Absent in what was read from CSV with nothing beside it.
    #[serde(default)]
    pub fingerprint: Option<Fingerprint>,
    /// The command that made it.
    #[serde(default)]
    pub command: String,
    /// What the run noticed that casts doubt on its figures.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The measurements.
    #[serde(serialize_with = "with_run_fields")]
    pub rows: Vec<Row>,
}

/// A row as JSON has it: with what tells one simulated run from another.
#[derive(Serialize)]
struct JsonRow<'a> {
    #[serde(flatten)]
    row: &'a Row,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_hash: Option<&'a str>,
}

fn with_run_fields<S: Serializer>(rows: &[Row], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows.iter().map(|row| JsonRow {
        row,
        seed: row.seed,
        trace_hash: row.trace_hash.as_deref(),
    }))
}

/// What stands in a file beside a CSV file.
#[derive(Debug, Serialize, Deserialize)]
struct SidecarFile {
    fingerprint: Option<Fingerprint>,
    command: String,
    warnings: Vec<String>,
    /// Hash of the rows that all this is about, as CSV without the header.
    #[serde(default)]
    rows_hash: Option<String>,
}

impl Results {
    /// CPUs of the simulated machine that the rows are of, if they are.
    pub fn simulated_cpus(&self) -> Option<u32> {
        let fingerprint = self.fingerprint.as_ref()?;
        fingerprint.simulation.is_some().then_some(fingerprint.cpus_allowed)
    }

    /// Doubt about rows with more threads than the simulated machine has CPUs.
    pub fn doubt_about_queues(&self) -> Option<String> {
        let cpus = self.simulated_cpus()?;
        let has_queues = self.rows.iter().any(|row| row.threads > cpus);
        has_queues.then(|| format!("rows with more than {cpus} threads have {QUEUES}"))
    }

    /// The text of a result file.
    pub fn to_text(&self, format: Format) -> String {
        match format {
            Format::Csv => csv_header() + &csv_rows(&self.rows),
            Format::Json => json_text(self),
        }
    }

    /// The same without the rows: what goes beside a CSV file.
    pub fn fingerprint_text(&self) -> String {
        let Results { fingerprint, command, warnings, rows: _ } = self.clone();
        json_text(&SidecarFile { fingerprint, command, warnings, rows_hash: Some(rows_hash(&self.rows)) })
    }

    /// Writes the results to the file; with CSV, also their fingerprint beside it.
    pub fn write(&self, file: &OutFile, format: Format) -> Result<(), String> {
        file.replace(self.to_text(format).as_bytes())?;
        match format {
            Format::Csv => file.replace_beside(self.fingerprint_text().as_bytes()),
            Format::Json => Ok(()),
        }
    }
}

fn json_text<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("strings and numbers always have a JSON form");
    text.push('\n');
    text
}

fn csv_header() -> String {
    COLUMNS.join(",") + "\n"
}

fn csv_rows(rows: &[Row]) -> String {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).expect("a row is flat, and a vector takes every write");
    }
    let bytes = writer.into_inner().expect("a vector takes every write");
    String::from_utf8(bytes).expect("strings and numbers are UTF-8")
}

/// By which rows are known again. Files that were written before there were lower bounds have no column for them, so a
/// column in which nothing stands is left out.
fn rows_hash(rows: &[Row]) -> String {
    let text = csv_rows(rows);
    if rows.iter().all(|row| row.at_least.is_empty()) {
        return hash(&text.replace(",\n", "\n"));
    }
    hash(&text)
}

/// Why a file is not what was asked for, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    file: PathBuf,
    line: Option<u64>,
    what: String,
}

impl ReadError {
    /// About the file as a whole.
    pub fn new(file: &Path, what: String) -> Self {
        ReadError { file: file.to_path_buf(), line: None, what }
    }

    /// Not the JSON that is expected.
    pub(crate) fn json(file: &Path, error: &serde_json::Error, expected: &str) -> Self {
        let (line, what) = json_error(error, expected);
        ReadError { file: file.to_path_buf(), line: Some(line), what }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for ReadError {}

/// What is expected, for messages about files that are something else.
const EXPECTED: &str =
    "expected a result file of `ondeck bench --out`, CSV or JSON, or a profile of `ondeck profile --format json`";

/// Reads a result file, CSV or JSON by its content. Also gives warnings about columns it does not know: a
/// newer ondeck may have written them, or somebody else.
pub fn read(file: &Path) -> Result<(Results, Vec<String>), ReadError> {
    parse(file, &text_of(file)?)
}

/// What is in the file, which is not nothing.
///
/// # Errors
/// If there is no text in it.
pub fn text_of(file: &Path) -> Result<String, ReadError> {
    let fail = |what: String| ReadError::new(file, what);
    let bytes = std::fs::read(file).map_err(|error| fail(format!("cannot be read: {}", reason(&error))))?;
    let text = String::from_utf8(bytes).map_err(|_| fail(format!("is not text; {EXPECTED}")))?;
    if text.trim().is_empty() {
        return Err(fail(format!("is empty; {EXPECTED}")));
    }
    Ok(text)
}

/// The same as [`read`] for a file whose text is known.
pub(crate) fn parse(file: &Path, text: &str) -> Result<(Results, Vec<String>), ReadError> {
    let fail = |line: Option<u64>, what: String| ReadError { file: file.to_path_buf(), line, what };
    let is_json = text.trim_start().starts_with('{');
    let parsed = if is_json { parse_json(text) } else { parse_csv(text) };
    let (mut results, unknown) = parsed.map_err(|(line, what)| fail(Some(line), what))?;
    if results.rows.is_empty() {
        return Err(fail(None, "has no rows".to_string()));
    }
    let unknown = unknown.iter();
    let mut warnings: Vec<String> = unknown
        .map(|name| format!("{}: unknown column {name:?}: the rows are kept, the column is not shown", file.display()))
        .collect();
    if !is_json && let Some(beside) = read_beside(file)? {
        match beside.doubt(&results.rows) {
            Some(doubt) => warnings.push(format!(
                "{} {doubt}, so the machine, the command and the warnings that it names are not believed",
                fingerprint_path(file).display()
            )),
            None => {
                let SidecarFile { fingerprint, command, warnings, .. } = beside;
                results = Results { fingerprint, command, warnings, rows: results.rows };
            }
        }
    }
    Ok((results, warnings))
}

impl SidecarFile {
    /// Why it may not be about these rows.
    fn doubt(&self, rows: &[Row]) -> Option<&'static str> {
        match &self.rows_hash {
            None => Some("does not tell, by a hash, the rows that it is about"),
            Some(known) if *known != rows_hash(rows) => {
                Some("is about other rows: one of the two files was replaced or changed without the other")
            }
            Some(_) => None,
        }
    }
}

/// What stands beside a CSV file; `None` if nothing does.
fn read_beside(file: &Path) -> Result<Option<SidecarFile>, ReadError> {
    let path = fingerprint_path(file);
    let fail = |line: Option<u64>, what: String| ReadError { file: path.clone(), line, what };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(None, format!("cannot be read: {}", reason(&error)))),
    };
    serde_json::from_str(&text).map(Some).map_err(|error| {
        let (line, what) = json_error(&error, "expected what `ondeck bench --out FILE.csv` writes beside FILE.csv");
        fail(Some(line), what)
    })
}

/// Results and unknown columns, or line and reason.
type Parsed = Result<(Results, Vec<String>), (u64, String)>;

/// Columns without which a row means nothing. The others are figures, and any figure may be absent.
const REQUIRED: usize = 7;

fn parse_csv(text: &str) -> Parsed {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| (1, format!("{error}; {EXPECTED}")))?.clone();
    if let Some(missing) = COLUMNS[..REQUIRED].iter().find(|column| !header.iter().any(|name| name == **column)) {
        return Err((1, format!("column {missing} is missing; {EXPECTED}")));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| csv_error(&error, &header))?;
        let row = record.deserialize(Some(&header)).map_err(|error| {
            let (line, what) = csv_error(&error, &header);
            (record.position().map_or(line, csv::Position::line), what)
        })?;
        rows.push(row);
    }
    let unknown = header.iter().filter(|name| !COLUMNS.contains(name)).map(str::to_string).collect();
    Ok((Results { rows, ..Results::default() }, unknown))
}

/// Line and reason, in our words: the library's speak of record numbers and byte offsets.
fn csv_error(error: &csv::Error, header: &csv::StringRecord) -> (u64, String) {
    let line = error.position().map_or(1, csv::Position::line);
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} fields instead of {expected_len}; is the file cut off?")
        }
        csv::ErrorKind::Deserialize { err, .. } => match err.field().and_then(|field| header.get(field as usize)) {
            Some(column) => format!("column {column}: {}", err.kind()),
            None => err.kind().to_string(),
        },
        _ => error.to_string(),
    };
    (line, what)
}

fn parse_json(text: &str) -> Parsed {
    let results: Results = serde_json::from_str(text).map_err(|error| json_error(&error, EXPECTED))?;
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| (error.line() as u64, error.to_string()))?;
    let keys =
        value["rows"].as_array().into_iter().flatten().filter_map(|row| row.as_object()).flat_map(|row| row.keys());
    let unknown: std::collections::BTreeSet<&String> =
        keys.filter(|key| !COLUMNS.contains(&key.as_str()) && !RUN_FIELDS.contains(&key.as_str())).collect();
    Ok((results, unknown.into_iter().cloned().collect()))
}

/// Line and reason.
fn json_error(error: &serde_json::Error, expected: &str) -> (u64, String) {
    let hint = if error.is_eof() { "is the file cut off?" } else { expected };
    // The library's message ends with the place, which stands in front of ours.
    let message = error.to_string();
    let what = message.split(" at line ").next().unwrap_or_default();
    (error.line() as u64, format!("{what}; {hint}"))
}

/// What the operating system says, without the error number that Rust appends.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Simulation;

    #[test]
    fn queues_are_doubted_where_there_are_more_threads_than_simulated_cpus() {
        let doubt = |threads, simulation| {
            let fingerprint = Fingerprint { cpus_allowed: 8, simulation, ..Fingerprint::default() };
            let rows = vec![Row { threads, ..Row::default() }];
            Results { fingerprint: Some(fingerprint), rows, ..Results::default() }.doubt_about_queues()
        };
        assert!(
            doubt(9, Some(Simulation::default()))
                .unwrap()
                .starts_with("rows with more than 8 threads have more threads than")
        );
        assert_eq!([doubt(8, Some(Simulation::default())), doubt(9, None)], [None, None]);
    }

    fn results() -> Results {
        let row = Row { platform: "hardware".into(), workload: "solo".into(), lock: "std".into(), ..Row::default() };
        let row = Row { threads: 1, seconds: 0.25, ops: Some(1000), ops_per_s: Some(4000.0), ..row };
        let fingerprint = Some(Fingerprint { machine: "toy-1c".into(), ..Fingerprint::default() });
        Results { fingerprint, command: "ondeck bench".into(), warnings: vec![], rows: vec![row.clone(), row] }
    }

    /// Writes the text to a file of its own and reads it.
    fn read_text(name: &str, text: &str) -> Result<(Results, Vec<String>), String> {
        let directory = std::env::temp_dir().join(format!("ondeck-output-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        let read = read(&path).map_err(|error| error.to_string());
        std::fs::remove_file(&path).unwrap();
        read
    }

    #[test]
    fn json_comes_back_whole() {
        let (read, warnings) = read_text("whole.json", &results().to_text(Format::Json)).unwrap();
        assert_eq!(read, results());
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn csv_keeps_the_rows() {
        let (read, warnings) = read_text("rows.csv", &results().to_text(Format::Csv)).unwrap();
        assert_eq!(read.rows, results().rows);
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn a_fingerprint_is_believed_of_its_own_rows_only() {
        let rows = results().rows;
        let read = |name: &str, beside: &str| {
            let path = std::env::temp_dir().join(format!("ondeck-beside-{name}-{}.csv", std::process::id()));
            std::fs::write(&path, results().to_text(Format::Csv)).unwrap();
            std::fs::write(fingerprint_path(&path), beside).unwrap();
            let read = read(&path).unwrap();
            for path in [&path, &fingerprint_path(&path)] {
                std::fs::remove_file(path).unwrap();
            }
            read
        };
        let beside = results().fingerprint_text();
        assert_eq!(read("own", &beside), (results(), vec![]));
        let other = Results { rows: rows[..1].to_vec(), ..results() }.fingerprint_text();
        let without = beside.replace("rows_hash", "hash_of_old");
        for (name, beside, word) in [("other", other, "is about other rows"), ("none", without, "by a hash")] {
            let (read, warnings) = read(name, &beside);
            assert_eq!(read, Results { rows: rows.clone(), ..Results::default() }, "{name}");
            assert!(warnings.len() == 1 && warnings[0].contains(word), "{warnings:?}");
            assert!(warnings[0].contains(".csv.fingerprint.json"), "{warnings:?}");
        }
    }

    /// The same rows as a program has written them that knew no lower bounds.
    #[test]
    fn rows_without_lower_bounds_are_known_by_what_they_were_known_by() {
        let text = csv_rows(&results().rows);
        let old: String = text.lines().map(|line| format!("{}\n", line.strip_suffix(',').unwrap())).collect();
        assert_eq!(rows_hash(&results().rows), hash(&old));
        let mut rows = results().rows;
        rows[0].set_at_least(crate::row::WAIT_MAX_NS);
        assert_eq!(rows_hash(&rows), hash(&csv_rows(&rows)));
    }

    #[test]
    fn no_rows_still_have_a_header() {
        assert_eq!(Results::default().to_text(Format::Csv), COLUMNS.join(",") + "\n");
    }

    #[track_caller]
    fn fails(name: &str, text: &str, words: &[&str]) {
        let message = read_text(name, text).unwrap_err();
        for word in words.iter().chain(&[name]) {
            assert!(message.contains(word), "no {word:?} in: {message}");
        }
        assert!(!message.contains('\n'), "more than a line: {message}");
    }

    #[test]
    fn errors_name_file_and_line() {
        let csv = results().to_text(Format::Csv);
        fails("cut.csv", &csv[..csv.len() - 12], &["line 3", "cut off"]);
        fails("word.csv", &csv.replace("1,0,0.25", "one,0,0.25"), &["line 2", "threads"]);
        fails("foreign.csv", "a,b\n1,2\n", &["line 1", "column platform is missing", "ondeck bench"]);
        fails("empty.csv", "", &["empty"]);
        fails("header.csv", &Results::default().to_text(Format::Csv), &["no rows"]);
        let json = results().to_text(Format::Json);
        fails("cut.json", &json[..json.len() / 2], &["line", "cut off"]);
        fails("foreign.json", "{\"a\": 1}\n", &["line 1", "rows", "ondeck bench"]);
    }

    #[test]
    fn unknown_columns_are_named() {
        let more = "platform,machine,workload,lock,threads,round,seconds,mood\nhardware,m,solo,std,1,0,1.0,fine\n";
        let (read, warnings) = read_text("mood.csv", more).unwrap();
        assert_eq!(read.rows.len(), 1);
        assert!(warnings.len() == 1 && warnings[0].contains("\"mood\""), "{warnings:?}");
        let more = results().to_text(Format::Json).replace("\"round\": 0", "\"round\": 0, \"mood\": 3");
        let (_, warnings) = read_text("mood.json", &more).unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains("\"mood\""), "{warnings:?}");
    }
}
