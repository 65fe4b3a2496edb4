//! What we know of the terminal, and how we write to it.

use crate::exit::Exit;
use indicatif::{ProgressBar, ProgressStyle};
use ondeck_lab::driver::Progress;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Columns of a table where there is no terminal to ask.
const WIDTH_OF_A_PIPE: usize = 120;

/// Columns of the terminal.
pub(crate) fn width() -> usize {
    let asked = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    asked.or_else(told).filter(|width| *width > 0).unwrap_or(WIDTH_OF_A_PIPE)
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
                self.bar.set_message(format!("{}, {} threads, {}", row.workload, row.threads, row.lock));
            }
            Progress::Warning(warning) => {
                self.bar.suspend(|| say(&format!("warning: {warning}")));
                self.warnings.push(warning);
            }
        }
    }

    pub(crate) fn finish(self) -> Vec<String> {
        self.bar.finish_and_clear();
        self.warnings
    }
}

/// True from the first Ctrl-C on; the second ends the process.
pub(crate) fn stop_on_ctrl_c() -> &'static AtomicBool {
    static STOP: AtomicBool = AtomicBool::new(false);
    let installed = ctrlc::set_handler(|| {
        if STOP.swap(true, Relaxed) {
            std::process::exit(130);
        }
        say("stopping; what is finished will be kept. Ctrl-C again ends at once.");
    });
    if let Err(error) = installed {
        say(&format!("warning: Ctrl-C will lose the finished rows: {error}"));
    }
    &STOP
}
