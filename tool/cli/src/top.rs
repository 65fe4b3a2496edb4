//! `ondeck top`: the locks of a program while it runs.

mod history;
mod screen;
mod source;
mod view;

use crate::args::TopArgs;
use crate::exit::Exit;
use crate::profile::meant::{MeantProcesses, meant};
use crate::profile::{end_at_once, listen, show, shown};
use crate::terminal::{as_typed, say};
use history::History;
use ondeck_report::wording::typed;
use screen::{KeyCommand, Lists, Picture, Screen};
use signal_hook::consts::{SIGINT, SIGKILL, SIGTERM};
use source::{Program, RecordedProcess, Source, TracedProcess};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use view::View;

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
        first: 0,
        meant: None,
        has_quit: false,
    };
    let code = if std::io::stdout().is_terminal() { watch.run(&mut Picture::open()?) } else { watch.run(&mut Lists) };
    let (code, meant, has_quit) = (code?, watch.meant, watch.has_quit);
    if !args.pid.is_empty() {
        end_at_once()?;
    }
    // The picture is gone by now.
    show(&shown(source.whole(), args.recorder.each_lock));
    match (meant, code) {
        (Some(_), _) if has_quit || !args.pid.is_empty() => Ok(()),
        (None, 0) => Ok(()),
        (Some(signal), _) => Err(Exit::Interrupted(signal)),
        (None, code) => {
            if args.output.is_none() {
                say(&format!("The program ended with exit code {code}. To see what it printed:"));
                say(&as_typed(&format!("ondeck top --output out.txt -- {}", typed(&args.command))));
            }
            Err(Exit::Program(code))
        }
    }
}

/// What is watched, and a word about what it prints, or how it is seen.
fn source(args: &TopArgs) -> Result<(Box<dyn Source>, String), Exit> {
    if args.pid.is_empty() {
        let output = match &args.output {
            Some(path) => format!("output: {}", path.display()),
            None => "output: thrown away, --output FILE keeps it".to_owned(),
        };
        return Ok((Box::new(Program::start(args)?), output));
    }
    let MeantProcesses { pids, notes } = meant(&args.pid, "top");
    notes.iter().for_each(|note| say(&format!("note: {note}")));
    match RecordedProcess::attach(args, &pids)? {
        Ok(recorded) => Ok((Box::new(recorded), "recorded in the process".to_owned())),
        Err(why) => {
            let traced = TracedProcess::attach(args, &pids, &why)?;
            Ok((Box::new(traced), "seen from the kernel: waits that sleep".to_owned()))
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
    /// The number of the lock that is on top.
    first: usize,
    /// The signal with which an end was asked for.
    meant: Option<i32>,
    /// Whether that was by the key for it.
    has_quit: bool,
}

impl Watch<'_> {
    /// Shows a snapshot each second. Gives the exit code of what was watched.
    fn run(&mut self, screen: &mut dyn Screen) -> Result<i32, Exit> {
        let mut history = History::new(self.each_lock);
        let mut next = Instant::now() + SECOND;
        self.show(screen, &history)?;
        loop {
            if let Some(code) = self.source.poll() {
                return Ok(code);
            }
            self.source.watch();
            let mut is_new = false;
            while let Some(command) = screen.command()? {
                self.follow(command, &mut history);
                is_new = true;
            }
            if let Ok(signal @ 1..) = i32::try_from(self.signal.swap(0, Relaxed)) {
                self.stop(signal);
                is_new = true;
            }
            if Instant::now() >= next {
                history.add(&shown(self.source.snapshot(), self.each_lock));
                // After a pause, as of a stopped process, the missed ones are left out.
                next = (next + SECOND).max(Instant::now());
                is_new = true;
            }
            if is_new {
                self.show(screen, &history)?;
            }
        }
    }

    fn follow(&mut self, command: KeyCommand, history: &mut History) {
        match command {
            KeyCommand::Quit => {
                self.has_quit |= self.meant.is_none();
                self.stop(SIGTERM);
            }
            KeyCommand::Interrupt => self.stop(SIGINT),
            KeyCommand::Redraw => {}
            KeyCommand::Scroll(lines) => self.first = self.first.saturating_add_signed(lines),
            KeyCommand::Sort => history.sort_by(history.order().next()),
        }
    }

    /// The first wish is the program's to follow; the second is an order.
    fn stop(&mut self, signal: i32) {
        self.source.stop(if self.meant.is_some() { SIGKILL } else { signal });
        self.meant.get_or_insert(signal);
    }

    fn show(&mut self, screen: &mut dyn Screen, history: &History) -> Result<(), Exit> {
        let keys = match self.meant {
            None => self.source.quitting(),
            Some(_) => "waiting for the program to end. q: kill it",
        };
        self.first = self.first.min(history.rows.len().saturating_sub(1));
        let sort = history.order().next().column();
        let (title, footer) = (self.source.title(), format!("{keys}   s: sort by {sort}   {}", self.output));
        screen.show(&View { title: &title, history, first: self.first, footer: &footer })
    }
}
