//! Where a check goes: the terminal, the rows, the page, and the file for others.

use crate::args::CheckArgs;
use crate::deliver::{command, file_of};
use crate::exit::Exit;
use crate::terminal::{as_typed, print, say, width};
use ondeck_report::check::{Check, contribution};
use ondeck_report::document::{Document, Finding};
use ondeck_report::fingerprint::Fingerprint;
use ondeck_report::html::page;
use ondeck_report::inputs::Source;
use ondeck_report::output::{Format, OutFile, Results};
use ondeck_report::row::Row;
use ondeck_report::wording::{counted, wrap};
use ondeck_workloads::check::CheckPlan;
use ondeck_workloads::{catalogue, simulate};
use std::path::Path;

/// As many warnings of a busy machine are shown.
const SHOWN_WARNINGS: usize = 4;
/// In place of the command line in the file for others: it may have paths, and with them names of users.
const WITHOUT_PATHS: &str = "ondeck check";

/// The files, known to be writable before anything is measured.
pub(super) struct Outputs<'a> {
    rows: Option<(&'a Path, OutFile)>,
    page: Option<(&'a Path, OutFile)>,
    contribution: Option<(&'a Path, OutFile)>,
}

/// What a run has given.
pub(super) struct CheckResults<'a> {
    pub(super) plan: &'a CheckPlan,
    pub(super) calibration: &'a str,
    pub(super) fingerprint: Fingerprint,
    pub(super) rows: Vec<Row>,
    pub(super) warnings: Vec<String>,
    pub(super) is_whole: bool,
}

impl<'a> Outputs<'a> {
    pub(super) fn new(args: &'a CheckArgs) -> Result<Self, Exit> {
        let outputs = Outputs {
            rows: file_of("--out", args.out.as_deref())?,
            page: file_of("--report", args.report.as_deref())?,
            contribution: file_of("--contribute", args.contribute.as_deref())?,
        };
        let files = [&outputs.rows, &outputs.page, &outputs.contribution];
        let files: Vec<&(&Path, OutFile)> = files.into_iter().flatten().collect();
        for (place, (path, file)) in files.iter().enumerate() {
            if file.is_stdout() {
                return Err(Exit::Usage(
                    "--out, --report and --contribute need files; standard output has the table".to_owned(),
                ));
            }
            if files[..place].iter().any(|(_, other)| other.is(path)) {
                return Err(Exit::Usage(format!("two flags name {}; each needs its own file", path.display())));
            }
        }
        Ok(outputs)
    }

    /// Prints what there is. Files are written of a whole run; the rows of another are kept beside their file.
    pub(super) fn deliver(&self, found: CheckResults) -> Result<(), Exit> {
        let CheckResults { plan, calibration, fingerprint, rows, warnings, is_whole } = found;
        if rows.is_empty() {
            say("nothing was finished, so nothing is written");
            return Ok(());
        }
        let check = Check::new(&rows, plan.simulated.machine.cpus.len() as u32).with_warnings(&warnings);
        // Only what counts is in the files.
        let rows = rows.into_iter().filter(|row| !row.is_off_pace).collect();
        let line = fingerprint.line();
        let results = Results { fingerprint: Some(fingerprint), command: command(), warnings, rows };
        let mut written = self.write_rows(&results, is_whole);
        if is_whole {
            written = written.and_then(|()| self.write_page(&check, &results, plan));
            written = written.and_then(|()| self.write_contribution(&check, &results, calibration));
        }
        let not_whole = if is_whole { "" } else { "The run ended early, so this is a part of it.\n\n" };
        let about = format!("\n{}", wrap("", &line, width()));
        // Also if a file could not be written: it has taken minutes.
        print(&as_typed(&(not_whole.to_owned() + &check.text(width()) + &about + &shown(&results.warnings))))?;
        written
    }

    fn write_rows(&self, results: &Results, is_whole: bool) -> Result<(), Exit> {
        let Some((path, file)) = &self.rows else { return Ok(()) };
        let format = Format::of_extension(path).unwrap_or(Format::Csv);
        let written = if is_whole || !file.is_regular() {
            results.write(file, format).and_then(|()| file.forget()).map(|()| path.to_path_buf())
        } else {
            file.keep(results)
        };
        let written = written.map_err(Exit::Failed)?;
        say(&format!("{} written to {}", counted(results.rows.len(), "row"), written.display()));
        Ok(())
    }

    /// Both curves in each chart: what was simulated is laid over what was measured.
    fn write_page(&self, check: &Check, results: &Results, plan: &CheckPlan) -> Result<(), Exit> {
        let Some((path, file)) = &self.page else { return Ok(()) };
        let part = |is_simulated: bool| {
            let is_of = |row: &&Row| (row.platform == "sim") == is_simulated;
            results.rows.iter().filter(is_of).cloned().collect::<Vec<Row>>()
        };
        let source = |label: &str, results| Source { label: label.to_owned(), results, notes: Vec::new() };
        let simulated =
            Results { fingerprint: Some(simulate::fingerprint(&plan.simulated)), rows: part(true), ..results.clone() };
        let simulated = Results { warnings: Vec::new(), ..simulated };
        let sources =
            [source("measured", Results { rows: part(false), ..results.clone() }), source("simulated", simulated)];
        let mut document = Document::new(&sources, &[], &catalogue());
        document.title = format!("{}, measured and simulated", plan.simulated.machine.name);
        document.verdict = check.verdict();
        let question = "How far is the simulation to be believed here?".to_owned();
        document.findings.insert(0, Finding { question, sentences: check.sentences() });
        file.replace(page(&document).as_bytes()).map_err(Exit::Failed)?;
        say(&format!("a page with charts written to {}", path.display()));
        Ok(())
    }

    fn write_contribution(&self, check: &Check, results: &Results, calibration: &str) -> Result<(), Exit> {
        let Some((path, file)) = &self.contribution else { return Ok(()) };
        let results = Results { command: WITHOUT_PATHS.to_owned(), ..results.clone() };
        let text = contribution(&results, calibration, &check.verdict());
        file.replace(text.as_bytes()).map_err(Exit::Failed)?;
        say(&format!("a file to attach to a report written to {}", path.display()));
        Ok(())
    }
}

/// What casts doubt on the figures.
fn shown(warnings: &[String]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut text = "\nWarnings\n".to_owned();
    text.extend(warnings.iter().take(SHOWN_WARNINGS).map(|warning| wrap("- ", warning, width())));
    let more = warnings.len().saturating_sub(SHOWN_WARNINGS);
    if more > 0 {
        text += &format!("- {more} more\n");
    }
    text
}
