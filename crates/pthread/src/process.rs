//! What holds for the whole process: which lock there is, and what a fork leaves behind.
//!
//! # Which lock
//! `ONDECK_LOCK` names it; the flagship if it is unset. It is read once, by whoever first touches a mutex: one that was
//! locked in one form must not be unlocked in another.
//!
//! # Fork
//! Only the thread that forks goes on in the child. But the words of the child's mutexes still tell of the parent's other
//! waiters: that one is on deck and awake, that others sleep on a list. Nobody would ever call anybody again. So each
//! waiter writes into a table of this process which mutex, and which condition variable, it waits for; and before the
//! child touches its first mutex, all that are in its copy of the table lose their waiters (`mutex::forget_waiters`,
//! `cond::forget_waiters`).
//!
//! A child's memory is no picture of one moment: pages are copied one after the other while the parent's other threads go
//! on. So that no waiter is in the copy of a word and not in that of the table, who has just written itself into the
//! table waits for the end of a fork that is under way ([`wait_for`], `forks`).
//!
//! How the child knows that it is one: [`STATE`] lies in a page that the kernel gives to a child as zeros. Each operation
//! looks at it for the lock's sake anyway. So it works for children of `clone` too, and no handler has to be the first of
//! all handlers of a fork. Where the kernel refuses such a page, a handler of the fork does the same.

mod forks;

use crate::family::{self, Operations};
use crate::{cond, die, mutex};
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{
    AtomicPtr, AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use ondeck_platform::{Hardware, Platform};

/// Nothing is known yet, or this is a child that has not looked yet.
const FRESH: u32 = 0;
/// The flagship.
const ONDECK: u32 = 1;
/// The one in [`OTHER`].
const ANOTHER: u32 = 2;
/// Somebody prepares.
const BUSY: u32 = 3;
/// These are the lower bits of a state; above them forks are counted.
const CHOICES: u32 = 3;
const ONE_FORK: u32 = 4;

const PAGE: usize = 4096;

/// Alone on its pages, which a child gets as zeros.
#[repr(C, align(4096))]
struct Wiped {
    state: AtomicU32,
    rest: [u8; PAGE - 4],
}

// Where pages are larger than 4 KiB, the kernel refuses, and the handler of a fork does the work.
static STATE: Wiped = Wiped { state: AtomicU32::new(FRESH), rest: [0; PAGE - 4] };

/// What a child keeps: which lock was chosen, FRESH before that.
static CHOICE: AtomicU32 = AtomicU32::new(FRESH);
static OTHER: AtomicPtr<Operations> = AtomicPtr::new(ptr::null_mut());
/// Counts the forks that lead to this process, in the units of a state.
static N_FORKS: AtomicU32 = AtomicU32::new(0);

/// Whether the flagship is the lock, and nothing is left to be prepared: what each operation asks first.
#[inline(always)]
pub(crate) fn is_ondeck() -> bool {
    state() & CHOICES == ONDECK
}

/// Another number in each process that forks lead to; 0 before it is prepared.
#[inline(always)]
pub(crate) fn state() -> u32 {
    STATE.state.load(Relaxed)
}

/// Prepares if that has not been done.
#[inline(always)]
pub(crate) fn be_prepared() {
    if !is_ondeck() {
        lock();
    }
}

/// Prepares if that has not been done, and gives the operations of the lock; `None` for the flagship.
#[cold]
pub(crate) fn lock() -> Option<&'static Operations> {
    // Ended by whoever prepares, which waits for nobody.
    loop {
        match STATE.state.load(Acquire) & CHOICES {
            ONDECK => return None,
            // SAFETY: stored before the state was, and never freed.
            ANOTHER => return unsafe { OTHER.load(Relaxed).as_ref() },
            BUSY => Hardware::yield_now(),
            _ => {
                if STATE.state.compare_exchange(FRESH, BUSY, Acquire, Relaxed).is_ok() {
                    without_signals(|| STATE.state.store(prepare(), Release));
                }
            }
        }
    }
}

/// A handler that locks something while its own thread prepares would wait for itself.
fn without_signals(act: impl FnOnce()) {
    let mut all = core::mem::MaybeUninit::uninit();
    let mut before = core::mem::MaybeUninit::uninit();
    // SAFETY: fills the set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` is filled, and `before` is room for a set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    act();
    // SAFETY: filled by the call before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
}

fn prepare() -> u32 {
    if CHOICE.load(Relaxed) == FRESH {
        CHOICE.store(choose(), Relaxed);
        watch_forks();
    } else {
        N_FORKS.store(N_FORKS.load(Relaxed).wrapping_add(ONE_FORK), Relaxed);
        forks::end_in_child();
        forget_waiters();
    }
    N_FORKS.load(Relaxed) | CHOICE.load(Relaxed)
}

fn choose() -> u32 {
    // SAFETY: a string of C; the value is used before anybody can change the environment.
    let name = unsafe { libc::getenv(c"ONDECK_LOCK".as_ptr()) };
    if name.is_null() {
        return ONDECK;
    }
    // SAFETY: a value of the environment is a string of C.
    let name = unsafe { CStr::from_ptr(name) };
    if name == c"" || name == c"ondeck" {
        return ONDECK;
    }
    match family::choose(name) {
        Ok(operations) => OTHER.store(ptr::from_ref(operations).cast_mut(), Relaxed),
        Err(reason) => die(&["ONDECK_LOCK=", name.to_str().unwrap_or("?"), " is not possible: ", reason]),
    }
    ANOTHER
}

/// Sees to it that a child finds [`STATE`] fresh.
fn watch_forks() {
    let page = (&raw const STATE).cast_mut().cast::<c_void>();
    // SAFETY: the page is ours, whole, and holds nothing but the state.
    let is_refused = unsafe { libc::madvise(page, size_of::<Wiped>(), libc::MADV_WIPEONFORK) } != 0;
    forks::IS_PAGE_COPIED.store(is_refused, Relaxed);
}

// -- Who waits for what -----------------------------------------------------------------------------------------------

/// A place for one waiter, on a line of its own.
#[repr(align(64))]
pub(crate) struct Place {
    mutex: AtomicUsize,
    cond: AtomicUsize,
}

/// More waiters at a time than this are not forgotten by a child; they cost it the mutexes that they wait for, as they would
/// without all this.
const PLACES: usize = 8192;
static WAITING: [Place; PLACES] = [const { Place { mutex: AtomicUsize::new(0), cond: AtomicUsize::new(0) } }; PLACES];
/// No place from here on has been used.
static END: AtomicUsize = AtomicUsize::new(0);

/// Notes that the calling thread is about to wait for these; either may be null. `None` if there is no place.
pub(crate) fn wait_for(mutex: *const mutex::Mutex, cond: *const cond::Cond) -> Option<&'static Place> {
    const TRIES: usize = 8;
    let first = Hardware::thread_index().map_or(0, |index| index.get() as usize);
    for n in 0..TRIES {
        let idx = (first + n) % PLACES;
        let place = &WAITING[idx];
        let is_free = place.mutex.load(Relaxed) == 0;
        // SeqCst: either a fork that begins sees this, or we see the fork.
        if is_free && place.mutex.compare_exchange(0, mutex.expose_provenance().max(1), SeqCst, Relaxed).is_ok() {
            // Before the place counts: who cuts off, or forgets, looks at no others.
            if END.load(Relaxed) <= idx {
                END.fetch_max(idx + 1, Relaxed);
            }
            place.cond.store(cond.expose_provenance(), Relaxed);
            forks::let_pass();
            return Some(place);
        }
    }
    None
}

/// The wait is over, and the mutex the caller's, or not wanted any more.
pub(crate) fn done(place: Option<&'static Place>) {
    if let Some(place) = place {
        place.cond.store(0, Relaxed);
        place.mutex.store(0, Relaxed);
    }
}

/// Set in a place's condition variable while that must not be destroyed.
const HELD: usize = 1;

impl Place {
    /// Keeps the condition variable from being destroyed until [`leave`](Self::leave); false if it may be gone.
    pub(crate) fn hold(&self, cond: &cond::Cond) -> bool {
        let address = ptr::from_ref(cond).addr();
        self.cond.compare_exchange(address, address | HELD, Acquire, Relaxed).is_ok()
    }

    /// The waiter will not touch the condition variable any more. False if it must not even count itself out.
    pub(crate) fn leave(&self, cond: &cond::Cond) -> bool {
        self.cond.swap(0, Relaxed) & !HELD == ptr::from_ref(cond).addr()
    }
}

/// Takes all who wait for `cond` out of the table, but for those that hold it, and gives their number.
pub(crate) fn cut_off(cond: &cond::Cond) -> u32 {
    let address = ptr::from_ref(cond).addr();
    let is_cut = |place: &&Place| {
        place.cond.load(Relaxed) == address && place.cond.compare_exchange(address, 0, Relaxed, Relaxed).is_ok()
    };
    WAITING[..END.load(Relaxed)].iter().filter(is_cut).count() as u32
}

/// In a child: whoever was waiting does not exist here.
fn forget_waiters() {
    for place in &WAITING[..END.load(Relaxed)] {
        let cond = ptr::with_exposed_provenance::<cond::Cond>(place.cond.load(Relaxed) & !HELD);
        let mutex = ptr::with_exposed_provenance::<mutex::Mutex>(place.mutex.load(Relaxed));
        if mutex.addr() > 1 {
            // SAFETY: a waiter was inside an operation on it, so it exists; and no other thread has got past
            // `lock` in this process yet.
            unsafe { mutex::forget_waiters(mutex) };
        }
        if !cond.is_null() {
            // SAFETY: as above.
            unsafe { cond::forget_waiters(cond) };
        }
        done(Some(place));
    }
}

/// Makes a fresh lock one that is held, before anybody has got past [`lock`] in this process.
pub(crate) fn acquire_in_child(raw: &mutex::Raw, place: *const u8) {
    if CHOICE.load(Relaxed) == ONDECK {
        raw.grab();
        return;
    }
    // SAFETY: stored when the choice was made, and never freed.
    if let Some(other) = unsafe { OTHER.load(Relaxed).as_ref() } {
        // SAFETY: zeros are at that place.
        unsafe { other.try_acquire(place) };
    }
}
