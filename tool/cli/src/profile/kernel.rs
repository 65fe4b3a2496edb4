//! `ondeck profile --futex` and `--pid`: what the kernel tells of futex calls.

use super::outputs::Outputs;
use super::recorded::Purpose;
use super::run::{begun, exit_code, now_ns, refused};
use super::running::NotBegun;
use super::signals::{Orders, end_at_once, ignore_faults};
use crate::args::ProfileArgs;
use ondeck_futex::process::window;
use ondeck_futex::{PausedProcess, Refusal, Tracer, not_urgent};
use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::{for_user, is_root, say};
use ondeck_kit::wording::typed;
use ondeck_launch::give_own_number;
use ondeck_profile::{FutexCollector, FutexSnapshot, Namer, is_alive};
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// What to type where the recorder cannot get into a program.
pub(super) fn instead(command: &[OsString]) -> String {
    for_user(&format!("Watch its locks from the kernel: sudo ondeck profile --futex -- {}", typed(command)))
}

/// Starts a program, and watches it from its first instruction on.
pub(super) fn start(args: &ProfileArgs) -> Result<(), Exit> {
    let outputs = Outputs::check(args)?;
    let command = ondeck_launch::unchanged(&args.command).map_err(refused)?;
    let name = command.get_program().to_string_lossy().into_owned();
    let cannot = |error: std::io::Error| Exit::OfProgram(format!("{name}: {error}"), 126);
    if std::env::var_os("SUDO_UID").is_some() {
        say("note: the program runs as root. To watch it as it is, start it yourself and use --pid");
    }
    let orders = Orders::of_program(Purpose::Profile)?;
    let run = begun(&args.command);
    let held = PausedProcess::new(command, |command| give_own_number(command, &args.command[0])).map_err(cannot)?;
    ignore_faults();
    let tracer = Tracer::of_held(held.pid(), ring_bytes(args.recorder.max_mb)).map_err(explain)?;
    let child = held.go().map_err(cannot)?;
    let mut watched = TracedProgram { collector: FutexCollector::new(tracer, run), orders, every: args.every };
    let status = watched.until_the_end_of(child, outputs)?;
    match exit_code(status) {
        0 => Ok(()),
        code => Err(Exit::Program(code)),
    }
}

/// Watches processes that run already. `why` says of each why its recorder was not used, if that was tried.
pub(super) fn attach(
    args: &ProfileArgs,
    pids: &[u32],
    mut outputs: Outputs,
    orders: Orders,
    why: &[NotBegun],
) -> Result<(), Exit> {
    let (collector, how, note) = running(pids, args.recorder.max_mb, why, !args.kernel.futex)?;
    note.into_iter().for_each(|note| outputs.note(note));
    why.iter().for_each(|why| outputs.note(why.instead(how)));
    let processes = processes(pids);
    say(&match args.kernel.length {
        Some(_) => format!("watching {processes}"),
        None => format!("watching {processes}; Ctrl-C stops watching and prints the list"),
    });
    let mut watched = TracedProgram { collector, orders, every: args.every };
    let until = args.kernel.length.map(|length| Instant::now() + length);
    let mut lives: Vec<Life> = pids.iter().map(|pid| Life::of(*pid)).collect();
    let look = |orders: &mut Orders| {
        let (is_due, is_over) = orders.snapshot_and_end();
        lives.retain_mut(Life::goes_on);
        let is_over = is_over || until.is_some_and(|until| Instant::now() >= until) || lives.is_empty();
        (is_due, is_over.then_some(()))
    };
    watched.until(outputs, look, |()| None)
}

/// What tells of processes that run already, how that is done, and what there is to note: the kernel, or looks from outside, if it
/// does not and these `may` be. The error says why their recorders were not used, too.
pub(crate) fn running(
    pids: &[u32],
    max_mb: u32,
    why: &[NotBegun],
    may_look: bool,
) -> Result<(FutexCollector, &'static str, Option<String>), Exit> {
    let tracer = Tracer::of_running(pids, ring_bytes(max_mb));
    // To attach to all threads takes a while.
    let run = begun(&pids.first().map(|pid| command_of(*pid)).unwrap_or_default());
    let refusal = match tracer {
        Ok(tracer) => return Ok((FutexCollector::new(tracer, run), "watched from the kernel", None)),
        Err(refusal) => refusal,
    };
    let may_look = may_look && refusal.is_for_want_of_rights();
    let looks = if may_look { FutexCollector::by_looks(pids, run) } else { None };
    let Some(looks) = looks else { return Err(neither(refusal, why)) };
    let note = format!("the kernel's view, which shows each wait and who ends it, was not used: {refusal}");
    Ok((looks, "looked at from outside", Some(note)))
}

/// `process 7`, `processes 7, 8`.
pub(crate) fn processes(pids: &[u32]) -> String {
    let word = if pids.len() == 1 { "process" } else { "processes" };
    format!("{word} {}", pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
}

/// Whether a process goes on. To look into `/proc` takes longer than to look at the kernel's memory, so it is not asked each time.
pub(crate) struct Life {
    pid: u32,
    asked_at: Instant,
}

impl Life {
    pub(crate) fn of(pid: u32) -> Self {
        Life { pid, asked_at: Instant::now() }
    }

    pub(crate) fn goes_on(&mut self) -> bool {
        const EACH: Duration = Duration::from_millis(50);
        if self.asked_at.elapsed() < EACH {
            return true;
        }
        self.asked_at = Instant::now();
        is_alive(self.pid)
    }
}

/// The room for the samples of each CPU.
pub(crate) fn ring_bytes(max_mb: u32) -> usize {
    const PART: usize = 8;
    let bytes = ((max_mb as usize) << 20) / PART;
    1 << bytes.max(1 << 16).ilog2()
}

/// The error that says what helps.
pub(crate) fn explain(refusal: Refusal) -> Exit {
    neither(refusal, &[])
}

/// The same of processes whose recorders were not used either: `why` says why.
fn neither(refusal: Refusal, why: &[NotBegun]) -> Exit {
    if refusal.is_wish() {
        return Exit::Usage(refusal.to_string());
    }
    let command = typed(&std::env::args_os().collect::<Vec<OsString>>());
    Exit::Failed(for_user(&explained_both(&refusal, why, is_root(), &command)))
}

fn explained_both(refusal: &Refusal, why: &[NotBegun], is_root: bool, command: &str) -> String {
    // Who may not look into a process may not watch it either, whatever else is missing for that.
    if let Some(first) = why.iter().find(|why| why.is_forbidden) {
        let run = if is_root { String::new() } else { format!(". Run this as root: sudo {command}") };
        return format!("process {} cannot be recorded: {}{run}", first.pid, first.why);
    }
    let of_each = why.iter().map(|why| format!("process {} cannot be recorded: {}. ", why.pid, why.why));
    let besides = if why.is_empty() { "" } else { "From the kernel it cannot be seen either: " };
    format!("{}{besides}{}", of_each.collect::<String>(), explained(refusal, is_root, command))
}

fn explained(refusal: &Refusal, is_root: bool, command: &str) -> String {
    match refusal.needs_root() {
        false => refusal.to_string(),
        true if is_root => format!(
            "{refusal}. You are root already, so a container or a locked kernel forbids it. Run ondeck outside the container"
        ),
        true => format!("{refusal}. Run this as root: sudo {command}"),
    }
}

/// What was typed to start a process.
pub(crate) fn command_of(pid: u32) -> Vec<String> {
    /// It may have put more there than any command line has.
    const LONGEST: u64 = 64 << 10;
    let mut words = Vec::new();
    let file = std::fs::File::open(format!("/proc/{}/cmdline", window(pid)));
    let _ = file.and_then(|file| file.take(LONGEST).read_to_end(&mut words));
    let words = words.strip_suffix(&[0]).unwrap_or(&words).split(|byte| *byte == 0);
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

struct TracedProgram {
    collector: FutexCollector,
    orders: Orders,
    every: Option<Duration>,
}

impl TracedProgram {
    /// How the program ended. Signals to us are the program's, but for the one for snapshots.
    fn until_the_end_of(&mut self, mut child: Child, outputs: Outputs) -> Result<ExitStatus, Exit> {
        let pid = child.id();
        let look = |orders: &mut Orders| orders.snapshot_and_end_of(&mut child);
        self.until(outputs, look, |status| status.signal().map(|_| pid))
    }

    /// Takes what the kernel tells until the end that `look` finds, which also says whether a snapshot is wanted, and writes
    /// all that is to be written. `killed` tells of an end whether it came by a signal, and of which process.
    ///
    /// Names take a while, and the kernel's memory is full after some tens of ms. So a snapshot is written by another thread,
    /// and one that becomes due meanwhile waits for that.
    fn until<T>(
        &mut self,
        outputs: Outputs,
        mut look: impl FnMut(&mut Orders) -> (bool, Option<T>),
        killed: impl FnOnce(&T) -> Option<u32>,
    ) -> Result<T, Exit> {
        let names_and_outputs = Mutex::new((Namer::default(), outputs));
        let (ended, told) = std::thread::scope(|scope| {
            let mut writing: Option<ScopedJoinHandle<()>> = None;
            let mut next = self.every.map(|every| Instant::now() + every);
            let mut is_due = false;
            loop {
                self.collector.take();
                let (is_wanted, ended) = look(&mut self.orders);
                is_due |= is_wanted || next.is_some_and(|next| Instant::now() >= next);
                if let Some(ended) = ended {
                    // To close thousands of events takes a while, and so do names.
                    end_at_once()?;
                    self.collector.take_last(killed(&ended));
                    let last_snapshot = is_due.then(|| self.collector.snapshot(now_ns()));
                    writing.map(finish);
                    if let Some(told) = last_snapshot {
                        write_snapshot(&names_and_outputs, &told);
                    }
                    return Ok((ended, self.collector.told(now_ns())));
                }
                if is_due && writing.as_ref().is_none_or(ScopedJoinHandle::is_finished) {
                    writing.take().map(finish);
                    let (told, both) = (self.collector.snapshot(now_ns()), &names_and_outputs);
                    let builder = std::thread::Builder::new().stack_size(STACK_OF_NAMER);
                    match builder.spawn_scoped(scope, move || write_snapshot(both, &told)) {
                        Ok(handle) => writing = Some(handle),
                        Err(error) => {
                            say(&format!("warning: no snapshot is written: there is no thread for it: {error}"))
                        }
                    }
                    is_due = false;
                    next = self.every.map(|every| Instant::now() + every);
                }
                std::thread::sleep(self.collector.gap());
            }
        })?;
        let (mut namer, outputs) = names_and_outputs.into_inner().unwrap_or_else(PoisonError::into_inner);
        outputs.write_all(namer.profile(&told)).map(|()| ended)
    }
}

/// As the main thread has: debug information may be nested deeply.
const STACK_OF_NAMER: usize = 8 << 20;

fn write_snapshot(names_and_outputs: &Mutex<(Namer, Outputs)>, told: &FutexSnapshot) {
    not_urgent();
    let (namer, outputs) = &mut *names_and_outputs.lock().unwrap_or_else(PoisonError::into_inner);
    // One that does not come to its end leaves nothing half done for the next.
    let mut named = std::mem::take(namer);
    outputs.write_snapshot(named.profile(told));
    *namer = named;
}

fn finish(writing: ScopedJoinHandle<()>) {
    if writing.join().is_err() {
        say("warning: a snapshot could not be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_not_told_to_become_root() {
        let explained = |refusal, is_root| explained(&refusal, is_root, "ondeck top --pid 7");
        assert!(explained(Refusal::Unreadable, false).ends_with(". Run this as root: sudo ondeck top --pid 7"));
        let text = explained(Refusal::Unreadable, true);
        assert!(text.contains("root already") && !text.contains("sudo"), "{text}");
        assert_eq!(explained(Refusal::Sealed, true), Refusal::Sealed.to_string());
    }

    #[test]
    fn what_was_wrong_with_the_recorder_is_said_too() {
        let why = |is_forbidden| [NotBegun { pid: 7, why: "it was so".to_owned(), is_forbidden, is_observed: false }];
        let told = |is_forbidden| explained_both(&Refusal::NoTracefs, &why(is_forbidden), false, "ondeck top --pid 7");
        let text = told(false);
        assert!(text.contains("process 7") && text.contains("it was so") && text.contains("not mounted"), "{text}");
        let text = told(true);
        assert!(text.contains("process 7") && text.contains("it was so") && !text.contains("mount"), "{text}");
        assert!(text.ends_with("Run this as root: sudo ondeck top --pid 7"), "{text}");
    }
}
