//! A run of a program: how it begins, and how it ends.

use ondeck_kit::exit::Exit;
use ondeck_launch::Refusal;
use ondeck_profile::Run;
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::SystemTime;

/// Why a program was not started.
pub(crate) fn refused(refusal: Refusal) -> Exit {
    Exit::OfProgram(refusal.to_string(), refusal.exit_code())
}

/// The program's own exit code; as a shell says of a program that a signal has killed.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

/// The monotonic clock, as recordings have it.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A run of a command that begins now.
pub(crate) fn begun(command: &[impl AsRef<OsStr>]) -> Run {
    let started_realtime = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Run {
        command: command.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect(),
        started_realtime_ns: started_realtime.as_nanos() as u64,
        started_ns: now_ns(),
        cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
    }
}
