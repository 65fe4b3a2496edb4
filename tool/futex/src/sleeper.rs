//! The stacks of threads that sleep in a system call: from outside, without stopping them.
//!
//! The kernel tells where such a thread is and where its stack is. It does not tell the other registers. So the caller of a
//! function that keeps its frame by a frame pointer is found by what lies on the stack ([`crate::walk::caller`]), or the walk ends there.

use crate::event::{FUTEX, op};
use crate::hold::{StackCopy, WatchedHold};
use crate::image::{Image, Images};
use crate::in_time;
use crate::process::{self, memory};
use crate::record::N_REGISTERS;
use crate::waiting_loop;
use crate::walk::{Copied, Words, stack_pointer};
use rustc_hash::FxHashMap;

/// A thread that sleeps, as the kernel tells of it.
pub(crate) struct Sleeper {
    /// The number of the call and its first three arguments; `None` if it sleeps in none, as for a page of memory.
    call: Option<[u64; 4]>,
    /// Where a walk begins.
    pub(crate) registers: [u64; N_REGISTERS],
}

impl Sleeper {
    /// From the text of `/proc/PID/task/TID/syscall`; `None` if the thread runs.
    pub(crate) fn parse(text: &str) -> Option<Sleeper> {
        let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let words: Vec<&str> = text.split_whitespace().collect();
        let (call, [pointer, address]) = match *words.as_slice() {
            [call, first, second, third, _, _, _, pointer, address] => {
                (Some([call.parse().ok()?, number(first)?, number(second)?, number(third)?]), [pointer, address])
            }
            ["-1", pointer, address] => (None, [pointer, address]),
            _ => return None,
        };
        let (pointer, address) = (number(pointer)?, number(address)?);
        #[cfg(target_arch = "x86_64")]
        let registers = [0, 0, 0, pointer, address];
        #[cfg(target_arch = "aarch64")]
        let registers = [0, 0, pointer, address];
        Some(Sleeper { call, registers })
    }

    pub(crate) fn find(pid: u32, thread: u32) -> Option<Sleeper> {
        Sleeper::parse(&process::syscall(pid, thread)?)
    }

    /// The futex it sleeps for, if that is what it does, and the thread of which that may be the number.
    pub(crate) fn futex(&self) -> Option<(u64, u32)> {
        let [call, address, op, value] = self.call?;
        (call == FUTEX && op::waits(op as i32)).then_some((address, op::thread(op as i32, value as u32)))
    }

    pub(crate) fn stack(&self, thread: u32) -> SleeperStack {
        SleeperStack { thread, from: stack_pointer(&self.registers), pieces: Vec::new() }
    }
}

/// The stack of a thread that sleeps. Of its memory is read what is asked for.
pub(crate) struct SleeperStack {
    thread: u32,
    from: u64,
    pieces: Vec<Copied<Vec<u8>>>,
}

impl SleeperStack {
    /// So much is read at a time: most stacks that wait are shorter.
    const PIECE: usize = 2048;
    const MOST_PIECES: usize = 64;
    /// As long as stacks usually may be.
    const LONGEST: u64 = 8 << 20;
}

impl Words for SleeperStack {
    fn word(&mut self, address: u64) -> Option<u64> {
        let known = self.pieces.iter_mut().rev().find_map(|piece| piece.word(address));
        let is_there = (self.from..self.from.saturating_add(Self::LONGEST)).contains(&address);
        if known.is_some() || !is_there || self.pieces.len() >= Self::MOST_PIECES {
            return known;
        }
        self.pieces.push(Copied(address, memory(self.thread, address, Self::PIECE)?));
        self.pieces.last_mut()?.word(address)
    }

    fn bytes(&self, address: u64, n: usize) -> Option<Vec<u8>> {
        memory(self.thread, address, n)
    }
}

/// The futex for which a thread sleeps, from what `/proc/PID/task/TID/syscall` has just said.
pub fn futex_of(syscall: &str) -> Option<u64> {
    Some(Sleeper::parse(syscall)?.futex()?.0)
}

/// Looks at the threads of one process, again and again: at the stacks of those that sleep, and at what those do that run. What is
/// loaded there and how stacks were walked is kept.
pub struct Sleepers {
    pid: u32,
    images: Images,
    /// What was found of addresses at which threads run.
    running: FxHashMap<u64, Option<RunningPlace>>,
}

/// Where a thread runs, if that has to do with locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunningPlace {
    /// The number of a stack that has that place alone.
    pub stack: u32,
    /// Whether it is a loop in which the thread only waits; else it is in a library that has locks.
    pub waits: bool,
}

impl std::fmt::Debug for Sleepers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sleepers").field("pid", &self.pid).finish_non_exhaustive()
    }
}

impl Sleepers {
    /// Reads what is loaded now.
    pub fn new(pid: u32) -> Sleepers {
        let mut images = Images::default();
        images.at(pid, 0);
        Sleepers { pid, images, running: FxHashMap::default() }
    }

    /// The number of the stack of a thread, from what `/proc/PID/task/TID/syscall` has just said. `None` if it does not sleep
    /// or no longer does, or may not be looked at.
    pub fn look(&mut self, thread: u32, syscall: &str) -> Option<u32> {
        let sleeper = Sleeper::parse(syscall)?;
        let n_before = self.images.n_walks;
        let mut stack = sleeper.stack(thread);
        let number = self.images.stack(IMAGE, u64::MAX, &sleeper.registers, &mut stack);
        // What a thread has on its stack that goes on meanwhile would be a mixture. Words that are known are none.
        let is_same = || process::syscall(self.pid, thread).is_some_and(|now| now.trim_end() == syscall.trim_end());
        (self.images.n_walks == n_before || is_same()).then_some(number)
    }

    /// The numbers of the stacks where the thread of a hold ran, and where it has ended the hold, as far as these are told and were not yet.
    pub fn watched(&mut self, hold: &mut WatchedHold) -> [Option<u32>; 2] {
        [hold.ran.take(), hold.ended.take()].map(|copy| copy.map(|copy| self.copied(&copy)))
    }

    /// The number of the stack of a thread that ran. It ends with a function that is in no table: that one may have any use for the
    /// frame pointer.
    pub(crate) fn copied(&mut self, (registers, copy): &StackCopy) -> u32 {
        let mut stack = Copied(stack_pointer(registers), copy.as_slice());
        let walked = self.images.stack(IMAGE, u64::MAX, registers, &mut stack);
        let mut addresses = self.plain(walked);
        // It was before an instruction, and a stack has addresses behind some.
        addresses.iter_mut().take(1).for_each(|address| *address = address.wrapping_add(1));
        let is_unsure = |address: &u64| self.images.function(IMAGE, *address).is_none();
        addresses.truncate(addresses.iter().position(is_unsure).map_or(usize::MAX, |at| at + 1));
        self.images.numbered(IMAGE, addresses)
    }

    fn plain(&self, stack: u32) -> Vec<u64> {
        self.addresses(stack).iter().copied().map(in_time::plain).collect()
    }

    /// The stack from the function on that held a lock, by a stack that it had meanwhile and that of its release: the innermost function
    /// that was there both times. Where the release is called by a library's function, and not by one of the calls that were
    /// under way, the function that was called there is gone: its last act was a jump. `None` if they have nothing in common.
    pub fn holder(&mut self, during: u32, release: u32) -> Option<u32> {
        let [during, release] = [during, release].map(|stack| self.plain(stack));
        let both = during.iter().rev().zip(release.iter().rev());
        let n_calls = both.take_while(|(one, other)| one == other).count();
        let inner = |stack: &[u64]| stack.len().checked_sub(n_calls + 1);
        let (one, other) = (inner(&during)?, inner(&release)?);
        let [was_in, is_in] = [during[one], release[other]].map(|address| self.images.function(IMAGE, address));
        let addresses = match was_in? {
            _ if n_calls == 0 => return None,
            function if is_in == Some(function) => release[other..].to_vec(),
            function if self.has_locks(release[other]) => [&[function + 1], &during[one + 1..]].concat(),
            _ => return None,
        };
        Some(self.images.numbered(IMAGE, addresses))
    }

    /// Addresses behind instructions, of [`in_time`](crate::in_time): of the system call, or where the thread ran, and of the calls that
    /// led there.
    pub fn addresses(&self, stack: u32) -> &[u64] {
        self.images.addresses(stack)
    }

    /// What a thread does that runs there: `None` if it has nothing to do with locks, as far as is known.
    pub fn running(&mut self, address: u64) -> Option<RunningPlace> {
        /// A program that writes code as it runs has addresses without end.
        const MOST: usize = 1 << 16;
        let now = self.image().in_time(address, u64::MAX);
        if let Some(known) = self.running.get(&now) {
            return *known;
        }
        let found = self.find_running(address);
        if self.running.len() < MOST {
            self.running.insert(now, found);
        }
        found
    }

    fn find_running(&mut self, address: u64) -> Option<RunningPlace> {
        self.image().module(address)?;
        let has_locks = self.has_locks(address);
        let waits = !has_locks && waiting_loop::is_there(self.pid, address);
        // A stack has addresses behind instructions.
        (has_locks || waits).then(|| RunningPlace { stack: self.images.numbered(IMAGE, vec![address + 1]), waits })
    }

    /// Whether an address is in a library whose functions lock and unlock.
    fn has_locks(&self, address: u64) -> bool {
        let name = self.image().module(address).and_then(|module| module.path.file_name());
        name.is_some_and(|name| LOCKING.iter().any(|begin| name.as_encoded_bytes().starts_with(begin.as_bytes())))
    }

    /// What is loaded, as far as it is known.
    pub fn image(&self) -> &Image {
        &self.images.list[IMAGE]
    }

    /// Reads anew what is loaded. Where an address is in no module, that is done without being asked, now and then.
    pub fn refresh(&mut self) {
        self.images.look(IMAGE);
    }

    /// How many stacks were walked so far, as nothing alike was known.
    pub fn n_walks(&self) -> u64 {
        self.images.n_walks
    }
}

/// How the files of libraries begin whose functions lock and unlock.
const LOCKING: &[&str] = &["libc.so", "libc-", "libpthread", "libondeck_pthread", "ld-musl"];

/// The only one.
const IMAGE: usize = 0;

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn until(mut is_found: impl FnMut() -> bool) {
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
        let pid = std::process::id();
        assert!(slept_ns(pid, thread).is_none_or(|ns| ns < 10_000_000_000));
        let (mut sleepers, call) = (Sleepers::new(pid), || process::syscall(pid, thread));
        let mut found = None;
        until(|| {
            found = call().and_then(|call| sleepers.look(thread, &call));
            found.is_some_and(|stack| sleepers.addresses(stack).iter().any(|at| (here..here + 2000).contains(at)))
        });
        // It is known again, without a walk, once what lies beside its stack stays as it is: other tests come and go.
        until(|| {
            let n_walks = sleepers.n_walks();
            assert_eq!(sleepers.look(thread, &call().unwrap()), found);
            sleepers.n_walks() == n_walks
        });
        // What it has done meanwhile is not what was told: this is no stack of it.
        assert_eq!(sleepers.look(thread, "0 0x1 0x2 0x0 0x0 0x0 0x0 0x7ff0 0x1234"), None);
        assert_eq!(sleepers.look(thread, "running"), None);
        // SAFETY: a pipe of ours, and a byte.
        assert_eq!(unsafe { libc::write(pipe[1], [0_u8].as_ptr().cast(), 1) }, 1);
        sleeper.join().unwrap();
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

    #[cfg(target_arch = "x86_64")]
    mod frames {
        use super::*;
        use crate::process::threads;

        // `room` keeps its frame by the frame pointer, makes room on its stack, and reads a byte from a file. Its argument has the
        // room above the file's number. The others call it.
        std::arch::global_asm!(
            ".globl ondeck_direct, ondeck_direct_end, ondeck_pointer, ondeck_after_old",
            "ondeck_room: .cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "mov rsi, rdi",
            "shr rsi, 32",
            "sub rsp, rsi",
            "mov edi, edi",
            "lea rsi, [rbp - 8]",
            "mov edx, 1",
            "xor eax, eax",
            "syscall",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            "ondeck_direct: .cfi_startproc",
            "sub rsp, 24",
            ".cfi_def_cfa_offset 32",
            "call ondeck_room",
            "add rsp, 24",
            ".cfi_def_cfa_offset 8",
            "ret",
            ".cfi_endproc",
            "ondeck_direct_end:",
            "ondeck_pointer: .cfi_startproc",
            "sub rsp, 24",
            ".cfi_def_cfa_offset 32",
            "lea rax, [rip + ondeck_room]",
            "call rax",
            "add rsp, 24",
            ".cfi_def_cfa_offset 8",
            "ret",
            ".cfi_endproc",
            // Calls `ondeck_direct`, which does not sleep, and then through a pointer what lies over that one's frame.
            "ondeck_after_old: .cfi_startproc",
            "sub rsp, 24",
            ".cfi_def_cfa_offset 32",
            "mov [rsp], rdi",
            "movabs rdi, 0x10ffffffff",
            "call ondeck_direct",
            "mov rdi, [rsp]",
            "lea rax, [rip + ondeck_room]",
            "call rax",
            "add rsp, 24",
            ".cfi_def_cfa_offset 8",
            "ret",
            ".cfi_endproc",
        );

        unsafe extern "C" {
            fn ondeck_direct(argument: *mut libc::c_void) -> *mut libc::c_void;
            fn ondeck_direct_end();
            fn ondeck_pointer(argument: *mut libc::c_void) -> *mut libc::c_void;
            fn ondeck_after_old(argument: *mut libc::c_void) -> *mut libc::c_void;
        }

        /// The stack of a thread that begins with a call, and sleeps in a function with so much room.
        fn stack(begin: unsafe extern "C" fn(*mut libc::c_void) -> *mut libc::c_void, room: usize) -> Vec<u64> {
            let (mut pipe, mut thread) = ([0; 2], 0);
            // SAFETY: room for two numbers.
            assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
            let argument = room << 32 | pipe[0] as usize;
            // SAFETY: the same with another word for what it is to be called with.
            let begin: extern "C" fn(*mut libc::c_void) -> *mut libc::c_void = unsafe { std::mem::transmute(begin) };
            // SAFETY: room for a number, and no attributes. The thread reads a byte of a pipe of ours into its own frame.
            let fault = unsafe { libc::pthread_create(&raw mut thread, std::ptr::null(), begin, argument as *mut _) };
            assert_eq!(fault, 0);
            let pid = std::process::id();
            let reads = format!("{} {:#x} ", libc::SYS_read, pipe[0]);
            let (mut sleepers, mut found) = (Sleepers::new(pid), Vec::new());
            until(|| {
                let calls =
                    threads(pid).into_iter().filter_map(|thread| Some((thread, process::syscall(pid, thread)?)));
                let sleeper = calls.into_iter().find(|(_, call)| call.starts_with(&reads));
                let stack = sleeper.and_then(|(thread, call)| sleepers.look(thread, &call));
                found = stack.map_or(Vec::new(), |stack| sleepers.addresses(stack).to_vec());
                !found.is_empty()
            });
            // SAFETY: a pipe of ours, and a byte.
            assert_eq!(unsafe { libc::write(pipe[1], [0_u8].as_ptr().cast(), 1) }, 1);
            // SAFETY: a thread that ends, and no room for what it returns.
            assert_eq!(unsafe { libc::pthread_join(thread, std::ptr::null_mut()) }, 0);
            found
        }

        #[test]
        fn the_caller_of_a_function_with_room_of_its_own_is_found() {
            let direct = ondeck_direct as *const () as u64..ondeck_direct_end as *const () as u64;
            for room in [16, 160, 4096] {
                let found = stack(ondeck_direct, room);
                assert!(found.len() > 2 && direct.contains(&found[1]), "{room}: {found:x?}");
            }
        }

        #[test]
        fn where_it_is_not_sure_who_called_the_walk_ends() {
            assert_eq!(stack(ondeck_pointer, 160).len(), 1);
            assert_eq!(stack(ondeck_after_old, 4096).len(), 1, "an old caller lies there");
        }
    }
}
