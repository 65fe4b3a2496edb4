//! The recording of this process: where its file is, and the entries of its parts: `locks`, `names`, `nestings`, `ring`
//! (samples), `stacks` and `waiters`. All modules write through this one, but for `files`, which makes the file.
//!
//! An entry is complete before a reader can find it. What finds no room, in its part or on the disk, is not written: locks,
//! stacks and samples are counted as dropped then. No thread waits for another one here.
//!
//! # Fork
//! The child has memory of its own but shares mappings of files. So its parent's recording is not given to it, and where it
//! would find that is wiped: it records nothing until [`start`](crate::start) is called there, which makes another file.
//!
//! A signal handler may fork while its thread is inside of the recorder, and the child then goes on there. So it has its
//! parent's mapping too, or it would be killed. It finds no entry in it any more, and nothing of it is counted.

pub(crate) mod locks;
pub(crate) mod names;
pub(crate) mod nestings;
pub(crate) mod ring;
pub(crate) mod stacks;
pub(crate) mod waiters;

use crate::layout::{Header, N_INSIDE, Part};
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use ondeck_core::kernel;

pub(crate) const PAGE: usize = 4096;

/// Alone on its page, which a child gets as zeros.
#[repr(C, align(4096))]
pub(crate) struct WipeOnForkPage {
    pub(crate) header: AtomicPtr<Header>,
    /// Where the recording is that [`BACKED`] is of.
    backed: AtomicUsize,
    /// The number of the process, once it was asked for.
    process: AtomicU32,
    rest: [u8; PAGE - 20],
}

pub(crate) static CURRENT: WipeOnForkPage = WipeOnForkPage {
    header: AtomicPtr::new(ptr::null_mut()),
    backed: AtomicUsize::new(0),
    process: AtomicU32::new(0),
    rest: [0; PAGE - 20],
};

/// Whether a child gets that page as zeros.
static IS_WIPED: AtomicBool = AtomicBool::new(false);

/// Has the kernel give it to children so. False if that is refused.
pub(crate) fn wipe_in_children() -> bool {
    // SAFETY: the page is ours, whole, and holds nothing but what a child is not to have.
    let answer = unsafe { kernel::advise((&raw const CURRENT).cast_mut().cast(), PAGE, libc::MADV_WIPEONFORK) };
    IS_WIPED.store(answer.is_ok(), Relaxed);
    answer.is_ok()
}

/// The number of this process is that, if it is known. Where a child gets the page as zeros.
pub(crate) fn keep_process(process: Option<u32>) {
    CURRENT.process.store(process.unwrap_or(0), Relaxed);
}

/// The number of this process. The kernel is asked once, as a sandbox that is closed later may refuse that.
pub(crate) fn process() -> u32 {
    match CURRENT.process.load(Relaxed) {
        0 => {
            let process = kernel::process();
            if IS_WIPED.load(Relaxed) {
                CURRENT.process.store(process, Relaxed);
            }
            process
        }
        known => known,
    }
}

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

/// The same where the kernel has wiped nothing.
pub(crate) fn wipe() {
    forget();
    CURRENT.backed.store(0, Relaxed);
    CURRENT.process.store(0, Relaxed);
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
        if !is_backed(start as usize, offset) || !is_backed(start as usize, last) {
            return None;
        }
        // SAFETY: the parts lie within the file, as `lay_out` says, and are of such entries.
        let place = unsafe { start.add(offset) };
        // SAFETY: as above; all fields are atomic, or not written any more.
        Some(unsafe { &*place.cast::<T>() })
    }

    /// Whether somebody will read it. Else it is in memory, for statistics, and has no room for samples.
    #[inline(always)]
    pub(crate) fn has_file(&self) -> bool {
        cfg!(not(any(test, feature = "stats"))) || self.ring.room > 0
    }

    /// Something found no room, which that counts.
    pub(crate) fn count_dropped(&self, count: &AtomicU64) {
        if !is_parents((&raw const *self).cast::<u8>() as usize) {
            count.fetch_add(1, Relaxed);
        }
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

/// Pieces of the recording, a bit each: whether the file system has given memory for it. Of the longest recording.
static BACKED: [AtomicU64; (1 << 34) / PIECE / 64] = [const { AtomicU64::new(0) }; (1 << 34) / PIECE / 64];
const PIECE: usize = 64 << 10;
/// Where the last recording was mapped, and how long it is. A child has its parent's, until it leaves that.
static MAPPED: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// Where the parent's recording was mapped that this process has left.
static PARENTS: AtomicUsize = AtomicUsize::new(0);

/// Whether the recording at that address is our parent's.
fn is_parents(start: usize) -> bool {
    start == PARENTS.load(Relaxed) || CURRENT.backed.load(Relaxed) == 0 && start == MAPPED[0].load(Relaxed)
}

/// In the child of a fork: what was recorded in the parent has no memory here any more. Its header stays, as the calling thread
/// may be inside of it, below a signal handler. Nothing in a process that is no child.
pub(crate) fn leave_parents() {
    const KEPT: usize = size_of::<Header>().next_multiple_of(PAGE);
    let [start, length] = [&MAPPED[0], &MAPPED[1]].map(|word| word.load(Relaxed));
    if length <= KEPT || !is_parents(start) {
        return;
    }
    PARENTS.store(start, Relaxed);
    MAPPED[1].store(0, Relaxed);
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let arguments = [start + KEPT, length - KEPT, protection as usize, flags as usize, usize::MAX, 0];
    // If it is refused, the memory stays until this process ends.
    // SAFETY: in the place of a part of our mapping; who still reads there finds zeros, which are no entry.
    let _ = unsafe { kernel::call(libc::SYS_mmap, arguments) };
}

/// A recording begins, mapped at that address, of that length. Whether its first piece has memory.
pub(crate) fn back(start: usize, length: usize) -> bool {
    MAPPED[1].store(length, Relaxed);
    MAPPED[0].store(start, Relaxed);
    CURRENT.backed.store(start, Relaxed);
    for word in &BACKED {
        if word.load(Relaxed) != 0 {
            word.store(0, Relaxed);
        }
    }
    is_backed(start, 0)
}

/// Whether the recording has memory at that offset, which is asked for if it has not: a program that writes into a hole of
/// a file when its file system is full is killed.
fn is_backed(start: usize, offset: usize) -> bool {
    let piece = offset / PIECE;
    let Some(word) = BACKED.get(piece / 64) else { return false };
    let bit = 1 << (piece % 64);
    // Who is still inside of a recording that has ended asks each time.
    let is_current = CURRENT.backed.load(Relaxed) == start;
    if is_current && word.load(Relaxed) & bit != 0 {
        return true;
    }
    if is_parents(start) {
        return false;
    }
    let place = (start + piece * PIECE) as *mut libc::c_void;
    // SAFETY: a piece of our mapping, whose length is a multiple of a piece's; what is in it stays.
    let ask = || unsafe { kernel::advise(place, PIECE, libc::MADV_POPULATE_WRITE) };
    // Before the recording has begun, its header has no memory.
    let answer = match current().filter(|recording| (&raw const **recording).addr() == start) {
        Some(recording) => inside(recording, ask),
        None => ask(),
    };
    // Kernels before 5.14 do not know the request: there it is as if nobody had asked.
    let is_there = matches!(answer, Ok(_) | Err(libc::EINVAL));
    if is_there && is_current {
        word.fetch_or(bit, Relaxed);
    }
    is_there
}

/// Does what may sleep in the kernel and is the recorder's own: who looks from outside leaves it out. One thread more than there
/// is room for is seen as if the program did that.
pub(crate) fn inside<T>(recording: &Recording, act: impl FnOnce() -> T) -> T {
    let (here, places) = (crate::thread::id(recording.pid), &recording.inside);
    let mut all = (0..N_INSIDE).map(|step| &places[(here as usize + step) % N_INSIDE]);
    let place = all.find(|place| place.compare_exchange(0, here, Acquire, Relaxed).is_ok());
    let result = act();
    if let Some(place) = place {
        place.store(0, Release);
    }
    result
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// Of tests that share what a process has once, each waits for the others.
    pub(crate) fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn who_is_in_a_call_of_the_recorders_own_is_told_until_it_is_over() {
        use crate::read::Reader;
        use crate::{RecordOptions, Sleep, Source, start};
        let name = "store::tests::who_is_in_a_call_of_the_recorders_own_is_told_until_it_is_over";
        crate::testing::in_its_own_process(name, |directory| {
            let options = RecordOptions::of_environment().expect("the environment asks");
            crate::ask_loader();
            assert!(start(&options, "a lock", Sleep::AtOnce, Source::Library));
            let file = std::fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
            let (reader, recording) = (Reader::open(&file).unwrap(), current().unwrap());
            let here = crate::thread::id(recording.pid);
            let seen = || reader.inside().unwrap();
            assert_eq!(seen(), []);
            assert_eq!(inside(recording, || inside(recording, seen)), [here; 2]);
            assert_eq!(seen(), []);
            // As many as there is room for, and one more.
            recording.inside.iter().for_each(|place| place.store(1, Relaxed));
            assert_eq!(inside(recording, seen).len(), N_INSIDE);
            assert_eq!(seen(), [1; N_INSIDE]);
        });
    }

    /// Behind those pieces of which a test says what they have: all recordings of a process share that.
    const FIRST_PIECE: usize = 100;

    /// Memory that stands for a file.
    fn map(n_pieces: usize) -> *mut u8 {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping.
        let place = unsafe { libc::mmap(ptr::null_mut(), n_pieces * PIECE, protection, flags, -1, 0) };
        assert_ne!(place, libc::MAP_FAILED);
        place.cast()
    }

    /// A recording that has so many places for stacks in its index, and so many words for them.
    pub(crate) fn with_room_for_stacks(index: u64, stacks: u64) -> &'static Recording {
        let place = map(FIRST_PIECE + 2);
        // SAFETY: memory of our own, of zeros, larger than a header.
        let header = unsafe { &mut *place.cast::<Header>() };
        let start = |piece: usize| (piece * PIECE) as u64;
        header.index = Part { start: start(FIRST_PIECE), room: index };
        header.stacks = Part { start: start(FIRST_PIECE + 1), room: stacks };
        // SAFETY: as above; it stays, and nobody changes the header any more.
        unsafe { &*place.cast::<Recording>() }
    }

    /// A recording that has room for so many locks, and so many samples.
    pub(crate) fn with_room_for_samples(locks: u64, ring: u64) -> &'static Recording {
        const LOCKS_PIECES: usize = 10;
        let place = map(FIRST_PIECE + LOCKS_PIECES + 1);
        // SAFETY: memory of our own, of zeros, larger than a header.
        let header = unsafe { &mut *place.cast::<Header>() };
        let start = |piece: usize| (piece * PIECE) as u64;
        header.locks = Part { start: start(FIRST_PIECE), room: locks };
        header.ring = Part { start: start(FIRST_PIECE + LOCKS_PIECES), room: ring };
        // SAFETY: as above; it stays, and nobody changes the header any more.
        unsafe { &*place.cast::<Recording>() }
    }

    /// A recording that has room for so many nestings, and for some locks.
    pub(crate) fn with_room_for_nestings(nestings: u64) -> &'static Recording {
        let place = map(FIRST_PIECE + 2);
        // SAFETY: memory of our own, of zeros, larger than a header.
        let header = unsafe { &mut *place.cast::<Header>() };
        header.nestings = Part { start: (FIRST_PIECE * PIECE) as u64, room: nestings };
        header.locks = Part { start: ((FIRST_PIECE + 1) * PIECE) as u64, room: 100 };
        // SAFETY: as above; it stays, and nobody changes the header any more.
        unsafe { &*place.cast::<Recording>() }
    }

    /// A recording that has room for so many threads that wait.
    pub(crate) fn with_room_for_waiters(waiters: u64) -> &'static Recording {
        let bytes = waiters as usize * size_of::<crate::layout::Waiter>();
        let place = map(FIRST_PIECE + bytes.div_ceil(PIECE));
        // SAFETY: memory of our own, of zeros, larger than a header.
        let header = unsafe { &mut *place.cast::<Header>() };
        header.pid = std::process::id();
        header.waiters = Part { start: (FIRST_PIECE * PIECE) as u64, room: waiters };
        // SAFETY: as above; it stays, and nobody changes the header any more.
        unsafe { &*place.cast::<Recording>() }
    }

    /// An entry may lie across two pieces, either of which may have no memory.
    #[test]
    fn an_entry_is_there_if_all_of_it_has_memory() {
        use std::os::fd::AsRawFd;
        type Entry = [AtomicU64; 6];
        const SIZE: usize = size_of::<Entry>();
        // Pieces that no other test asks for.
        const MISSING: usize = FIRST_PIECE + 20;
        let place = map(MISSING + 4);
        let file = tempfile::tempfile().unwrap();
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: within the mapping.
        let missing = unsafe { place.add(MISSING * PIECE) };
        // A file without content stands for a file system that is full.
        // SAFETY: in the place of a part of that mapping.
        let mapped = unsafe { libc::mmap(missing.cast(), PIECE, protection, flags, file.as_raw_fd(), 0) };
        assert_eq!(mapped, missing.cast());
        // SAFETY: memory of our own, of zeros, larger than a header; it stays.
        let recording = unsafe { &*place.cast::<Recording>() };
        let is_there =
            |start: usize, room, index| recording.entry::<Entry>(Part { start: start as u64, room }, index).is_some();
        let (begin, end) = (MISSING * PIECE, (MISSING + 1) * PIECE);
        for (start, expected) in [
            (begin - SIZE, true),
            (begin - SIZE + 8, false),
            (begin - 8, false),
            (begin, false),
            (end - SIZE, false),
            (end - 8, false),
            (end, true),
            (end + PIECE - 8, true),
        ] {
            assert_eq!(is_there(start, 1, 0), expected, "{start:#x}");
            assert_eq!(is_there(start - 2 * SIZE, 3, 2), expected, "{start:#x}");
        }
        // As many as there is room for.
        assert!(is_there(end, 3, 2) && !is_there(end, 3, 3) && !is_there(end, 3, 4) && !is_there(end, 0, 0));
    }

    /// As if it had been made by a handler of a signal that came inside of the recorder.
    #[test]
    fn a_child_finds_nothing_in_its_parents_recording_and_lives() {
        crate::testing::in_its_own_process(
            "store::tests::a_child_finds_nothing_in_its_parents_recording_and_lives",
            |_| {
                let options = crate::RecordOptions::of_environment().expect("the environment asks");
                assert!(crate::start(&options, "a lock", crate::Sleep::AtOnce, crate::Source::Program));
                let recording = current().unwrap();
                let has_entry = || recording.entry::<u64>(recording.index, 0).is_some();
                assert!(has_entry() && process() == std::process::id());
                // SAFETY: the child does nothing that needs other threads, and ends here.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    let has_none = |()| !has_entry() && recording.index.room > 0;
                    let is_itself = current().is_none() && process() == std::process::id();
                    recording.count_dropped(&recording.dropped_stacks);
                    let before = has_none(());
                    leave_parents();
                    let has_left = has_none(());
                    // It may record too, and then leave nothing.
                    let records = crate::start(&options, "a lock", crate::Sleep::AtOnce, crate::Source::Program);
                    let own = current().is_some_and(|own| own.entry::<u64>(own.index, 0).is_some());
                    leave_parents();
                    let is_right = is_itself && before && has_left && has_none(()) && records && own && is_on();
                    // SAFETY: always may be called.
                    unsafe { libc::_exit(if is_right { 7 } else { 1 }) };
                }
                let mut status = 0;
                // SAFETY: `status` is ours.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(libc::WEXITSTATUS(status), 7, "{status}");
                leave_parents();
                assert!(has_entry(), "it is no child");
                assert_eq!(recording.dropped_stacks.load(Relaxed), 0);
            },
        );
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
        assert!(!back(start, 70 * PIECE));
        length(2);
        assert!(back(start, 70 * PIECE));
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
        assert!(back(start, 70 * PIECE));
        assert!(!is_backed(start, 65 * PIECE) && !is_backed(start, PIECE));
        assert!(!is_backed(start, 1 << 34));
        // An address that begins no page is refused like a request that the kernel does not know.
        assert!(is_backed(start + 1, 66 * PIECE));
    }
}
