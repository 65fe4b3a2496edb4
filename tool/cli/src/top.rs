//! `ondeck top`: the list of the last second, each second.

mod screen;
mod source;

use crate::args::TopArgs;
use crate::profile::meant::{MeantProcesses, meant};
use crate::profile::{end_at_once, listen, show, shown};
use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::{as_typed, print, say, width};
use ondeck_kit::wording::{run_time, typed, whole, wrap};
use ondeck_profile::{Lock, Profile, SortColumn, sorted_table};
use screen::{KeyCommand, Screen};
use signal_hook::consts::{SIGINT, SIGKILL, SIGTERM};
use source::{Program, RecordedProcess, Source, TracedProcess};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// From one snapshot to the next.
const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &TopArgs) -> Result<(), Exit> {
    let signal = listen().map_err(|error| Exit::Failed(format!("cannot listen to signals: {error}")))?;
    let (mut source, output) = source(args)?;
    let mut watch = Watch {
        source: &mut *source,
        signal: &signal,
        each_lock: args.recorder.each_lock,
        output,
        began: Instant::now(),
        latest: None,
        column: SortColumn::Share,
        meant: None,
        has_quit: false,
    };
    let code = match std::io::stdout().is_terminal() {
        true => watch.run(Some(&Screen::open()?)),
        false => watch.run(None),
    };
    let (code, meant, has_quit) = (code?, watch.meant, watch.has_quit);
    if !args.pid.is_empty() {
        end_at_once()?;
    }
    // The terminal is as it was by now.
    show(&shown(source.whole(), args.recorder.each_lock));
    match (meant, code) {
        (Some(_), _) if has_quit || !args.pid.is_empty() => Ok(()),
        (None, 0) => Ok(()),
        (Some(signal), _) => Err(Exit::Interrupted(signal)),
        (None, code) => {
            say(&format!("The program ended with exit code {code}. To see what it printed:"));
            say(&as_typed(&typed(&args.command)));
            Err(Exit::Program(code))
        }
    }
}

/// What is watched, and a word about what it prints, or how it is seen.
fn source(args: &TopArgs) -> Result<(Box<dyn Source>, String), Exit> {
    if args.pid.is_empty() {
        return Ok((Box::new(Program::start(args)?), "output: thrown away".to_owned()));
    }
    let MeantProcesses { pids, notes } = meant(&args.pid, "top");
    notes.iter().for_each(|note| say(&format!("note: {note}")));
    match RecordedProcess::attach(args, &pids)? {
        Ok(recorded) => Ok((Box::new(recorded), "recorded in the process".to_owned())),
        Err(why) => {
            let traced = TracedProcess::attach(args, &pids, &why)?;
            let how = format!("{}: waits that sleep", traced.how);
            Ok((Box::new(traced), how))
        }
    }
}

/// A view of something until it ends.
struct Watch<'a> {
    source: &'a mut dyn Source,
    /// The last signal to us, 0 if there is none.
    signal: &'a AtomicUsize,
    /// Whether locks of one kind are not one.
    each_lock: bool,
    /// Where the program's output goes.
    output: String,
    began: Instant,
    /// The last second.
    latest: Option<Profile>,
    column: SortColumn,
    /// The signal with which an end was asked for.
    meant: Option<i32>,
    /// Whether that was by the key for it.
    has_quit: bool,
}

impl Watch<'_> {
    /// Shows a snapshot each second, on the screen or else as lists. Gives the exit code of what was watched.
    fn run(&mut self, screen: Option<&Screen>) -> Result<i32, Exit> {
        let mut next = self.began + SECOND;
        let mut drawn = None;
        loop {
            let is_due = Instant::now() >= next;
            if is_due {
                self.take();
                // After a pause, as of a stopped process, the missed ones are left out.
                next = (next + SECOND).max(Instant::now());
            }
            let has_changed = self.follow(screen)?;
            match screen {
                Some(screen) if is_due || has_changed || drawn != Some(screen.size()) => {
                    drawn = Some(screen.size());
                    screen.draw(&self.text(screen.size().0), &self.keys())?;
                }
                None if is_due => print(&(self.text(width()) + "\n"))?,
                _ => {}
            }
            if let Some(code) = self.source.poll() {
                return Ok(code);
            }
            self.source.watch();
        }
    }

    fn take(&mut self) {
        // Notes are in the list of the whole run. Whether the program will end by itself is not known.
        let snapshot = shown(self.source.snapshot(), self.each_lock);
        self.latest = Some(Profile { notes: Vec::new(), is_stopped: true, ..snapshot });
    }

    /// Does what keys and signals ask for. Says whether there was any.
    fn follow(&mut self, screen: Option<&Screen>) -> Result<bool, Exit> {
        let commands = screen.map_or(Ok(Vec::new()), Screen::commands)?;
        for command in &commands {
            match command {
                KeyCommand::Quit => {
                    self.has_quit |= self.meant.is_none();
                    self.stop(SIGTERM);
                }
                KeyCommand::Interrupt => self.stop(SIGINT),
                KeyCommand::SortBy(column) => self.column = *column,
            }
        }
        let signal = i32::try_from(self.signal.swap(0, Relaxed)).unwrap_or(0);
        if signal > 0 {
            self.stop(signal);
        }
        Ok(!commands.is_empty() || signal > 0)
    }

    /// The first wish is the program's to follow; the second is an order.
    fn stop(&mut self, signal: i32) {
        self.source.stop(if self.meant.is_some() { SIGKILL } else { signal });
        self.meant.get_or_insert(signal);
    }

    /// What is watched, how long, how much is waited in all, and the list.
    fn text(&self, width: usize) -> String {
        let watched = format!("{}, {}", self.source.title(), run_time(self.began.elapsed().as_secs_f64()));
        let Some(profile) = &self.latest else {
            return wrap("", &format!("{watched}: the first figures come after a second."), width);
        };
        let head = wrap("", &format!("{watched}: {}", waiting(profile)), width);
        head + &as_typed(&sorted_table(profile, self.column, width))
    }

    /// What keys do, and where output goes.
    fn keys(&self) -> String {
        let quitting = match self.meant {
            None => self.source.quitting(),
            Some(_) => "waiting for the program to end. q: kill it",
        };
        format!("{quitting}  sort: s share, w waits, l longest, n name  {}", self.output)
    }
}

/// How much threads waited, in each second of the profile.
fn waiting(profile: &Profile) -> String {
    let seconds = profile.seconds.max(f64::MIN_POSITIVE);
    // The sum of no numbers is -0, which nobody wants to read.
    let sum = |of: fn(&Lock) -> f64| profile.locks.iter().map(of).fold(0.0, |sum, one| sum + one);
    let threads = sum(|lock| lock.wait_ns) / 1e9 / seconds;
    format!("{threads:.2} threads waiting, {} waits/s", whole(sum(|lock| lock.waits) / seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_one_second_whatever_the_snapshot_had() {
        let lock = |waits, wait_ns| Lock { waits, wait_ns, ..Lock::default() };
        let mut profile = Profile { seconds: 2.0, locks: vec![lock(100.0, 3e9), lock(2.0, 1e6)], ..Profile::default() };
        assert_eq!(waiting(&profile), "1.50 threads waiting, 51 waits/s");
        profile.locks.clear();
        assert_eq!(waiting(&profile), "0.00 threads waiting, 0 waits/s");
    }
}
