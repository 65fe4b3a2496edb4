//! What of the memory may be read, and the clock.

use crate::thread::own;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The monotonic clock in ns.
pub(crate) fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is room for a time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

const PAGE: u64 = 4096;

/// The calling thread's stack from an address on, as far as it can be read. A stack that is walked wrongly leads anywhere,
/// and a program must not die of that; so pages are tried by a system call before they are read. What was found once is
/// remembered: a stack does not go away while its thread is on it.
pub(crate) struct Stack {
    from: u64,
    to: u64,
    known: (u64, u64),
}

impl Stack {
    /// The stack of a thread whose stack pointer is that.
    pub(crate) fn new(pointer: u64) -> Self {
        // The page of the stack pointer is there.
        let from = pointer & !(PAGE - 1);
        Stack { from, to: from + PAGE, known: own().stack.get() }
    }

    /// Whether there is room below for a walk.
    pub(crate) fn has_room(&mut self) -> bool {
        const NEEDED: u64 = 24 << 10;
        let lowest = self.from.saturating_sub(NEEDED);
        let is_known = (self.known.0..self.known.1).contains(&lowest) && self.known.1 >= self.from;
        if is_known || is_first(self.from) {
            return true;
        }
        // Each page: stacks of coroutines lie close to each other, with closed pages between them.
        while self.from > lowest {
            if !can_read(self.from - PAGE) {
                return false;
            }
            self.from -= PAGE;
        }
        true
    }

    pub(crate) fn read(&mut self, address: u64) -> Result<u64, ()> {
        /// Frames are not larger than that, but for those of few programs.
        const FARTHEST: u64 = 1 << 20;
        let end = address.checked_add(8).ok_or(())?;
        if address < self.from || !address.is_multiple_of(8) || end > self.to.saturating_add(FARTHEST) {
            return Err(());
        }
        while end > self.to {
            if (self.known.0..self.known.1).contains(&self.to) {
                self.to = self.known.1;
            } else if can_read(self.to) {
                self.to += PAGE;
            } else {
                return Err(());
            }
        }
        // SAFETY: within pages that can be read.
        Ok(unsafe { (address as *const u64).read_volatile() })
    }
}

/// An address on the stack that the process began with, which grows when it is touched; 0 before that is known.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// To be called on the stack that the process began with.
pub(crate) fn keep_first_stack() {
    let here = 0_u8;
    FIRST.store((&raw const here) as u64, Relaxed);
}

/// Whether an address is on the stack that the process began with. Not whether its thread is the first: that can be on
/// the stack of a coroutine, and in the child of a fork it is whoever forked.
fn is_first(address: u64) -> bool {
    /// The kernel puts nothing else so near below it.
    const NEAR: u64 = 128 << 20;
    let first = FIRST.load(Relaxed);
    first.checked_sub(address).is_some_and(|below| below < NEAR)
}

impl Drop for Stack {
    fn drop(&mut self) {
        // The two are one if they touch; else the thread is on another stack now.
        let (from, to) = self.known;
        let is_one = from <= self.to && self.from <= to;
        own().stack.set(if is_one { (from.min(self.from), to.max(self.to)) } else { (self.from, self.to) });
    }
}

/// Whether the page at an address can be read. The kernel reads a signal mask from there before it finds that what it is
/// asked to do with it is no request.
fn can_read(address: u64) -> bool {
    const NO_REQUEST: libc::c_int = !0;
    // SAFETY: fails, one way or the other.
    let answer = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NO_REQUEST, address, 0, 8) };
    // SAFETY: the thread's own.
    let error = unsafe { libc::__errno_location() };
    debug_assert_eq!(answer, -1);
    // SAFETY: the thread's own.
    unsafe { *error == libc::EINVAL }
}

/// Pieces of the recording, a bit each: whether the file system has given memory for it. Of the longest recording.
static BACKED: [AtomicU64; (1 << 34) / PIECE / 64] = [const { AtomicU64::new(0) }; (1 << 34) / PIECE / 64];
const PIECE: usize = 64 << 10;

/// A recording begins, mapped at that address. Whether its first piece has memory.
pub(crate) fn begin(start: usize) -> bool {
    for word in &BACKED {
        if word.load(Relaxed) != 0 {
            word.store(0, Relaxed);
        }
    }
    is_backed(start, 0)
}

/// Whether the recording has memory at that offset, which is asked for if it has not: a program that writes into a hole of
/// a file when its file system is full is killed.
pub(crate) fn is_backed(start: usize, offset: usize) -> bool {
    let piece = offset / PIECE;
    let Some(word) = BACKED.get(piece / 64) else { return false };
    let bit = 1 << (piece % 64);
    if word.load(Relaxed) & bit != 0 {
        return true;
    }
    let place = (start + piece * PIECE) as *mut libc::c_void;
    let is_refused = keeping_errno(|| {
        // SAFETY: a piece of our mapping, whose length is a multiple of a piece's; what is in it stays.
        let answer = unsafe { libc::madvise(place, PIECE, libc::MADV_POPULATE_WRITE) };
        // SAFETY: always may be called.
        let error = unsafe { libc::__errno_location() };
        // Kernels before 5.14 do not know the request: there it is as if nobody had asked.
        // SAFETY: the thread's own.
        answer != 0 && unsafe { *error } != libc::EINVAL
    });
    if !is_refused {
        word.fetch_or(bit, Relaxed);
    }
    !is_refused
}

/// Whether the system has memory for what is kept of modules and walks: it cannot be asked for in a way that may fail, and
/// a program that lives with too little of it must not end by that.
pub(crate) fn has_memory() -> bool {
    const ENOUGH: usize = 4 << 20;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    keeping_errno(|| {
        // SAFETY: a new mapping.
        let place = unsafe { libc::mmap(core::ptr::null_mut(), ENOUGH, protection, flags, -1, 0) };
        // SAFETY: our mapping, which nobody else knows.
        place != libc::MAP_FAILED && unsafe { libc::munmap(place, ENOUGH) } == 0
    })
}

/// Keeps the program's `errno` as it was.
pub(crate) fn keeping_errno<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: the thread's own.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *place };
    let result = act();
    // SAFETY: as above.
    unsafe { *place = before };
    result
}

/// Copies as much of `text` as there is room for, and a zero.
pub(crate) fn copy_text(text: &[u8], room: &mut [u8]) {
    let length = text.len().min(room.len() - 1);
    room[..length].copy_from_slice(&text[..length]);
    room[length] = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_not_there_or_closed_is_not_read() {
        let n_pages = 3;
        // SAFETY: a new mapping.
        let start = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                n_pages * PAGE as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        } as u64;
        assert!(can_read(start) && can_read(start + PAGE));
        // SAFETY: of our mapping.
        unsafe { libc::mprotect((start + 2 * PAGE) as *mut _, PAGE as usize, libc::PROT_NONE) };
        assert!(!can_read(start + 2 * PAGE) && !can_read(8));
        let mut stack = Stack::new(start + 16);
        assert_eq!(stack.read(start + PAGE + 8), Ok(0));
        assert_eq!(stack.read(start + 2 * PAGE), Err(()));
        assert_eq!(stack.read(start + 2 * PAGE - 4), Err(()));
        assert_eq!(stack.read(start - 8), Err(()));
        assert_eq!(stack.read(u64::MAX), Err(()));
    }

    #[test]
    fn errno_is_kept() {
        // SAFETY: always may be called.
        let place = unsafe { libc::__errno_location() };
        // SAFETY: the thread's own.
        unsafe { *place = 77 };
        assert!(!keeping_errno(|| can_read(8)));
        // SAFETY: as above.
        assert_eq!(unsafe { *place }, 77);
    }
}
