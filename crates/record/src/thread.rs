//! What each thread has for itself: at an offset from its pointer that is fixed when the library is loaded. The compiler's own
//! thread-locals may allocate when they are first used in a library, and that may lock a mutex. All zeros at first.

use crate::account::Wait;
use core::cell::Cell;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use ondeck_core::kernel;

/// Of one thread.
#[repr(C)]
pub(crate) struct Own {
    /// State of its numbers by chance; 0 before the first.
    pub(crate) chance: Cell<u64>,
    /// Its number by the kernel, and above it that of its process: both are new in the child of a fork.
    pub(crate) id: Cell<u64>,
    /// Addresses of its stack that were found readable: from, to.
    pub(crate) stack: Cell<(u64, u64)>,
    /// What it waits for, if its lock tells what it does meanwhile.
    pub(crate) wait: Cell<*const Wait<'static>>,
    /// Threads that it has woken.
    pub(crate) woken: Cell<u64>,
    /// The address of a mutex that it is about to lock, and the stack from which, if that is walked before.
    pub(crate) ready: Cell<(u64, u64)>,
    /// Its count of acquisitions, and what it has of locks that have no room for marks, or that others may have meanwhile.
    pub(crate) holds: Holds,
    /// Its slot among those that wait, counted from 1; 0 before its first wait.
    pub(crate) slot: Cell<u32>,
    /// The condition variable that it has waited on last, and its count of acquisitions then; zeros if it has surely locked
    /// something since.
    pub(crate) again: Cell<(u64, u32)>,
    /// Notifications until the next that is looked at, and that one; 0 before the first.
    pub(crate) notices: Cell<u32>,
    /// Tries in vain until the next that is looked at, and that one; 0 before the first.
    pub(crate) tries: Cell<u32>,
    /// A place in the frame where the recorder was entered from the program that it is a part of; 0 outside, and in a
    /// library.
    pub(crate) entry: Cell<u64>,
}

/// A hold in progress. Zeros are none.
#[derive(Clone, Copy)]
pub(crate) struct Hold {
    /// Of the lock; 0 if there is none.
    pub(crate) address: u64,
    /// A number that the lock changes with each release; 0 where it does not know.
    pub(crate) turn: u64,
    /// When it began.
    pub(crate) from: u64,
    /// Whether its length is recorded.
    pub(crate) is_timed: bool,
    /// The stack that acquired the lock.
    pub(crate) stack: u32,
    /// The recording that the stack is of.
    pub(crate) generation: u32,
}

pub(crate) const N_HOLDS: usize = 8;

/// The holds of a thread, and its count of acquisitions. Zeros are none.
#[repr(C)]
pub(crate) struct Holds {
    /// Acquisitions until the next that is looked at, and that one; 0 before the first.
    pub(crate) left: Cell<u32>,
    /// How many holds it remembers, in the first places.
    pub(crate) n: Cell<u32>,
    pub(crate) list: [Cell<Hold>; N_HOLDS],
}

impl Holds {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.n.get() == 0
    }

    /// Acquisitions until the next that is looked at, and that one; 0 before the first.
    #[inline(always)]
    pub(crate) fn left(&self) -> u32 {
        self.left.get()
    }

    /// So many are left.
    #[inline(always)]
    pub(crate) fn leave(&self, left: u32) {
        self.left.set(left);
    }
}

/// The kernel's number of the calling thread, in a process of that number.
pub(crate) fn id(process: u32) -> u32 {
    let known = own().id.get();
    // Zeros are of no process.
    if (known >> 32) as u32 == process {
        return known as u32;
    }
    let ask = ASK.load(Relaxed);
    // SAFETY: stored by `ask_by`.
    let ask = (!ask.is_null()).then(|| unsafe { core::mem::transmute::<*mut (), fn() -> u32>(ask) });
    let id = ask.map_or_else(kernel::thread, |ask| ask());
    own().id.set(u64::from(process) << 32 | u64::from(id));
    id
}

/// Who tells a thread its number; the kernel if null.
static ASK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// From here on `ask` tells a thread its number, which may be had without the kernel.
pub fn ask_by(ask: fn() -> u32) {
    ASK.store(ask as *mut (), Relaxed);
}

core::arch::global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 16",
    ".hidden ondeck_record_own",
    ".globl ondeck_record_own",
    ".type ondeck_record_own, @object",
    ".size ondeck_record_own, {size}",
    "ondeck_record_own: .zero {size}",
    ".popsection",
    size = const size_of::<Own>(),
);

/// That of the calling thread.
#[inline(always)]
pub(crate) fn own() -> &'static Own {
    let place: *const Own;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: computes the address of the calling thread's own bytes.
    unsafe {
        core::arch::asm!(
            "mov {place}, qword ptr fs:[0]",
            "add {place}, qword ptr [rip + ondeck_record_own@GOTTPOFF]",
            place = out(reg) place,
            options(nostack, pure, readonly),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: computes the address of the calling thread's own bytes.
    unsafe {
        core::arch::asm!(
            "mrs {place}, tpidr_el0",
            "adrp {offset}, :gottprel:ondeck_record_own",
            "ldr {offset}, [{offset}, #:gottprel_lo12:ondeck_record_own]",
            "add {place}, {place}, {offset}",
            place = out(reg) place,
            offset = out(reg) _,
            options(nostack, pure, readonly),
        );
    }
    // SAFETY: zeros are a value of it, and the bytes are the thread's alone as long as it lives, which a reference from here
    // does not outlive: none is kept.
    unsafe { &*place }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_asked_for_a_number_once_in_a_process() {
        own().id.set(7 << 32 | 3);
        assert_eq!(id(7), 3);
        // SAFETY: always may be called.
        let asked = unsafe { libc::gettid() } as u32;
        assert_eq!(id(8), asked);
        assert_eq!(own().id.get(), 8 << 32 | u64::from(asked));
    }
}
