//! Keeping signal handlers out of what must not be interrupted.

use ondeck_core::kernel;

/// What a thread raises itself, by a fault or step by step, ends the process if it is blocked; and two signals are the C
/// library's own.
const NOT_BLOCKED: [i32; 8] =
    [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS, 32, 33];

/// A handler that locks something in the middle of `act` would wait for its own thread.
pub(crate) fn without_signals(act: impl FnOnce()) {
    let before = set_mask(NOT_BLOCKED.iter().fold(!0, |mask, signal| mask & !(1 << (signal - 1))));
    act();
    set_mask(before);
}

/// The calling thread's signals that wait, a bit each, and what they were before.
fn set_mask(mask: u64) -> u64 {
    let mut before = 0_u64;
    let (new, old) = ((&raw const mask) as usize, (&raw mut before) as usize);
    // SAFETY: reads and writes eight bytes that are ours.
    let _ = unsafe { kernel::call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, new, old, size_of::<u64>()]) };
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr;

    #[test]
    fn no_signal_comes_in_the_middle() {
        let blocked = || {
            // SAFETY: plain memory, which the call fills.
            let mut set = unsafe { core::mem::zeroed() };
            // SAFETY: only asks.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), &mut set) };
            // SAFETY: filled by the call before.
            (1..=31).filter(|signal| unsafe { libc::sigismember(&set, *signal) } == 1).collect::<Vec<i32>>()
        };
        // SAFETY: plain memory, whose zeros are an empty set.
        let mut set: libc::sigset_t = unsafe { core::mem::zeroed() };
        // SAFETY: the set is ours, and the signal is one.
        unsafe { libc::sigaddset(&mut set, libc::SIGUSR2) };
        // SAFETY: reads the set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &set, ptr::null_mut()) };
        let before = blocked();
        assert_eq!(before, [libc::SIGUSR2]);
        let mut within = Vec::new();
        without_signals(|| within = blocked());
        let all =
            (1..=31).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal) && !NOT_BLOCKED.contains(signal));
        assert_eq!(within, all.collect::<Vec<i32>>());
        assert_eq!(blocked(), before);
    }
}
