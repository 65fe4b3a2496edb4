//! Where results go: files, a page, standard output. `bench` and `sim` do the same with them.

use crate::args::{FormatArg, RunArgs};
use crate::plan::out_file;
use ondeck_kit::exit::Exit;
use ondeck_kit::file::{OutFile, file_of};
use ondeck_kit::terminal::{print, say, width};
use ondeck_kit::wording::{counted, typed};
use ondeck_report as report;
use ondeck_report::board::Board;
use ondeck_report::catalogue::Catalogue;
use ondeck_report::document::Document;
use ondeck_report::html::page;
use ondeck_report::inputs::Source;
use ondeck_report::output::{Format, PartialFile, Results, forget, keep, left};
use ondeck_workloads::catalogue;
use ondeck_workloads::plan::Point;
use std::path::Path;

/// Where the results go, known to be writable before anything is measured.
pub(crate) struct Destination<'a> {
    file: Option<(&'a Path, OutFile)>,
    page: Option<(&'a Path, OutFile)>,
    format: Option<FormatArg>,
}

impl<'a> Destination<'a> {
    pub(crate) fn new(args: &'a RunArgs) -> Result<Self, Exit> {
        let mut file = file_of("--out", out_file(args).map_err(Exit::Usage)?)?;
        let page = file_of("--report", args.report.as_deref())?;
        if let (Some((_, results)), Some((path, _))) = (&file, &page)
            && results.is(path)
        {
            return Err(Exit::Usage(format!(
                "--report and --out both name {}; each needs its own file",
                path.display()
            )));
        }
        let mut format = args.format;
        let is_asked_for = file.as_ref().is_some_and(|(_, file)| file.is_stdout());
        if is_asked_for {
            // As without a file, but in the format that a file gets.
            (file, format) = (None, format.or(Some(FormatArg::Csv)));
        }
        let destination = Destination { file, page, format };
        if destination.has_page_on_stdout() && (is_asked_for || destination.is_for_program()) {
            let what = "--report - and the results both go to standard output; use --out FILE for the results";
            return Err(Exit::Usage(what.to_string()));
        }
        destination.check_left()?;
        Ok(destination)
    }

    /// What an interrupted run has left is not lost.
    fn check_left(&self) -> Result<(), Exit> {
        match self.file.as_ref().and_then(|(_, file)| left(file)) {
            Some(left) => Err(Exit::Usage(format!(
                "--out: {} has rows of an interrupted run, which would be lost; move or remove that file",
                left.display()
            ))),
            None => Ok(()),
        }
    }

    /// Where rows go as they come.
    pub(crate) fn partial(&self) -> Option<PartialFile> {
        self.file.as_ref().and_then(|(_, file)| PartialFile::of(file))
    }

    /// Whether CSV goes to standard output, where nothing else can say what it is.
    pub(crate) fn is_bare_csv(&self) -> bool {
        self.file.is_none() && self.format == Some(FormatArg::Csv)
    }

    /// Whether a program gets the results from standard output.
    fn is_for_program(&self) -> bool {
        self.is_bare_csv() || (self.file.is_none() && self.format == Some(FormatArg::Json))
    }

    fn has_page_on_stdout(&self) -> bool {
        self.page.as_ref().is_some_and(|(_, page)| page.is_stdout())
    }

    /// Shows something to a person: where the table is, or on standard error if nothing is to stand beside what goes to
    /// standard output.
    fn show(&self, text: &str) -> Result<(), Exit> {
        if self.is_for_program() || self.has_page_on_stdout() {
            say(text.trim_end());
            return Ok(());
        }
        print(text)
    }

    /// Writes all that was asked for; of a run that is not whole, what does not take the place of a whole.
    pub(crate) fn deliver(&self, points: &[Point], results: &Results, is_whole: bool) -> Result<(), Exit> {
        if results.rows.is_empty() && !is_whole {
            say("nothing was finished, so nothing is written");
            // Of a simulation that fails, what was finished after the failure does not count.
            return self.file.iter().try_for_each(|(_, file)| forget(file)).map_err(Exit::Failed);
        }
        match &self.file {
            Some((path, file)) if is_whole || !file.is_regular() => self.write(path, file, points, results)?,
            Some((path, file)) => self.keep(path, file, points, results)?,
            None => self.write_to_stdout(points, results)?,
        }
        let Some((path, file)) = &self.page else { return Ok(()) };
        let is_kept = self.file.as_ref().is_some_and(|(_, file)| file.is_regular());
        if !is_whole && (is_kept || (file.is_regular() && path.exists())) {
            say(&format!("no page is written to {}: the run is not complete", path.display()));
            return Ok(());
        }
        let date = results.fingerprint.as_ref().map(|fingerprint| fingerprint.date.clone());
        let label = date.filter(|date| !date.is_empty()).unwrap_or("this run".to_string());
        let source = Source { label, results: results.clone(), notes: Vec::new() };
        file.replace(page(&Document::new(&[source], &catalogue())).as_bytes()).map_err(Exit::Failed)?;
        if !file.is_stdout() {
            say(&format!("a page with charts written to {}", path.display()));
        }
        Ok(())
    }

    fn write_to_stdout(&self, points: &[Point], results: &Results) -> Result<(), Exit> {
        let text = match self.format {
            Some(FormatArg::Csv) => results.to_text(Format::Csv),
            Some(FormatArg::Json) => results.to_text(Format::Json),
            Some(FormatArg::Table) | None => return self.show(&summary(points, results, false, width())),
        };
        // A table has them below.
        results.warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
        print(&text)
    }

    /// What the file holds; `None` if that is a table.
    fn format_in(&self, path: &Path) -> Option<Format> {
        match self.format {
            Some(FormatArg::Table) => None,
            Some(FormatArg::Csv) => Some(Format::Csv),
            Some(FormatArg::Json) => Some(Format::Json),
            None => Some(Format::of_extension(path).unwrap_or(Format::Csv)),
        }
    }

    /// Writes the file, then the table.
    fn write(&self, path: &Path, file: &OutFile, points: &[Point], results: &Results) -> Result<(), Exit> {
        let (name, format) = (path.display().to_string(), self.format_in(path));
        let is_kept = format.is_some() && file.is_regular();
        let written = match format {
            // A file is as wide as it likes.
            None => file.replace(summary(points, results, is_kept, usize::MAX).as_bytes()),
            Some(format) => results.write(file, format),
        };
        let written = written.and_then(|()| forget(file)).map_err(Exit::Failed);
        // Also what could not be kept: it may have taken long.
        self.show(&summary(points, results, is_kept && written.is_ok(), width()))?;
        written?;
        say(&format!("\n{} written to {name}", counted(results.rows.len(), "row")));
        Ok(())
    }

    /// Keeps what is finished beside the file, then shows it.
    fn keep(&self, path: &Path, file: &OutFile, points: &[Point], results: &Results) -> Result<(), Exit> {
        let left = keep(file, results).map_err(Exit::Failed);
        self.show(&summary(points, results, left.is_ok(), width()))?;
        let left = left?;
        let (n, left) = (counted(results.rows.len(), "row"), left.display());
        let whole = if path.exists() { "is unchanged" } else { "was not written" };
        let path = path.display();
        say(&format!("\n{n} written to {left}; {path} {whole}"));
        Ok(())
    }
}

/// The text for a person.
fn summary(points: &[Point], results: &Results, is_kept: bool, width: usize) -> String {
    let workloads = points.iter().map(|point| point.workload.to_string()).collect();
    let locks = points.iter().map(|point| point.lock.to_string()).collect();
    let board = Board::new(&results.rows, &Catalogue { workloads, locks, ..catalogue() });
    let board = board.on_simulated(results.simulated_cpus());
    report::summary(&board, results, is_kept, width)
}

/// The command line, as it could be typed again.
pub(crate) fn command() -> String {
    typed(&std::iter::once("ondeck".to_string()).chain(std::env::args().skip(1)).collect::<Vec<String>>())
}
