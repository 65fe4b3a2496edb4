//! Statistics of a service. Its manager knows us by our number: it takes READY=1 from that process alone, sends signals to it, and
//! takes its end for the service's. So that process becomes the program, and a process of ours writes the statistics beside it.
//!
//! ```text
//! systemd ── we, who become the program
//!            └─ between, which ends at once ── observer, whom the manager inherits
//! ```
//!
//! The program finds no child that it has not made. As its end is no news for the observer from a parent's point of view, the observer waits for it by
//! a descriptor of the process.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, child_subreaper, getpid, pidfd_open, setsid, waitpid};
use rustix::time::Timespec;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

/// What we are from here on.
pub(super) enum Role {
    /// The process that is to become the program.
    Program,
    /// Another one.
    Observer(Observed),
}

/// A program that another process becomes, or has become.
pub(super) struct Observed {
    pub(super) pid: u32,
    process: OwnedFd,
}

impl Observed {
    /// Ourselves, before the program is there; `None` if an observer could not be told from the program's children. Those whose
    /// parent ends become children of the first process of a namespace, or of an ancestor that has asked for them. Kernels before 5.3
    /// have no such descriptors.
    pub(super) fn ourselves() -> Option<Self> {
        let own = getpid();
        let inherits = own == Pid::INIT || child_subreaper().map_or(true, |asked| asked.is_some());
        let process = if inherits { None } else { pidfd_open(own, PidfdFlags::empty()).ok() };
        process.map(|process| Observed { pid: std::process::id(), process })
    }

    /// Makes an observer, and tells each of the two what it is. There must be no other thread.
    pub(super) fn step_aside(self) -> io::Result<Role> {
        let sockets = n_sockets(self.pid);
        if let Some(between) = fork()? {
            return match waitpid(Some(between), WaitOptions::empty())? {
                Some((_, status)) if status.exit_status() == Some(0) => Ok(Role::Program),
                _ => Err(io::Error::other("no second process can be made")),
            };
        }
        ignore_signals();
        // It is not of the group that the program may signal.
        let _ = setsid();
        match fork() {
            Ok(None) => {}
            other => end(other.is_err().into()),
        }
        for socket in (3..).take(sockets) {
            // Who has been handed a socket and closes it must not find it open here.
            // SAFETY: handed over to the program, and used by nobody here.
            drop(unsafe { OwnedFd::from_raw_fd(socket) });
        }
        Ok(Role::Observer(self))
    }

    /// Whether the program has ended; waits for that for so long.
    pub(super) fn has_ended_within(&self, time: Duration) -> bool {
        let time = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
        let mut all = [PollFd::new(&self.process, PollFlags::IN)];
        match poll(&mut all, Some(&time)) {
            Ok(n) => n > 0,
            Err(error) => error != Errno::INTR,
        }
    }
}

/// In the child nothing.
fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: there is no other thread, whose locks the child would find locked for ever.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child)),
    }
}

/// Ends a process that was only between two others, whose files and directories are not its own.
fn end(status: i32) -> ! {
    // SAFETY: takes a number.
    unsafe { libc::_exit(status) }
}

/// A service's processes get the signals that are meant for it, each of them: those that end it, too. Our end is that of the program.
fn ignore_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: takes numbers only. Some are refused, and of a fault of our own the kernel ends us nevertheless.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// How many open files systemd has handed over to the process of that number.
fn n_sockets(pid: u32) -> usize {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let is_meant = number("LISTEN_PID") == Some(pid);
    number("LISTEN_FDS").filter(|_| is_meant).unwrap_or(0) as usize
}
