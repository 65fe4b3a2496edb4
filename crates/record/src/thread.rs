//! The calling thread: what it has for itself, its number, the clock that it reads, and the numbers that it draws.
//!
//! What a thread has for itself lies at an offset from its pointer that is fixed when the library is loaded. The compiler's own
//! thread-locals may allocate when they are first used in a library, and that may lock a mutex. All zeros at first, which are
//! a value of each field; nobody else reads or writes it.
//!
//! Used by all that runs in the recorded program; it uses no other module.

use core::cell::Cell;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use ondeck_core::kernel;

/// Of one thread.
#[repr(C)]
pub(crate) struct ThreadState {
    /// State of its numbers by chance; 0 before the first.
    pub(crate) chance: Cell<u64>,
    /// Its number by the kernel, and above it that of its process: both are new in the child of a fork.
    pub(crate) id: Cell<u64>,
    /// Addresses of its stack that were found readable: from, to.
    pub(crate) stack: Cell<(u64, u64)>,
    /// The `Wait` of what it waits for, if its lock tells what it does meanwhile.
    pub(crate) wait: Cell<*const ()>,
    /// Threads that it has woken.
    pub(crate) woken: Cell<u64>,
    /// The address of a mutex that it is about to lock, and the stack from which, if that is walked before.
    pub(crate) ready: Cell<(u64, u64)>,
    /// Its count of acquisitions, and what it has of locks that have no room for marks, or that others may have meanwhile.
    pub(crate) holds: Holds,
    /// Marks of locks that it has and others wait for, and since when by the counter: some of them.
    pub(crate) stamps: [Cell<(u64, u64)>; 4],
    /// Its slot among those that wait, counted from 1; 0 before its first wait.
    pub(crate) slot: Cell<u32>,
    /// The condition variable that it has waited on last, and its count of acquisitions then; zeros if it has surely locked
    /// something since.
    pub(crate) again: Cell<(u64, u32)>,
    /// Notifications until the next that is looked at, and that one; 0 before the first.
    pub(crate) notices: Cell<u32>,
    /// Tries in vain until the next that is looked at, and that one; 0 before the first.
    pub(crate) tries: Cell<u32>,
    /// The one that was looked at last, as long as it goes on.
    pub(crate) tried: Cell<Try>,
    /// A place in the frame where the recorder was entered from the program that it is a part of; 0 outside, and in a
    /// library.
    pub(crate) entry: Cell<u64>,
    /// The locks that it has, where orders of locks are recorded.
    pub(crate) held: Held,
    /// Whether the program is told of a long hold now.
    pub(crate) is_telling: Cell<bool>,
}

/// A try in vain. Zeros are none.
#[derive(Clone, Copy)]
pub(crate) struct Try {
    /// Of the mutex, which has this number in the recording of that number.
    pub(crate) address: u64,
    pub(crate) lock: u32,
    pub(crate) recording: u32,
    pub(crate) stack: u32,
    /// In the place of [`ThreadState::tries`], which is 1 meanwhile.
    pub(crate) next: u32,
    /// What [`Holds::left`] was.
    pub(crate) left: u32,
    pub(crate) at: u64,
    /// How long the thread had run, in ns.
    pub(crate) ran: u64,
}

impl Try {
    pub(crate) const NONE: Try = Try { address: 0, lock: 0, recording: 0, stack: 0, next: 0, left: 0, at: 0, ran: 0 };
}

/// A lock that the thread has. Zeros are none.
#[derive(Clone, Copy)]
pub(crate) struct HeldLock {
    pub(crate) address: u64,
    /// Its entry in the recording; with `Nesting::SHARED` if it has it to read, with others, and with
    /// `Nesting::TRIED` if it would not have waited for it.
    pub(crate) number: u32,
    /// The stack that took it.
    pub(crate) stack: u32,
}

pub(crate) const N_HELD: usize = 16;

/// The locks that a thread has. Zeros are none.
#[repr(C)]
pub(crate) struct Held {
    /// How many, in the first places.
    pub(crate) n: Cell<u32>,
    /// The number of the recording that they are of.
    pub(crate) recording: Cell<u32>,
    /// Not 0 while it takes a lock for which it will not wait for ever.
    pub(crate) gives_up: Cell<u32>,
    /// Not 0 while it takes a lock to read that lets no reader in while a writer waits.
    pub(crate) after_writers: Cell<u32>,
    /// In the place of [`Holds::left`], which is 1 meanwhile: acquisitions until the next that is looked at.
    pub(crate) left: Cell<u32>,
    pub(crate) list: [Cell<HeldLock>; N_HELD],
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
    /// The number of the recording that it and the stack are of.
    pub(crate) recording: u32,
}

pub(crate) const N_HOLDS: usize = 8;

/// The holds of a thread, and its count of acquisitions. Zeros are none.
#[repr(C)]
pub(crate) struct Holds {
    /// Acquisitions until the next that is looked at, and that one; 0 before the first.
    pub(crate) left: Cell<u32>,
    /// How many holds it remembers, in the first places.
    pub(crate) n: Cell<u32>,
    /// At which rate that was drawn; 0 before the first.
    pub(crate) rate: Cell<u32>,
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

/// Acquisitions of the calling thread until the next that is looked at, and that one; 0 before the first: [`Holds::left`],
/// in fewer instructions.
#[inline(always)]
pub(crate) fn left() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        let left;
        // SAFETY: reads a field of what is the calling thread's.
        unsafe {
            core::arch::asm!(
                "mov {left:e}, dword ptr fs:[{offset} + {at}]",
                left = out(reg) left,
                offset = in(reg) offset(),
                at = const LEFT_AT,
                options(readonly, nostack, preserves_flags),
            );
        }
        left
    }
    #[cfg(not(target_arch = "x86_64"))]
    own().holds.left()
}

/// So many are left.
#[inline(always)]
pub(crate) fn leave(left: u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: writes a field of what is the calling thread's, which is a cell.
    unsafe {
        core::arch::asm!(
            "mov dword ptr fs:[{offset} + {at}], {left:e}",
            left = in(reg) left,
            offset = in(reg) offset(),
            at = const LEFT_AT,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    own().holds.leave(left);
}

#[cfg(target_arch = "x86_64")]
const LEFT_AT: usize = core::mem::offset_of!(ThreadState, holds) + core::mem::offset_of!(Holds, left);

/// Where it lies, from the thread's pointer.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn offset() -> usize {
    let offset;
    // SAFETY: reads what the loader has written, which stays.
    unsafe {
        core::arch::asm!(
            "mov {offset}, qword ptr [rip + ondeck_record_own@GOTTPOFF]",
            offset = out(reg) offset,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    offset
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
    size = const size_of::<ThreadState>(),
);

/// That of the calling thread.
#[inline(always)]
pub(crate) fn own() -> &'static ThreadState {
    let place: *const ThreadState;
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

// -- The clock --------------------------------------------------------------------------------------------------------

/// The monotonic clock in ns, whatever the program takes for it.
pub(crate) use kernel::monotonic_ns as now_ns;

/// What lies between two reads of the clock that follow each other.
static BETWEEN_READS_NS: AtomicU64 = AtomicU64::new(0);

/// Finds that out.
pub(crate) fn time_the_clock() {
    let between = (0..100).map(|_| {
        let from = now_ns();
        now_ns().saturating_sub(from)
    });
    BETWEEN_READS_NS.store(between.min().unwrap_or(0), Relaxed);
}

/// What was between two reads of the clock, without what is always there.
pub(crate) fn between(from: u64, to: u64) -> u64 {
    to.saturating_sub(from).saturating_sub(BETWEEN_READS_NS.load(Relaxed))
}

// -- Chance -----------------------------------------------------------------------------------------------------------

// Which of many is looked at, so that what is seen stands for the whole without bias.

/// The next of the thread's numbers (xorshift64*, Vigna 2016).
fn draw() -> u64 {
    let state = &own().chance;
    let mut x = state.get();
    if x == 0 {
        x = now_ns() ^ ((&raw const *state) as u64).rotate_left(32) | 1;
    }
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    state.set(x);
    x.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// A number of at least 0 and below 1.
fn fraction() -> f64 {
    (draw() >> 11) as f64 / (1_u64 << 53) as f64
}

/// How many events to pass over until the next that is looked at, if each is with a chance of one in `rate`: a geometric
/// distribution, so it makes no difference how long one has counted already, nor whether the program has a period.
pub(crate) fn gap(rate: u64) -> u32 {
    if rate <= 1 {
        return 0;
    }
    let gap = (1.0 - fraction()).ln() / (1.0 - 1.0 / rate as f64).ln();
    gap.min(f64::from(u32::MAX - 1)) as u32
}

/// One more, of which `left` were still to be passed over before the next that is looked at, and that one; 0 if nobody has
/// counted yet. Whether it is looked at, and what is left then.
fn counted(left: u32, rate: u64) -> (bool, u32) {
    // A gap is of those that are passed over; of the first one of all, this one is the first.
    match left {
        0 => match gap(rate) {
            0 => (true, gap(rate) + 1),
            passed => (false, passed),
        },
        1 => (true, gap(rate) + 1),
        left => (false, left - 1),
    }
}

/// The same, of a count that a thread keeps: whether this one is looked at.
pub(crate) fn count_down(left: &Cell<u32>, rate: u64) -> bool {
    let (is_looked_at, next) = counted(left.get(), rate);
    left.set(next);
    is_looked_at
}

/// From which amount on one is recorded, drawn before it is known: so that one of at least `whole` always is, and a smaller
/// one with a chance in proportion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threshold {
    least: u64,
    whole: u64,
}

impl Threshold {
    pub(crate) fn draw(whole: u64) -> Self {
        Threshold { least: if whole == 0 { 0 } else { 1 + (fraction() * whole as f64) as u64 }, whole }
    }

    /// For how many of its size that amount stands, if it is recorded.
    pub(crate) fn weight(self, amount: u64) -> Option<f64> {
        let weight = || if amount >= self.whole { 1.0 } else { self.whole as f64 / amount as f64 };
        (amount >= self.least).then(weight)
    }

    /// Whether such an amount is recorded, if it is so much.
    pub(crate) fn is_below(self, amount: u64) -> bool {
        self.least <= amount
    }

    /// Whether amounts of that size are recorded all.
    pub(crate) fn takes_all(self, amount: u64) -> bool {
        self.whole <= amount
    }
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

    #[test]
    fn what_two_reads_of_the_clock_take_is_no_part_of_a_hold() {
        time_the_clock();
        let always = BETWEEN_READS_NS.load(Relaxed);
        assert!(always < 100_000, "{always}");
        assert_eq!((between(1000, 1000), between(1000, 1000 + always), between(1000, 1005 + always)), (0, 0, 5));
    }

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_independent_choices() {
        const N: usize = 200_000;
        for rate in [2_u64, 10, 1000] {
            let gaps: Vec<f64> = (0..N).map(|_| f64::from(gap(rate))).collect();
            let mean = gaps.iter().sum::<f64>() / N as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / N as f64;
            let expected = rate as f64 - 1.0;
            // Four standard errors.
            let error = 4.0 * (expected * rate as f64).sqrt() / (N as f64).sqrt();
            assert!((mean - expected).abs() < error, "{rate}: {mean}");
            let ratio = variance / (expected * rate as f64);
            assert!((0.95..1.05).contains(&ratio), "{rate}: variance {variance}");
        }
        assert_eq!((gap(1), gap(0)), (0, 0));
    }

    /// What follows on a state of 1, as others have computed it too.
    #[test]
    fn numbers_are_those_of_the_generator() {
        own().chance.set(1);
        let numbers: [u64; 3] = core::array::from_fn(|_| draw());
        assert_eq!(numbers, [5_180_492_295_206_395_165, 12_380_297_144_915_551_517, 13_389_498_078_930_870_103]);
    }

    #[test]
    fn events_are_counted_down_to_the_one_that_is_looked_at() {
        assert_eq!((counted(5, 10), counted(2, 10)), ((false, 4), (false, 1)));
        let (is_looked_at, left) = counted(1, 10);
        assert!(is_looked_at && left > 0);
        // A gap that is too large for the counter is cut, so that there is a next one.
        own().chance.set(1);
        assert_eq!(counted(1, 1 << 50), (true, u32::MAX));
    }

    #[test]
    fn what_is_recorded_adds_up_to_the_whole() {
        const N: u64 = 200_000;
        for (amount, whole) in [(1_u64, 100_u64), (50, 100), (99, 100), (100, 100), (5000, 100)] {
            let seen: f64 = (0..N).filter_map(|_| Threshold::draw(whole).weight(amount)).sum();
            let ratio = seen / N as f64;
            assert!((0.9..1.1).contains(&ratio), "{amount} of {whole}: {ratio}");
        }
        assert!((0..1000).all(|_| Threshold::draw(100).weight(0).is_none()));
        assert_eq!(Threshold::draw(0).weight(0), Some(1.0));
    }
}
