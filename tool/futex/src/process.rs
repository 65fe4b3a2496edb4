//! What the kernel tells of a process from outside: where it comes from, its threads, and its memory.

/// The process that a process comes from, by the kernel's numbers.
pub fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything, a parenthesis too.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The number that a process or thread has for itself: another one than here if it is in a PID namespace of its own, as in a
/// container.
pub fn number_inside(number: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{number}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().next_back()?.parse().ok()
}

/// Its threads, as they are now; none if that cannot be found out.
pub fn threads(pid: u32) -> Vec<u32> {
    threads_if_told(pid).unwrap_or_default()
}

/// Its threads, as they are now: none of one that has ended. `None` if that cannot be found out now, as when as many files are open as
/// may be.
pub fn threads_if_told(pid: u32) -> Option<Vec<u32>> {
    match std::fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(entries) => Some(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()),
        Err(error) => matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)).then(Vec::new),
    }
}

/// What the kernel tells of the system call of a thread: its number, arguments, stack pointer and address.
pub fn syscall(pid: u32, thread: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()
}

/// The process that a thread belongs to; of a process, its own number.
pub fn process_of(thread: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Under which number `/proc` shows what a process has: memory, files, words. If its first thread has ended, that is the number
/// of another one.
pub fn window(pid: u32) -> u32 {
    let shows = |number: &u32| std::fs::read_link(format!("/proc/{number}/exe")).is_ok();
    std::iter::once(pid).chain(threads(pid)).find(shows).unwrap_or(pid)
}

/// How often its threads have gone to sleep.
pub(crate) fn sleeps(pid: u32) -> u64 {
    let of_thread = |thread: u32| -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    threads(pid).into_iter().filter_map(of_thread).sum()
}

/// Four or eight bytes of its memory; `None` if they may not be read.
pub fn bytes<const N: usize>(pid: u32, address: u64) -> Option<[u8; N]> {
    memory(pid, address, N)?.try_into().ok()
}

/// So many bytes of its memory from that address on, or fewer where the rest may not be read.
pub fn memory(pid: u32, address: u64, n_bytes: usize) -> Option<Vec<u8>> {
    memory_by(pid, address, n_bytes).or_else(|| {
        let other = window(pid);
        if other == pid { None } else { memory_by(other, address, n_bytes) }
    })
}

/// The same by the number of one thread, which must not have ended.
fn memory_by(thread: u32, address: u64, n_bytes: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; n_bytes];
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // Page by page, as what is mapped may end before.
    let there: Vec<libc::iovec> = pages(address, bytes.len() as u64).collect();
    // SAFETY: `here` is room of ours, and the kernel checks the other process's memory.
    let n = unsafe {
        libc::process_vm_readv(
            thread as libc::pid_t,
            &raw const here,
            1,
            there.as_ptr(),
            there.len() as libc::c_ulong,
            0,
        )
    };
    bytes.truncate(usize::try_from(n).ok()?);
    Some(bytes)
}

fn pages(from: u64, length: u64) -> impl Iterator<Item = libc::iovec> {
    const PAGE: u64 = 4096;
    let end = from.saturating_add(length);
    let starts = std::iter::successors(Some(from), |at| (at | (PAGE - 1)).checked_add(1));
    starts.take_while(move |at| *at < end).map(move |at| libc::iovec {
        iov_base: at as *mut libc::c_void,
        iov_len: ((at | (PAGE - 1)).saturating_add(1).min(end) - at) as usize,
    })
}

/// The monotonic clock, as records have it.
pub fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for a time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_far_as_it_is_there() {
        let (value, pid) = (77_u32, std::process::id());
        assert_eq!(bytes(pid, (&raw const value) as u64).map(u32::from_ne_bytes), Some(77));
        assert_eq!(bytes::<8>(pid, 8), None);
    }
}
