//! A program that is started beside us: its time, its CPU time and how it ended. Nothing of it is left behind.

use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, waitid};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// How often somebody may ask for an end. The end of the process itself is seen at once.
const GAP: Duration = Duration::from_millis(50);
/// How long a process gets to end after it was asked to.
const GRACE: Duration = Duration::from_secs(3);

/// What is left of a process that has ended by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinishedProcess {
    /// From its start to its end.
    pub seconds: f64,
    /// CPU time of it and its children, of those that it has waited for.
    pub cpu_s: f64,
    /// How it ended.
    pub status: ExitStatus,
}

/// Why a process has not ended by itself.
#[derive(Debug)]
pub enum RunFailure {
    /// Somebody has asked for an end, with this signal.
    Stopped(i32),
    /// It took longer than it may.
    TooLong(Duration),
    /// It was stopped, as it wants the terminal, which is ours.
    WantsTerminal,
    /// The kernel does not tell.
    Unknown(io::Error),
}

/// A running process that leads a group of its own. Dropped, it is killed with its group.
#[derive(Debug)]
pub struct ChildProcess {
    pid: Pid,
    started: Instant,
    has_ended: bool,
}

impl ChildProcess {
    /// Starts the command. `last_signal` is what the kernel sends it if the calling thread ends: nothing is dropped when
    /// we are killed.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: &mut Command, last_signal: i32) -> io::Result<ChildProcess> {
        Self::start_with(command, last_signal, |_| {})
    }

    /// The same. `last_step` may add what the process is to do at last between fork and exec.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_with(
        command: &mut Command,
        last_signal: i32,
        last_step: impl FnOnce(&mut Command),
    ) -> io::Result<ChildProcess> {
        command.process_group(0);
        let die = move || {
            // SAFETY: takes numbers only.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, last_signal) };
            Ok(())
        };
        // SAFETY: between fork and exec it makes one system call and touches no memory that another thread may have locked.
        unsafe { command.pre_exec(die) };
        last_step(command);
        let started = Instant::now();
        let pid = Pid::from_child(&command.spawn()?);
        Ok(ChildProcess { pid, started, has_ended: false })
    }

    /// Its number.
    pub fn pid(&self) -> libc::pid_t {
        self.pid.as_raw_pid()
    }

    /// Whether its status was taken.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether it ends within this time. It stays as a zombie, so that its number is not given away.
    pub fn is_over(&self, within: Duration) -> bool {
        // Not with an old kernel, or in a container that forbids the call.
        if let Ok(fd) = rustix::process::pidfd_open(self.pid, rustix::process::PidfdFlags::empty()) {
            use rustix::event::{PollFd, PollFlags, poll};
            let timeout = within.try_into().ok();
            return poll(&mut [PollFd::new(&fd, PollFlags::IN)], timeout.as_ref()).is_ok_and(|n_ready| n_ready > 0);
        }
        self.is_over_by_looking(within)
    }

    /// The same, with one look each millisecond.
    fn is_over_by_looking(&self, within: Duration) -> bool {
        const GAP: Duration = Duration::from_millis(1);
        let begin = Instant::now();
        while matches!(self.look(WaitIdOptions::EXITED), Ok(None)) {
            if begin.elapsed() >= within {
                return false;
            }
            std::thread::sleep(GAP);
        }
        true
    }

    /// What has happened to it of that kind. It stays as it is.
    fn look(&self, kind: WaitIdOptions) -> rustix::io::Result<Option<WaitIdStatus>> {
        waitid(WaitId::Pid(self.pid), kind | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
    }

    /// Whether it was stopped as it reads from the terminal or changes it. Its group is not the one in front.
    fn wants_terminal(&self) -> bool {
        let status = self.look(WaitIdOptions::STOPPED).ok().flatten();
        let signal = status.and_then(|status| status.stopping_signal());
        signal.is_some_and(|signal| [libc::SIGTTIN, libc::SIGTTOU].contains(&signal))
    }

    /// Sends a signal to it and to those of its children that are in its group.
    pub fn signal(&self, signal: i32) {
        if !self.has_ended {
            // SAFETY: takes numbers only; it leads the group and was not waited for, so both numbers are its own.
            unsafe { libc::kill(-self.pid(), signal) };
        }
    }

    /// Waits for its end; what it leaves running in its group is killed. `stop` is asked now and then for a signal that
    /// wants an end: the process gets that signal and, if it does not end, SIGKILL.
    ///
    /// # Errors
    /// If it does not end by itself.
    pub fn finish(
        mut self,
        limit: Option<Duration>,
        stop: impl Fn() -> Option<i32>,
    ) -> Result<FinishedProcess, RunFailure> {
        while !self.is_over(GAP) {
            if let Some(signal) = stop() {
                self.signal(signal);
                self.is_over(GRACE);
                return Err(RunFailure::Stopped(signal));
            }
            if self.wants_terminal() {
                return Err(RunFailure::WantsTerminal);
            }
            if let Some(limit) = limit.filter(|limit| self.started.elapsed() > *limit) {
                return Err(RunFailure::TooLong(limit));
            }
        }
        let seconds = self.started.elapsed().as_secs_f64();
        self.signal(libc::SIGKILL);
        let (status, cpu_s) = self.reap().map_err(RunFailure::Unknown)?;
        match stop() {
            // The same wish may have reached the process first.
            Some(signal) => Err(RunFailure::Stopped(signal)),
            None => Ok(FinishedProcess { seconds, cpu_s, status }),
        }
    }

    /// Takes its status and its CPU time, waiting for its end if need be.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn reap(&mut self) -> io::Result<(ExitStatus, f64)> {
        let mut status = 0;
        // SAFETY: numbers only, for which all zeroes is a value.
        let mut rusage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: both places outlive the call; the process is our child and was not waited for.
            let pid = unsafe { libc::wait4(self.pid(), &raw mut status, 0, &raw mut rusage) };
            if pid == self.pid() {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        self.has_ended = true;
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Ok((ExitStatus::from_raw(status), seconds(rusage.ru_utime) + seconds(rusage.ru_stime)))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if !self.has_ended {
            self.signal(libc::SIGKILL);
            let _ = self.reap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::os::fd::OwnedFd;
    use std::process::Stdio;

    const MINUTE: Duration = Duration::from_secs(60);

    fn sh(text: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        command
    }

    fn start(command: &mut Command) -> ChildProcess {
        ChildProcess::start(command, libc::SIGKILL).unwrap()
    }

    /// The process, and what it prints.
    fn piped(text: &str) -> (ChildProcess, BufReader<std::io::PipeReader>) {
        let (reader, writer) = std::io::pipe().unwrap();
        let running = start(sh(text).stdout(Stdio::from(OwnedFd::from(writer))));
        (running, BufReader::new(reader))
    }

    #[test]
    fn an_end_has_its_time_its_status_and_its_cost() {
        let ended = start(&mut sh("sleep 0.1; exit 3")).finish(None, || None).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.seconds >= 0.1 && ended.cpu_s < ended.seconds, "{ended:?}");
        // The work is done by a child that the shell waits for.
        let busy = start(&mut sh("(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); exit 0"))
            .finish(None, || None)
            .unwrap();
        assert!(busy.cpu_s > ended.cpu_s + 0.02, "{busy:?}, {ended:?}");
        let killed = start(&mut sh("kill -9 $$")).finish(None, || None).unwrap();
        assert_eq!(killed.status.signal(), Some(libc::SIGKILL));
        assert!(ChildProcess::start(&mut Command::new("/no/such/program"), libc::SIGKILL).is_err());
    }

    #[test]
    fn what_it_leaves_running_is_killed_at_its_end() {
        let (running, mut output) = piped("sleep 600 & echo here");
        running.finish(Some(MINUTE), || None).unwrap();
        // Ends once nobody can write any more.
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        assert_eq!(text, "here\n");
    }

    #[test]
    fn who_asks_for_an_end_gets_one_though_the_program_does_not_listen() {
        let (running, mut output) = piped("trap '' INT; echo here; sleep 600 & wait; sleep 600");
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let begin = Instant::now();
        let end = running.finish(Some(MINUTE), || Some(libc::SIGINT));
        assert!(matches!(end, Err(RunFailure::Stopped(libc::SIGINT))), "{end:?}");
        assert!(begin.elapsed() >= GRACE && begin.elapsed() < MINUTE);
        assert_eq!(output.read_line(&mut line).unwrap(), 0, "a child of it still runs");
    }

    #[test]
    fn an_end_is_seen_where_the_kernel_does_not_tell() {
        let (mut running, mut output) = piped("exit 4");
        drop(output.read_line(&mut String::new()));
        assert!(running.is_over_by_looking(MINUTE));
        assert_eq!(running.reap().unwrap().0.code(), Some(4));
        assert!(!start(&mut sh("sleep 600")).is_over_by_looking(Duration::from_millis(5)));
    }

    #[test]
    fn who_wants_the_terminal_is_told_apart_from_who_is_only_stopped() {
        let end = start(&mut sh("kill -TTIN $$; sleep 600")).finish(Some(MINUTE), || None);
        assert!(matches!(end, Err(RunFailure::WantsTerminal)), "{end:?}");
        let stopped = sh("(sleep 0.2; kill -CONT $$) & kill -STOP $$; exit 5");
        let end = start(&mut { stopped }).finish(Some(MINUTE), || None).unwrap();
        assert_eq!(end.status.code(), Some(5));
    }

    #[test]
    fn who_takes_too_long_is_killed_with_its_children() {
        let (running, mut output) = piped("sleep 600 & sleep 600");
        let end = running.finish(Some(Duration::from_millis(10)), || None);
        assert!(matches!(end, Err(RunFailure::TooLong(_))), "{end:?}");
        // Ends once nobody can write any more.
        assert_eq!(output.read_to_string(&mut String::new()).unwrap(), 0);
    }
}
