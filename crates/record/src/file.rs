//! Making the file of a process.

use crate::layout::{Header, Lock, MAGIC, Module, Part, Slot};
use crate::recording::{CURRENT, PAGE};
use crate::{memory, modules};
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Release;

pub(crate) use crate::recording::{current, forget};

/// What is to be recorded, and where: asked of the environment once, as a program may change that.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    directory: [u8; Self::LONGEST],
    /// One of so many acquisitions is looked at.
    rate: u64,
    /// The length of a file, in MB.
    max_mb: u64,
}

impl Wish {
    /// A path is not longer, with its end.
    pub const LONGEST: usize = 3072;
    /// Names a directory for recordings; there is one file for each process.
    pub const DIRECTORY: &'static CStr = c"ONDECK_RECORD";
    /// Names the rate.
    pub const RATE: &'static CStr = c"ONDECK_RECORD_RATE";
    /// Names the length of a file.
    pub const MAX_MB: &'static CStr = c"ONDECK_RECORD_MAX_MB";
    /// Unless the user says otherwise.
    pub const DEFAULT_RATE: u64 = 1000;
    /// Unless the user says otherwise.
    pub const DEFAULT_MAX_MB: u64 = 64;

    /// What the environment asks for; `None` if that is nothing.
    pub fn of_environment() -> Option<Self> {
        let directory = variable(Self::DIRECTORY)?.to_bytes();
        if directory.is_empty() || directory.len() >= Self::LONGEST {
            return None;
        }
        let mut wish = Wish { directory: [0; Self::LONGEST], rate: Self::DEFAULT_RATE, max_mb: Self::DEFAULT_MAX_MB };
        wish.directory[..directory.len()].copy_from_slice(directory);
        if let Some(rate) = number(Self::RATE) {
            wish.rate = rate.clamp(1, u32::MAX.into());
        }
        if let Some(max_mb) = number(Self::MAX_MB) {
            wish.max_mb = max_mb.clamp(1, 1 << 14);
        }
        Some(wish)
    }
}

fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: a string of C.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: a value of the environment is a string of C; it is used before anybody can change the environment.
    Some(unsafe { CStr::from_ptr(value) })
}

fn number(name: &CStr) -> Option<u64> {
    variable(name)?.to_str().ok()?.parse().ok()
}

/// How the parts of a file of so many bytes lie in it.
fn lay_out(header: &mut Header, length: u64) {
    const MODULES: u64 = 512;
    let mut at = (size_of::<Header>() as u64).next_multiple_of(PAGE as u64);
    let mut part = |bytes: u64, size: usize| {
        let part = Part { start: at, room: bytes / size as u64 };
        at += bytes.next_multiple_of(PAGE as u64);
        part
    };
    header.modules = part(MODULES * size_of::<Module>() as u64, size_of::<Module>());
    header.locks = part(length / 8, size_of::<Lock>());
    header.index = part(length / 32, size_of::<u32>());
    header.stacks = part(length / 4, size_of::<u64>());
    let left = length - at;
    header.ring = Part { start: at, room: left / size_of::<Slot>() as u64 };
}

/// Begins to record this process, as `wish` says, if it does not yet. `lock` is the name of the lock that answers. False if
/// there is no file; then nothing is recorded. To be called by one thread at a time.
pub(crate) fn start(wish: &Wish, lock: &str, source: u32) -> bool {
    memory::keeping_errno(|| {
        let length = wish.max_mb << 20;
        let Some(place) = create(wish, length) else { return false };
        if !memory::begin(place as usize) {
            return false;
        }
        // SAFETY: a mapping of our own, of zeros, larger than a header.
        let header = unsafe { &mut *place.cast::<Header>() };
        fill(header, wish, lock, length);
        header.source = source;
        // SAFETY: the page is ours, whole, and holds nothing but the pointer.
        unsafe { libc::madvise((&raw const CURRENT).cast_mut().cast(), PAGE, libc::MADV_WIPEONFORK) };
        // SAFETY: our mapping.
        unsafe { libc::madvise(place, length as usize, libc::MADV_DONTFORK) };
        header.magic.store(MAGIC, Release);
        CURRENT.header.store(header, Release);
        if let Some(recording) = current() {
            modules::write_all(recording);
        }
        true
    })
}

fn fill(header: &mut Header, wish: &Wish, lock: &str, length: u64) {
    lay_out(header, length);
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is room for a time.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    header.started_realtime_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    header.started_ns = memory::now_ns();
    // SAFETY: always may be called.
    header.pid = unsafe { libc::getpid() } as u32;
    // SAFETY: always may be called.
    header.parent = unsafe { libc::getppid() } as u32;
    header.length = length;
    header.rate = wish.rate;
    memory::copy_text(lock.as_bytes(), &mut header.lock);
    let room = &mut header.program;
    // SAFETY: the room is as long as is said.
    unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), room.as_mut_ptr().cast(), room.len() - 1) };
}

/// A new file in the directory, mapped.
fn create(wish: &Wish, length: u64) -> Option<*mut c_void> {
    /// Images that one process runs after each other, or processes that have one number.
    const MOST: u32 = 10_000;
    // SAFETY: always may be called.
    let pid = unsafe { libc::getpid() } as u32;
    for n in 0..MOST {
        let mut path = [0_u8; Wish::LONGEST + 64];
        name(&mut path, &wish.directory, pid, n);
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: a string of C.
        let file = unsafe { libc::open(path.as_ptr().cast(), flags, 0o600) };
        if file >= 0 {
            let place = map(file, length);
            // SAFETY: opened above.
            unsafe { libc::close(file) };
            if place.is_none() {
                // SAFETY: a string of C.
                unsafe { libc::unlink(path.as_ptr().cast()) };
            }
            return place;
        }
        // SAFETY: always may be called.
        let place = unsafe { libc::__errno_location() };
        // SAFETY: the thread's own.
        if unsafe { *place } != libc::EEXIST {
            return None;
        }
    }
    None
}

/// `directory/PID-N.ondeck`, and a zero.
fn name(path: &mut [u8], directory: &[u8], pid: u32, n: u32) {
    let mut at = directory.iter().position(|byte| *byte == 0).unwrap_or(directory.len());
    path[..at].copy_from_slice(&directory[..at]);
    let mut push = |text: &[u8]| {
        path[at..at + text.len()].copy_from_slice(text);
        at += text.len();
    };
    push(b"/");
    for (number, after) in [(pid, &b"-"[..]), (n, b".ondeck")] {
        let mut digits = [0_u8; 10];
        let mut left = number;
        let mut first = digits.len();
        // Ten digits are enough for any.
        while first == digits.len() || left > 0 {
            first -= 1;
            digits[first] = b'0' + (left % 10) as u8;
            left /= 10;
        }
        push(&digits[first..]);
        push(after);
    }
}

/// The file at that length, mapped, if the file system has room for it: a program that writes into a hole that finds no
/// room is killed.
fn map(file: libc::c_int, length: u64) -> Option<*mut c_void> {
    let mut room = core::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: `room` is room for the answer.
    if unsafe { libc::fstatvfs(file, room.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: filled, or zeros.
    let room = unsafe { room.assume_init() };
    if room.f_bavail * room.f_frsize < length || length > longest_file() {
        return None;
    }
    // SAFETY: a file of ours.
    if unsafe { libc::ftruncate(file, length as libc::off_t) } != 0 {
        return None;
    }
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping.
    let place = unsafe { libc::mmap(ptr::null_mut(), length as usize, protection, flags, file, 0) };
    (place != libc::MAP_FAILED).then_some(place)
}

/// How long a file of this process may be: one that makes a longer one is killed. 0 if that cannot be told.
fn longest_file() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is room for the answer, and stays as it is if there is none.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    limit.rlim_cur
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_process_and_number() {
        for (pid, n, expected) in [(7, 0, "/a/b/7-0.ondeck"), (u32::MAX, 12, "/a/b/4294967295-12.ondeck")] {
            let mut path = [0_u8; 64];
            name(&mut path, b"/a/b\0", pid, n);
            assert_eq!(CStr::from_bytes_until_nul(&path).unwrap().to_str(), Ok(expected));
        }
    }

    #[test]
    fn the_parts_of_files_of_all_lengths_are_apart_and_within() {
        for mb in [1_u64, 2, 64, 1 << 14] {
            // SAFETY: a header may be zeros.
            let mut header: Header = unsafe { core::mem::zeroed() };
            lay_out(&mut header, mb << 20);
            let parts = [
                (header.modules, size_of::<Module>()),
                (header.locks, size_of::<Lock>()),
                (header.index, 4),
                (header.stacks, 8),
                (header.ring, size_of::<Slot>()),
            ];
            let mut end = size_of::<Header>() as u64;
            for (part, size) in parts {
                assert!(part.start >= end && part.room > 500, "{mb}: {part:?}");
                assert!(part.start.is_multiple_of(128));
                end = part.start + part.room * size as u64;
            }
            assert!(end <= mb << 20);
            assert!(header.stacks.room <= u32::MAX.into());
            // Marks have room for the number of each.
            assert!(header.locks.room <= crate::account::MOST_LOCKS.into());
        }
    }
}
