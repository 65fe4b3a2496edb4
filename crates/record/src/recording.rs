//! The recording of this process: where its file is, and the entries of its parts.
//!
//! # Fork
//! The child has memory of its own but shares mappings of files. So its parent's recording is not given to it, and where it
//! would find that is wiped: it records nothing until [`start`](crate::start) is called there, which makes another file.

use crate::layout::{Header, Part};
use crate::memory;
use core::ptr;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};

pub(crate) const PAGE: usize = 4096;

/// Alone on its page, which a child gets as zeros.
#[repr(C, align(4096))]
pub(crate) struct Wiped {
    pub(crate) header: AtomicPtr<Header>,
    rest: [u8; PAGE - 8],
}

pub(crate) static CURRENT: Wiped = Wiped { header: AtomicPtr::new(ptr::null_mut()), rest: [0; PAGE - 8] };

/// Whether this process records.
#[inline]
pub fn is_on() -> bool {
    current().is_some()
}

/// The recording of this process.
#[inline]
pub(crate) fn current() -> Option<&'static Recording> {
    // SAFETY: null, or a mapping that stays to the end of the process.
    unsafe { CURRENT.header.load(Acquire).cast::<Recording>().as_ref() }
}

/// In the child of a fork: the recording is the parent's. Where the kernel wipes pages it is forgotten already.
pub(crate) fn forget() {
    CURRENT.header.store(ptr::null_mut(), Release);
}

/// The mapped file.
#[repr(transparent)]
pub(crate) struct Recording(Header);

impl core::ops::Deref for Recording {
    type Target = Header;

    fn deref(&self) -> &Header {
        &self.0
    }
}

impl Recording {
    /// One entry of a part; `None` if there is no room for such a one.
    pub(crate) fn entry<T>(&self, part: Part, index: u64) -> Option<&T> {
        if index >= part.room {
            return None;
        }
        let start = (&raw const *self).cast::<u8>();
        let offset = part.start as usize + index as usize * size_of::<T>();
        let last = offset + size_of::<T>() - 1;
        if !memory::is_backed(start as usize, offset) || !memory::is_backed(start as usize, last) {
            return None;
        }
        // SAFETY: the parts lie within the file, as `lay_out` says, and are of such entries.
        let place = unsafe { start.add(offset) };
        // SAFETY: as above; all fields are atomic, or not written any more.
        Some(unsafe { &*place.cast::<T>() })
    }

    /// A lock was used.
    pub(crate) fn note_lock(&self) {
        // Not written each time: many threads come here.
        if self.has_locked.load(Relaxed) == 0 {
            self.has_locked.store(1, Relaxed);
        }
    }

    /// The process comes to its regular end.
    pub(crate) fn exit(&self) {
        self.has_exited.store(1, Relaxed);
    }
}
