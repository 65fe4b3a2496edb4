//! Memory for the recorder, which walks stacks by tables that it keeps: from the system, in pieces, and never given back. The
//! program's own allocator may lock a mutex, and it is in locks that this is needed. Nothing else here allocates.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire},
};

struct RecorderAllocator;

#[global_allocator]
static ALLOCATOR: RecorderAllocator = RecorderAllocator;

const PIECE: usize = 1 << 20;

/// The free rest of the piece in use: its end is the next multiple of the length of a piece, for pieces lie at such.
static FREE: AtomicUsize = AtomicUsize::new(0);

fn map(length: usize) -> usize {
    ondeck_core::kernel::map_memory(length).map_or(0, |place| place as usize)
}

// SAFETY: each answer is memory of its own, of the system's zeros, large enough and aligned, and stays.
unsafe impl GlobalAlloc for RecorderAllocator {
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

#[cfg(test)]
mod tests {
    //! Other threads of the test binary ask for memory meanwhile, from the same room.

    use super::*;
    use core::sync::atomic::Ordering::Relaxed;

    /// A block whose bytes are zeros, and are none from then on: who gets one of them again finds that.
    fn take(size: usize, align: usize) -> usize {
        let layout = Layout::from_size_align(size, align).unwrap();
        // SAFETY: the size is not 0.
        let block = unsafe { RecorderAllocator.alloc(layout) };
        assert!(!block.is_null() && block.addr().is_multiple_of(align), "{block:?} for {layout:?}");
        // SAFETY: it is ours, and of that length.
        let bytes = unsafe { core::slice::from_raw_parts_mut(block, size) };
        assert!(bytes.iter().all(|byte| *byte == 0), "{block:?} is in use");
        bytes.fill(0xA5);
        block.addr()
    }

    #[test]
    fn small_blocks_share_pages() {
        let mut pages: Vec<usize> = (0..1000).map(|_| take(16, 8) / 4096).collect();
        pages.sort_unstable();
        pages.dedup();
        assert!(pages.len() < 500, "{} pages", pages.len());
    }

    #[test]
    fn blocks_stay_within_their_piece() {
        for _ in 0..20 {
            let start = take(200_000, 8);
            assert_eq!(start / PIECE, (start + 200_000 - 1) / PIECE, "{start:#x}");
        }
    }

    /// The end of a piece looks like the beginning of the next, which may be somebody else's.
    #[test]
    fn a_piece_is_used_to_its_end_and_no_further() {
        for _ in 0..60 {
            // At last what is left, which would fill the piece.
            let rest = FREE.load(Relaxed).wrapping_neg() % PIECE;
            take(rest.clamp(1, PIECE / 4), 1);
        }
    }

    #[test]
    fn a_large_block_is_in_no_piece() {
        for _ in 0..2 {
            let end = take(2 * PIECE, 16) + 2 * PIECE;
            assert_ne!(FREE.load(Relaxed), end);
        }
    }

    #[test]
    fn blocks_lie_at_any_multiple_that_is_asked_for() {
        for align in [1, 64, 4096, 8192, 4 * PIECE] {
            (0..6).for_each(|_| assert_ne!(take(64, align), 0));
        }
    }

    #[test]
    fn there_may_be_no_memory() {
        // SAFETY: the size is not 0.
        let huge = unsafe { RecorderAllocator.alloc(Layout::from_size_align(1 << 60, 1).unwrap()) };
        assert!(huge.is_null());
        crate::process::tests::in_child(|| {
            let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: fills the limits.
            unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut before) };
            let none = libc::rlimit { rlim_cur: 0, rlim_max: before.rlim_max };
            // SAFETY: reads the limits.
            unsafe { libc::setrlimit(libc::RLIMIT_AS, &none) };
            // The piece in use has less than five such blocks.
            let blocks = [(); 8].map(|()| {
                // SAFETY: the size is not 0.
                unsafe { RecorderAllocator.alloc(Layout::from_size_align(PIECE / 4, 1).unwrap()) }
            });
            // SAFETY: reads the limits.
            unsafe { libc::setrlimit(libc::RLIMIT_AS, &before) };
            assert!(blocks[4..].iter().all(|block| block.is_null()), "{blocks:?}");
            take(PIECE / 4, 1);
        });
    }
}
