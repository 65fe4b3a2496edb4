//! A run that shows how far it is, and that a signal ends.

use indicatif::ProgressBar;
use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::{progress_bar, say};
use ondeck_report::output::PartialFile;
use ondeck_report::row::Row;
use ondeck_workloads::plan::{Outcome, PartialRun, Progress};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::{
    AtomicBool, AtomicI32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::{Duration, Instant};

/// What a run shows of itself while it goes on, the warnings that it has given, and where its rows go.
struct Display {
    bar: ProgressBar,
    warnings: Vec<String>,
    partial: Option<PartialFile>,
}

impl Display {
    fn show(&mut self, progress: Progress) {
        match progress {
            Progress::Row { row, done, total } => {
                self.keep(row);
                self.bar.set_length(total as u64);
                self.bar.set_position(done as u64);
                let warnings = if self.warnings.is_empty() { "" } else { "; there are warnings" };
                self.bar.set_message(format!("{}, {} threads, {}{warnings}", row.workload, row.threads, row.lock));
            }
            // They are told once, at the end, with the figures that they are about.
            Progress::Warning(warning) => self.warnings.push(warning),
        }
    }

    /// Puts the row where no end of the run loses it, until that fails.
    fn keep(&mut self, row: &Row) {
        if let Some(Err(what)) = self.partial.as_mut().map(|partial| partial.add(row)) {
            let text = format!("warning: {what}; until the run ends, its rows are in memory only");
            self.bar.suspend(|| say(&text));
            self.partial = None;
        }
    }
}

/// Signals that come so soon after the first are part of it.
const AT_ONCE: Duration = Duration::from_millis(300);

/// Set by the first signal that wants an end.
static STOP: AtomicBool = AtomicBool::new(false);
/// Which signal that was.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// True from the first Ctrl-C or SIGTERM on; the second ends the process.
pub(crate) fn stop_on_signal() -> &'static AtomicBool {
    match Signals::new([SIGINT, SIGTERM]) {
        Ok(signals) => drop(std::thread::spawn(move || heed(signals))),
        Err(error) => say(&format!("warning: Ctrl-C will lose the finished rows: {error}")),
    }
    &STOP
}

/// Sleeps until there is a signal, for as long as the process lives.
fn heed(mut signals: Signals) {
    let mut first: Option<Instant> = None;
    for signal in signals.forever() {
        match first.map(|first| first.elapsed()) {
            // `timeout` and others signal a process and its group: that is one wish.
            Some(elapsed) if elapsed < AT_ONCE => continue,
            Some(_) => std::process::exit(128 + signal),
            None => first = Some(Instant::now()),
        }
        SIGNAL.store(signal, Relaxed);
        // A thread that sees the flag in `end_of_run` is to see which signal it was.
        STOP.store(true, Release);
        say("stopping: finished measurements are kept. Press Ctrl-C again to end at once.");
    }
}

/// What a run has given, be it complete or not; what it has warned of; and how it ended.
pub(crate) type Ended = (Outcome, Vec<String>, Result<(), Exit>);

/// What the warning about a run that has failed begins with: it is about the rows that are missing.
const FAILED: &str = "the run failed, and what should follow is missing";

/// A run that shows how far it is, until its end or a signal. Its rows go to `partial` as they come.
pub(crate) fn displayed(
    stop: &AtomicBool,
    partial: Option<PartialFile>,
    run: impl FnOnce(&AtomicBool, &mut dyn FnMut(Progress)) -> Result<Outcome, PartialRun>,
) -> Ended {
    let mut display = Display { bar: progress_bar(), warnings: Vec::new(), partial };
    let outcome = run(stop, &mut |progress| display.show(progress));
    display.bar.finish_and_clear();
    let mut warnings = display.warnings;
    match outcome {
        Ok(outcome) => (outcome, warnings, end_of_run(None)),
        Err(PartialRun { failure, replay, rows }) => {
            let text = failure.to_string();
            // The rows will be read without the exit code.
            warnings.push(format!("{FAILED}: {}", text.lines().next().unwrap_or_default()));
            let replay = replay.map_or(String::new(), |replay| format!("\nreplay: {replay}"));
            (Outcome { rows, timeline: None }, warnings, end_of_run(Some(text + &replay)))
        }
    }
}

/// How a run ended that has failed, or has not.
pub(crate) fn end_of_run(failure: Option<String>) -> Result<(), Exit> {
    match failure {
        Some(failure) => Err(Exit::Failed(failure)),
        None if STOP.load(Acquire) => Err(Exit::Interrupted(SIGNAL.load(Relaxed))),
        None => Ok(()),
    }
}
