//! What we know of the terminal, and how we write to it.

use crate::exit::Exit;
use indicatif::{ProgressBar, ProgressStyle};
use ondeck_lab::plan::{Cut, Outcome, Progress};
use ondeck_report::output::FAILED;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{
    AtomicBool, AtomicI32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::{Duration, Instant};

/// Columns of a table where there is no terminal to ask.
const WIDTH_OF_A_PIPE: usize = 120;

/// Columns of the terminal.
pub(crate) fn width() -> usize {
    known_width().unwrap_or(WIDTH_OF_A_PIPE)
}

/// The same, if there is a terminal or the environment says how wide it is.
pub(crate) fn known_width() -> Option<usize> {
    let asked = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    asked.or_else(told).filter(|width| *width > 0)
}

/// Writes to standard output. A reader that has gone (`ondeck bench | head`) is no failure of ours.
pub(crate) fn print(text: &str) -> Result<(), Exit> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Exit::BrokenPipe),
        Err(error) => Err(Exit::Failed(format!("cannot write to standard output: {error}"))),
    }
}

/// Writes a line to standard error, for things that are not results. Nobody is left to be told if that fails.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A bar on standard error; invisible if that is not a terminal.
pub(crate) fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}, {eta} left  {wide_msg}");
    bar.with_style(style.expect("a constant template is right or wrong on every machine"))
}

/// What a run shows of itself while it goes on, and the warnings that it has given.
pub(crate) struct Display {
    bar: ProgressBar,
    warnings: Vec<String>,
}

impl Display {
    pub(crate) fn new() -> Self {
        Display { bar: progress_bar(), warnings: Vec::new() }
    }

    pub(crate) fn show(&mut self, progress: Progress) {
        match progress {
            Progress::Row { row, done, total } => {
                self.bar.set_length(total as u64);
                self.bar.set_position(done as u64);
                let warnings = if self.warnings.is_empty() { "" } else { "; there are warnings" };
                self.bar.set_message(format!("{}, {} threads, {}{warnings}", row.workload, row.threads, row.lock));
            }
            // They are told once, at the end, with the figures that they are about.
            Progress::Warning(warning) => self.warnings.push(warning),
        }
    }

    pub(crate) fn finish(self) -> Vec<String> {
        self.bar.finish_and_clear();
        self.warnings
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
        // Whoever sees the flag in `end_of_run` is to see which signal it was.
        STOP.store(true, Release);
        say("stopping: finished measurements are kept. Press Ctrl-C again to end at once.");
    }
}

/// What a run has given, be it complete or not; what was warned of; and what ended it early, other than the user.
pub(crate) fn finished(display: Display, end: Result<Outcome, Cut>) -> (Outcome, Vec<String>, Option<String>) {
    let mut warnings = display.finish();
    match end {
        Ok(outcome) => (outcome, warnings, None),
        Err(Cut { failure, replay, rows }) => {
            let text = failure.to_string();
            // The rows will be read without the exit code.
            warnings.push(format!("{FAILED}: {}", text.lines().next().unwrap_or_default()));
            let replay = replay.map_or(String::new(), |replay| format!("\nreplay: {replay}"));
            (Outcome { rows, timeline: None }, warnings, Some(text + &replay))
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
