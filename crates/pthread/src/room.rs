//! Memory for the recorder, which walks stacks by tables that it keeps: from the system, in pieces, and never given back. The
//! program's own allocator may lock a mutex, and it is in locks that this is needed. Nothing else here allocates.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire},
};

struct Room;

#[global_allocator]
static ROOM: Room = Room;

const PIECE: usize = 1 << 20;

/// The free rest of the piece in use: its end is the next multiple of the length of a piece, for pieces lie at such.
static FREE: AtomicUsize = AtomicUsize::new(0);

fn map(length: usize) -> usize {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let place = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
    if place == libc::MAP_FAILED { 0 } else { place as usize }
}

// SAFETY: each answer is memory of its own, of the system's zeros, large enough and aligned, and stays.
unsafe impl GlobalAlloc for Room {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size();
        // A large one, or one that wants more than the system's own alignment, has a mapping of its own.
        if size > PIECE / 4 || layout.align() > 4096 {
            let place = map(size + layout.align());
            return if place == 0 { ptr::null_mut() } else { place.next_multiple_of(layout.align()) as *mut u8 };
        }
        let mut free = FREE.load(Acquire);
        // Ended by success, or by a system without memory: each failure is another thread's success.
        loop {
            let start = free.next_multiple_of(layout.align());
            let end = start + size;
            let is_within = free != 0 && end < (free & !(PIECE - 1)) + PIECE;
            let (start, end) = if is_within {
                (start, end)
            } else {
                let place = map(2 * PIECE);
                if place == 0 {
                    return ptr::null_mut();
                }
                let first = place.next_multiple_of(PIECE);
                (first, first + size)
            };
            match FREE.compare_exchange(free, end, AcqRel, Acquire) {
                Ok(_) => return start as *mut u8,
                Err(now) => free = now,
            }
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
