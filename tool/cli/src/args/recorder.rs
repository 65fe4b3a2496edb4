//! The flags of whatever runs a program with the recorder in it: `ondeck profile` and `ondeck top`.

use super::LibraryArgs;
use clap::Args;
use ondeck_launch::running::RecordOptions;
use ondeck_launch::{Launch, Recording};
use std::ffi::OsString;
use std::path::Path;

#[derive(Debug, Args)]
pub(crate) struct RecorderArgs {
    /// Locks that the program runs with: its own (glibc), or ondeck's (ondeck)
    ///
    /// With ondeck, the program runs as under `ondeck run`. The page then also counts spins, sleeps and wake-ups.
    #[arg(long, value_name = "NAME", default_value = "glibc")]
    pub(crate) lock: String,

    /// Measure one hold in N, and record every wait of N microseconds or more
    ///
    /// A hold is the time from lock to unlock. Shorter waits are recorded in proportion: with 1000, one in ten waits of
    /// 100 microseconds. Counts and sums are scaled up to the whole. A smaller N records more, and slows the program
    /// more. With 1 everything is recorded, at about a microsecond for each event.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: u32,

    /// Find the holder of every wait, instead of a sample
    ///
    /// While threads wait for a lock, each lock and unlock then reads the clock. A program whose locks are contended
    /// may keep a third of its speed. Use it for a program that runs too short for a sample, or to check one. --rate 1
    /// includes it.
    #[arg(long, conflicts_with = "budget")]
    pub(crate) exact: bool,

    /// Time of a core, in percent, that each process may spend on recording waits and finding their holders
    ///
    /// If it takes more, fewer waits are recorded than --rate says, and holders are looked up less often than 5000 times a
    /// second for each lock. What is recorded stands for the rest.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub(crate) budget: f64,

    /// Find locks that are taken in both orders: a deadlock that has not happened yet
    ///
    /// The recorder then notes which locks each thread holds when it takes another one. The list says where two locks are
    /// taken in one order and where in the other, and the same of circles of more locks. Each lock then costs about a
    /// microsecond, so use it for a test and not for measuring waits. docs/profile.md says what is reported.
    #[arg(long)]
    pub(crate) order: bool,

    /// Size in MB of the file into which each process writes its samples
    ///
    /// If a file is full, samples are dropped and counted, and no thread waits for room. The files are in /dev/shm if
    /// it has room for four of them, or else in the directory for temporary files. Use a smaller size in a container
    /// whose /dev/shm is small.
    ///
    /// For a view from the kernel, an eighth of this is the room for the samples of each CPU.
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(crate) max_mb: u32,

    /// Show each lock by itself
    ///
    /// Without this flag, locks of one kind are one row: those that are made, or first used, at the same place of the
    /// program. So 200 objects with a mutex in each of them do not make 200 rows.
    #[arg(long)]
    pub(crate) each_lock: bool,

    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

/// A part of one core.
fn percent(text: &str) -> Result<f64, String> {
    let range = 0.01..=100.0;
    let number: Option<f64> = text.parse().ok();
    number.filter(|number| range.contains(number)).ok_or_else(|| "accepted: 0.01 to 100".to_owned())
}

impl RecorderArgs {
    /// The flags that were given and mean nothing to a view from the kernel.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let flags = [("--rate", self.rate != 1000), ("--exact", self.exact), ("--budget", self.budget != 1.0)];
        flags.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    fn millionths(&self) -> u64 {
        const PER_PERCENT: f64 = 10_000.0;
        if self.exact { 0 } else { (self.budget * PER_PERCENT) as u64 }
    }

    /// The same of a process that runs; `None` if the directory's path is too long.
    pub(crate) fn options(&self, directory: &Path) -> Option<RecordOptions> {
        let directory = directory.as_os_str().as_encoded_bytes();
        let options = RecordOptions::new(directory, self.rate.into(), self.max_mb.into(), self.millionths())?;
        Some(if self.order { options.with_order() } else { options })
    }

    /// A program that records into this directory.
    pub(crate) fn launch(&self, command: &[OsString], directory: &Path) -> Launch {
        let recording = Recording {
            directory: directory.to_owned(),
            rate: self.rate.into(),
            max_mb: self.max_mb.into(),
            budget: self.millionths(),
            order: self.order,
        };
        Launch {
            command: command.to_vec(),
            lock: Some(self.lock.clone()),
            library: self.library.path.clone(),
            recording: Some(recording),
            ..Launch::default()
        }
    }
}
