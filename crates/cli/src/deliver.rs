//! Where results go: files, a page, standard output. `bench` and `sim` do the same with them.

use crate::args::{FormatArg, RunArgs};
use crate::exit::Exit;
use crate::plan::out_file;
use crate::report::document;
use crate::terminal::{print, say, width};
use ondeck_lab::board::Board;
use ondeck_lab::driver::Point;
use ondeck_lab::lock::locks;
use ondeck_lab::output::{Format, OutFile, Results};
use ondeck_lab::report;
use ondeck_lab::report::page::page;
use ondeck_lab::report::source::Source;
use std::path::Path;

/// Where the results go, known to be writable before anything is measured.
pub(crate) struct Destination<'a> {
    file: Option<(&'a Path, OutFile)>,
    page: Option<(&'a Path, OutFile)>,
    format: Option<FormatArg>,
    /// What CSV is written as: with a header, or to follow a file that has one.
    csv: Format,
}

impl<'a> Destination<'a> {
    pub(crate) fn new(args: &'a RunArgs, csv: Format) -> Result<Self, Exit> {
        let path = out_file(args).map_err(Exit::Usage)?;
        let check = |path: &'a Path| OutFile::check(path).map(|file| (path, file));
        let file = path.map(check).transpose().map_err(|what| Exit::Usage(format!("--out: {what}")))?;
        let page = args.report.as_deref().map(check).transpose();
        let page = page.map_err(|what| Exit::Usage(format!("--report: {what}")))?;
        if let (Some((_, results)), Some((path, _))) = (&file, &page)
            && results.is(path)
        {
            return Err(Exit::Usage(format!("--report and --out both name {}", path.display())));
        }
        Ok(Destination { file, page, format: args.format, csv })
    }

    /// Whether CSV goes to standard output, where nothing else can say what it is.
    pub(crate) fn is_bare_csv(&self) -> bool {
        self.file.is_none() && self.format == Some(FormatArg::Csv)
    }

    /// Writes all that was asked for.
    pub(crate) fn deliver(&self, points: &[Point], results: &Results) -> Result<(), Exit> {
        self.deliver_results(points, results)?;
        let Some((path, file)) = &self.page else { return Ok(()) };
        let date = results.fingerprint.as_ref().map(|fingerprint| fingerprint.date.clone());
        let label = date.filter(|date| !date.is_empty()).unwrap_or("this run".to_string());
        let source = Source { label, results: results.clone(), notes: Vec::new() };
        file.replace(page(&document(&[source], &[])).as_bytes()).map_err(Exit::Failed)?;
        say(&format!("a page with charts written to {}", path.display()));
        Ok(())
    }

    /// Writes the file, then the table; or, without a file, whatever was asked for to standard output.
    fn deliver_results(&self, points: &[Point], results: &Results) -> Result<(), Exit> {
        let Some((path, file)) = &self.file else {
            return print(&match self.format {
                Some(FormatArg::Csv) => results.to_text(self.csv),
                Some(FormatArg::Json) => results.to_text(Format::Json),
                Some(FormatArg::Table) | None => summary(points, results, None, width()),
            });
        };
        let written = match self.format {
            // A file is as wide as it likes.
            Some(FormatArg::Table) => file.replace(summary(points, results, Some(path), usize::MAX).as_bytes()),
            Some(FormatArg::Csv) => results.write(file, self.csv),
            Some(FormatArg::Json) => results.write(file, Format::Json),
            None => results.write(file, Format::of_extension(path).filter(|f| *f != Format::Csv).unwrap_or(self.csv)),
        };
        written.map_err(Exit::Failed)?;
        print(&summary(points, results, Some(path), width()))?;
        say(&format!("\n{} rows written to {}", results.rows.len(), path.display()));
        Ok(())
    }
}

/// The text for a person.
fn summary(points: &[Point], results: &Results, out: Option<&Path>, width: usize) -> String {
    let workloads: Vec<String> = points.iter().map(|point| point.workload.to_string()).collect();
    let names: Vec<String> = points.iter().map(|point| point.lock.clone()).collect();
    let peers: Vec<&str> = locks().iter().filter(|lock| lock.peer).map(|lock| lock.name).collect();
    let board = Board::new(&results.rows, &workloads, &names);
    let out = out.map(|path| path.display().to_string());
    report::summary(&board, results, &peers, out.as_deref(), width)
}

/// The command line, as it could be typed again.
pub(crate) fn command() -> String {
    std::iter::once("ondeck".to_string()).chain(std::env::args().skip(1).map(quoted)).collect::<Vec<String>>().join(" ")
}

/// A word as a shell wants it.
pub(crate) fn quoted(word: String) -> String {
    let is_plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./,=:+@%".contains(c));
    if is_plain { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// So many of them.
pub(crate) fn several(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
