//! Restartable sequences of Linux on x86-64, and `membarrier`, which ends them.
//!
//! glibc registers an area of each thread with the kernel since 2.35, unless a tunable or the kernel says no. What a thread
//! runs at is in there: the address of a *descriptor*, which says where a sequence begins and ends and where to go if it is
//! ended. Each sequence writes that address before it begins, and zero when it is over, so that a library that is unloaded
//! leaves nothing behind. Other users of the area in the same thread, as allocators are, write their own address there when
//! theirs begin; no two are under way at once, as a signal ends the one that it interrupts.
//!
//! # Argument
//! `store` writes only if nothing has happened between its comparison and its store: the kernel looks at the descriptor
//! whenever it returns to a thread that had lost its core, or to which it delivers a signal, and `membarrier` makes it look on
//! every core that runs a thread of this process. Who has no core has lost it. So when [`expel`] returns, each sequence
//! that had compared before is over: its store is visible, as the interrupt drains the core's writes, or will not come. A
//! store on x86-64 has Release ordering by itself.
//!
//! # Where it is not
//! Without glibc's area, if the kernel refuses to register the process for `membarrier` (old, gVisor, a filter), and under the
//! thread sanitizer, which would not see the store: then [`can_expel`] is false from the start. A filter that is installed
//! later makes [`expel`] fail, and so does [`forgo`], which does not ask a filter that may end the process. `can_expel` is false
//! from then on: who waits for a lock that is still quiet then waits for its next release. A thread of another copy of this
//! code, which has not been allowed, compares and stores nothing.
//!
//! The threads are those of the C library. One that `clone` has made without it has no area of its own, and the kernel does not
//! look after it: if it releases a quiet lock at the very moment at which another thread asks something, that may be lost.
//! The C library's own locks do not work in such threads either, nor in a child of `vfork`. The same goes for a thread that a
//! debugger has stopped between the two steps, and lets call a function.
//!
//! # Sources
//! `Documentation` of Linux for `rseq`, `membarrier(2)`. The use of both for fences that only the slow side pays: `liburcu`,
//! tcmalloc.

pub(in super::super) mod counters;

use crate::platform::hardware::clock;
use crate::platform::kernel;
use core::arch::asm;
use core::ffi::CStr;
use core::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

pub(in super::super) const EXIST: bool = true;

/// From the thread pointer to the area. 0, where the thread's own block begins, as long as nothing may be used.
static OFFSET: AtomicIsize = AtomicIsize::new(0);
/// When sequences were last ended, in ticks; 0: never.
static LAST_EXPULSION: AtomicU64 = AtomicU64::new(0);

const NEVER_AGAIN: u64 = u64::MAX;

/// For so long after an expulsion no lock begins to rely on another one.
const PAUSE_NS: u64 = 1_000_000;

/// Commands of `membarrier`, which the crate `libc` has not.
const EXPEL: usize = 1 << 7;
const REGISTER: usize = 1 << 8;

/// From here on nobody relies on an expulsion, and the system is asked for none.
pub(in super::super) fn forgo() {
    // While an expulsion is still to be had.
    counters::forgo();
    LAST_EXPULSION.store(NEVER_AGAIN, Relaxed);
}

/// Whether no lock is to become quiet.
static IS_LOUD: AtomicBool = AtomicBool::new(false);

/// No lock becomes quiet from here on.
pub(in super::super) fn stay_loud() {
    IS_LOUD.store(true, Relaxed);
}

fn is_forgone() -> bool {
    LAST_EXPULSION.load(Relaxed) == NEVER_AGAIN
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        let area = if is_forgone() { None } else { area() };
        if let Some(offset) = area.filter(|_| !has_thread_sanitizer() && register()) {
            OFFSET.store(offset, Release);
        }
    }
    begin
};

/// Where the area is, if threads have one.
fn area() -> Option<isize> {
    let size = symbol(c"__rseq_size")?.cast::<u32>();
    let offset = symbol(c"__rseq_offset")?.cast::<isize>();
    // SAFETY: variables of the C library, of these types, which it has written before it calls any constructor.
    let is_registered = unsafe { *size } > 0;
    // SAFETY: as above.
    let offset = unsafe { *offset };
    is_registered.then_some(offset).filter(|&offset| offset != 0)
}

fn symbol(name: &CStr) -> Option<*const u8> {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found.cast())
}

/// By its name only: a reference, even a weak one, would make each program look as if it were built with it. rustc does not export
/// the name, which `-Clink-arg=-Wl,--export-dynamic-symbol=__tsan_init` mends.
fn has_thread_sanitizer() -> bool {
    symbol(c"__tsan_init").is_some()
}

/// Tells the kernel that this process will ask. A child of a fork has told by that.
fn register() -> bool {
    membarrier(REGISTER)
}

fn membarrier(command: usize) -> bool {
    // SAFETY: no memory.
    unsafe { kernel::call(libc::SYS_membarrier, [command, 0, 0]) }.is_ok()
}

pub(in super::super) fn can_expel() -> bool {
    OFFSET.load(Acquire) != 0
        && !IS_LOUD.load(Relaxed)
        && match LAST_EXPULSION.load(Relaxed) {
            // Without a look at the clock, whose rate has to be found first.
            0 => true,
            NEVER_AGAIN => false,
            last => clock::ticks().saturating_sub(last) > clock::ns_to_ticks(PAUSE_NS),
        }
}

pub(in super::super) fn expel() -> bool {
    if is_forgone() {
        return false;
    }
    let all = || membarrier(EXPEL);
    let is_done = all() || register() && all();
    // What is refused or forgone once stays so.
    LAST_EXPULSION.fetch_max(if is_done { clock::ticks() } else { NEVER_AGAIN }, Relaxed);
    is_done
}

/// The comparison and the store are of the whole word, as the locked instructions are that follow: a core passes on a store that
/// it has not made yet only to a load of the same bytes. On Zen 3, a store of one byte made a pair cost more than two locked
/// instructions.
///
/// # Safety
/// [`can_expel`] has been true in this process.
#[inline(always)]
pub(in super::super) unsafe fn store(word: &AtomicU64, expected: u64, new: u64) -> bool {
    let offset = OFFSET.load(Relaxed);
    // The word may be of another copy of this code, that has an area to write to.
    if offset == 0 {
        return false;
    }
    let is_stored: u32;
    // SAFETY: the area is the calling thread's own, and the descriptor is written as the kernel wants it: version and flags of
    // zero, begin, length, and where to go, before which the signature stands that glibc has registered.
    unsafe {
        asm!(
            ".pushsection __rseq_cs, \"aw\", @progbits",
            ".balign 32",
            "2:",
            ".long 0, 0",
            ".quad 3f, 4f - 3f, 5f",
            ".popsection",
            "lea {descriptor}, [rip + 2b]",
            "xor {is_stored:e}, {is_stored:e}",
            "mov qword ptr fs:[{offset} + 8], {descriptor}",
            "3:",
            "cmp qword ptr [{word}], {expected}",
            "jne 5f",
            "mov qword ptr [{word}], {new}",
            "4:",
            "inc {is_stored:e}",
            // `mov eax, 0x53053053`: where a sequence goes on that was ended, the kernel wants these four bytes before. Here,
            // and not beside the function, a signal handler can unwind from there.
            ".byte 0xb8",
            ".long 0x53053053",
            "5:",
            "mov qword ptr fs:[{offset} + 8], 0",
            word = in(reg) word.as_ptr(),
            expected = in(reg) expected,
            new = in(reg) new,
            offset = in(reg) offset,
            descriptor = out(reg) _,
            is_stored = out(reg) is_stored,
            out("eax") _,
            options(nostack),
        );
    }
    is_stored != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    /// Whether there are sequences here, which the first expulsion of a process does not change.
    fn exist() -> bool {
        OFFSET.load(Relaxed) != 0
    }

    fn try_store(word: &AtomicU64, expected: u64, new: u64) -> bool {
        // SAFETY: there are sequences.
        unsafe { store(word, expected, new) }
    }

    #[test]
    fn a_store_needs_the_expected_word() {
        if !exist() {
            return;
        }
        let word = AtomicU64::new(7);
        assert!(!try_store(&word, 6, 1));
        assert_eq!(word.load(Relaxed), 7);
        // A loss of the core ends one; that all of them are ended means that none works.
        assert!((0..1_000).any(|_| try_store(&word, 7, 5)));
        assert_eq!(word.load(Relaxed), 5);
    }

    /// What is still there after an expulsion stays, as every sequence sees it from then on.
    #[test]
    fn nothing_is_stored_over_what_was_written_before_an_expulsion() {
        if !exist() {
            return;
        }
        let (word, is_over) = (AtomicU64::new(1), AtomicBool::new(false));
        let (mut n_kept, mut is_kept) = (0, true);
        let n_stored = std::thread::scope(|scope| {
            let storing = scope.spawn(|| {
                let mut n_stored = 0_u64;
                while !is_over.load(Relaxed) {
                    n_stored += u64::from(try_store(&word, 1, 1));
                }
                n_stored
            });
            let until = Instant::now() + Duration::from_millis(200);
            while Instant::now() < until {
                word.store(2, Relaxed);
                assert!(expel());
                if word.load(Relaxed) == 2 {
                    n_kept += 1;
                    is_kept &= (0..100).all(|_| word.load(Relaxed) == 2);
                }
                word.store(1, Relaxed);
                std::thread::sleep(Duration::from_micros(20));
            }
            is_over.store(true, Relaxed);
            storing.join().unwrap()
        });
        assert!(is_kept, "stored over after the expulsion");
        assert!(n_stored > 0 && n_kept > 0);
    }

    #[test]
    fn after_an_expulsion_nobody_relies_on_another_for_a_while() {
        if !exist() {
            return;
        }
        let began = Instant::now();
        assert!(expel());
        let may = can_expel();
        assert!(!may || began.elapsed() >= Duration::from_nanos(PAUSE_NS));
        while !can_expel() {
            // Other tests expel, too.
            assert!(began.elapsed() < Duration::from_secs(10));
        }
    }
}
