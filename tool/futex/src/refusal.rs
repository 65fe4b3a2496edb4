//! Why the kernel does not tell, and what to do about it.

use std::io;

/// Why nothing can be traced. Its text is one sentence or two, and ends with what helps.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no process with this number.
    #[error(
        "--pid {0}: there is no such process; accepted: the number of a process that runs, as pidof PROGRAM prints it"
    )]
    NoProcess(u32),
    /// The process is somebody else's.
    #[error("process {0} belongs to another user, so only root may watch it")]
    OtherUser(u32),
    /// The file system of the kernel's tracepoints is not mounted.
    #[error("the kernel's tracepoints are not mounted. Mount them: sudo mount -t tracefs nodev /sys/kernel/tracing")]
    NoTracefs,
    /// It is, but not for this user.
    #[error("you may not read the kernel's tracepoints in /sys/kernel/tracing, which usually only root may")]
    Unreadable,
    /// The kernel was built without tracepoints for system calls.
    #[error(
        "this kernel has no tracepoints for system calls (CONFIG_FTRACE_SYSCALLS), so it cannot show futex calls. \
         Record pthread mutexes without the kernel: ondeck profile -- PROGRAM"
    )]
    NoTracepoints,
    /// This user may not open events; the value of `kernel.perf_event_paranoid`.
    #[error(
        "you may not trace system calls, because kernel.perf_event_paranoid is {0}. Allow it to all users: \
         sudo sysctl kernel.perf_event_paranoid=-1"
    )]
    Paranoid(i32),
    /// The system call for events is not there, or is refused whatever the user's rights are.
    #[error(
        "the system call perf_event_open is blocked here, as it is in many containers. Run ondeck outside the \
         container, or allow it: docker run --cap-add PERFMON --security-opt seccomp=unconfined ..."
    )]
    Sealed,
    /// Events are open files, and there may not be so many.
    #[error(
        "{needed} events are needed, three for each thread and CPU, and no more than {limit} files may be open. Raise the \
         limit: {}",
        raise(*.needed, *.most)
    )]
    TooManyFiles {
        /// How many events are needed.
        needed: usize,
        /// How many files this user may open.
        limit: u64,
        /// For how many the kernel has room.
        most: u64,
    },
    /// Memory for records cannot be had.
    #[error("the kernel has no memory for samples ({0}). Ask for less, for example: --max-mb 16")]
    NoMemory(io::Error),
    /// Anything else: what was tried, and how the kernel answered.
    #[error("{0}: {1}")]
    Other(&'static str, io::Error),
}

impl Refusal {
    /// Whether what was asked for is wrong, and not this machine or this user's rights.
    pub fn is_wish(&self) -> bool {
        matches!(self, Refusal::NoProcess(_))
    }

    /// Whether root would not be refused.
    pub fn needs_root(&self) -> bool {
        matches!(self, Refusal::OtherUser(_) | Refusal::Unreadable | Refusal::Paranoid(_))
    }

    /// Whether this user, or anybody on this machine, may not trace at all.
    pub fn is_for_want_of_rights(&self) -> bool {
        self.needs_root() || matches!(self, Refusal::NoTracefs | Refusal::NoTracepoints | Refusal::Sealed)
    }
}

/// The command that allows so many events.
fn raise(needed: usize, most: u64) -> String {
    let wanted = (needed + 256).next_power_of_two();
    let is_enough = wanted as u64 <= most;
    let first = if is_enough { String::new() } else { format!("sudo sysctl fs.nr_open={wanted} && ") };
    format!("{first}ulimit -n {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_one_line_with_what_helps() {
        for (refusal, help) in [
            (Refusal::NoProcess(7), "pidof"),
            (Refusal::OtherUser(7), "root"),
            (Refusal::NoTracefs, "sudo mount -t tracefs nodev /sys/kernel/tracing"),
            (Refusal::Unreadable, "root"),
            (Refusal::NoTracepoints, "ondeck profile -- PROGRAM"),
            (Refusal::Paranoid(2), "sudo sysctl kernel.perf_event_paranoid=-1"),
            (Refusal::Sealed, "--cap-add PERFMON"),
            (
                Refusal::TooManyFiles { needed: 2000, limit: 1024, most: 4096 },
                "2000 events are needed, three for each thread and CPU, and no more than 1024 files may be open. Raise the \
                 limit: ulimit -n 4096",
            ),
            (
                Refusal::TooManyFiles { needed: 2000, limit: 1024, most: 2048 },
                "sudo sysctl fs.nr_open=4096 && ulimit -n 4096",
            ),
            (Refusal::NoMemory(io::Error::from_raw_os_error(libc::ENOMEM)), "--max-mb 16"),
        ] {
            let text = refusal.to_string();
            assert!(text.contains(help) && !text.contains('\n'), "{text}");
            assert_eq!(refusal.is_wish(), matches!(refusal, Refusal::NoProcess(_)));
        }
    }
}
