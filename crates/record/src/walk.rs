//! The calling thread's stack, as return addresses. Called by `charging` and `hooks`, mostly while the thread has no lock that
//! others wait for, as a walk takes microseconds.
//!
//! By framehop: the tables that compilers leave for exceptions where there are such, frame pointers elsewhere. It asks
//! for no memory but a cache, of which there are a few, each for a thread that walks just now; if all are in use the
//! stack is not walked.
//!
//! The recorder's own frames are left out. In a library those are the library's; in a program, those above the place where
//! the recorder was entered.
//!
//! A walk reads no memory of which it does not know that it is there: a stack that is walked wrongly leads anywhere.

use crate::layout::{DEPTH, NONE, in_time};
use crate::modules;
use crate::store::locks::Origin;
use crate::store::{self, Recording, stacks};
use crate::thread::own;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use framehop::{CacheNative, FrameAddress, MustNotAllocateDuringUnwind, UnwindRegsNative, Unwinder};
use ondeck_core::kernel::can_read;
use ondeck_core::{Hardware, Platform as _};

type Cache = CacheNative<MustNotAllocateDuringUnwind>;

/// A cache, and whether somebody has it.
struct Place {
    is_taken: AtomicBool,
    cache: AtomicPtr<Cache>,
}

const N_PLACES: usize = 32;
static PLACES: [Place; N_PLACES] =
    [const { Place { is_taken: AtomicBool::new(false), cache: AtomicPtr::new(core::ptr::null_mut()) } }; N_PLACES];

/// Makes the caches, so that no walk has to ask for memory.
pub(crate) fn ask_for_caches() {
    const FEWEST: usize = 4;
    let n = (Hardware::parallelism() as usize).clamp(FEWEST, N_PLACES);
    for place in &PLACES[..n] {
        place.cache.store(std::boxed::Box::leak(std::boxed::Box::new(Cache::new_in())), Relaxed);
    }
}

/// Forgets who had a cache in another process, our parent. Who walks in this one keeps what it has.
pub(crate) fn begin() {
    static BEGUN_IN: AtomicU32 = AtomicU32::new(0);
    if BEGUN_IN.swap(store::process(), Relaxed) == store::process() {
        return;
    }
    for place in &PLACES {
        place.is_taken.store(false, Relaxed);
    }
}

/// The number of the calling thread's stack, without the frames of this library. [`NONE`] if it cannot be told.
#[inline(always)]
pub(crate) fn stack(recording: &Recording) -> u32 {
    walked(recording, None)
}

/// The same at a release, with the place that took the lock, if that is known.
pub(crate) fn stack_of_release(recording: &Recording, taken_at: u64) -> u32 {
    walked(recording, Some(taken_at))
}

#[inline(never)]
fn walked(recording: &Recording, taken_at: Option<u64>) -> u32 {
    let here = 0_u8;
    let has_room = Stack::new((&raw const here) as u64).has_room();
    if !has_room {
        recording.count_dropped(&recording.dropped_stacks);
        return NONE;
    }
    in_place(recording, taken_at)
}

/// The same for a hold that is timed, where a file will have it: what is not read need not be walked for.
pub(crate) fn stack_of_sample(recording: &Recording) -> u32 {
    if recording.has_file() { stack(recording) } else { NONE }
}

/// Where a lock comes from that is first looked at there.
pub(crate) fn origin(address: u64, stack: u32) -> Origin {
    Origin { stack, module: modules::number(address, modules::look(address)) }
}

#[inline(never)]
fn in_place(recording: &Recording, taken_at: Option<u64>) -> u32 {
    let may_ask = modules::may_ask_for_memory();
    let is_possible = |place: &&Place| may_ask || !place.cache.load(Relaxed).is_null();
    let Some(place) = PLACES.iter().filter(is_possible).find(|place| !place.is_taken.swap(true, Acquire)) else {
        recording.count_dropped(&recording.dropped_stacks);
        return NONE;
    };
    if place.cache.load(Relaxed).is_null() && !modules::has_memory() {
        place.is_taken.store(false, Release);
        recording.count_dropped(&recording.dropped_stacks);
        return NONE;
    }
    if place.cache.load(Relaxed).is_null() {
        make_cache(place);
    }
    // The first is for the place that took the lock.
    let mut addresses = [0_u64; 1 + DEPTH];
    // SAFETY: made above or earlier, never freed, and ours while the place is taken.
    let cache = unsafe { &mut *place.cache.load(Relaxed) };
    let n = walk(cache, &mut addresses[1..]);
    place.is_taken.store(false, Release);
    let n_ours = n_ours(&addresses[1..=n]);
    let taken_at = taken_at.filter(|_| n_ours < n).map(|address| {
        let is_known = address != 0;
        let module = || modules::number(address - 1, modules::look(address - 1));
        in_time::TAKEN_AT | if is_known { in_time::address(address, module()) } else { 0 }
    });
    addresses[n_ours] = taken_at.unwrap_or(0);
    let first = n_ours + usize::from(taken_at.is_none());
    stacks::number(recording, &addresses[first..(n + 1).min(first + DEPTH)])
}

/// Apart, as it has a part of the cache on its stack, which is not to be below that of a walk.
#[cold]
#[inline(never)]
fn make_cache(place: &Place) {
    place.cache.store(std::boxed::Box::leak(std::boxed::Box::new(Cache::new_in())), Relaxed);
}

/// Fills in addresses of [`in_time`], the innermost first, and says how many.
#[inline(always)]
fn walk(cache: &mut Cache, addresses: &mut [u64]) -> usize {
    /// Most frames of the recorder.
    const OURS: usize = 16;
    let (address, mut registers, pointer) = registers();
    let mut stack = Stack::new(pointer);
    let mut read = |address| stack.read(address);
    let mut frame = FrameAddress::from_instruction_pointer(address);
    let entry = own().entry.get();
    let mut n = 0;
    for _ in 0..DEPTH + OURS {
        // Looked for first: what is there may be new, or the tables of what was there may be gone.
        let found = modules::look(frame.address_for_lookup());
        // Frames of the recorder are below the place where it was entered, and so is that frame's own stack pointer.
        if registers.sp() > entry {
            let module = modules::number(frame.address_for_lookup(), found);
            addresses[n] = in_time::address(frame.address(), module);
            n += 1;
        }
        if n == addresses.len() {
            break;
        }
        let Some(known) = modules::known() else { break };
        let is_known = found == modules::AddressLookup::Known;
        let tables = if is_known { &known.tables } else { &known.no_tables };
        let next = tables.unwind_frame(frame, &mut registers, cache, &mut read);
        match next.ok().flatten().and_then(FrameAddress::from_return_address) {
            Some(next) => frame = next,
            None => break,
        }
    }
    n
}

/// Where this code is, the registers that a walk begins with, and the stack pointer.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn registers() -> (u64, UnwindRegsNative, u64) {
    let (address, pointer, frame): (u64, u64, u64);
    // SAFETY: reads registers.
    unsafe {
        core::arch::asm!(
            "lea {address}, [rip]",
            "mov {pointer}, rsp",
            "mov {frame}, rbp",
            address = out(reg) address,
            pointer = out(reg) pointer,
            frame = out(reg) frame,
            options(nomem, nostack, preserves_flags),
        );
    }
    (address, UnwindRegsNative::new(address, pointer, frame), pointer)
}

/// Where this code is, the registers that a walk begins with, and the stack pointer.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn registers() -> (u64, UnwindRegsNative, u64) {
    let (address, link, pointer, frame): (u64, u64, u64, u64);
    // SAFETY: reads registers.
    unsafe {
        core::arch::asm!(
            "adr {address}, .",
            "mov {link}, x30",
            "mov {pointer}, sp",
            "mov {frame}, x29",
            address = out(reg) address,
            link = out(reg) link,
            pointer = out(reg) pointer,
            frame = out(reg) frame,
            options(nomem, nostack, preserves_flags),
        );
    }
    (address, UnwindRegsNative::new(link, pointer, frame), pointer)
}

/// How many frames are of the library that this is in; none if it is in the program itself. Where it is a part of
/// somebody's file, who entered it has told where, and the rest of that file is theirs.
fn n_ours(addresses: &[u64]) -> usize {
    if own().entry.get() != 0 {
        return 0;
    }
    let Some(own) = addresses.first().and_then(|first| modules::library_of(*first)) else { return 0 };
    addresses.iter().position(|address| !own.contains(address)).unwrap_or(addresses.len())
}

// -- What of the stack may be read -------------------------------------------------------------------------------------

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
        if is_first(self.from) {
            return true;
        }
        // A coroutine's small stack may lie where a large one was: then its lowest pages are closed by now.
        if is_known {
            return can_read(lowest);
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
        if address < self.from || address % 8 != 0 || end > self.to.saturating_add(FARTHEST) {
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

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "x86_64")]
    use crate::modules::elf::tests::Image;
    use crate::store::tests::{alone, with_room_for_stacks};
    use crate::testing::in_its_own_process;
    use crate::{RecordOptions, Sleep, Source, start};

    #[test]
    fn while_all_caches_are_in_use_nothing_is_walked_until_a_child_forgets_that() {
        let _alone = alone();
        stacks::begin();
        let recording = with_room_for_stacks(64, 1000);
        let n_dropped = || recording.dropped_stacks.load(Relaxed);
        PLACES.iter().for_each(|place| place.is_taken.store(true, Relaxed));
        assert_eq!((in_place(recording, None), n_dropped()), (NONE, 1));
        begin();
        assert!(PLACES.iter().all(|place| !place.is_taken.load(Relaxed)));
        let number = in_place(recording, None);
        assert!(number != NONE && stacks::innermost(recording, number) != 0);
        // And a thread that has walked gives its cache back.
        assert!(PLACES.iter().all(|place| !place.is_taken.load(Relaxed)));
        assert_eq!(n_dropped(), 1);
    }

    /// How many frames are above a place.
    #[inline(never)]
    fn n_above(cache: &mut Cache, place: u64) -> usize {
        own().entry.set(place);
        let n = walk(cache, &mut [0; DEPTH]);
        own().entry.set(0);
        n
    }

    /// A frame's stack pointer is a multiple of 16: a frame that begins at the place shows if it makes a difference whether
    /// the place is that or a little above it.
    #[test]
    fn the_frame_that_begins_where_the_recorder_was_entered_is_left_out() {
        let _alone = alone();
        modules::ask_loader();
        let mut cache = std::boxed::Box::new(Cache::new_in());
        let here = 0_u8;
        let here = (&raw const here) as u64 & !15;
        let places = (here - 4096..here + 2048).step_by(16);
        // One piece of code for both, or its own frames would differ.
        let mut numbers =
            |above: u64| -> Vec<usize> { places.clone().map(|place| n_above(&mut cache, place + above)).collect() };
        let (numbers, a_little_above) = (numbers(0), numbers(8));
        assert_eq!(numbers, a_little_above);
        assert!(numbers.is_sorted_by(|one, other| one >= other));
        let n_frames = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!(n_frames > 2, "{numbers:?}");
    }

    /// In the child of a fork others seem to have all caches, and to add modules: its parent's threads, that it has not.
    #[test]
    fn a_recording_begins_with_nobody_at_work() {
        in_its_own_process("walk::tests::a_recording_begins_with_nobody_at_work", |_| {
            crate::ask_loader();
            for place in &PLACES {
                place.is_taken.store(true, Relaxed);
            }
            modules::tests::somebody_adds();
            let options = RecordOptions::of_environment().expect("the environment asks");
            assert!(start(&options, "a lock", Sleep::AtOnce, Source::Program));
            assert!(PLACES.iter().all(|place| !place.is_taken.load(Relaxed)));
            assert!(!modules::tests::does_somebody_add());
            // One cache is there, for the first stack that is walked in a lock.
            assert!(!PLACES[0].cache.load(Relaxed).is_null() && PLACES[1].cache.load(Relaxed).is_null());
        });
    }

    /// An image with an index at 512, and the tables that it leads to: 16 bytes are between the stack pointer and the return
    /// address, which no frame pointer says. A reader from the beginning would find an end before them.
    #[cfg(target_arch = "x86_64")]
    fn with_tables() -> std::boxed::Box<Image> {
        const CIE: [u8; 24] =
            [20, 0, 0, 0, 0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 24, 0x90, 1, 0, 0];
        let mut image = Image::new(&[]);
        let place = |at: usize| (&raw const image.bytes[at]) as u64;
        let distance = |from: usize, to: u64| (to.wrapping_sub(place(from)) as i32).to_ne_bytes();
        let code = image.start() + 40;
        let numbers = [
            // The index: its form, the tables, two entries of an address and its frame; the second is of other code.
            (512, [1, 0x1b, 3, 0x3b]),
            (516, distance(516, place(600))),
            (520, [2, 0, 0, 0]),
            (524, distance(512, code)),
            (528, distance(512, place(628))),
            (532, distance(512, code + 20)),
            (536, distance(512, place(600))),
            // The frame: its length, back to what it has with others, an address, 20 bytes of code, and nothing more.
            (628, [16, 0, 0, 0]),
            (632, [28, 0, 0, 0]),
            (636, distance(636, code)),
            (640, [20, 0, 0, 0]),
        ];
        image.bytes[604..628].copy_from_slice(&CIE);
        for (at, number) in numbers {
            image.bytes[at..at + 4].copy_from_slice(&number);
        }
        image
    }

    /// Where the return address of that frame is found, from a stack pointer of 0x5000 and a frame pointer of 0x6000.
    #[cfg(target_arch = "x86_64")]
    fn place_of_return(address: u64) -> u64 {
        let tables = &modules::known().expect("there is one").tables;
        let mut registers = UnwindRegsNative::new(address, 0x5000, 0x6000);
        let mut read = |address: u64| Ok(address + 0x10_0000);
        let frame = FrameAddress::from_instruction_pointer(address);
        let found = tables.unwind_frame(frame, &mut registers, &mut Cache::new_in(), &mut read);
        found.expect("all can be read").expect("it is no outermost one") - 0x10_0000
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn frames_are_walked_by_the_index_of_their_module() {
        in_its_own_process("walk::tests::frames_are_walked_by_the_index_of_their_module", |_| {
            let mut image = with_tables();
            let address = modules::tests::put(&mut image);
            assert_eq!(modules::look(address), modules::AddressLookup::Known);
            assert_eq!(place_of_return(address), 0x5010);
            // Of an address that has no tables: by the frame pointer.
            assert_eq!(place_of_return(8), 0x6008);
        });
    }

    /// What is behind the module is none of its own, even if the index says so.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn tables_end_with_their_module() {
        in_its_own_process("walk::tests::tables_end_with_their_module", |_| {
            let mut image = with_tables();
            let address = modules::tests::put(&mut image);
            let end = (&raw const image.bytes[634]) as u64;
            image.headers[0].p_memsz = end - image.start();
            assert_eq!(modules::look(address), modules::AddressLookup::Known);
            assert_eq!(place_of_return(address), 0x6008);
        });
    }

    // -- What of the stack may be read ---------------------------------------------------------------------------------

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
        let _alone = alone();
        let start = pages(16, &[4]);
        let at = |page: u64| start + page * PAGE;
        let has_room = |page: u64, known: (u64, u64)| remembering(known, || Stack::new(at(page) + 100).has_room());
        for (page, expected) in [(12, true), (11, true), (10, false), (9, false), (5, false)] {
            assert_eq!(has_room(page, (0, 0)), expected, "{page}");
        }
        // Of what is known the lowest page is asked for, if it reaches from there to the stack pointer's.
        assert!(!has_room(10, (at(3), at(11))), "page 4 is closed by now");
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
