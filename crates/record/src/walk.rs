//! The calling thread's stack, as return addresses.
//!
//! By framehop: the tables that compilers leave for exceptions where there are such, frame pointers elsewhere. It asks for no
//! memory but a cache, of which there are a few, each of whoever walks just now; if all are in use the stack is not walked.
//!
//! The recorder's own frames are left out. In a library those are the library's; in a program, those above the place where
//! the recorder was entered.

use crate::layout::{DEPTH, NONE};
use crate::recording::Recording;
use crate::{memory, modules, stacks, thread};
use core::sync::atomic::{
    AtomicBool, AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};
use framehop::{CacheNative, FrameAddress, MustNotAllocateDuringUnwind, UnwindRegsNative, Unwinder};

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
    // SAFETY: always may be called.
    let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    let n = usize::try_from(cores).unwrap_or(FEWEST).clamp(FEWEST, N_PLACES);
    for place in &PLACES[..n] {
        place.cache.store(std::boxed::Box::leak(std::boxed::Box::new(Cache::new_in())), Relaxed);
    }
}

/// Forgets who had a cache in another process, our parent.
pub(crate) fn begin() {
    for place in &PLACES {
        place.is_taken.store(false, Relaxed);
    }
}

/// The number of the calling thread's stack, without the frames of this library. [`NONE`] if it cannot be told.
#[inline(never)]
pub(crate) fn stack(recording: &Recording) -> u32 {
    let here = 0_u8;
    let has_room = memory::keeping_errno(|| memory::Stack::new((&raw const here) as u64).has_room());
    if !has_room {
        recording.dropped_stacks.fetch_add(1, Relaxed);
        return NONE;
    }
    in_place(recording)
}

#[inline(never)]
fn in_place(recording: &Recording) -> u32 {
    let may_ask = modules::may_ask_for_memory();
    let is_possible = |place: &&Place| may_ask || !place.cache.load(Relaxed).is_null();
    let Some(place) = PLACES.iter().filter(is_possible).find(|place| !place.is_taken.swap(true, Acquire)) else {
        recording.dropped_stacks.fetch_add(1, Relaxed);
        return NONE;
    };
    if place.cache.load(Relaxed).is_null() && !memory::has_memory() {
        place.is_taken.store(false, Release);
        recording.dropped_stacks.fetch_add(1, Relaxed);
        return NONE;
    }
    if place.cache.load(Relaxed).is_null() {
        make_cache(place);
    }
    let mut addresses = [0_u64; DEPTH];
    // SAFETY: made above or earlier, never freed, and ours while the place is taken.
    let cache = unsafe { &mut *place.cache.load(Relaxed) };
    let n = memory::keeping_errno(|| walk(cache, &mut addresses));
    place.is_taken.store(false, Release);
    stacks::number(recording, beyond_us(&addresses[..n]))
}

/// Apart, as it has a part of the cache on its stack, which is not to be below that of a walk.
#[cold]
#[inline(never)]
fn make_cache(place: &Place) {
    place.cache.store(std::boxed::Box::leak(std::boxed::Box::new(Cache::new_in())), Relaxed);
}

/// Fills in addresses, the innermost first, and says how many.
#[inline(always)]
fn walk(cache: &mut Cache, addresses: &mut [u64; DEPTH]) -> usize {
    /// Most frames of the recorder.
    const OURS: usize = 16;
    let (address, mut registers, pointer) = registers();
    let mut stack = memory::Stack::new(pointer);
    let mut read = |address| stack.read(address);
    let mut frame = FrameAddress::from_instruction_pointer(address);
    let entry = thread::own().entry.get();
    let mut n = 0;
    for _ in 0..DEPTH + OURS {
        // Frames of the recorder are below the place where it was entered, and so is that frame's own stack pointer.
        if registers.sp() > entry {
            addresses[n] = frame.address();
            n += 1;
        }
        if n == DEPTH {
            break;
        }
        // Looked for first: what is there may be new, or the tables of what was there may be gone.
        let is_known = modules::look(frame.address_for_lookup()) == modules::Look::Known;
        let Some(known) = modules::known() else { break };
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

/// Without the frames of the library that this is in; all of them if it is in the program itself.
fn beyond_us(addresses: &[u64]) -> &[u64] {
    let Some(own) = addresses.first().and_then(|first| modules::library_of(*first)) else { return addresses };
    let first = addresses.iter().position(|address| !own.contains(address)).unwrap_or(addresses.len());
    &addresses[first..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::tests::{alone, with_room_for_stacks};

    #[test]
    fn while_all_caches_are_in_use_nothing_is_walked_until_a_child_forgets_that() {
        let _alone = alone();
        stacks::begin();
        let recording = with_room_for_stacks(64, 1000);
        let n_dropped = || recording.dropped_stacks.load(Relaxed);
        PLACES.iter().for_each(|place| place.is_taken.store(true, Relaxed));
        assert_eq!((in_place(recording), n_dropped()), (NONE, 1));
        begin();
        assert!(PLACES.iter().all(|place| !place.is_taken.load(Relaxed)));
        let number = in_place(recording);
        assert!(number != NONE && stacks::innermost(recording, number) != 0);
        // And whoever has walked gives its cache back.
        assert!(PLACES.iter().all(|place| !place.is_taken.load(Relaxed)));
        assert_eq!(n_dropped(), 1);
    }

    /// How many frames are above a place.
    #[inline(never)]
    fn n_above(cache: &mut Cache, place: u64) -> usize {
        thread::own().entry.set(place);
        let n = walk(cache, &mut [0; DEPTH]);
        thread::own().entry.set(0);
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
        let numbers: Vec<usize> = places.clone().map(|place| n_above(&mut cache, place)).collect();
        let a_little_above: Vec<usize> = places.map(|place| n_above(&mut cache, place + 8)).collect();
        assert_eq!(numbers, a_little_above);
        assert!(numbers.is_sorted_by(|one, other| one >= other));
        let n_frames = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!(n_frames > 2, "{numbers:?}");
    }
}
