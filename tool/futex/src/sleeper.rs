//! The stack of a thread that sleeps in a system call: from outside, without stopping it.
//!
//! The kernel tells where such a thread is and where its stack is. It does not tell the other registers, so the walk ends
//! at a function that needs them: one that keeps its frame by a frame pointer is the last that is found.

use crate::event::{FUTEX, STACK_BYTES, op};
use crate::image::Images;
use crate::process::memory;
use crate::record::N_REGISTERS;

/// A thread that sleeps in a system call.
pub(crate) struct Sleeper {
    /// The number of the call.
    call: u64,
    /// Its first three arguments.
    arguments: [u64; 3],
    /// Where a walk begins.
    pub(crate) registers: [u64; N_REGISTERS],
    /// What lies on its stack.
    pub(crate) stack: Vec<u8>,
}

impl Sleeper {
    /// `None` if the thread does not sleep in a call, or may not be looked at.
    pub(crate) fn find(pid: u32, thread: u32) -> Option<Sleeper> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let &[call, first, second, third, .., pointer, address] = words.as_slice() else { return None };
        let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let (pointer, address) = (number(pointer)?, number(address)?);
        #[cfg(target_arch = "x86_64")]
        let registers = [0, 0, 0, pointer, address];
        #[cfg(target_arch = "aarch64")]
        let registers = [0, 0, pointer, address];
        let arguments = [number(first)?, number(second)?, number(third)?];
        Some(Sleeper {
            call: call.parse().ok()?,
            arguments,
            registers,
            stack: memory(pid, pointer, STACK_BYTES as usize)?,
        })
    }

    /// The futex it sleeps for, if that is what it does, and the thread of which that may be the number.
    pub(crate) fn futex(&self) -> Option<(u64, u32)> {
        let [address, op, value] = self.arguments;
        (self.call == FUTEX && op::waits(op as i32)).then_some((address, op::thread(op as i32, value as u32)))
    }
}

/// How long a thread has not run, in ns, as far as the kernel tells.
pub(crate) fn slept_ns(pid: u32, thread: u32) -> Option<u64> {
    let then = last_run_ms(&format!("/proc/{pid}/task/{thread}/sched"))?;
    let now = now_ms(last_cpu(pid, thread)?)?;
    Some(((now - then).max(0.0) * 1e6) as u64)
}

/// The CPU on which a thread ran last.
fn last_cpu(pid: u32, thread: u32) -> Option<usize> {
    /// Behind the name, which may have any characters.
    const CPU: usize = 36;
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(CPU)?.parse().ok()
}

/// What the scheduler's clock of that CPU says, in ms. Each CPU has its own, without the time that it was stolen: in a virtual
/// machine they come to differ by minutes. So this thread goes there, and looks when it has last gone on to run.
fn now_ms(cpu: usize) -> Option<f64> {
    const SIZE: usize = size_of::<libc::cpu_set_t>();
    // SAFETY: numbers, of which zeros are an empty set.
    let (mut usual, mut there): (libc::cpu_set_t, libc::cpu_set_t) = unsafe { core::mem::zeroed() };
    if cpu >= 8 * SIZE {
        return None;
    }
    // SAFETY: it has room for that CPU.
    unsafe { libc::CPU_SET(cpu, &mut there) };
    // SAFETY: a set of that size, for what the calling thread has.
    let is_known = unsafe { libc::sched_getaffinity(0, SIZE, &raw mut usual) } == 0;
    // SAFETY: a set of that size, for the calling thread.
    if !is_known || unsafe { libc::sched_setaffinity(0, SIZE, &raw const there) } != 0 {
        return None;
    }
    let now = last_run_ms("/proc/thread-self/sched");
    // SAFETY: as above. It was allowed to be there before.
    unsafe { libc::sched_setaffinity(0, SIZE, &raw const usual) };
    now
}

/// When a thread last began or went on to run, in ms of the scheduler's clock.
fn last_run_ms(path: &str) -> Option<f64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with("se.exec_start"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Addresses behind instructions: of the system call, and of the calls that led there. `None` if the thread does not sleep,
/// or may not be looked at.
pub fn stack_of_sleeper(pid: u32, thread: u32) -> Option<Vec<u64>> {
    let sleeper = Sleeper::find(pid, thread)?;
    let mut images = Images::default();
    let image = images.at(pid, 0);
    let stack = images.stack(image, u64::MAX, &sleeper.registers, &sleeper.stack);
    Some(images.addresses(stack).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn until(is_found: impl Fn() -> bool) {
        let looks = (0..1000).take_while(|_| !is_found()).inspect(|_| std::thread::sleep(Duration::from_millis(2)));
        assert!(looks.count() < 1000, "it is not found");
    }

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
        assert!(slept_ns(std::process::id(), thread).is_none_or(|ns| ns < 10_000_000_000));
        until(|| stack_of_sleeper(std::process::id(), thread).as_ref().is_some_and(is_here));
        // SAFETY: a pipe of ours, and a byte.
        assert_eq!(unsafe { libc::write(pipe[1], [0_u8].as_ptr().cast(), 1) }, 1);
        sleeper.join().unwrap();
        // It is joined a little before the kernel has forgotten it.
        until(|| stack_of_sleeper(std::process::id(), thread).is_none());
    }

    #[test]
    fn a_thread_that_waits_for_a_lock_shows_its_futex() {
        let word = std::sync::atomic::AtomicU32::new(7);
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: always may be called.
                tell.send(unsafe { libc::gettid() } as u32).unwrap();
                // SAFETY: a word of ours, and no time limit.
                unsafe {
                    libc::syscall(
                        libc::SYS_futex,
                        word.as_ptr(),
                        libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                        7,
                        0_usize,
                    )
                };
            });
            let thread = told.recv().unwrap();
            let futex = || Sleeper::find(std::process::id(), thread)?.futex();
            until(|| futex().is_some_and(|(address, _)| address == word.as_ptr() as u64));
            word.store(8, std::sync::atomic::Ordering::Relaxed);
            // SAFETY: a word of ours.
            unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) };
        });
    }
}
