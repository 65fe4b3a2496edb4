//! Signals to us while a program runs. None of them ends us: what the program has told is still to be written. But who watches a
//! running process, and wants an end again after [`PATIENCE`], ends us.
//!
//! | signal | what is done |
//! |---|---|
//! | SIGUSR2 | a snapshot, unless it is for statistics that the program runs: then as others |
//! | sent by the kernel, as for a key of the terminal | nothing: the program gets it too |
//! | sent by the program or a descendant of it | nothing: sent to their process group, the program has it already |
//! | sent by anybody else | it is passed on to the program |
//! | ignored when we were started, as after `nohup` | it stays ignored, by the program too |
//! | SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT | as ever: they stop us and let us go on together with the program |
//! | SIGSEGV and other faults | ignored, unless they are our own: then the kernel ends us |
//!
//! If the sender has ended before we look, it counts as somebody else. The signals 32 and 33 belong to the C library, which
//! lets nobody catch them.

use super::recorded::Purpose;
use ondeck_futex::process::parent;
use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::say;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use std::cell::Cell;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What a processor reports of the instruction that runs. Somebody may send them, too.
const FAULTS: [i32; 6] = [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS];
/// What nobody can catch, what is for job control, and what we get ourselves.
const LEFT_ALONE: [i32; 8] = [
    libc::SIGKILL,
    libc::SIGSTOP,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGCONT,
    libc::SIGCHLD,
    libc::SIGPIPE,
];
/// What ends nobody, and means something to some programs.
const OF_PROGRAMS: [i32; 2] = [libc::SIGURG, libc::SIGWINCH];

/// A signal, and whether somebody has sent it who is neither the kernel nor our program.
struct ReceivedSignal {
    signal: i32,
    is_from_outside: bool,
    /// Whether it was the program, or a descendant of it.
    is_from_program: bool,
}

/// By which users and systems end a program.
const ENDING: [i32; 5] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, libc::SIGKILL];

/// Who wants an end for so long, and wants it once more, gets it: the memory of a hostile process may not answer us, for ever. Most
/// others have begun or ended their recordings by then.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a signal wants an end that was wanted [`PATIENCE`] ago already. `wanted_end` keeps the first time.
fn insists(wanted_end: &mut Option<Instant>, signal: i32, now: Instant) -> bool {
    is_ending(signal) && now.duration_since(*wanted_end.get_or_insert(now)) >= PATIENCE
}

/// Whether somebody else ends a program by a signal that has come to us or to it.
pub(super) fn is_ending(signal: i32) -> bool {
    ENDING.contains(&signal)
}

pub(super) struct Orders {
    told: Receiver<ReceivedSignal>,
    /// Whether somebody else has wanted the program to end.
    is_stopped: Cell<bool>,
    /// Whether SIGUSR2 is one for us, whoever sends it.
    has_snapshots: bool,
}

impl Orders {
    /// To be called before the program is started.
    pub(super) fn of_program(purpose: Purpose) -> Result<Self, Exit> {
        let has_snapshots = purpose == Purpose::Profile;
        let told = listen_to(|signal| (has_snapshots && signal == SIGUSR2) || !is_ignored(signal), |_| false)?;
        Ok(Orders { told, is_stopped: Cell::new(false), has_snapshots })
    }

    /// The same if no program of ours is meant by any.
    pub(super) fn of_ours() -> Result<Self, Exit> {
        let mut wanted_end = None;
        let insists = move |signal: i32| insists(&mut wanted_end, signal, Instant::now());
        let told = listen_to(|signal| !OF_PROGRAMS.contains(&signal), insists)?;
        Ok(Orders { told, is_stopped: Cell::new(false), has_snapshots: true })
    }

    /// Where no program of ours is meant: whether a snapshot is wanted, and whether an end is.
    pub(super) fn snapshot_and_end(&self) -> (bool, bool) {
        self.told.try_iter().fold((false, false), |(snapshot, end), heard| {
            let is_snapshot = matches!(heard.signal, SIGUSR1 | SIGUSR2);
            (snapshot | is_snapshot, end | !is_snapshot)
        })
    }

    /// Whether a snapshot is wanted, and how the program has ended, if it has. Until then it is passed the signals that are
    /// meant for it.
    pub(super) fn snapshot_and_end_of(&self, program: &mut Child) -> (bool, Option<ExitStatus>) {
        // A child that has been waited for is nobody whom a signal may be sent to.
        let ended = program.try_wait().unwrap_or_else(|error| {
            say(&format!("warning: cannot tell whether the program has ended: {error}"));
            None
        });
        let mut is_due = false;
        for heard in self.told.try_iter() {
            if is_ending(heard.signal) && !heard.is_from_program {
                self.is_stopped.set(true);
            }
            match heard {
                ReceivedSignal { signal: SIGUSR2, .. } if self.has_snapshots => is_due = true,
                ReceivedSignal { signal, is_from_outside: true, .. } if ended.is_none() => {
                    // SAFETY: takes numbers only; our own child, which has not been waited for.
                    unsafe { libc::kill(program.id().cast_signed(), signal) };
                }
                ReceivedSignal { .. } => {}
            }
        }
        (is_due, ended)
    }

    /// Whether somebody else has wanted the program to end, until now.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.get()
    }
}

/// Hears of the signals that can be caught and are wanted. One that `insists` ends us.
fn listen_to(
    is_wanted: impl Fn(i32) -> bool,
    mut insists: impl FnMut(i32) -> bool + Send + 'static,
) -> Result<Receiver<ReceivedSignal>, Exit> {
    let can_be_caught = |signal: &i32| !(32..libc::SIGRTMIN()).contains(signal);
    let signals = (1..=libc::SIGRTMAX())
        .filter(can_be_caught)
        .filter(|signal| !FAULTS.contains(signal) && !LEFT_ALONE.contains(signal) && is_wanted(*signal));
    let mut signals = SignalsInfo::<WithOrigin>::new(signals).map_err(cannot_listen)?;
    let (tell, told) = channel();
    // In a thread of its own, which looks for the sender at once: it may be about to end.
    let listen = move || {
        for origin in &mut signals {
            if insists(origin.signal) {
                let _ = signal_hook::low_level::emulate_default_handler(origin.signal);
            }
            let is_from_program = origin.process.as_ref().map(|sender| is_of_ours(sender.pid));
            let heard = ReceivedSignal {
                signal: origin.signal,
                is_from_outside: is_from_program == Some(false),
                is_from_program: is_from_program == Some(true),
            };
            if tell.send(heard).is_err() {
                break;
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map_err(cannot_listen)?;
    Ok(told)
}

/// From here on, a fault that somebody sends to the program's group does not end us. What is started later inherits that.
pub(super) fn ignore_faults() {
    for signal in FAULTS {
        // SAFETY: takes numbers only. Of a fault of our own, the kernel ends us nevertheless.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The same before a program is started: it may send one as soon as it runs. It has them as they were.
pub(super) fn ignore_faults_beside(command: &mut Command) {
    let changed = FAULTS.map(|signal| (signal, is_ignored(signal)));
    ignore_faults();
    let as_they_were = move || {
        for (signal, _) in changed.iter().filter(|(_, was_ignored)| !was_ignored) {
            // SAFETY: takes numbers only.
            unsafe { libc::signal(*signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls only.
    unsafe { command.pre_exec(as_they_were) };
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: numbers and addresses, for which all zeroes is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: changes nothing, and `action` is room for the answer.
    let answer = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    answer == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Whether a process is this one or a descendant of it: we start nothing but the program.
fn is_of_ours(pid: libc::pid_t) -> bool {
    let (own, mut pid) = (std::process::id(), pid.unsigned_abs());
    // A chain of parents ends at 1, or at 0 where that is outside of our namespace.
    while pid > 1 && pid != own {
        pid = parent(pid).unwrap_or(0);
    }
    pid == own
}

fn cannot_listen(error: io::Error) -> Exit {
    Exit::Failed(format!("cannot listen to signals: {error}"))
}

/// From here on one of these signals ends us, as it does who does not listen.
pub(crate) fn end_at_once() -> Result<(), Exit> {
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|signal| !is_ignored(*signal)) {
        signal_hook::flag::register_conditional_default(number, Arc::new(AtomicBool::new(true)))
            .map_err(cannot_listen)?;
    }
    Ok(())
}

/// Holds the last signal that wants an end, 0 before.
pub(crate) fn listen() -> io::Result<Arc<AtomicUsize>> {
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register_usize(number, signal.clone(), number.unsigned_abs() as usize)?;
    }
    Ok(signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_an_end_again_after_a_while_insists() {
        let start = Instant::now();
        let mut wanted_end = None;
        let mut insists = |signal, after: Duration| insists(&mut wanted_end, signal, start + after);
        assert!(!insists(SIGUSR1, Duration::ZERO) && !insists(SIGUSR1, 2 * PATIENCE), "no wish for an end");
        assert!(!insists(SIGINT, 2 * PATIENCE) && !insists(SIGTERM, 3 * PATIENCE - Duration::from_nanos(1)));
        assert!(insists(SIGINT, 3 * PATIENCE));
    }
}
