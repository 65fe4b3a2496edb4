//! Who the calling thread is, and whether it is the only one.

// All that a thread asks of its process.
use crate::real;
use crate::state as process;
use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ondeck_core::{Hardware, Platform as _, kernel};

// What a thread knows without asking: its number by the kernel, and the state of the process that it was asked in. The child
// of a fork has another state. Where the C library's mutexes are recorded, the state is kept with a difference, `BESIDE`, so
// that it is none of the flagship's.

/// The state of the process in which the calling thread's [number](known_id) was asked, see `state`; 0 if it was not.
#[inline(always)]
pub(crate) fn known_state() -> u32 {
    own::state()
}

/// The calling thread's number, as it was when it asked.
#[inline(always)]
pub(crate) fn known_id() -> u32 {
    own::id()
}

/// The kernel's number of the calling thread, and the state of the process, if it knows them, the process is prepared and
/// the flagship is the lock.
#[inline(always)]
pub(crate) fn id_in_ondeck() -> Option<(u32, u32)> {
    let (id, state) = (known_id(), known_state());
    (state == process::state() && id != 0).then_some((id, state))
}

/// The kernel's number of the calling thread, if it knows that in a process of that state, which is not 0.
#[inline(always)]
pub(crate) fn id_in(state: u32) -> Option<u32> {
    (known_state() == state).then(known_id)
}

/// The kernel's number of the calling thread, if it knows that, the process is prepared, and the C library's mutexes are
/// known and recorded.
#[inline(always)]
pub(crate) fn id_beside_known() -> Option<u32> {
    (known_state() ^ process::state() == process::BESIDE).then(known_id)
}

/// Asks for what [`id_beside_known`] tells from then on.
#[cold]
pub(crate) fn learn() {
    if process::records_known(process::state()) && id_beside_known().is_none() {
        ask();
    }
}

/// The kernel's number of the calling thread, as the C library keeps it in a mutex's owner.
#[inline(always)]
pub(crate) fn id() -> u32 {
    id_in_ondeck().map(|(id, _)| id).or_else(id_beside_known).unwrap_or_else(ask)
}

/// Asks the kernel. The answer is kept if the process is prepared, as it is wherever a lock is used.
#[cold]
fn ask() -> u32 {
    let id = number();
    let state = process::state();
    if process::is_ondeck() {
        own::set(state, id);
    } else if process::records_known(state) {
        own::set(state ^ process::BESIDE, id);
    }
    id
}

/// The kernel's number of the calling thread, as the C library remembers it: it writes it into a mutex that it locks. So no
/// system call is made that its own locks would not make; before it can be asked, the kernel is.
pub(crate) fn number() -> u32 {
    if !real::has_mutexes() {
        return kernel::thread();
    }
    const OWNER: usize = 1;
    let words = [const { AtomicU64::new(0) }; size_of::<libc::pthread_mutex_t>() / size_of::<u64>()];
    let mutex = (&raw const words).cast_mut().cast();
    // SAFETY: zeros are a free mutex of the C library, which nobody else knows.
    unsafe { real::pthread_mutex_lock(mutex) };
    let owner = words[OWNER].load(Relaxed) as u32;
    // SAFETY: locked above.
    unsafe { real::pthread_mutex_unlock(mutex) };
    // An unknown C library, or one that locks plain mutexes without a word.
    if owner == 0 { kernel::thread() } else { owner }
}

/// How many locks the calling thread has to read, each as often as it reads it.
#[inline(always)]
pub(crate) fn reads() -> u32 {
    own::reads()
}

#[inline(always)]
pub(crate) fn reads_one_more() {
    own::set_reads(own::reads().wrapping_add(1));
}

/// Some programs let another thread unlock, which then has had none.
#[inline(always)]
pub(crate) fn reads_one_less() {
    own::set_reads(own::reads().saturating_sub(1));
}

/// What the calling thread has set last, null at first: see `waits`.
pub(crate) fn once() -> *const c_void {
    own::once()
}

pub(crate) fn set_once(once: *const c_void) {
    own::set_once(once);
}

/// Another number for each thread that lives: the address of what it has for itself.
pub(crate) fn place() -> usize {
    Hardware::thread_id().get() as usize
}

unsafe extern "C" {
    /// Of the C library, since its version 2.32: not 0 while the process has one thread.
    static __libc_single_threaded: c_char;
}

/// Whether the process has no other thread, as the C library knows it. Then nobody can see the difference between an
/// atomic operation and a load and a store.
#[inline(always)]
pub(crate) fn is_alone() -> bool {
    // SAFETY: a byte that is written before the first thread is started, or after the last other one is gone.
    let is_alone = unsafe { __libc_single_threaded != 0 };
    if is_alone {
        seldom();
    }
    is_alone
}

/// Programs with locks have several threads: what one alone does instead lies apart, and is jumped to.
#[cold]
const fn seldom() {}

/// Some bytes of each thread, 0 at first, at an offset from its pointer that is fixed when the library is loaded. The
/// compiler's own thread-locals call a function for each look from a library, which costs as much as an atomic operation.
#[cfg(target_arch = "x86_64")]
mod own {
    use core::arch::{asm, global_asm};
    use core::ffi::c_void;

    global_asm!(
        ".pushsection .tbss,\"awT\",@nobits",
        ".balign 8",
        ".hidden ondeck_thread",
        ".globl ondeck_thread",
        ".type ondeck_thread, @object",
        ".size ondeck_thread, 24",
        "ondeck_thread: .zero 24",
        ".popsection",
    );

    #[inline(always)]
    fn offset() -> usize {
        let offset;
        // SAFETY: reads what the loader has written. It is the same for all threads, and stays.
        unsafe {
            asm!(
                "mov {offset}, qword ptr [rip + ondeck_thread@GOTTPOFF]",
                offset = out(reg) offset,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        offset
    }

    #[inline(always)]
    fn word<const AT: usize>() -> u32 {
        let value;
        // SAFETY: reads the calling thread's own bytes, which nobody else has.
        unsafe {
            asm!(
                "mov {value:e}, dword ptr fs:[{offset} + {at}]",
                value = out(reg) value,
                offset = in(reg) offset(),
                at = const AT,
                options(readonly, nostack, preserves_flags),
            );
        }
        value
    }

    #[inline(always)]
    pub(super) fn state() -> u32 {
        word::<4>()
    }

    #[inline(always)]
    pub(super) fn id() -> u32 {
        word::<0>()
    }

    #[inline(always)]
    pub(super) fn reads() -> u32 {
        word::<8>()
    }

    #[inline(always)]
    pub(super) fn set_reads(reads: u32) {
        // SAFETY: as below.
        unsafe {
            asm!(
                "mov dword ptr fs:[{offset} + 8], {reads:e}",
                reads = in(reg) reads,
                offset = in(reg) offset(),
                options(nostack, preserves_flags),
            );
        }
    }

    pub(super) fn once() -> *const c_void {
        let once;
        // SAFETY: as in `word`.
        unsafe {
            asm!(
                "mov {once}, qword ptr fs:[{offset} + 16]",
                once = out(reg) once,
                offset = in(reg) offset(),
                options(readonly, nostack, preserves_flags),
            );
        }
        once
    }

    pub(super) fn set_once(once: *const c_void) {
        // SAFETY: as below.
        unsafe {
            asm!(
                "mov qword ptr fs:[{offset} + 16], {once}",
                once = in(reg) once,
                offset = in(reg) offset(),
                options(nostack, preserves_flags),
            );
        }
    }

    pub(super) fn set(state: u32, id: u32) {
        let value = u64::from(state) << 32 | u64::from(id);
        // SAFETY: writes the calling thread's own bytes, which nobody else has.
        unsafe {
            asm!(
                "mov qword ptr fs:[{offset}], {value}",
                offset = in(reg) offset(),
                value = in(reg) value,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// Without a destructor, so that there is nothing to register, and it is there to the end.
#[cfg(not(target_arch = "x86_64"))]
mod own {
    use core::cell::Cell;
    use core::ffi::c_void;

    std::thread_local! {
        static OWN: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
        static READS: Cell<u32> = const { Cell::new(0) };
        static ONCE: Cell<*const c_void> = const { Cell::new(core::ptr::null()) };
    }

    pub(super) fn once() -> *const c_void {
        ONCE.get()
    }

    pub(super) fn set_once(once: *const c_void) {
        ONCE.set(once);
    }

    pub(super) fn reads() -> u32 {
        READS.get()
    }

    pub(super) fn set_reads(reads: u32) {
        READS.set(reads);
    }

    #[inline(always)]
    pub(super) fn state() -> u32 {
        OWN.get().0
    }

    #[inline(always)]
    pub(super) fn id() -> u32 {
        OWN.get().1
    }

    pub(super) fn set(state: u32, id: u32) {
        OWN.set((state, id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::tests::{in_child, set_state};
    use crate::state::{ANOTHER, GLIBC, GLIBC_KNOWN, ONDECK, RECORDED};

    fn asked() -> u32 {
        // SAFETY: always may be called.
        unsafe { libc::gettid() as u32 }
    }

    #[test]
    fn a_thread_with_the_flagship_asks_once() {
        in_child(|| {
            own::set(0, 0);
            set_state(ONDECK);
            assert_eq!(id_in_ondeck(), None);
            assert_eq!(id(), asked());
            assert_eq!(id_in_ondeck(), Some((asked(), ONDECK)));
            assert_eq!((id_in(ONDECK), id_in(ONDECK | RECORDED)), (Some(asked()), None));
            assert_eq!(id_beside_known(), None);
            assert_eq!(id(), asked());
        });
    }

    #[test]
    fn a_thread_beside_known_mutexes_asks_once() {
        in_child(|| {
            own::set(0, 0);
            set_state(GLIBC_KNOWN | RECORDED);
            assert_eq!(id_beside_known(), None);
            learn();
            assert_eq!(id_beside_known(), Some(asked()));
            assert_eq!(id_in_ondeck(), None);
            own::set(0, 0);
            assert_eq!(id(), asked());
            assert_eq!(id_beside_known(), Some(asked()));
            assert_eq!(id_in_ondeck(), None);
        });
    }

    #[test]
    fn with_other_locks_nothing_is_kept() {
        in_child(|| {
            for state in [GLIBC, GLIBC | RECORDED, GLIBC_KNOWN, ANOTHER] {
                own::set(0, 0);
                set_state(state);
                learn();
                assert_eq!(id(), asked());
                assert_eq!((id_in_ondeck(), id_beside_known()), (None, None), "{state}");
            }
        });
    }

    /// The child has another number, and what it remembers is the parent's.
    #[test]
    fn a_child_does_not_take_its_parents_number() {
        for state in [ONDECK, GLIBC_KNOWN | RECORDED] {
            in_child(|| {
                set_state(state);
                let parents = id();
                in_child(|| {
                    // Not prepared yet, and later another process.
                    assert_eq!((id_in_ondeck(), id_beside_known()), (None, None));
                    assert!(id() == asked() && id() != parents);
                    set_state(state + crate::state::ONE_FORK);
                    assert_eq!((id_in_ondeck(), id_beside_known()), (None, None));
                    assert!(id() == asked() && id() != parents);
                });
            });
        }
    }

    /// Nothing known looks like a process that is not prepared.
    #[test]
    fn who_has_not_asked_in_a_process_that_is_not_prepared_asks() {
        in_child(|| {
            own::set(0, 0);
            set_state(0);
            assert_eq!(id_in_ondeck(), None);
            assert_eq!(id(), asked());
        });
    }

    #[test]
    fn who_has_started_a_thread_is_not_alone() {
        std::thread::spawn(|| assert!(!is_alone())).join().unwrap();
    }
}
