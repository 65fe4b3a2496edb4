//! The memory in which the kernel leaves the records of one CPU, and from which we take them.

use perf_event_open_sys::bindings::{perf_event_header, perf_event_mmap_page};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// A ring of records.
pub(crate) struct Ring {
    /// The first page says how far both sides are; the records follow.
    base: *mut u8,
    length: usize,
    page: usize,
    /// A record that goes over the end of the ring, put together.
    joined: Vec<u8>,
}

impl Ring {
    /// The ring of an event, with room for `bytes`, a power of two.
    pub(crate) fn map(event: &OwnedFd, bytes: usize) -> io::Result<Ring> {
        // SAFETY: always may be called.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let length = page + bytes.next_power_of_two().max(page);
        let (protection, fd) = (libc::PROT_READ | libc::PROT_WRITE, event.as_raw_fd());
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Ring { base: base.cast(), length, page, joined: Vec::new() })
    }

    /// Shows each record between two places: its kind, its flags, and its bytes behind the header. They stay there until
    /// [`give_back`](Self::give_back).
    pub(crate) fn read(&mut self, from: Place, to: Place, mut each: impl FnMut(u32, u16, &[u8])) {
        let (mut at, end) = (from.0, to.0);
        let size = (self.length - self.page) as u64;
        // Records and the ring are whole words long, so a header never goes over the end. The kernel writes nothing else, and
        // what it has not written would lead anywhere.
        let is_word = |number: u64| number.is_multiple_of(size_of::<u64>() as u64);
        if !is_word(at) || end.saturating_sub(at) > size {
            return;
        }
        while at < end {
            let header = self.bytes((at % size) as usize, size_of::<perf_event_header>());
            let kind = u32::from_ne_bytes(header[0..4].try_into().expect("four bytes"));
            let misc = u16::from_ne_bytes(header[4..6].try_into().expect("two bytes"));
            let length = u64::from(u16::from_ne_bytes(header[6..8].try_into().expect("two bytes")));
            // Less than a header would never end.
            if length < header.len() as u64 || length > end - at || !is_word(length) {
                return;
            }
            let body = at % size + header.len() as u64;
            let n = length as usize - header.len();
            if body + n as u64 <= size {
                each(kind, misc, self.bytes(body as usize, n));
            } else {
                self.join(at + header.len() as u64, n, size);
                each(kind, misc, &self.joined);
            }
            at += length;
        }
    }

    fn join(&mut self, at: u64, n: usize, size: u64) {
        self.joined.clear();
        let begin = (at % size) as usize;
        let first = n.min(size as usize - begin);
        for (from, n) in [(begin, first), (0, n - first)] {
            let bytes = self.bytes(from, n).to_vec();
            self.joined.extend_from_slice(&bytes);
        }
    }

    /// A part of the ring that has been written and not been given back.
    fn bytes(&self, from: usize, n: usize) -> &[u8] {
        assert!(from + n <= self.length - self.page, "inside the ring");
        // SAFETY: inside the mapping, as asserted.
        let start = unsafe { self.base.add(self.page + from) };
        // SAFETY: inside the mapping, which lives as long as we do; the kernel does not write there before the tail passes.
        unsafe { std::slice::from_raw_parts(start, n) }
    }

    /// Where the records begin that have not been taken, and where they end.
    pub(crate) fn places(&self) -> (Place, Place) {
        // The kernel writes records before it moves the head.
        (Place(self.tail().load(Ordering::Relaxed)), Place(self.head().load(Ordering::Acquire)))
    }

    /// Which part of it is full.
    pub(crate) fn fullness(&self) -> f64 {
        let (from, to) = self.places();
        to.0.saturating_sub(from.0) as f64 / (self.length - self.page) as f64
    }

    /// Gives the room before that place back.
    pub(crate) fn give_back(&self, until: Place) {
        // All reads of the records are before it.
        self.tail().store(until.0, Ordering::Release);
    }

    fn head(&self) -> &AtomicU64 {
        let page: *mut perf_event_mmap_page = self.base.cast();
        // SAFETY: a field of the first page of the mapping.
        let word = unsafe { &raw mut (*page).data_head };
        // SAFETY: the first page of the mapping, which lives as long as we do; the kernel writes it atomically.
        unsafe { AtomicU64::from_ptr(word) }
    }

    fn tail(&self) -> &AtomicU64 {
        let page: *mut perf_event_mmap_page = self.base.cast();
        // SAFETY: a field of the first page of the mapping.
        let word = unsafe { &raw mut (*page).data_tail };
        // SAFETY: as above; nobody but us writes it.
        unsafe { AtomicU64::from_ptr(word) }
    }
}

/// Bytes that the kernel has written from the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by us, and no borrow of it is left.
        unsafe { libc::munmap(self.base.cast(), self.length) };
    }
}
