//! What another thread does between two steps of this one. The pages that the later step writes are closed, and the handler
//! of the fault plays the other thread.

use crate::common::Mode::{Exact, Told};
use crate::common::{files, from_here, in_its_own_process, part, reader, samples, start};
use ondeck_record::layout::{Header, event, kind};
use ondeck_record::read::Reader;
use ondeck_record::{Marks, OpaqueWait, PendingRelease};
use std::mem::offset_of;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

const LOCK: u64 = 0x5000;
const PAGE: u64 = 4096;

/// The pages that are closed, and what is done when one is written.
static MEANWHILE: Mutex<Option<Meanwhile>> = Mutex::new(None);

type Meanwhile = (Pages, fn());

#[derive(Clone, Copy)]
struct Pages {
    start: u64,
    n: u64,
}

impl Pages {
    fn protect(self, protection: libc::c_int) {
        // SAFETY: of a recording, or of `PageAligned`; whoever writes them meanwhile comes to `handler`.
        assert_eq!(unsafe { libc::mprotect(self.start as *mut _, (self.n * PAGE) as usize, protection) }, 0);
    }

    /// Closes them; `act` happens at the next write.
    fn at_next_write(self, act: fn()) {
        *MEANWHILE.lock().unwrap() = Some((self, act));
        // SAFETY: zeros are a value of it.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as *const () as usize;
        // SAFETY: the handler has the type for these flags.
        assert_eq!(unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()) }, 0);
        self.protect(libc::PROT_READ);
    }

    /// The first of a part of the recording.
    fn of_part(directory: &Path, field: usize) -> Self {
        let (recording, offset) = part(directory, field);
        Pages { start: recording + offset, n: 4 }
    }
}

/// Another fault ends the process.
extern "C" fn handler(_: libc::c_int) {
    let (pages, act) = MEANWHILE.lock().unwrap().take().expect("a fault of the test");
    pages.protect(libc::PROT_READ | libc::PROT_WRITE);
    act();
}

fn has_happened() -> bool {
    MEANWHILE.lock().unwrap().is_none()
}

/// A lock, which the handler finds.
#[repr(align(4096))]
struct PageAligned(Marks);

fn marks() -> &'static Marks {
    static LOCK: OnceLock<PageAligned> = OnceLock::new();
    &LOCK.get_or_init(|| PageAligned(Marks::default())).0
}

fn use_once(marks: &Marks, address: u64) {
    marks.taken(address);
    marks.release(address).unwrap().done();
}

fn wait_and_give_up(address: u64) {
    from_here(|| marks().wait(address).unwrap()).end(false, address);
}

/// Each walks its stack before it takes a number, and one of them is faster.
#[test]
fn two_who_see_a_lock_first_have_one_number_for_it() {
    in_its_own_process("meanwhile::two_who_see_a_lock_first_have_one_number_for_it", 1, |directory| {
        start(Exact);
        Pages::of_part(directory, offset_of!(Header, stacks)).at_next_write(|| wait_and_give_up(LOCK));
        wait_and_give_up(LOCK);
        assert!(has_happened());
        let mut reader = reader(directory);
        // The entry of the slower one stays unused.
        let samples = samples(&mut reader);
        assert_eq!((samples.len(), reader.locks().unwrap().len()), (2, 2));
        assert_eq!((samples[0].event, samples[0].lock), (samples[1].event, samples[1].lock));
    });
}

/// A stack that no lock has would take room from others.
#[test]
fn who_finds_no_room_for_a_lock_walks_no_stack() {
    in_its_own_process("meanwhile::who_finds_no_room_for_a_lock_walks_no_stack", 1, |directory| {
        start(Exact);
        (1..1024).for_each(|n| wait_for_what_has_no_marks(n * 64));
        let reader = reader(directory);
        assert_eq!((reader.locks().unwrap().len(), reader.dropped().unwrap().locks), (1023, 0));
        Pages::of_part(directory, offset_of!(Header, stacks)).at_next_write(|| ());
        assert!(from_here(|| marks().wait(LOCK)).is_none());
        assert!(!has_happened());
        assert_eq!(reader.dropped().unwrap().locks, 1);
    });
}

/// Then the lock has the number of a stack again, which another has who was at this address before.
#[test]
fn who_sees_it_while_it_is_initialised_takes_no_stack_for_a_lock() {
    in_its_own_process("meanwhile::who_sees_it_while_it_is_initialised_takes_no_stack_for_a_lock", 1, |directory| {
        const N: u32 = 400;
        start(Exact);
        (0..N).for_each(|_| use_once(&Marks::default(), LOCK));
        samples(&mut reader(directory));
        Pages::of_part(directory, offset_of!(Header, stacks)).at_next_write(|| marks().initialised());
        wait_and_give_up(LOCK);
        assert!(has_happened());
        let mut reader = reader(directory);
        let numbers: Vec<u32> = samples(&mut reader).iter().map(|sample| sample.lock).collect();
        assert_eq!(numbers, [N + 1]);
        // It is known by where it was initialised from the next time on.
        wait_and_give_up(LOCK);
        let lock = crate::common::lock_at(&reader, LOCK);
        assert_eq!((lock.number, lock.kind), (N + 2, kind::INITIALISED));
        assert!(lock.origin < N, "{lock:?}: there is no lock of that number");
    });
}

/// As in the child of a fork, where a thread of the parent's may still be in its wait.
#[test]
fn a_flag_that_changes_makes_no_number_of_another_recording_ours() {
    in_its_own_process("meanwhile::a_flag_that_changes_makes_no_number_of_another_recording_ours", 1, |directory| {
        const N: u32 = 5;
        start(Told);
        let _waiting = marks().wait(LOCK).unwrap();
        start(Told);
        (0..N).for_each(|_| use_once(&Marks::default(), LOCK));
        Pages::of_part(directory, offset_of!(Header, stacks))
            .at_next_write(|| assert!(marks().release(LOCK).is_none()));
        wait_and_give_up(LOCK);
        assert!(has_happened());
        let mut reader = Reader::open(&files(directory)[1]).unwrap();
        let numbers: Vec<u32> = samples(&mut reader).iter().map(|sample| sample.lock).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    });
}

/// A thread that begins to wait asks, and one that has just found that nobody waits clears that.
#[test]
fn who_comes_while_another_finds_that_nobody_waits_is_charged_for() {
    in_its_own_process("meanwhile::who_comes_while_another_finds_that_nobody_waits_is_charged_for", 1, |directory| {
        start(Exact);
        wait_and_give_up(LOCK);
        let lock = Pages { start: (&raw const *marks()) as u64, n: 1 };
        lock.at_next_write(|| assert!(marks().wait(LOCK).is_some()));
        marks().release(LOCK).unwrap().done();
        assert!(has_happened() && marks().is_marked());
        marks().taken(LOCK);
        marks().release(LOCK).into_iter().for_each(PendingRelease::done);
        let events: Vec<u32> = samples(&mut reader(directory)).iter().map(|sample| sample.event).collect();
        assert_eq!(events, [event::GAVE_UP, event::CHARGE, event::HANDING_ON, event::TAKE, event::CHARGE]);
    });
}

fn wait_for_what_has_no_marks(address: u64) {
    OpaqueWait::begin(address, kind::SEMAPHORE).unwrap().end();
}

/// An address gets its place before its number.
#[test]
fn an_address_has_no_number_of_another_recording_until_it_has_its_own() {
    in_its_own_process(
        "meanwhile::an_address_has_no_number_of_another_recording_until_it_has_its_own",
        1,
        |directory| {
            start(Exact);
            wait_for_what_has_no_marks(LOCK);
            start(Exact);
            // The first here, as that one was there.
            wait_for_what_has_no_marks(LOCK + 64);
            Pages::of_part(directory, offset_of!(Header, locks)).at_next_write(|| wait_for_what_has_no_marks(LOCK));
            wait_for_what_has_no_marks(LOCK);
            assert!(has_happened());
            let mut reader = Reader::open(&files(directory)[1]).unwrap();
            let samples = samples(&mut reader);
            let locks = reader.locks().unwrap();
            let address_of = |number| locks.iter().find(|lock| lock.number == number).unwrap().address;
            let addresses: Vec<u64> = samples.iter().map(|sample| address_of(sample.lock)).collect();
            assert_eq!(addresses, [LOCK + 64, LOCK, LOCK]);
        },
    );
}
