//! A program that runs as our child, and what it records.

use super::long_waits::LongWaits;
use super::run::{begun, now_ns};
use super::signals::{Orders, ignore_faults_beside, is_ending};
use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::say;
use ondeck_launch::give_own_number;
use ondeck_profile::Collector;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Between two looks at what is recorded: there is room for some seconds of it.
pub(crate) const GAP: Duration = Duration::from_millis(50);

/// What a program is recorded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A profile, of which SIGUSR2 asks for a snapshot.
    Profile,
    /// Statistics, for which nobody has to know who holds the locks, unless long waits are told of. All signals are the program's.
    Statistics,
}

pub(crate) struct RecordedProgram {
    pub(crate) child: Child,
    pub(crate) collector: Collector,
    pub(crate) long_waits: LongWaits,
    orders: Orders,
    purpose: Purpose,
}

impl RecordedProgram {
    /// Starts what `words` name, as `command`.
    pub(crate) fn start(
        mut command: Command,
        words: &[OsString],
        directory: &Path,
        purpose: Purpose,
    ) -> Result<Self, Exit> {
        let orders = Orders::of_program(purpose)?;
        let run = begun(words);
        ignore_faults_beside(&mut command);
        if let Some(name) = words.first() {
            give_own_number(&mut command, name);
        }
        let child = command.spawn().map_err(|error| cannot_start(&command, &error))?;
        let mut collector = match purpose {
            Purpose::Profile => Collector::new(directory, run),
            Purpose::Statistics => Collector::of_statistics(directory, run),
        };
        collector.begins_with(child.id(), purpose == Purpose::Statistics);
        Ok(RecordedProgram { child, collector, long_waits: LongWaits::default(), orders, purpose })
    }

    /// Reads what is recorded until the program ends, and calls `tell` at each interval, or when a signal asks for that. Other
    /// signals to us are the program's.
    pub(crate) fn watch(&mut self, every: Option<Duration>, mut tell: impl FnMut(&mut Collector, u64)) -> ExitStatus {
        let mut next = every.map(|every| Instant::now() + every);
        loop {
            self.collector.take(now_ns());
            if self.purpose == Purpose::Statistics {
                self.collector.make_room();
            }
            self.long_waits.tell(&mut self.collector);
            let (is_wanted, ended) = self.orders.snapshot_and_end_of(&mut self.child);
            if let Some(status) = ended {
                return status;
            }
            let is_due = is_wanted || next.is_some_and(|next| Instant::now() >= next);
            if is_due {
                let now = now_ns();
                self.collector.take(now);
                tell(&mut self.collector, now);
                next = every.map(|every| Instant::now() + every);
            }
            match self.purpose {
                Purpose::Statistics if !self.long_waits.is_wanted() => std::thread::sleep(GAP),
                _ => self.collector.watch(GAP, now_ns),
            }
        }
    }

    /// Whether it has ended so because somebody else wanted that, by a signal.
    pub(crate) fn is_stopped(&self, status: ExitStatus) -> bool {
        self.orders.is_stopped() || status.signal().is_some_and(is_ending)
    }
}

pub(crate) fn cannot_start(command: &Command, error: &io::Error) -> Exit {
    Exit::OfProgram(format!("{}: {error}", Path::new(command.get_program()).display()), 126)
}

/// Says so if no process has recorded.
pub(crate) fn warn_if_nothing(collector: &Collector) {
    if collector.is_empty() {
        say(
            "warning: nothing was recorded. The program ended before its libraries were loaded, or it cannot write to the \
             directory of recordings.",
        );
    }
}
