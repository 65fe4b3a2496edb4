//! Filters of system calls (seccomp) that a process runs under. Used by `control`, and by observers.
//!
//! A filter may end a process that makes a call which it does not expect. Those that were there when the process began let it
//! make what the loader does with a file, and a recording that an observer has begun makes no more than that. Of those that
//! come later nothing is known.

use ondeck_core::kernel;

/// How many filters a thread is under, by the text of its `/proc/.../status`. `None` if the kernel does not say how many.
pub fn count(status: &[u8]) -> Option<u32> {
    const NONE: u32 = 0;
    const STRICT: u32 = 1;
    // Without the first line the kernel has no filters, and without the second one it is older than 5.9.
    match number_after(status, b"Seccomp:").unwrap_or(NONE) {
        NONE => Some(0),
        // All but four calls end the process.
        STRICT => Some(u32::MAX),
        _ => number_after(status, b"Seccomp_filters:"),
    }
}

/// The last number of that line.
fn number_after(status: &[u8], name: &[u8]) -> Option<u32> {
    let value = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name))?;
    let last = value.rsplit(u8::is_ascii_whitespace).next()?;
    core::str::from_utf8(last).ok()?.parse().ok()
}

/// How many this process is under, and its number as it knows that: a filter may forbid to ask for that. `None` where that
/// cannot be told.
pub(crate) fn of_this_process() -> (Option<u32>, Option<u32>) {
    let mut room = [0_u8; 4096];
    match read_status(&mut room) {
        Some(status) => (count(status), number_after(status, b"NSpid:")),
        None => (None, None),
    }
}

fn read_status(room: &mut [u8]) -> Option<&[u8]> {
    let (here, path) = (libc::AT_FDCWD as usize, c"/proc/self/status".as_ptr() as usize);
    // SAFETY: a string of C.
    let file = unsafe { kernel::call(libc::SYS_openat, [here, path, libc::O_CLOEXEC as usize]) }.ok()?;
    // SAFETY: opened above, and the kernel writes no more than there is room for.
    let n = unsafe { kernel::call(libc::SYS_read, [file, room.as_mut_ptr() as usize, room.len()]) };
    // SAFETY: opened above.
    let _ = unsafe { kernel::call(libc::SYS_close, [file]) };
    // What fills all the room may go on.
    let n = n.ok().filter(|n| (1..room.len()).contains(n))?;
    Some(&room[..n])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_counted_where_the_kernel_counts_them() {
        for (text, n) in [
            ("Name:\ta\nSeccomp:\t0\nSeccomp_filters:\t0\nSpeculation:\tx\n", Some(0)),
            ("Name:\ta\nSeccomp:\t2\nSeccomp_filters:\t3\n", Some(3)),
            ("Seccomp:\t2\n", None),
            ("Seccomp:\t1\nSeccomp_filters:\t0\n", Some(u32::MAX)),
            ("Name:\ta\n", Some(0)),
        ] {
            assert_eq!(count(text.as_bytes()), n, "{text}");
        }
        let status = std::fs::read("/proc/thread-self/status").unwrap();
        assert_eq!(of_this_process(), (count(&status), Some(std::process::id())));
        assert_eq!(number_after(b"Pid:\t9\nNSpid:\t700\t80\t9\n", b"NSpid:"), Some(9));
    }
}
