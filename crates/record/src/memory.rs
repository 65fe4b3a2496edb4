//! What of the memory may be read, and the clock.

use crate::thread::own;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ondeck_core::kernel;

/// The monotonic clock in ns, whatever the program takes for it.
pub(crate) use kernel::monotonic_ns as now_ns;

/// What lies between two reads of the clock that follow each other.
static BETWEEN_READS_NS: AtomicU64 = AtomicU64::new(0);

/// Finds that out.
pub(crate) fn time_the_clock() {
    let between = (0..100).map(|_| {
        let from = now_ns();
        now_ns().saturating_sub(from)
    });
    BETWEEN_READS_NS.store(between.min().unwrap_or(0), Relaxed);
}

/// What was between two reads of the clock, without what is always there.
pub(crate) fn between(from: u64, to: u64) -> u64 {
    to.saturating_sub(from).saturating_sub(BETWEEN_READS_NS.load(Relaxed))
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

/// Finds the stack that the process began with. Not by where this is called: another thread may load the library.
pub(crate) fn keep_first_stack() {
    // Bytes that the kernel puts at the outer end of that stack.
    // SAFETY: always may be called.
    FIRST.store(unsafe { libc::getauxval(libc::AT_RANDOM) }, Relaxed);
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
    const NO_REQUEST: usize = u32::MAX as usize;
    // SAFETY: fails, one way or the other.
    let answer = unsafe { kernel::call(libc::SYS_rt_sigprocmask, [NO_REQUEST, address as usize, 0, 8]) };
    debug_assert!(answer.is_err());
    answer == Err(libc::EINVAL)
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
    // Kernels before 5.14 do not know the request: there it is as if nobody had asked.
    // SAFETY: a piece of our mapping, whose length is a multiple of a piece's; what is in it stays.
    let is_there =
        matches!(unsafe { kernel::advise(place, PIECE, libc::MADV_POPULATE_WRITE) }, Ok(_) | Err(libc::EINVAL));
    if is_there {
        word.fetch_or(bit, Relaxed);
    }
    is_there
}

/// Whether the system has memory for what is kept of modules and walks: it cannot be asked for in a way that may fail, and
/// a program that lives with too little of it must not end by that.
pub(crate) fn has_memory() -> bool {
    const ENOUGH: usize = 4 << 20;
    // SAFETY: a mapping of our own, which nobody else knows.
    let unmap = |place: *mut libc::c_void| unsafe { kernel::call(libc::SYS_munmap, [place as usize, ENOUGH]) };
    kernel::map_memory(ENOUGH).is_some_and(|place| unmap(place).is_ok())
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

    /// Memory of so many pages, and closed pages among them. It stays: addresses of it are remembered.
    fn pages(n: u64, closed: &[u64]) -> u64 {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping.
        let place = unsafe { libc::mmap(core::ptr::null_mut(), (n * PAGE) as usize, protection, flags, -1, 0) };
        assert_ne!(place, libc::MAP_FAILED);
        let start = place as u64;
        for page in closed {
            close(start + page * PAGE);
        }
        start
    }

    fn close(page: u64) {
        // SAFETY: of a mapping of these tests, that nobody else knows.
        assert_eq!(unsafe { libc::mprotect(page as *mut _, PAGE as usize, libc::PROT_NONE) }, 0);
    }

    /// In a thread that remembers that part of its stack.
    fn remembering<T: Send>(known: (u64, u64), act: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                own().stack.set(known);
                act()
            });
            thread.join().expect("asserts nothing")
        })
    }

    #[test]
    fn what_two_reads_of_the_clock_take_is_no_part_of_a_hold() {
        time_the_clock();
        let always = BETWEEN_READS_NS.load(Relaxed);
        assert!(always < 100_000, "{always}");
        assert_eq!((between(1000, 1000), between(1000, 1000 + always), between(1000, 1005 + always)), (0, 0, 5));
    }

    #[test]
    fn a_page_that_is_not_there_or_closed_is_not_read() {
        let start = pages(3, &[2]);
        assert!(can_read(start) && can_read(start + PAGE));
        assert!(!can_read(start + 2 * PAGE) && !can_read(8));
        let mut stack = Stack::new(start + 16);
        assert_eq!(stack.read(start + PAGE - 8), Ok(0));
        // It has not looked further than it had to.
        assert_eq!(stack.to, start + PAGE);
        assert_eq!(stack.read(start), Ok(0));
        assert_eq!(stack.read(start + PAGE + 8), Ok(0));
        assert_eq!(stack.read(start + 2 * PAGE), Err(()));
        assert_eq!(stack.read(start + 2 * PAGE - 4), Err(()));
        assert_eq!(stack.read(start + 4), Err(()));
        assert_eq!(stack.read(start - 8), Err(()));
        assert_eq!(stack.read(u64::MAX), Err(()));
    }

    #[test]
    fn frames_that_are_too_large_are_not_read() {
        const FARTHEST: u64 = 1 << 20;
        let start = pages(300, &[]);
        assert_eq!(Stack::new(start).read(start + PAGE + FARTHEST - 8), Ok(0));
        assert_eq!(Stack::new(start).read(start + PAGE + FARTHEST), Err(()));
    }

    /// A walk needs six pages below it. On the stack that the process began with they are always there.
    #[test]
    fn there_is_room_where_no_page_near_below_is_closed() {
        let _alone = crate::recording::tests::alone();
        let start = pages(16, &[4]);
        let at = |page: u64| start + page * PAGE;
        let has_room = |page: u64, known: (u64, u64)| remembering(known, || Stack::new(at(page) + 100).has_room());
        for (page, expected) in [(12, true), (11, true), (10, false), (9, false), (5, false)] {
            assert_eq!(has_room(page, (0, 0)), expected, "{page}");
        }
        // What is known is not asked for again, if it reaches from the lowest page to the stack pointer's.
        for (known, expected) in [((3, 9), true), ((2, 10), true), ((3, 8), false), ((4, 9), false), ((2, 3), false)] {
            assert_eq!(has_room(9, (at(known.0), at(known.1))), expected, "{known:?}");
        }
        keep_first_stack();
        let first = FIRST.load(Relaxed);
        for (below, expected) in [(0, true), (1, true), ((128 << 20) - 1, true), (128 << 20, false)] {
            assert_eq!(is_first(first - below), expected, "{below}");
        }
        assert!(!is_first(first + 1));
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let range = maps.lines().find(|line| line.ends_with("[stack]")).and_then(|line| line.split(' ').next());
        let (from, to) = range.and_then(|range| range.split_once('-')).unwrap();
        let [from, to] = [from, to].map(|address| u64::from_str_radix(address, 16).unwrap());
        assert!((from..to).contains(&first));
        FIRST.store(at(10), Relaxed);
        assert!(has_room(9, (0, 0)));
        FIRST.store(0, Relaxed);
    }

    #[test]
    fn what_is_known_of_one_stack_grows_and_another_takes_its_place() {
        let start = pages(8, &[]);
        let at = |page: u64| start + page * PAGE;
        let cases = [
            // Known before, found now, known afterwards.
            ((0, 0), (3, 4), (3, 4)),
            ((1, 3), (3, 4), (1, 4)),
            ((4, 6), (3, 4), (3, 6)),
            ((2, 5), (3, 4), (2, 5)),
            ((3, 4), (2, 5), (2, 5)),
            ((1, 2), (3, 4), (3, 4)),
            ((5, 6), (3, 4), (3, 4)),
        ];
        for (known, (from, to), expected) in cases {
            let known = if known == (0, 0) { known } else { (at(known.0), at(known.1)) };
            let after = remembering(known, || {
                let mut stack = Stack::new(at(from));
                stack.to = at(to);
                drop(stack);
                own().stack.get()
            });
            assert_eq!(after, (at(expected.0), at(expected.1)));
        }
    }

    #[test]
    fn what_is_known_of_a_stack_is_not_asked_for_again() {
        let start = pages(4, &[1]);
        let read = |known| remembering(known, || Stack::new(start).read(start + 2 * PAGE));
        assert_eq!(read((start, start + 3 * PAGE)), Ok(0));
        assert_eq!(read((start, start + PAGE)), Err(()));
        assert_eq!(read((start + 2 * PAGE, start + 3 * PAGE)), Err(()));
    }

    /// A file that is shorter than its mapping stands for a file system that is full.
    #[test]
    fn a_piece_without_memory_is_not_backed() {
        use std::os::fd::AsRawFd;
        let file = tempfile::tempfile().unwrap();
        let length = |pieces: usize| file.set_len((pieces * PIECE) as u64).unwrap();
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping.
        let place = unsafe { libc::mmap(core::ptr::null_mut(), 70 * PIECE, protection, flags, file.as_raw_fd(), 0) };
        let start = place as usize;
        assert!(!begin(start));
        length(2);
        assert!(begin(start));
        assert!(is_backed(start, PIECE) && is_backed(start, 2 * PIECE - 1));
        // It is asked for each time.
        for _ in 0..2 {
            assert!(!is_backed(start, 2 * PIECE) && !is_backed(start, 65 * PIECE));
        }
        length(70);
        assert!(is_backed(start, 2 * PIECE) && is_backed(start, 65 * PIECE));
        // What it has is remembered, until another recording begins.
        length(1);
        assert!(is_backed(start, 65 * PIECE) && is_backed(start, PIECE));
        assert!(begin(start));
        assert!(!is_backed(start, 65 * PIECE) && !is_backed(start, PIECE));
        assert!(!is_backed(start, 1 << 34));
        // An address that begins no page is refused like a request that the kernel does not know.
        assert!(is_backed(start + 1, 66 * PIECE));
    }

    #[test]
    fn memory_that_was_asked_for_to_see_whether_there_is_some_is_given_back() {
        let in_use = || {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap();
            text.split(' ').next().unwrap().parse::<u64>().unwrap() * PAGE
        };
        let before = in_use();
        // 4 MB each.
        assert!((0..1000).all(|_| has_memory()));
        assert!(in_use() < before + (1 << 30));
    }

    #[test]
    fn a_text_is_cut_and_ends_with_a_zero() {
        for (text, expected) in [("", "\0...."), ("abc", "abc\0."), ("abcd", "abcd\0"), ("abcdefgh", "abcd\0")] {
            let mut room = *b".....";
            copy_text(text.as_bytes(), &mut room);
            assert_eq!(room, expected.as_bytes(), "{text}");
        }
    }

    #[test]
    fn errno_is_kept() {
        // SAFETY: always may be called.
        let place = unsafe { libc::__errno_location() };
        // SAFETY: the thread's own.
        unsafe { *place = 77 };
        assert!(!can_read(8));
        // SAFETY: as above.
        assert_eq!(unsafe { *place }, 77);
    }
}
