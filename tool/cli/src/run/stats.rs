//! `ondeck run --stats`: statistics of a program's locks, in a file for Prometheus.
//!
//! The program is recorded as for a profile, and runs as our child. Of what it records, only sums are kept.

use super::{labels, launch};
use crate::args::LaunchArgs;
use crate::deliver::file_of;
use crate::exit::Exit;
use crate::profile::{Purpose, RecordedProgram, directory, end_at_once, exit_code, now_ns, refused};
use crate::terminal::say;
use ondeck_launch::{Recording, prepare};
use ondeck_profile::{Collector, Labels, Run};
use ondeck_report::output::OutFile;
use std::path::Path;
use std::time::Duration;

/// As often as Prometheus looks, by its own default.
const EVERY: Duration = Duration::from_secs(15);
/// Of one process, as for a profile.
const MAX_MB: u32 = 64;
const RATE: u64 = 1000;
/// One percent of a core.
const BUDGET: u64 = 10_000;

pub(super) fn run(args: &LaunchArgs, path: &Path, every: Option<Duration>) -> Result<(), Exit> {
    let mut file = StatsFile::check(path, labels::of(args, path)?)?;
    let directory = directory(MAX_MB, "--stats")?;
    let recording = Recording {
        directory: directory.path().to_owned(),
        rate: RATE,
        max_mb: MAX_MB.into(),
        budget: BUDGET,
        order: false,
    };
    let command = prepare(&launch(args, Some(recording))).map_err(refused)?;
    // Whoever reads it finds it, though no thread has waited yet.
    file.replace(&mut Collector::new(directory.path(), Run::default())).map_err(Exit::Failed)?;
    let mut program = RecordedProgram::start(command, &args.command, directory.path(), Purpose::Statistics)?;
    let status = program.watch(Some(every.unwrap_or(EVERY)), |collector, _| file.write(collector, false));
    program.collector.take(now_ns());
    drop(directory);
    end_at_once()?;
    file.write(&mut program.collector, true);
    program.warn_if_nothing();
    match exit_code(status) {
        0 => Ok(()),
        code => Err(Exit::Program(code)),
    }
}

/// The file for Prometheus.
struct StatsFile {
    file: OutFile,
    labels: Labels,
    has_failed: bool,
}

impl StatsFile {
    fn check(path: &Path, labels: Labels) -> Result<Self, Exit> {
        match file_of("--stats", Some(path))? {
            Some((_, file)) if file.is_regular() => Ok(StatsFile { file, labels, has_failed: false }),
            _ => Err(Exit::Usage(format!(
                "--stats {}: it would have to be replaced again and again; accepted: a file, like \
                 /var/lib/node_exporter/locks.prom",
                path.display()
            ))),
        }
    }

    fn replace(&self, collector: &mut Collector) -> Result<(), String> {
        let mut text = String::new();
        // A `String` takes all that is written.
        let _ = collector.statistics().prometheus_with(&self.labels, &mut text);
        let _ = collector.prometheus_of_gaps(&self.labels, &mut text);
        self.file.replace(text.as_bytes())
    }

    /// The same while the program runs, or once it has ended: it goes on, and is not to hear of each failure. What is not
    /// recorded is said once.
    fn write(&mut self, collector: &mut Collector, is_over: bool) {
        for note in collector.new_notes(is_over) {
            say(&format!("note: --stats: {note}"));
        }
        if let Err(what) = self.replace(collector)
            && !self.has_failed
        {
            self.has_failed = true;
            say(&format!("warning: --stats: {what}. The program goes on; the file is tried again, without a warning"));
        }
    }
}
