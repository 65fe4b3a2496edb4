//! Too little of something: memory, room on the disk, room on the stack.

use crate::common::{Mode::Exact, prepare};
use crate::common::{files, from_here, in_its_own_process, lock_at, n_allocated, reader, samples, start};
use ondeck_record::layout::{Header, NONE, Slot, kind};
use ondeck_record::{Marks, OpaqueWait, PendingRelease, bare};
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

const LOCK: u64 = 0x5000;

fn use_once(marks: &Marks) {
    from_here(|| {
        marks.taken(LOCK);
        marks.release(LOCK).unwrap().done();
    });
}

/// Lets this process have so much more memory than it has.
fn limit_memory(more: Option<u64>) {
    const PAGE: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let n_pages: u64 = text.split(' ').next().unwrap().parse().unwrap();
    let now = more.map_or(libc::RLIM_INFINITY, |more| n_pages * PAGE + more);
    let limit = libc::rlimit { rlim_cur: now, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: of this process.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// What is kept of modules and walks asks for no more than some hundred kB, but must find a few MB.
#[test]
fn a_program_with_hardly_any_memory_is_recorded_without_stacks() {
    in_its_own_process("scarce::a_program_with_hardly_any_memory_is_recorded_without_stacks", 1, |directory| {
        limit_memory(Some(3 << 20));
        // Room for its file there is.
        start(Exact);
        let mut reader = reader(directory);
        assert_eq!(reader.modules().unwrap(), []);
        let marks = Marks::default();
        // More than there are caches.
        const N: usize = 40;
        (0..N).for_each(|_| use_once(&marks));
        let without: Vec<u32> = samples(&mut reader).iter().map(|sample| sample.stack).collect();
        assert_eq!(without, [NONE; N]);
        // As it began, where the lock was first seen, and once for each.
        assert_eq!(reader.dropped().unwrap().stacks, 2 + N as u64);
        // All joins are at one place then.
        (1..=2).for_each(|thread| from_here(|| OpaqueWait::begin(thread, kind::JOIN).unwrap().end()));
        let joins: Vec<u32> = samples(&mut reader).iter().map(|sample| sample.lock).collect();
        assert_eq!(joins, [lock_at(&reader, 1).number; 2]);
        assert_eq!(reader.locks().unwrap().len(), 2);
        let n_dropped = reader.dropped().unwrap().stacks;
        let mut has_stack = || {
            use_once(&marks);
            let number = samples(&mut reader)[0].stack;
            reader.stack(number).unwrap().len() > 3
        };
        // There is memory again; and what is there is enough when there is none once more.
        limit_memory(None);
        ondeck_record::ask_loader();
        assert!(has_stack());
        limit_memory(Some(3 << 20));
        assert!(has_stack());
        assert_eq!(reader.dropped().unwrap().stacks, n_dropped);
        assert!(!reader.modules().unwrap().is_empty());
    });
}

#[test]
fn what_comes_to_a_lock_asks_for_no_memory() {
    in_its_own_process("scarce::what_comes_to_a_lock_asks_for_no_memory", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        let n_asked = n_allocated(|| (0..100).for_each(|_| use_once(&marks)));
        let reader = reader(directory);
        assert_eq!((n_asked, reader.dropped().unwrap().stacks), (0, 0));
    });
}

#[test]
fn the_programs_own_recorder_asks_for_no_memory_once_it_is_prepared() {
    in_its_own_process("scarce::the_programs_own_recorder_asks_for_no_memory_once_it_is_prepared", 1, |directory| {
        assert!(prepare());
        const N: usize = 100;
        let n_asked = n_allocated(|| {
            for _ in 0..N {
                from_here(|| bare::taken(LOCK, None, true, false));
                from_here(|| bare::release(LOCK, None, false).map(PendingRelease::done));
            }
        });
        let mut reader = reader(directory);
        assert_eq!((n_asked, reader.dropped().unwrap().stacks), (0, 0));
        let samples = samples(&mut reader);
        assert!(samples.len() == N && samples.iter().all(|sample| sample.stack != NONE));
    });
}

/// A file that is cut short stands for a disk that is full: it ends where one piece of those does that are asked for, and a
/// write behind that ends the process.
#[test]
fn on_a_full_disk_samples_are_dropped_until_there_is_room() {
    in_its_own_process("scarce::on_a_full_disk_samples_are_dropped_until_there_is_room", 1, |directory| {
        const PIECE: u64 = 64 << 10;
        const SLOT: u64 = size_of::<Slot>() as u64;
        // More than the slots of one piece.
        const N: u64 = 2000;
        start(Exact);
        let mut reader = reader(directory);
        let file = std::fs::File::options().read(true).write(true).open(&files(directory)[0]).unwrap();
        let mut word = [0; 8];
        file.read_exact_at(&mut word, offset_of!(Header, ring) as u64).unwrap();
        let ring = u64::from_le_bytes(word);
        let marks = Marks::default();
        let (mut n_written, mut n_dropped) = (0, 0);
        let first = (ring / PIECE + 1) * PIECE;
        // Some pieces end with a slot, others within one.
        for end in (0..4).map(|n| first + n * PIECE).chain([1 << 20]) {
            file.set_len(end).unwrap();
            (0..N).for_each(|_| use_once(&marks));
            let n_now = (n_written + N).min((end - ring) / SLOT);
            n_dropped += n_written + N - n_now;
            n_written = n_now;
            assert_eq!(reader.dropped().unwrap().samples, n_dropped, "{end}");
        }
        assert!(n_dropped > N);
        // None that was begun is missing.
        let mut n_read = 0;
        reader.take(false, |_| n_read += 1).unwrap();
        assert_eq!(n_read, n_written);
    });
}

extern "C" fn waits(_: libc::c_int) {
    from_here(|| OpaqueWait::begin(LOCK, kind::SEMAPHORE).unwrap().end());
}

/// A signal's handler has a small stack, with a closed page below.
#[test]
fn a_stack_without_room_below_is_not_walked() {
    in_its_own_process("scarce::a_stack_without_room_below_is_not_walked", 1, |directory| {
        start(Exact);
        const PAGE: usize = 4096;
        const N_PAGES: usize = 5;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), (1 + N_PAGES) * PAGE, protection, flags, -1, 0) };
        assert_ne!(place, libc::MAP_FAILED);
        // SAFETY: the first page of that.
        assert_eq!(unsafe { libc::mprotect(place, PAGE, libc::PROT_NONE) }, 0);
        // SAFETY: the rest of it.
        let rest = unsafe { place.byte_add(PAGE) };
        let stack = libc::stack_t { ss_sp: rest, ss_flags: 0, ss_size: N_PAGES * PAGE };
        // SAFETY: memory that stays and is used by nothing else.
        assert_eq!(unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) }, 0);
        // SAFETY: zeros are a value of it.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = waits as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK;
        // SAFETY: an action of that form.
        assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) }, 0);
        // SAFETY: its handler comes and goes before this returns.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
        waits(0);
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        assert_eq!((samples.len(), samples[0].stack, reader.dropped().unwrap().stacks), (2, NONE, 1));
        assert!(reader.stack(samples[1].stack).unwrap().len() > 3);
    });
}
