//! Making the file of a process: how the parts lie in it, and its mapping. Called by `hooks` as a process begins to record.
//! An observer that has a process begin has made the file already.
//!
//! The parts lie one behind the other, within the length of the file, and each has room for whole entries: `store` relies on
//! it. `store` finds the recording only once its header is written. A file that cannot be mapped is taken away again.

use crate::control::refused;
use crate::layout::{self, Header, Lock, MAGIC, Module, Name, Nesting, Part, Slot, Waiter};
use crate::options::RecordOptions;
use crate::store::{self, CURRENT, PAGE, current, names};
use crate::{charging, control, modules, thread};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, Release},
};
use ondeck_core::kernel;

/// How the parts of a file of so many bytes lie in it. `order` is 1 if it is to have room for nestings, or 0.
/// `read` takes no part for one that is larger.
pub(crate) fn lay_out(header: &mut Header, length: u64, order: u64) {
    // A part, and no less than small files need: a program may have thousands of threads that wait. A reader has them all in memory.
    const LEAST_WAITERS: u64 = 1 << 10;
    const MOST_WAITERS: u64 = 1 << 16;
    let mut at = (size_of::<Header>() as u64).next_multiple_of(PAGE as u64);
    let mut part = |bytes: u64, size: usize| {
        let part = Part { start: at, room: bytes / size as u64 };
        at += bytes.next_multiple_of(PAGE as u64);
        part
    };
    header.modules = part(layout::MOST_MODULES * size_of::<Module>() as u64, size_of::<Module>());
    header.locks = part(length / 8, size_of::<Lock>());
    header.index = part(length / 32, size_of::<u32>());
    header.stacks = part(length / 4, size_of::<u64>());
    header.names = part((names::MOST * size_of::<Name>()) as u64, size_of::<Name>());
    let waiter = size_of::<Waiter>() as u64;
    header.waiters = part((length / 64).clamp(LEAST_WAITERS * waiter, MOST_WAITERS * waiter), size_of::<Waiter>());
    header.named = part((length / 128).min((names::MOST_NAMED * 8) as u64), 8);
    header.nestings = part(order * length / 32, size_of::<Nesting>());
    let left = length - at;
    header.ring = Part { start: at, room: left / size_of::<Slot>() as u64 };
}

/// Begins to record this process, as `options` says, if it does not yet. `lock` is the name of the lock that answers. False if
/// there is no file; then nothing is recorded. If `is_commanded`, an observer may have made it. To be called by one thread at a time.
pub(crate) fn start(options: &RecordOptions, lock: &str, source: u32, is_commanded: bool) -> bool {
    store::leave_parents();
    // Where it is refused, the library's handler of forks does the same. A program that records itself has none.
    if !store::wipe_in_children() && source == layout::source::PROGRAM {
        return false;
    }
    let length = options.max_mb << 20;
    let made = if is_commanded { open_made(options, length) } else { None };
    let place = made.unwrap_or_else(|| create(options, length));
    let Some(place) = place else { return false };
    if !store::back(place as usize, length as usize) {
        control::refuse(refused::MEMORY, libc::ENOMEM);
        return false;
    }
    // SAFETY: a mapping of our own, of zeros, larger than a header.
    let header = unsafe { &mut *place.cast::<Header>() };
    fill(header, options, lock, length);
    header.source = source;
    header.magic.store(MAGIC, Release);
    CURRENT.header.store(header, Release);
    if let Some(recording) = current() {
        store::inside(recording, || {
            modules::write_all(recording);
            names::write_all(recording);
        });
    }
    true
}

/// Begins a recording in memory alone, without room for samples: what the process knows of its locks while it runs. False if
/// there is no memory. To be called by one thread at a time.
pub(crate) fn start_without_file(rate: u64) -> bool {
    store::leave_parents();
    let place = if store::wipe_in_children() { kernel::map_memory(WITHOUT_FILE) } else { None };
    let Some(place) = place.filter(|place| store::back(*place as usize, WITHOUT_FILE)) else { return false };
    // SAFETY: a mapping of our own, of zeros, larger than a header.
    let header = unsafe { &mut *place.cast::<Header>() };
    lay_out(header, WITHOUT_FILE as u64, 0);
    header.ring.room = 0;
    header.pid = store::process();
    header.rate = rate;
    header.number = charging::number_of_next();
    CURRENT.header.store(header, Release);
    true
}

/// The length of a recording in memory: for 16,000 locks.
const WITHOUT_FILE: usize = 16 << 20;

/// Gives back the memory of a recording without a file that has ended. Its mapping stays, as threads may be inside of it, and so
/// does its header, which tells them where to write.
pub(crate) fn give_back(recording: &'static store::Recording) {
    const KEPT: usize = size_of::<Header>().next_multiple_of(PAGE);
    let place = (&raw const *recording).cast::<c_void>().cast_mut();
    // SAFETY: within the mapping.
    let rest = unsafe { place.add(KEPT) };
    // SAFETY: our mapping, of that length: who still writes into it finds zeros.
    let _ = unsafe { kernel::advise(rest, WITHOUT_FILE - KEPT, libc::MADV_DONTNEED) };
}

fn fill(header: &mut Header, options: &RecordOptions, lock: &str, length: u64) {
    lay_out(header, length, options.order);
    let now = kernel::clock(libc::CLOCK_REALTIME);
    header.started_realtime_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    header.started_ns = thread::now_ns();
    header.length = length;
    header.rate = options.rate;
    header.number = charging::number_of_next();
    layout::copy_text(lock.as_bytes(), &mut header.lock);
    // Else an observer has written that, as it is seen from outside.
    let is_told = header.pid != 0;
    if !is_told {
        header.pid = store::process();
        // SAFETY: no arguments, no memory.
        header.parent = unsafe { kernel::call(libc::SYS_getppid, []) }.unwrap_or(0) as u32;
    }
    if !is_told || modules::is_loaded() {
        let room = &mut header.program;
        let most = room.len() - 1;
        room.fill(0);
        modules::program(&mut room[..most]);
    }
}

/// The file that an observer has made there, mapped. `None` if there is none, `Some(None)` if it cannot be had.
fn open_made(options: &RecordOptions, length: u64) -> Option<Option<*mut c_void>> {
    let mut path = [0_u8; RecordOptions::LONGEST + 64];
    let n = control::control().file.load(Relaxed).checked_sub(1)?;
    name(&mut path, &options.directory, store::process(), n);
    match open(&path, libc::O_RDWR) {
        Ok(file) => {
            NUMBER.store(n, Relaxed);
            let mapped = map_made(file, length);
            close(file);
            Some(mapped)
        }
        Err(error) => {
            control::refuse(refused::OPENAT, error);
            Some(None)
        }
    }
}

fn open(path: &[u8], flags: c_int) -> kernel::Answer {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let (here, place) = (libc::AT_FDCWD as usize, path.as_ptr() as usize);
    // SAFETY: a string of C.
    unsafe { kernel::call(libc::SYS_openat, [here, place, flags as usize, 0o600]) }
}

fn close(file: usize) {
    // SAFETY: opened here.
    let _ = unsafe { kernel::call(libc::SYS_close, [file]) };
}

/// A new file in the directory, mapped.
fn create(options: &RecordOptions, length: u64) -> Option<*mut c_void> {
    /// Images that one process runs after each other, processes that have one number, recordings of one process.
    const MOST: u32 = 10_000;
    let pid = store::process();
    for n in 0..MOST {
        let mut path = [0_u8; RecordOptions::LONGEST + 64];
        name(&mut path, &options.directory, pid, n);
        let file = match open(&path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL) {
            Ok(file) => file,
            Err(libc::EEXIST) => continue,
            Err(error) => {
                control::refuse(refused::OPENAT, error);
                return None;
            }
        };
        let mapped = map(file, length);
        close(file);
        if mapped.is_none() {
            unlink(&path, 0);
        } else {
            NUMBER.store(n, Relaxed);
        }
        return mapped;
    }
    None
}

/// The number in the name of this process's file.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Removes the file of the recording that `options` have begun, and its directory, which was made for it. Its memory is given back,
/// unless an observer has the file open: one that stood still for a while finds there what was recorded before. Under a filter of
/// system calls the file stays, and is emptied for everybody, as that takes no other call than a recorded thread makes.
pub(crate) fn remove(options: &RecordOptions, mapped: *mut c_void) {
    let mut path = [0_u8; RecordOptions::LONGEST + 64];
    name(&mut path, &options.directory, store::process(), NUMBER.load(Relaxed));
    let length = (options.max_mb << 20) as usize;
    if !control::is_sealed() {
        unlink(&path, 0);
        unlink(&options.directory, libc::AT_REMOVEDIR);
        if leave(mapped, length) {
            return;
        }
    }
    const HEADER: usize = layout::HEADER_BYTES as usize;
    let content = mapped.wrapping_byte_add(HEADER);
    // A file system that cannot do it keeps the content until the process ends.
    // SAFETY: our mapping behind its header, of that length; who still writes into it finds zeros.
    let _ = unsafe { kernel::advise(content, length - HEADER, libc::MADV_REMOVE) };
}

/// Puts memory of our own in the place of a mapped file of that length. Threads may be inside: they find the header as it was, and
/// zeros behind it. False if there is no such memory; then the file is still mapped.
fn leave(mapped: *mut c_void, length: usize) -> bool {
    // Shared, as the file is: it takes no more of what a process may have as data. There before the file goes, as some kernels
    // unmap what is at a place before they find that there is nothing to be put there.
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a new mapping.
    let copy = unsafe { kernel::call(libc::SYS_mmap, [0, length, protection, flags, usize::MAX, 0]) };
    let Ok(copy) = copy else { return false };
    let word = |place: *mut c_void, at: usize| place.cast::<AtomicU64>().wrapping_add(at);
    for at in 0..layout::HEADER_BYTES as usize / size_of::<u64>() {
        // SAFETY: a word of the header, which is mapped and aligned to pages; other threads change it by atomic operations.
        let from = unsafe { &*word(mapped, at) };
        // SAFETY: the same word of the copy, which is as long.
        let to = unsafe { &*word(copy as *mut c_void, at) };
        to.store(from.load(Relaxed), Relaxed);
    }
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    // In one step for all other threads.
    // SAFETY: both are our mappings, whole pages; what was there are the header, of which that is a copy, and entries, of which
    // zeros are none.
    unsafe { kernel::call(libc::SYS_mremap, [copy, length, length, flags, mapped as usize]) }.is_ok()
}

/// Removes what has that path, which ends with a zero.
fn unlink(path: &[u8], flags: c_int) {
    // SAFETY: a string of C.
    let _ =
        unsafe { kernel::call(libc::SYS_unlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize]) };
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
fn map(file: usize, length: u64) -> Option<*mut c_void> {
    let mut room = core::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: `room` is room for the answer.
    unsafe { kernel::call(libc::SYS_fstatfs, [file, room.as_mut_ptr() as usize]) }.ok()?;
    // SAFETY: filled.
    let room = unsafe { room.assume_init() };
    if !has_room(&room, length) || length > longest_file() {
        return None;
    }
    // SAFETY: a file of ours.
    unsafe { kernel::call(libc::SYS_ftruncate, [file, length as usize]) }.ok()?;
    map_made(file, length)
}

/// The file that has that length and room for it, mapped.
fn map_made(file: usize, length: u64) -> Option<*mut c_void> {
    let (protection, flags) = ((libc::PROT_READ | libc::PROT_WRITE) as usize, libc::MAP_SHARED as usize);
    // SAFETY: a new mapping.
    let place = unsafe { kernel::call(libc::SYS_mmap, [0, length as usize, protection, flags, file, 0]) };
    place.inspect_err(|error| control::refuse(refused::MMAP, *error)).ok().map(|place| place as *mut c_void)
}

/// Whether a file system has so many bytes for this process.
fn has_room(room: &libc::statfs, length: u64) -> bool {
    // One that counts in pieces of another size than it writes says so; 0 is the same size.
    let piece = if room.f_frsize == 0 { room.f_bsize } else { room.f_frsize };
    room.f_bavail.saturating_mul(piece as u64) >= length
}

/// How long a file of this process may be: one that makes a longer one is killed. 0 if that cannot be told.
fn longest_file() -> u64 {
    const SELF: usize = 0;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let place = (&raw mut limit) as usize;
    // SAFETY: `limit` is room for the answer, and stays as it is if there is none.
    let _ = unsafe { kernel::call(libc::SYS_prlimit64, [SELF, libc::RLIMIT_FSIZE as usize, 0, place]) };
    limit.rlim_cur
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::CStr;

    #[test]
    fn files_are_named_by_process_and_number() {
        for (pid, n, expected) in [(7, 0, "/a/b/7-0.ondeck"), (u32::MAX, 12, "/a/b/4294967295-12.ondeck")] {
            let mut path = [0_u8; 64];
            name(&mut path, b"/a/b\0", pid, n);
            assert_eq!(CStr::from_bytes_until_nul(&path).unwrap().to_str(), Ok(expected));
        }
    }

    #[test]
    fn a_file_system_has_room_for_as_many_pieces_as_are_free() {
        // SAFETY: zeros are an answer.
        let mut room: libc::statfs = unsafe { core::mem::zeroed() };
        for (f_bsize, f_frsize, f_bavail, most) in
            [(4096, 512, 2047, (1 << 20) - 512), (4096, 0, 256, 1 << 20), (2, 2, u64::MAX, u64::MAX), (4096, 512, 0, 0)]
        {
            (room.f_bsize, room.f_frsize, room.f_bavail) = (f_bsize, f_frsize, f_bavail);
            assert!(has_room(&room, most), "{most}");
            assert!(most == u64::MAX || !has_room(&room, most + 1), "{most}");
        }
    }

    #[test]
    fn the_parts_of_files_of_all_lengths_are_apart_and_within() {
        for (mb, order) in [1_u64, 2, 64, 1 << 14].into_iter().flat_map(|mb| [(mb, 0), (mb, 1)]) {
            // SAFETY: a header may be zeros.
            let mut header: Header = unsafe { core::mem::zeroed() };
            lay_out(&mut header, mb << 20, order);
            // All that is there is read at each look.
            assert!((1 << 10..=1 << 16).contains(&header.waiters.room), "{mb}: {}", header.waiters.room);
            let parts = [
                (header.modules, size_of::<Module>()),
                (header.locks, size_of::<Lock>()),
                (header.index, 4),
                (header.stacks, 8),
                (header.names, size_of::<Name>()),
                (header.waiters, size_of::<Waiter>()),
                (header.named, 8),
                (header.nestings, size_of::<Nesting>()),
                (header.ring, size_of::<Slot>()),
            ];
            let mut end = size_of::<Header>() as u64;
            for (part, size) in parts {
                let is_left_out = part.start == header.nestings.start && order == 0;
                assert!(part.start >= end && (part.room > 500 || is_left_out), "{mb}: {part:?}");
                assert!(part.start % 128 == 0);
                end = part.start + part.room * size as u64;
            }
            assert!(end <= mb << 20);
            assert!(header.stacks.room <= u32::MAX.into());
            // Marks have room for the number of each.
            assert!(header.locks.room <= crate::charging::MOST_LOCKS.into());
        }
    }
}
