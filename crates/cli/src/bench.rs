//! `ondeck bench`.

use crate::args::{BenchArgs, FormatArg};
use crate::exit::Exit;
use crate::plan::{estimated_seconds, notes, out_file, plan};
use crate::report::document;
use crate::terminal::{print, progress_bar, say, stop_on_ctrl_c, width};
use ondeck_lab::board::Board;
use ondeck_lab::driver::{self, Cut, Failure, Plan, Progress};
use ondeck_lab::fingerprint::Fingerprint;
use ondeck_lab::lock::locks;
use ondeck_lab::output::{Format, OutFile, Results};
use ondeck_lab::report;
use ondeck_lab::report::page::page;
use ondeck_lab::report::source::Source;
use ondeck_lab::report::text::run_time;
use ondeck_lab::row::Row;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(crate) fn run(args: &BenchArgs) -> Result<(), Exit> {
    let out = Destination::new(args)?;
    let plan = plan(args).map_err(Exit::Usage)?;
    let fingerprint = Fingerprint::of_this_machine();
    say(&opening(&plan));
    notes(args, &plan).iter().for_each(|note| say(&format!("warning: {note}")));
    let stop = stop_on_ctrl_c();
    let measured = measure(&plan, stop)?;
    let end = match measured.failure {
        Some(failure) => Err(Exit::Failed(failure)),
        None if stop.load(Relaxed) => Err(Exit::Interrupted),
        None => Ok(()),
    };
    let Measured { rows, warnings, .. } = measured;
    let results = Results { fingerprint: Some(fingerprint), command: command(), warnings, rows };
    if results.rows.is_empty() && end.is_err() {
        say("it ended before anything was finished; nothing is written");
        return end;
    }
    out.deliver(&plan, &results)?;
    end
}

/// What is about to happen, and how long it takes.
fn opening(plan: &Plan) -> String {
    let several = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let (points, rounds) = (several(plan.points.len(), "measurement"), several(plan.rounds as usize, "round"));
    format!("{points} of {} s, {rounds}: about {}", plan.seconds, run_time(estimated_seconds(plan)))
}

/// What a run has given, be it complete or not.
struct Measured {
    rows: Vec<Row>,
    warnings: Vec<String>,
    /// What ended it early, other than the user.
    failure: Option<String>,
}

/// Runs the plan under a progress bar.
fn measure(plan: &Plan, stop: &AtomicBool) -> Result<Measured, Exit> {
    let bar = progress_bar();
    let mut warnings = Vec::new();
    let rows = driver::run(plan, stop, &mut |progress| match progress {
        Progress::Row { row, done, total } => {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
            bar.set_message(format!("{}, {} threads, {}", row.workload, row.threads, row.lock));
        }
        Progress::Warning(warning) => {
            bar.suspend(|| say(&format!("warning: {warning}")));
            warnings.push(warning);
        }
    });
    bar.finish_and_clear();
    match rows {
        Ok(rows) => Ok(Measured { rows, warnings, failure: None }),
        Err(Cut { failure: Failure::Plan(what), .. }) => Err(Exit::Usage(what)),
        Err(Cut { failure, rows }) => {
            let failure = failure.to_string();
            // The rows will be read without the exit code.
            warnings.push(format!("the run failed, and what should follow is missing: {failure}"));
            Ok(Measured { rows, warnings, failure: Some(failure) })
        }
    }
}

/// Where the results go, known to be writable before anything is measured.
struct Destination<'a> {
    file: Option<(&'a Path, OutFile)>,
    page: Option<(&'a Path, OutFile)>,
    format: Option<FormatArg>,
}

impl<'a> Destination<'a> {
    fn new(args: &'a BenchArgs) -> Result<Self, Exit> {
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
        Ok(Destination { file, page, format: args.format })
    }

    /// Writes all that was asked for.
    fn deliver(&self, plan: &Plan, results: &Results) -> Result<(), Exit> {
        self.deliver_results(plan, results)?;
        let Some((path, file)) = &self.page else { return Ok(()) };
        let label = results.fingerprint.as_ref().map_or("this run".to_string(), |fingerprint| fingerprint.date.clone());
        let source = Source { label, results: results.clone(), notes: Vec::new() };
        file.replace(page(&document(&[source])).as_bytes()).map_err(Exit::Failed)?;
        say(&format!("a page with charts written to {}", path.display()));
        Ok(())
    }

    /// Writes the file, then the table; or, without a file, whatever was asked for to standard output.
    fn deliver_results(&self, plan: &Plan, results: &Results) -> Result<(), Exit> {
        let Some((path, file)) = &self.file else {
            return print(&match self.format {
                Some(FormatArg::Csv) => results.to_text(Format::Csv),
                Some(FormatArg::Json) => results.to_text(Format::Json),
                Some(FormatArg::Table) | None => summary(plan, results, None, width()),
            });
        };
        let written = match self.format {
            // A file is as wide as it likes.
            Some(FormatArg::Table) => file.replace(summary(plan, results, Some(path), usize::MAX).as_bytes()),
            Some(FormatArg::Csv) => results.write(file, Format::Csv),
            Some(FormatArg::Json) => results.write(file, Format::Json),
            None => results.write(file, Format::of_extension(path).unwrap_or(Format::Csv)),
        };
        written.map_err(Exit::Failed)?;
        print(&summary(plan, results, Some(path), width()))?;
        say(&format!("\n{} rows written to {}", results.rows.len(), path.display()));
        Ok(())
    }
}

/// The text for a person.
fn summary(plan: &Plan, results: &Results, out: Option<&Path>, width: usize) -> String {
    let workloads: Vec<String> = plan.points.iter().map(|point| point.workload.to_string()).collect();
    let names: Vec<String> = plan.points.iter().map(|point| point.lock.clone()).collect();
    let peers: Vec<&str> = locks().iter().filter(|lock| lock.peer).map(|lock| lock.name).collect();
    let board = Board::new(&results.rows, &workloads, &names);
    let out = out.map(|path| path.display().to_string());
    report::summary(&board, results, &peers, out.as_deref(), width)
}

/// The command line, as it could be typed again.
fn command() -> String {
    let arguments = std::env::args().skip(1);
    let quoted = arguments.map(|argument| {
        let is_plain =
            !argument.is_empty() && argument.chars().all(|c| c.is_alphanumeric() || "-_./,=:+@%".contains(c));
        if is_plain { argument } else { format!("'{}'", argument.replace('\'', r"'\''")) }
    });
    std::iter::once("ondeck".to_string()).chain(quoted).collect::<Vec<String>>().join(" ")
}
