//! Other programs that want the CPUs while something is measured: `bench --load`.
//!
//! Each loop is a process of its own and not a thread of this one, because a scheduler that is fair to processes or to
//! groups of them gives other programs more than it gives threads of the same one.

use crate::execution::{Execution, Hardware};
use ondeck_kit::wording::counted;

/// Most loops that can be asked for.
pub const MAX_LOAD: u32 = 256;

/// What is told of a measurement beside so many.
pub(crate) fn told(n: u32) -> String {
    let loops = counted(n as usize, "busy loop");
    format!("{loops} ran beside the measurements (--load {n}): compare only with figures of the same load")
}

/// Busy loops, which end when this is dropped, or when the thread that has started them is gone, however that came.
#[derive(Default)]
pub(crate) struct BusyLoops(Vec<libc::pid_t>);

impl BusyLoops {
    /// Starts so many. The error says what the system said.
    pub(crate) fn start(n: u32) -> Result<Self, String> {
        let mut loops = BusyLoops::default();
        // SAFETY: asks for a number; no memory.
        let parent = unsafe { libc::getpid() };
        for _ in 0..n {
            // SAFETY: the child does nothing but `turn`, which needs no lock that another thread may have had.
            match unsafe { libc::fork() } {
                0 => turn(parent),
                -1 => return Err(format!("a busy loop cannot be started: {}", std::io::Error::last_os_error())),
                child => loops.0.push(child),
            }
        }
        Ok(loops)
    }

    /// CPU time of all.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.0.iter().filter_map(|child| cpu_ns_of(*child)).sum()
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for child in &self.0 {
            // SAFETY: a child that nobody has waited for, so the number is still its own.
            unsafe { libc::kill(*child, libc::SIGKILL) };
            // SAFETY: waits for the same child; no status is asked for.
            unsafe { libc::waitpid(*child, std::ptr::null_mut(), 0) };
        }
    }
}

/// Computes until it is killed, or gone is who has started it.
fn turn(parent: libc::pid_t) -> ! {
    // SAFETY: a system call with numbers only. The kernel kills this process when the thread that has made it is gone.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // SAFETY: asks for a number. Who was gone before that call is this process's parent no more.
    if unsafe { libc::getppid() } != parent {
        // SAFETY: ends this process, and runs nothing that the parent has registered.
        unsafe { libc::_exit(0) };
    }
    loop {
        Hardware::spend(u32::MAX);
    }
}

/// CPU time of another process.
fn cpu_ns_of(process: libc::pid_t) -> Option<u64> {
    let mut clock = 0;
    // SAFETY: writes one number that we own.
    let failed = unsafe { libc::clock_getcpuclockid(process, &mut clock) };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one time that we own; a clock that does not exist is an error.
    let is_read = failed == 0 && unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    is_read.then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_use_cpus_and_end() {
        let loops = BusyLoops::start(2).unwrap();
        let children = loops.0.clone();
        let begin = std::time::Instant::now();
        while loops.cpu_ns() < 20_000_000 {
            assert!(begin.elapsed().as_secs() < 120, "two loops had {} ns in two minutes", loops.cpu_ns());
            Hardware::sleep_ns(1_000_000);
        }
        drop(loops);
        assert!(children.iter().all(|child| cpu_ns_of(*child).is_none()), "they are gone");
    }
}
