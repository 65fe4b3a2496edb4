//! A program that is held until its events are there, so that nothing of it is missed.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::JoinHandle;

/// A process that will become the program when it is let go. If it is dropped instead, it ends.
pub struct PausedProcess {
    pid: u32,
    door: OwnedFd,
    spawning: JoinHandle<io::Result<Child>>,
}

impl PausedProcess {
    /// Makes the process. `last_step` may add what it is to do at last between fork and exec.
    pub fn new(mut command: Command, last_step: impl FnOnce(&mut Command)) -> io::Result<PausedProcess> {
        let (mut told, tell) = io::pipe()?;
        let (wait, door) = io::pipe()?;
        let door: OwnedFd = door.into();
        let (tell_fd, wait_fd, door_fd) = (tell.as_raw_fd(), wait.as_raw_fd(), door.as_raw_fd());
        let hold = move || hold(tell_fd, wait_fd, door_fd);
        // SAFETY: between fork and exec it makes system calls only, on files that are open in the child until its exec.
        unsafe { command.pre_exec(hold) };
        last_step(&mut command);
        // `spawn` returns after the exec, so it waits in a thread of its own. The pipes live until then.
        let spawning = std::thread::spawn(move || {
            let child = command.spawn();
            drop((tell, wait));
            child
        });
        let mut number = [0; 4];
        match told.read_exact(&mut number) {
            Ok(()) => Ok(PausedProcess { pid: u32::from_ne_bytes(number), door, spawning }),
            // No process was made: `spawn` says why.
            Err(error) => Err(spawning.join().ok().and_then(Result::err).unwrap_or(error)),
        }
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it become the program.
    pub fn go(self) -> io::Result<Child> {
        let byte = [1_u8];
        // SAFETY: one byte that is there, into a pipe of ours.
        let written = unsafe { libc::write(self.door.as_raw_fd(), byte.as_ptr().cast(), 1) };
        if written != 1 {
            return Err(io::Error::last_os_error());
        }
        self.spawning.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts the program has ended")))
    }
}

/// In the child: tells its number, and waits for the byte that lets it go.
fn hold(tell: i32, wait: i32, door: i32) -> io::Result<()> {
    // Otherwise the child would keep open what ends its own waiting, should its parent end.
    // SAFETY: a file of the child's own.
    unsafe { libc::close(door) };
    // SAFETY: always may be called.
    let number = unsafe { libc::getpid() }.to_ne_bytes();
    // SAFETY: four bytes that are there.
    if unsafe { libc::write(tell, number.as_ptr().cast(), number.len()) } != 4 {
        return Err(io::Error::last_os_error());
    }
    let mut byte = 0_u8;
    // SAFETY: room for a byte.
    match unsafe { libc::read(wait, (&raw mut byte).cast(), 1) } {
        1 => Ok(()),
        // Nobody lets it go any more. An error would be told to a parent that may be gone, and the child would complain.
        // SAFETY: always may be called.
        _ => unsafe { libc::_exit(127) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A program that will make a file, which is given with its directory.
    fn held() -> (PausedProcess, std::path::PathBuf, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().join("mark");
        let mut command = Command::new("touch");
        command.arg(&mark);
        (PausedProcess::new(command, |_| {}).unwrap(), mark, directory)
    }

    #[test]
    fn it_runs_when_it_is_let_go_and_not_before() {
        let (held, mark, _directory) = held();
        let pid = held.pid();
        std::thread::sleep(Duration::from_millis(50));
        assert!(!mark.exists());
        let mut child = held.go().unwrap();
        assert_eq!(child.id(), pid);
        assert!(child.wait().unwrap().success() && mark.exists());
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_when_it_is_let_go() {
        let held = PausedProcess::new(Command::new("/no/such/program"), |_| {}).unwrap();
        assert_eq!(held.go().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn it_ends_if_it_is_never_let_go() {
        let (PausedProcess { door, spawning, .. }, mark, _directory) = held();
        drop(door);
        let status = spawning.join().unwrap().unwrap().wait().unwrap();
        assert_eq!((status.code(), mark.exists()), (Some(127), false));
    }
}
