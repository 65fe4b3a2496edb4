//! Orders from outside: an observer has this process begin to record, and end it, while it runs. `hooks` obeys; the observer is
//! `ondeck profile --pid`.
//!
//! # How a command comes
//! The observer has the right to write this process's memory. It finds [`Control`] by an ELF note that tells where that is,
//! writes what is to be recorded, then the command, and then *rings*: it writes 1 into a byte at which each operation of a lock
//! looks anyway. So it costs nothing where nobody gives a command. The next thread that comes along obeys, and all others go
//! on meanwhile.
//!
//! | who | does |
//! |---|---|
//! | observer | makes the file for the recording, with its length, the process, its parent and its program in it |
//! | the same | writes its number into `observer`, if the one there is 0 or beats no more; reads it again a while later |
//! | the same | clears `answer`, writes `options`, then `command`, then rings |
//! | one thread | takes the command, alone, answers [`answer::UNDER_WAY`], does it, and answers again |
//! | the library | stops the ringing: its locks record from there on, or no more |
//! | observer | reads `answer`; beats while the recording goes on |
//!
//! Each write of the observer is a system call, and the one that rings is of one byte, which has nothing else in it. It rings
//! again until it is answered: a process stops the bell if it finds no command yet, or is not prepared. A command to begin that
//! nobody takes is taken back: by 0 in `command`, and if the answer is still 0 a while later, in the byte. One to end stays.
//! The command names its process: a child that is forked meanwhile inherits all this, and is not meant.
//!
//! # What the kernel is asked for
//! The process may run under a filter of system calls that was there when it began ([`filters`]). So what a command has it do is
//! what the loader has done there: `openat`, `mmap` and `close` for the file, and what locks ask for in any case. The process that has
//! closed another filter since then gets no command. If it closes one while it is recorded, the observer says so in `is_sealed`.
//!
//! # What was there before
//! A lock that is held as a recording begins has no known holder: its hold is charged to the stack that releases it. A wait
//! that is under way is not recorded. As a recording ends, threads are inside of it: what they write goes into its mapping, which
//! stays. Each wait and hold has the number of its recording, and tells nothing to another one.
//!
//! # Two observers
//! The number is read and written by system calls, so two observers may each find 0 there. The later one to write is the one: the other
//! finds that as it reads again, or, if it had lost its core, while it records.
//!
//! # An observer that dies
//! It beats twice a second. Who writes a sample looks once a second whether it has. If it has not for some seconds, the recording
//! ends, and its file is removed, with the directory. One that only stood still has the file open, and reads there what was
//! recorded until then. A process whose locks are not used writes nothing, so nobody need look.

use crate::layout::MAGIC;
use crate::options::RecordOptions;
use crate::{filters, store};
use core::cell::UnsafeCell;
use core::sync::atomic::{
    AtomicU8, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// What an observer writes, and is answered. Zeros at first.
#[repr(C)]
#[derive(Debug)]
pub struct Control {
    /// Its own address, once there is a bell: a copy of the file that this is in, mapped for another purpose, has none.
    pub here: AtomicU64,
    /// The process that is meant, by the number that it has for itself.
    pub process: AtomicU32,
    /// Of [`command`].
    pub command: AtomicU32,
    /// Of [`answer`].
    pub answer: AtomicU32,
    /// A number of the observer's own; 0 if there is none. One that is dead may have left its own, and the child of a fork has
    /// its parent's: neither beats.
    pub observer: AtomicU64,
    /// Another number each time the observer shows that it is there.
    pub beats: AtomicU64,
    /// The addresses of bytes at which each operation of some locks looks; 0 where there is none.
    pub bells: [AtomicU64; Control::BELLS],
    /// What is to be recorded. Written before the command, and read by who has taken that.
    pub options: UnsafeCell<RecordOptions>,
    /// How many [`filters`] of system calls the process was under when it first [listened](listen), and one more; 0 if that is
    /// not known.
    pub filters: AtomicU32,
    /// 1 if no call may be made of which it is not known that a filter lets it pass: then files are not removed.
    pub is_sealed: AtomicU32,
    /// The number in the name of the file that is made for this recorder, and one more: a process may have several. 0 if the
    /// process is to make one.
    pub file: AtomicU32,
    /// What was refused, of [`refused`], and in the lower half the error; with [`answer::NO_FILE`].
    pub refused: AtomicU64,
}

// SAFETY: what is no atomic is read by the thread that has taken the command only, and written from outside before that.
unsafe impl Sync for Control {}

impl Control {
    /// Most bells.
    pub const BELLS: usize = 4;
    /// The kind of the ELF note, by the name `ondeck`, that tells where it is. Its content is [`MAGIC`], and in 8 bytes how far
    /// behind these it lies.
    pub const NOTE: u32 = 2;
}

/// What an observer wants.
pub mod command {
    /// Nothing.
    pub const NOTHING: u32 = 0;
    /// That a recording begins.
    pub const BEGIN: u32 = 1;
    /// That it ends.
    pub const END: u32 = 2;
    /// That it ends and nobody will read it: the observer has read what is there, or seems to be gone. Then it is the process's own
    /// command.
    pub const ABANDON: u32 = 3;
}

/// What came of a command.
pub mod answer {
    /// Nobody has taken it.
    pub const NONE: u32 = 0;
    /// A thread has.
    pub const UNDER_WAY: u32 = 1;
    /// The recording has begun.
    pub const BEGUN: u32 = 2;
    /// It has ended.
    pub const ENDED: u32 = 3;
    /// A file could not be made.
    pub const NO_FILE: u32 = 4;
    /// The process is recorded already, by who has started it.
    pub const RECORDED: u32 = 5;
    /// Its locks cannot be recorded.
    pub const OTHER_LOCK: u32 = 6;
}

/// What of a recording was refused.
pub mod refused {
    /// To open its file.
    pub const OPENAT: u32 = 1;
    /// To map it.
    pub const MMAP: u32 = 2;
    /// Memory for its beginning.
    pub const MEMORY: u32 = 3;
}

core::arch::global_asm!(
    ".pushsection .bss.ondeck_record_control,\"aw\",@nobits",
    ".balign 16",
    ".hidden ondeck_record_control",
    ".globl ondeck_record_control",
    ".type ondeck_record_control, @object",
    ".size ondeck_record_control, {size}",
    "ondeck_record_control: .zero {size}",
    ".popsection",
    ".pushsection .note.ondeck.control,\"a\",@note",
    ".balign 4",
    ".long 7, 16, {kind}",
    ".asciz \"ondeck\"",
    ".byte 0",
    ".quad {magic}",
    ".quad ondeck_record_control - .",
    ".popsection",
    size = const size_of::<Control>(),
    kind = const Control::NOTE,
    magic = const MAGIC,
);

/// That of this process.
pub fn control() -> &'static Control {
    unsafe extern "C" {
        static ondeck_record_control: Control;
    }
    // SAFETY: zeros are a value of it, and all that is written is a value of its field.
    unsafe { &ondeck_record_control }
}

/// Threads learn of commands by a 1 in the byte at that address, which stays. More than [`Control::BELLS`] are ignored.
pub fn listen(address: u64) {
    let control = control();
    // A child has what its parent has found.
    if control.here.load(Relaxed) == 0 {
        let (n_filters, process) = filters::of_this_process();
        control.filters.store(n_filters.map_or(0, |n| n.saturating_add(1)), Relaxed);
        if store::wipe_in_children() {
            store::keep_process(process);
        }
    }
    if let Some(bell) = control.bells.iter().find(|bell| bell.load(Relaxed) == 0) {
        bell.store(address, Release);
    }
    control.here.store((&raw const *control) as u64, Release);
}

/// Whether a command is there.
#[inline(always)]
pub fn has_come() -> bool {
    control().command.load(Relaxed) != command::NOTHING
}

/// The process of which a thread obeys; 0 if none does. A child of a fork may find its parent's.
static OBEYS: AtomicU32 = AtomicU32::new(0);

/// The process that has taken the last command.
static OBEYED_BY: AtomicU32 = AtomicU32::new(0);

/// Whether this process has taken one, and not its parent.
pub(crate) fn was_obeyed_here() -> bool {
    OBEYED_BY.load(Relaxed) == store::process()
}

/// The command that has come, which the calling thread takes: it is alone at it until it [answers](answer).
pub(crate) fn take() -> u32 {
    let control = control();
    // Most who look find none, and need not write.
    if !has_come() {
        return command::NOTHING;
    }
    if control.process.load(Relaxed) != store::process() || !claim() {
        return command::NOTHING;
    }
    let taken = control.command.swap(command::NOTHING, AcqRel);
    match taken {
        command::NOTHING => leave(),
        _ => {
            OBEYED_BY.store(store::process(), Relaxed);
            control.answer.store(answer::UNDER_WAY, Relaxed);
        }
    }
    taken
}

/// Has the calling thread begin and end recordings, alone, until it [leaves](leave). False if another thread does. Never waits.
pub(crate) fn claim() -> bool {
    let (here, found) = (store::process(), OBEYS.load(Relaxed));
    found != here && OBEYS.compare_exchange(found, here, Acquire, Relaxed).is_ok()
}

/// Another thread may.
pub(crate) fn leave() {
    OBEYS.store(0, Release);
}

/// What came of the command that the calling thread has taken.
pub(crate) fn answer(what: u32) {
    control().answer.store(what, Release);
    leave();
}

/// Something of [`refused`] was refused, with that error.
pub(crate) fn refuse(what: u32, error: libc::c_int) {
    control().refused.store(u64::from(what) << 32 | u64::from(error as u32), Relaxed);
}

/// Whether files are to be left where they are.
pub(crate) fn is_sealed() -> bool {
    control().is_sealed.load(Relaxed) != 0
}

/// What the recording was begun with. The next command may have written other options into [`Control`].
struct BegunWith(UnsafeCell<RecordOptions>);

// SAFETY: used by the thread that has taken a command, which is alone.
unsafe impl Sync for BegunWith {}

static BEGUN_WITH: BegunWith = BegunWith(UnsafeCell::new(RecordOptions::NONE));

/// By the thread that has taken a command.
pub(crate) fn begun_with() -> &'static RecordOptions {
    // SAFETY: it is alone, and keeps no reference until another one is.
    unsafe { &*BEGUN_WITH.0.get() }
}

/// The same, as the command wants it from now on. In its place, as the thread may have little stack.
pub(crate) fn begin_with() -> &'static RecordOptions {
    let (wanted, place) = (control().options.get(), BEGUN_WITH.0.get());
    // SAFETY: written before the command; numbers, of which any is a value.
    unsafe { core::ptr::copy_nonoverlapping(wanted, place, 1) };
    // SAFETY: the thread that has taken a command is alone.
    unsafe { &mut *place }.make_possible();
    begun_with()
}

// -- Whether the observer is there --------------------------------------------------------------------------------------

const EACH_NS: u64 = 1_000_000_000;
/// Looks in a row that find no beat until it is taken for gone.
const MOST_MISSED: u32 = 5;

/// When to look next.
static LOOK_AT: AtomicU64 = AtomicU64::new(u64::MAX);
static LAST_BEATS: AtomicU64 = AtomicU64::new(0);
static N_MISSED: AtomicU32 = AtomicU32::new(0);

/// A recording begins; whether an observer has commanded it.
pub(crate) fn begin(is_commanded: bool, now: u64) {
    LAST_BEATS.store(control().beats.load(Relaxed), Relaxed);
    N_MISSED.store(0, Relaxed);
    LOOK_AT.store(if is_commanded { now + EACH_NS } else { u64::MAX }, Relaxed);
}

/// Whether the recording is one that an observer has commanded.
pub(crate) fn is_commanded() -> bool {
    LOOK_AT.load(Relaxed) != u64::MAX
}

/// A sample is written now.
#[inline(always)]
pub(crate) fn look_for_observer(now: u64) {
    if now >= LOOK_AT.load(Relaxed) {
        look_now(now);
    }
}

#[cold]
#[inline(never)]
fn look_now(now: u64) {
    let due = LOOK_AT.load(Relaxed);
    if now < due || LOOK_AT.compare_exchange(due, now + EACH_NS, Relaxed, Relaxed).is_err() {
        return;
    }
    let control = control();
    let beats = control.beats.load(Relaxed);
    if LAST_BEATS.swap(beats, Relaxed) != beats {
        N_MISSED.store(0, Relaxed);
    } else if N_MISSED.fetch_add(1, Relaxed) + 1 >= MOST_MISSED {
        // A command of the observer's, which then lives, goes before.
        if control.command.compare_exchange(command::NOTHING, command::ABANDON, AcqRel, Relaxed).is_ok() {
            ring();
        }
    }
}

/// Has all threads look.
pub(crate) fn ring() {
    bytes().for_each(|byte| byte.store(1, Release));
}

/// The bytes of the bells.
pub(crate) fn bytes() -> impl Iterator<Item = &'static AtomicU8> {
    let address = |bell: &AtomicU64| bell.load(Acquire) as *const AtomicU8;
    // SAFETY: null, or a byte of an atomic of the program's that stays.
    control().bells.iter().map_while(move |bell| unsafe { address(bell).as_ref() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::alone;
    use ondeck_core::kernel;

    #[test]
    fn a_command_is_taken_once() {
        let _alone = alone();
        control().command.store(command::BEGIN, Relaxed);
        control().process.store(0, Relaxed);
        assert_eq!(take(), command::NOTHING, "another process is meant");
        control().process.store(kernel::process(), Relaxed);
        let takers: Vec<_> = (0..4).map(|_| std::thread::spawn(take)).collect();
        let taken: Vec<u32> = takers.into_iter().map(|taker| taker.join().unwrap()).collect();
        assert_eq!(taken.iter().filter(|command| **command == command::BEGIN).count(), 1, "{taken:?}");
        assert_eq!(control().answer.load(Relaxed), answer::UNDER_WAY);
        // Another one waits until that is done.
        control().command.store(command::END, Relaxed);
        assert_eq!(take(), command::NOTHING);
        answer(answer::BEGUN);
        assert_eq!(take(), command::END);
        answer(answer::ENDED);
    }

    #[test]
    fn an_observer_that_does_not_beat_for_some_seconds_is_gone() {
        static BYTE: AtomicU8 = AtomicU8::new(0);
        let _alone = alone();
        let control = control();
        listen((&raw const BYTE) as u64);
        control.process.store(kernel::process(), Relaxed);
        begin(true, 0);
        let seconds = |n: u64| (1..=n).map(|second| second * EACH_NS);
        let gone = || control.command.load(Relaxed) == command::ABANDON;
        for now in seconds(20) {
            control.beats.fetch_add(1, Relaxed);
            look_for_observer(now);
            assert!(!gone());
        }
        // Many samples of a second are one look.
        (0..100).for_each(|_| look_for_observer(20 * EACH_NS + 1));
        for now in seconds(4) {
            look_for_observer(20 * EACH_NS + now);
            assert!(!gone() && BYTE.load(Relaxed) == 0);
        }
        look_for_observer(25 * EACH_NS);
        assert!(gone() && BYTE.load(Relaxed) == 1);
        assert_eq!(take(), command::ABANDON);
        answer(answer::ENDED);
        begin(false, 0);
        look_for_observer(u64::MAX - 1);
        assert_eq!((take(), is_commanded()), (command::NOTHING, false));
        control.bells[0].store(0, Relaxed);
    }
}
