//! Locks that have no room for marks, in the program itself: a table has their marks by their addresses, and each thread
//! remembers its own holds that are looked at.
//!
//! # Who looks where
//! An uncontended acquisition counts down one number of its thread, and a release looks whether its thread remembers a hold.
//! While others wait, which the lock's own word tells, both look for marks in the table. All waits are looked at.
//!
//! Charges are exact (see `charging`), which costs a hold that is waited for two looks at a clock.
//!
//! # A hold that is remembered
//! It has the lock's address and its turn, a number that the lock changes with each release. One thread may acquire and
//! another release: then the turn is another when the first comes back to the lock, and what it remembers is dropped. A lock
//! may not know its turn, or have begun anew from 0, and then what is remembered counts.
//!
//! # Memory
//! The lock may be that of the program's allocator. So memory is asked for once, in [`prepare`], before the program starts;
//! code that is loaded later is walked by frame pointers, and has no names.
//!
//! Locks that many may have at once are in [`several`].
//!
//! Locks that come to be at one address one after the other are one lock here, unless the first one had a name and was
//! [destroyed](super::destroyed): else none says when it goes.

pub mod several;

use super::destroyed;
use super::lock_order;
use super::mutex::PendingRelease;
use super::process::{self, Change, Sleep, Source};
use super::wait::Wait;
use crate::charging::{Marks, Tag};
use crate::control;
use crate::counts;
use crate::layout::{Lock, NONE};
use crate::options::RecordOptions;
use crate::store::locks::{self, near};
use crate::store::{self, Recording, current};
use crate::thread::{Hold, own};
use crate::{modules, walk};
use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::OnceLock;
use std::time::Duration;

// -- The process ------------------------------------------------------------------------------------------------------

/// What is to be recorded. Written at the end of [`prepare`], which is alone at it, so nobody ever waits for it.
static OPTIONS: OnceLock<RecordOptions> = OnceLock::new();
/// The process that has tried to begin a recording; another one is our parent.
static STARTED_BY: AtomicU32 = AtomicU32::new(0);

/// Reads the environment, and asks the loader and the allocator for what a recording takes. While `is_wished` is false,
/// nothing else here is to be called: it is set if the environment asks, or later if an observer does. By one thread at a time,
/// before locks are used that are to be recorded.
pub fn prepare(is_wished: &'static AtomicBool) {
    // A program may have locks of Rust and those for C.
    static IS_PREPARED: AtomicBool = AtomicBool::new(false);
    if !IS_PREPARED.swap(true, Relaxed) {
        process::ask_loader();
        walk::ask_for_caches();
        modules::ask_for_no_more_memory();
    }
    if let (None, Some(options)) = (OPTIONS.get(), RecordOptions::of_environment()) {
        OPTIONS.get_or_init(|| options);
    }
    is_wished.store(OPTIONS.get().is_some() || control::is_commanded(), Relaxed);
    control::listen((&raw const *is_wished) as u64);
}

/// The recording of this process, begun if there is none yet. Takes no lock and asks for no memory.
#[inline(always)]
fn recording() -> Option<&'static Recording> {
    if control::has_come() {
        obey();
    }
    match current() {
        None => start(),
        recording => recording,
    }
}

#[cold]
#[inline(never)]
fn obey() {
    process::obey(Some("ondeck"), Sleep::Told, Source::Program, |change| {
        // A command to end may come twice, as the observer does not know whether the first was heard.
        if change != Change::Begun && current().is_none() {
            begin_other();
        }
    });
}

/// Nothing is to be recorded until an observer asks.
fn wish_no_more() {
    for is_wished in control::bytes() {
        is_wished.swap(0, AcqRel);
    }
    // Of two threads that write a byte, the later one sees what the earlier one has done before.
    if counts::is_on() {
        control::ring();
    }
}

/// The program wants statistics, with one in `rate` acquisitions timed. False if it cannot have them.
pub(crate) fn begin_to_count(rate: u64) -> bool {
    const TURNS: u32 = 100;
    const TURN: Duration = Duration::from_millis(1);
    if control::bytes().next().is_none() || !counts::begin(rate) {
        return false;
    }
    control::ring();
    for _ in 0..TURNS {
        if recording().is_some() || !counts::is_on() {
            break;
        }
        // Another thread is at it, or at a command, and may have lost its core.
        std::thread::sleep(TURN);
    }
    counts::is_on()
}

/// What follows on a recording that was begun by a command, or if none can: the statistics go on, or nothing is recorded.
fn begin_other() {
    if counts::is_on() {
        process::count(Sleep::Told);
    }
    if !counts::is_on() {
        wish_no_more();
    }
}

#[cold]
#[inline(never)]
fn start() -> Option<&'static Recording> {
    // Else another thread is at it, or at a command.
    if control::claim() {
        if current().is_none() {
            start_alone();
        }
        control::leave();
    }
    current()
}

fn start_alone() {
    store::leave_parents();
    let pid = store::process();
    match OPTIONS.get() {
        // If it fails, it is not tried again.
        Some(options) if STARTED_BY.swap(pid, Relaxed) != pid => {
            process::start(options, "ondeck", Sleep::Told, Source::Program);
        }
        // The child of a process that is recorded by command.
        None if !control::was_obeyed_here() => begin_other(),
        _ if counts::is_on() => begin_other(),
        _ => {}
    }
}

// -- The table --------------------------------------------------------------------------------------------------------

struct Place {
    address: AtomicU64,
    marks: Marks,
}

const N_PLACES: usize = 1 << 14;
/// Marks know which process they are of, so what a parent has left does no harm.
static PLACES: [Place; N_PLACES] = [const { Place { address: AtomicU64::new(0), marks: Marks::new() } }; N_PLACES];

/// The marks of a lock that has been looked at.
fn find(address: u64) -> Option<&'static Marks> {
    let mut places = near(&PLACES, address).map(|place| (place, place.address.load(Acquire)));
    let (place, _) = places.find(|(_, found)| *found == address || *found == 0).filter(|(_, found)| *found != 0)?;
    Some(&place.marks)
}

/// The lock at that address is destroyed: the number that it had. What comes to be there is another lock.
pub(super) fn forget(recording: &Recording, address: u64) -> u32 {
    let Some(marks) = find(address) else { return NONE };
    let number = destroyed::known(recording, marks, address);
    marks.tag.store(0, Relaxed);
    number
}

/// The marks of a lock, made if there are none. `None` if there is no room.
fn marks(recording: &Recording, address: u64) -> Option<&'static Marks> {
    for place in near(&PLACES, address) {
        let found = match place.address.load(Acquire) {
            0 => place.address.compare_exchange(0, address, Release, Acquire).err().unwrap_or(address),
            found => found,
        };
        if found == address {
            return Some(&place.marks);
        }
    }
    instead(recording, address)
}

/// The same where all places are taken: those of a lock that nobody waits for and that was not used for a while. A thread that
/// begins to wait for that lock meanwhile has marks that are no more its own, so nobody is charged for that wait.
fn instead(recording: &Recording, address: u64) -> Option<&'static Marks> {
    locks::want_places(recording);
    // The address first: with it goes what was found.
    let mut places = near(&PLACES, address).map(|place| (place, place.address.load(Acquire)));
    let is_spare = |(place, before): &(&Place, u64)| {
        locks::is_spare(recording, place.marks.tag.load(Acquire) >> Tag::NUMBER_AT, *before)
    };
    if let Some((place, before)) = places.find(is_spare) {
        if place.address.compare_exchange(before, address, AcqRel, Relaxed).is_ok() {
            place.marks.tag.store(0, Relaxed);
            return Some(&place.marks);
        }
    }
    recording.count_dropped(&recording.dropped_locks);
    None
}

/// The marks of a lock that has no room for them, in a process that a library records. `None` if nothing is recorded.
pub fn marks_of(address: u64) -> Option<&'static Marks> {
    marks(current()?, address)
}

// -- What the lock tells ----------------------------------------------------------------------------------------------

/// As a hold has it: 0 where it is not known. A lock may begin to count anew from 0 during a hold, so that tells nothing either.
fn known(turn: Option<u64>) -> u64 {
    turn.unwrap_or(0)
}

/// Enters the recorder from the lock's own slow paths. To be called in a function that is not put into its callers, which
/// then is the innermost that no stack shows. Never unwinds: the locks' callers rest on that, and a recorder that panics has a
/// fault. The process ends then, after the panic's own message.
#[inline(always)]
pub fn within<T>(act: impl FnOnce() -> T) -> T {
    let here = 0_u8;
    let entry = &own().entry;
    let before = entry.replace((&raw const here) as u64);
    let no_unwinding = AbortOnUnwind;
    let result = act();
    core::mem::forget(no_unwinding);
    entry.set(before);
    // In the frame until the end.
    core::hint::black_box(&here);
    result
}

struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    #[cold]
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// Counts an acquisition: whether it is to be looked at, by [`taken`].
#[inline(always)]
pub fn is_due() -> bool {
    let holds = &own().holds;
    let left = holds.left();
    if left > 1 {
        holds.leave(left - 1);
    }
    left <= 1
}

/// Whether the calling thread remembers holds, of any lock, or all are to be told: each acquire and release is to be told then.
#[inline(always)]
pub fn remembers() -> bool {
    !own().holds.is_empty() || lock_order::tells_order()
}

/// Notes the order in which the lock at that address was acquired, by that stack.
fn tell_order(recording: &Recording, address: u64, stack: u32, is_shared: bool) {
    if let Some(lock) = marks(recording, address).and_then(|marks| marks.lock(recording, address)) {
        lock_order::taken(recording, lock, stack, is_shared);
    }
}

/// The recording of an acquisition that is looked at. If `was_free`, what the thread remembers of that lock is of holds that
/// another one has ended.
fn begin_hold(address: u64, is_due: bool, was_free: bool) -> Option<&'static Recording> {
    /// Acquisitions of a process that cannot record until it looks again whether it can.
    const AGAIN_AFTER: u32 = 10_000;
    let here = own();
    let recording = recording();
    while was_free && here.holds.take(recording, address).is_some() {}
    match recording {
        Some(recording) => {
            here.again.set((0, 0));
            recording.note_lock();
        }
        None if is_due => here.holds.leave(AGAIN_AFTER),
        None => {}
    }
    recording
}

/// The stack of an acquisition that is looked at. `None` if there is no room to count it.
fn stack_of_hold(recording: &Recording, address: u64) -> Option<u32> {
    // Its place is that where it is taken. Before the hold is timed.
    let is_placed = || marks(recording, address).and_then(|marks| marks.number(recording, address)).is_some();
    if counts::is_on() && !is_placed() {
        return None;
    }
    Some(if lock_order::tells_order() { walk::stack(recording) } else { walk::stack_of_sample(recording) })
}

/// The calling thread has acquired the lock at that address, without waiting; `is_due` as [`is_due`] has said.
pub fn taken(address: u64, turn: Option<u64>, is_due: bool, is_contended: bool) {
    let Some(recording) = begin_hold(address, is_due, true) else { return };
    if is_contended {
        if let Some(marks) = find(address) {
            marks.found_bare(recording, address);
        }
    }
    let is_timed = is_due && own().holds.count(recording);
    if is_timed || lock_order::tells_order() {
        let Some(stack) = stack_of_hold(recording, address) else { return };
        if is_timed {
            own().holds.remember(Hold::new(recording, address, known(turn), stack, true));
        }
        if lock_order::tells_order() {
            tell_order(recording, address, stack, false);
        }
    }
}

/// The calling thread begins to wait for the lock at that address. `None` if that cannot be recorded.
pub fn wait(address: u64) -> Option<Wait<'static>> {
    let recording = recording()?;
    marks(recording, address)?.begin_to_wait(recording, address, false)
}

/// A wait for the lock at that address is over: the calling thread has it, and it is at that turn, or has given up.
pub fn waited(wait: &Wait<'_>, has_it: bool, address: u64, turn: Option<u64>) {
    let Some(recording) = wait.recording() else { return };
    wait.write_down(recording, has_it);
    if !has_it {
        return;
    }
    recording.note_lock();
    let here = own();
    here.again.set((0, 0));
    here.holds.take(Some(recording), address);
    let stack = here.holds.got(recording, wait.stack.get(), Hold::new(recording, address, known(turn), NONE, false));
    if lock_order::tells_order() {
        tell_order(recording, address, stack, false);
    }
}

/// The calling thread is about to release the lock at that address, which is at that turn. What is to be done after that is
/// in the answer; the lock may be gone by then.
pub fn release(address: u64, turn: Option<u64>, is_contended: bool) -> Option<PendingRelease> {
    let number = || {
        let recording = current()?;
        find(address).map(|marks| destroyed::known(recording, marks, address))
    };
    end_hold(address, known(turn), is_contended, number, |_, _, _| true)
}

/// The same of any lock. If its number is known, it is had alone; `is_charged` says whether what is asked for is this hold's.
fn end_hold(
    address: u64,
    turn: u64,
    is_contended: bool,
    number: impl Fn() -> Option<u32>,
    is_charged: impl Fn(Option<Hold>, &Lock, u64) -> bool,
) -> Option<PendingRelease> {
    let recording = current();
    let hold = own().holds.take(recording, address);
    let recording = recording?;
    if lock_order::tells_order() {
        lock_order::released(recording, address, number().unwrap_or(NONE));
    }
    let hold = hold.filter(|hold| hold.is_of(turn));
    let marks = match hold {
        Some(_) => marks(recording, address),
        None if is_contended => find(address),
        None => None,
    };
    marks?.release_bare(recording, address, hold, |lock, now| is_charged(hold, lock, now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_recorder_that_panics_ends_the_process() {
        use std::os::unix::process::ExitStatusExt;
        const CASE: &str = "ONDECK_RECORD_PANICS";
        const NAME: &str = "hooks::bare::tests::a_recorder_that_panics_ends_the_process";
        if std::env::var_os(CASE).is_some() {
            let came_out = catch_unwind(AssertUnwindSafe(|| within(|| panic!("a fault of the recorder"))));
            panic!("it came out: {came_out:?}");
        }
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let output = command.args(["--exact", NAME, "--nocapture"]).env(CASE, "1").output().unwrap();
        let text = std::string::String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{text}");
        assert!(text.contains("a fault of the recorder") && !text.contains("it came out"), "{text}");
    }
}
