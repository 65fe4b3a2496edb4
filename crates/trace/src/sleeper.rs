//! The stack of a thread that sleeps in a system call: from outside, without stopping it.
//!
//! The kernel tells where such a thread is and where its stack is. It does not tell the other registers, so the walk ends
//! at a function that needs them: one that keeps its frame by a frame pointer is the last that is found.

use crate::elf::Elf;
use crate::image::{executable, open, window};
use crate::tracer::STACK_BYTES;
use crate::walk::{Cache, Walker};

/// Addresses behind instructions: of the system call, and of the calls that led there. `None` if the thread does not sleep,
/// or may not be looked at.
pub fn stack_of_sleeper(pid: u32, thread: u32) -> Option<Vec<u64>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let &[_, _, .., pointer, address] = words.as_slice() else { return None };
    let [pointer, address] = [pointer, address].map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let (pointer, address) = (pointer?, address?);
    let copy = memory(pid, pointer)?;
    #[cfg(target_arch = "x86_64")]
    let registers = [0, 0, 0, pointer, address];
    #[cfg(target_arch = "aarch64")]
    let registers = [0, 0, pointer, address];
    Some(walker(pid)?.walk(&mut Cache::new(), &registers, &copy))
}

/// The tables of what a process has mapped now.
fn walker(pid: u32) -> Option<Walker> {
    let window = window(pid);
    let maps = std::fs::read_to_string(format!("/proc/{window}/maps")).ok()?;
    let mut walker = Walker::new();
    for (mapping, path) in maps.lines().filter_map(executable) {
        let Some(elf) = open(window, &mapping, path).ok().and_then(|(path, file)| Elf::read(path, file)) else {
            continue;
        };
        if let Some(module) = elf.module(mapping.start, mapping.offset) {
            walker.add(elf.tables(&module));
        }
    }
    Some(walker)
}

/// What lies from that address of a process's memory on, as far as a walk needs it.
fn memory(pid: u32, address: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; STACK_BYTES as usize];
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // Page by page, as the stack may end before.
    let there: Vec<libc::iovec> = pages(address, bytes.len() as u64).collect();
    // SAFETY: `here` is room of ours, and the kernel checks the other process's memory.
    let n = unsafe {
        libc::process_vm_readv(pid as libc::pid_t, &raw const here, 1, there.as_ptr(), there.len() as libc::c_ulong, 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn sleeps_here(pipe: i32, tell: &std::sync::mpsc::Sender<u32>) {
        // SAFETY: always may be called.
        tell.send(unsafe { libc::gettid() } as u32).unwrap();
        let mut byte = 0_u8;
        // SAFETY: a pipe of ours, and room for a byte.
        let n = unsafe { libc::read(pipe, (&raw mut byte).cast(), 1) };
        assert_eq!(n, 1);
    }

    #[test]
    fn a_thread_that_sleeps_is_found_where_it_does() {
        let mut pipe = [0; 2];
        // SAFETY: room for two numbers.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        let (tell, told) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || sleeps_here(pipe[0], &tell));
        let thread = told.recv().unwrap();
        let here = sleeps_here as *const () as u64;
        let is_here = |addresses: &Vec<u64>| addresses.iter().any(|address| (here..here + 2000).contains(address));
        let mut looks = 0;
        while !stack_of_sleeper(std::process::id(), thread).as_ref().is_some_and(is_here) {
            looks += 1;
            assert!(looks < 1000, "it is not found");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        // SAFETY: a pipe of ours, and a byte.
        assert_eq!(unsafe { libc::write(pipe[1], [0_u8].as_ptr().cast(), 1) }, 1);
        sleeper.join().unwrap();
        assert_eq!(stack_of_sleeper(std::process::id(), thread), None);
    }
}
