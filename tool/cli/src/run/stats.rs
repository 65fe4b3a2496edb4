//! `ondeck run --stats`: statistics of a program's locks, in a file for Prometheus.
//!
//! The program is recorded as for a profile. It runs as our child, or in our place if it is a service ([`beside`]). Of what it
//! records, only sums are kept.

use super::beside::{Observed, Role};
use super::{labels, launch};
use crate::args::LaunchArgs;
use crate::profile::{
    Directory, GAP, LongWaits, Purpose, RecordedProgram, begun, cannot_start, directory, end_at_once, exit_code,
    now_ns, refused, warn_if_nothing,
};
use ondeck_kit::exit::Exit;
use ondeck_kit::file::OutFile;
use ondeck_kit::file::file_of;
use ondeck_kit::terminal::say;
use ondeck_launch::{Recording, are_known_by_number, prepare};
use ondeck_profile::{Collector, Labels, Run};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// As often as Prometheus looks, by its own default.
const EVERY: Duration = Duration::from_secs(15);
/// Of one process, as for a profile.
const MAX_MB: u32 = 64;
const RATE: u64 = 1000;
/// One percent of a core.
const BUDGET: u64 = 10_000;

pub(super) fn run(args: &LaunchArgs, path: &Path, every: Option<Duration>) -> Result<(), Exit> {
    let long_waits = LongWaits::new(args.stats.warn_after);
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
    let every = every.unwrap_or(EVERY);
    let service = if are_known_by_number() { Observed::ourselves() } else { None };
    match service {
        Some(program) => beside(program, command, &args.command, directory, (&mut file, long_waits), every),
        None => above(command, &args.command, directory, (&mut file, long_waits), every),
    }
}

/// The program is our child, and we end as it does.
fn above(
    command: Command,
    words: &[OsString],
    directory: Directory,
    (file, long_waits): (&mut StatsFile, LongWaits),
    every: Duration,
) -> Result<(), Exit> {
    let mut program = RecordedProgram::start(command, words, directory.path(), Purpose::Statistics)?;
    program.long_waits = long_waits;
    let status = program.watch(Some(every), |collector, _| file.write(collector, false));
    program.collector.take(now_ns());
    drop(directory);
    end_at_once()?;
    file.write(&mut program.collector, true);
    warn_if_nothing(&program.collector);
    match exit_code(status) {
        0 => Ok(()),
        code => Err(Exit::Program(code)),
    }
}

/// We become the program, and another process observes it.
fn beside(
    program: Observed,
    mut command: Command,
    words: &[OsString],
    directory: Directory,
    (file, mut long_waits): (&mut StatsFile, LongWaits),
    every: Duration,
) -> Result<(), Exit> {
    let run = begun(words);
    let cannot = |error: std::io::Error| Exit::Failed(format!("--stats: cannot start an observer: {error}"));
    let program = match program.step_aside().map_err(cannot)? {
        Role::Program => {
            // It returns only if it has failed.
            let error = command.exec();
            return Err(cannot_start(&command, &error));
        }
        Role::Observer(program) => program,
    };
    let mut collector = Collector::of_statistics(directory.path(), run);
    collector.begins_with(program.pid, true);
    let mut next = Instant::now() + every;
    while !program.has_ended_within(GAP) {
        collector.take(now_ns());
        long_waits.tell(&mut collector);
        if long_waits.is_wanted() {
            collector.watch(GAP, now_ns);
        }
        collector.make_room();
        if Instant::now() >= next {
            file.write(&mut collector, false);
            next = Instant::now() + every;
        }
    }
    // The program was not there: who could not become it has taken the directory away, and said why.
    if !directory.path().exists() {
        return Ok(());
    }
    collector.take(now_ns());
    drop(directory);
    file.write(&mut collector, true);
    warn_if_nothing(&collector);
    Ok(())
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
            say(&format!("note: --stats: {}", note.shown()));
        }
        if let Err(what) = self.replace(collector)
            && !self.has_failed
        {
            self.has_failed = true;
            say(&format!("warning: --stats: {what}. The program goes on; the file is tried again, without a warning"));
        }
    }
}
