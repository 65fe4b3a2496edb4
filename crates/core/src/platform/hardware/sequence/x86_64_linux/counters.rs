//! Counters by core, in one table of the process: a row for each core, which has a part of each counter.
//!
//! # Argument
//! A count is a restartable sequence, as in the file above this one. It looks at the lock's word, and its last instruction adds to
//! the row of the core that it runs on. So nobody else writes that row at the same time, and an addition that is not locked
//! loses nothing. A sequence whose thread loses its core in between adds nothing.
//!
//! *After [`expel`], the sum of a lock that was being folded before stays as it is*: sequences that have looked before are over, and
//! all later ones see that.
//!
//! *The rows that are in use* are those below `rows`, which a thread raises whose core has none. It raises `seen` before, and
//! sums go over all rows below that.
//!
//! *There is one table in a process*, at an address that is always the same, however many copies of this code there are: a lock may
//! be used by two, as a program and its plugin. Where something else is at that address there are no counters. A copy that may not
//! count, as it has no area of threads or came after a filter, gives no lock a counter. But it adds up, ends and gives back those of
//! locks that another copy's threads use, and expels or ends all counting: so its writers miss no reader.
//!
//! # Where membarrier comes to be refused
//! [`forgo`] takes all rows away: from then on no sequence counts, and an expulsion is not needed any more. A filter that nobody has
//! told of makes an expulsion fail. Then the rows are taken away too, and what the expulsion would have done is done by time: a
//! sequence takes nanoseconds and does not survive the loss of its core, and 100 ms are waited for once.
//!
//! *This rests on time, and nothing else here does.* It fails if a core executes nothing for 100 ms and its kernel does not know, as
//! one of a virtual machine whose host runs another one meanwhile, and if that happens within the dozen instructions of a
//! sequence: its reader is in then, and no writer knows. Each proof without time lacks something:
//! - *To end sequences otherwise* needs a call that interrupts all cores of the process, ends what they are at, and is refused by
//!   no filter. Linux has `membarrier` only. A change of mappings interrupts cores, unless they tell each other of it without, but
//!   ends no sequence. A signal to each thread would, but signals are the program's.
//! - *To have a late reader see it* needs a second look after the addition and a fence between the two: what a counter saves.
//! - *To wait for an event*, as the mutex does for the next release, needs one that comes. A reader that counts writes nothing that a
//!   writer may wait for, and a core on which no thread uses a lock any more is as silent as one that is held up.

use super::{EXPEL, OFFSET, is_forgone, membarrier};
use crate::platform::counters::{COUNTER_BITS, COUNTER_SHIFT, Counted, FOLDING_SHIFT};
use crate::platform::hardware::clock;
use crate::platform::kernel;
use core::arch::asm;
use core::num::NonZeroU32;
use core::ptr;
use core::sync::atomic::{
    AtomicU8, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// Where the table is: between where programs are loaded and where the kernel begins with mappings.
const AT: usize = 0x2ad0_0de0_c000;
/// `ondeckC` and the version of the table.
const MAGIC: u64 = u64::from_le_bytes(*b"ondeckC\x01");
const PAGE: usize = 4096;
const N_COUNTERS: usize = 1 << COUNTER_BITS;
const ROW_BYTES: usize = N_COUNTERS * 8;
/// Threads on cores beyond that count as if they had no sequences.
const MOST_ROWS: usize = 1024;
/// From so many counters that on that are taken, a lock whose readers do not meet gets none.
const FEW: u32 = 64;
const BYTES: usize = PAGE + MOST_ROWS * ROW_BYTES;

/// The first page. Part 0 of each row is no counter: the row's core counts its samples there.
#[repr(C)]
struct Head {
    /// [`MAGIC`], written last.
    magic: AtomicU64,
    /// So many rows are in use; 0 once nobody may count any more.
    rows: AtomicU64,
    /// So many have ever been in use.
    seen: AtomicU64,
    /// 1 once nobody counts any more.
    is_over: AtomicU64,
    /// Where the next counter is looked for.
    next: AtomicU64,
    /// A bit for each counter that is taken.
    taken: [AtomicU64; N_COUNTERS / 64],
}

const _: () = assert!(size_of::<Head>() <= PAGE);

/// Whether this copy of the code may count: 0 if that was not asked, [`MAY`] or [`MAY_NOT`].
static ATTACHED: AtomicU32 = AtomicU32::new(0);
const MAY: u32 = 1;
const MAY_NOT: u32 = 2;

/// The table. To be called where one was found or made.
fn head() -> &'static Head {
    // SAFETY: only where a table was found or made, which stays to the end of the process.
    unsafe { &*ptr::with_exposed_provenance::<Head>(AT) }
}

fn part(row: usize, counter: usize) -> &'static AtomicU64 {
    let place = AT + PAGE + row * ROW_BYTES + counter * 8;
    // SAFETY: in the table, as rows and counters are numbers below the most of them.
    unsafe { &*ptr::with_exposed_provenance::<AtomicU64>(place) }
}

/// The table, if this process has one, be it that only another copy of this code may count.
fn table() -> Option<&'static Head> {
    let is_there = || kernel::can_read(AT as u64) && head().magic.load(Acquire) == MAGIC;
    (ATTACHED.load(Acquire) == MAY || is_there()).then(head)
}

/// The table, if this copy of the code may count.
#[inline]
fn attached() -> Option<&'static Head> {
    match ATTACHED.load(Acquire) {
        MAY => Some(head()),
        MAY_NOT => None,
        _ => attach().then(head),
    }
}

#[cold]
fn attach() -> bool {
    if OFFSET.load(Acquire) == 0 || is_forgone() {
        return false;
    }
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let flags = flags | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let arguments = [AT, BYTES, protection as usize, flags as usize, usize::MAX, 0];
    // SAFETY: a new mapping, where there is none.
    let made = unsafe { kernel::call(libc::SYS_mmap, arguments) };
    let is_there = match made {
        Ok(AT) => {
            // SAFETY: our own pages. Large ones would be of several cores.
            let _ = unsafe { kernel::advise(ptr::with_exposed_provenance_mut(AT), BYTES, libc::MADV_NOHUGEPAGE) };
            head().rows.store(1, Relaxed);
            head().seen.store(1, Relaxed);
            head().magic.store(MAGIC, Release);
            true
        }
        Ok(other) => {
            // SAFETY: mapped just now, by a kernel that does not know the flag.
            let _ = unsafe { kernel::call(libc::SYS_munmap, [other, BYTES]) };
            false
        }
        Err(libc::EEXIST) if kernel::can_read(AT as u64) => magic() == MAGIC,
        Err(_) => false,
    };
    // Two threads may be here, and one may have waited for the magic in vain.
    let decided = if is_there { MAY } else { MAY_NOT };
    let before = ATTACHED.fetch_update(AcqRel, Acquire, |now| (is_there || now == 0).then_some(decided));
    is_there || before == Err(MAY)
}

/// What is where a table has its magic. Another thread, or copy of this code, may be about to write it.
fn magic() -> u64 {
    const LOOKS: usize = 1_000;
    let look = |_| {
        clock::pause_ns(100);
        head().magic.load(Acquire)
    };
    (0..LOOKS).map(look).find(|magic| *magic != 0).unwrap_or(0)
}

/// The core that the calling thread runs on. No core has that number if it is not known.
fn core_here() -> usize {
    let offset = OFFSET.load(Relaxed);
    let core: u32;
    // SAFETY: reads the calling thread's own area.
    unsafe {
        asm!("mov {core:e}, dword ptr fs:[{offset} + 4]", offset = in(reg) offset, core = out(reg) core,
            options(nostack, readonly, preserves_flags));
    }
    core as usize
}

/// The calling thread's core is to have a row.
#[cold]
fn join() {
    let (head, wanted) = (head(), core_here() as u64 + 1);
    if wanted > MOST_ROWS as u64 {
        return;
    }
    head.seen.fetch_max(wanted, AcqRel);
    // 0 stays.
    let _ = head.rows.fetch_update(AcqRel, Acquire, |rows| (rows != 0 && rows < wanted).then_some(wanted));
}

/// As `CoreCounters::is_sampled`. A thread whose core has no row gets one here.
#[cold]
pub(in super::super::super) fn is_sampled(one_in: u32) -> bool {
    let Some(head) = attached() else { return false };
    let core = core_here();
    if core as u64 >= head.rows.load(Relaxed) {
        join();
    }
    if core >= MOST_ROWS {
        return false;
    }
    let count = part(core, 0);
    // Two threads of one core may count as one.
    let n = count.load(Relaxed).wrapping_add(1);
    count.store(n, Relaxed);
    n & u64::from(one_in - 1) == 0
}

/// Locks that are spread, by their addresses: guesses, so several may share a place. Few of [`FEW`] do.
static NOTES: [AtomicU8; 1 << NOTE_BITS] = [const { AtomicU8::new(0) }; 1 << NOTE_BITS];
const NOTE_BITS: u32 = 12;

#[inline(always)]
fn note_of(word: *const AtomicU64) -> &'static AtomicU8 {
    let hash = (word.addr() as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &NOTES[(hash >> (64 - NOTE_BITS)) as usize]
}

/// As `CoreCounters::is_noted`.
#[inline(always)]
pub(in super::super::super) fn is_noted(word: *const AtomicU64) -> bool {
    note_of(word).load(Relaxed) != 0
}

/// As `CoreCounters::note`.
#[cold]
pub(in super::super::super) fn note(word: *const AtomicU64, is_spread: bool) {
    let (note, now) = (note_of(word), is_spread.into());
    // What is noted is looked for in the table. The word may come from another process.
    if note.load(Relaxed) != now && (!is_spread || table().is_some()) {
        note.store(now, Relaxed);
    }
}

/// As `CoreCounters::take_counter`.
#[cold]
pub(in super::super::super) fn take() -> Option<NonZeroU32> {
    let head = attached().filter(|head| head.rows.load(Relaxed) != 0)?;
    let (words, first) = (&head.taken, head.next.fetch_add(1, Relaxed) as usize);
    (first..first + words.len()).map(|at| at % words.len()).find_map(|at| {
        // Number 0 is none.
        let taken = || words[at].load(Relaxed) | u64::from(at == 0);
        let free = core::iter::from_fn(|| Some((!taken()).trailing_zeros()).filter(|bit| *bit < 64));
        let mut mine = free.filter(|bit| words[at].fetch_or(1 << bit, Acquire) & 1 << bit == 0);
        mine.next().and_then(|bit| NonZeroU32::new(at as u32 * 64 + bit))
    })
}

/// As `CoreCounters::pays_alone`. Where to count `gains_nothing`, it still pays once another lock has a counter: that some locks are
/// spread and some are not costs most.
#[cold]
pub(in super::super::super) fn pays_alone(gains_nothing: bool) -> bool {
    let least = u32::from(gains_nothing);
    table().map_or(!gains_nothing, |head| (least..FEW).contains(&n_taken(head)))
}

fn n_taken(head: &Head) -> u32 {
    head.taken.iter().map(|taken| taken.load(Relaxed).count_ones()).sum()
}

/// As `CoreCounters::give_counter`.
pub(in super::super::super) unsafe fn give(counter: u32) {
    let at = counter as usize;
    let Some(head) = table() else { return };
    for row in 0..head.seen.load(Acquire) as usize {
        // What is zero need not be taken away from its core.
        if part(row, at).load(Relaxed) != 0 {
            part(row, at).store(0, Relaxed);
        }
    }
    head.taken[at / 64].fetch_and(!(1 << (at % 64)), Release);
}

/// As `CoreCounters::counted`.
pub(in super::super::super) fn counted(counter: u32) -> Counted {
    let rows = 0..table().map_or(0, |head| head.seen.load(Acquire)) as usize;
    let parts = rows.map(|row| part(row, counter as usize).load(Acquire));
    Counted::of(parts.fold(0, u64::wrapping_add))
}

/// As `CoreCounters::expel_counts`.
pub(in super::super::super) fn expel() {
    let Some(head) = table() else { return };
    if head.rows.load(Acquire) == 0 || !super::expel() {
        end_counting(|| false);
    }
}

/// From here on nobody counts, where anybody has.
pub(super) fn forgo() {
    if table().is_some() {
        end_counting(|| membarrier(EXPEL));
    }
}

/// Takes the rows away, and returns when no sequence counts any more, as `expel` may ensure.
#[cold]
fn end_counting(expel: impl Fn() -> bool) {
    const LONGEST_NS: u64 = 100_000_000;
    const LOOK_NS: u32 = 1_000_000;
    let head = head();
    if head.rows.swap(0, AcqRel) != 0 {
        if !expel() {
            let until = kernel::monotonic_ns() + LONGEST_NS;
            while kernel::monotonic_ns() < until {
                nap(LOOK_NS);
            }
        }
        head.is_over.store(1, Release);
    }
    // Another thread is at it, if no fork has come between.
    let until = kernel::monotonic_ns() + 2 * LONGEST_NS;
    while head.is_over.load(Acquire) == 0 && kernel::monotonic_ns() < until {
        nap(LOOK_NS);
    }
    head.is_over.store(1, Release);
}

fn nap(ns: u32) {
    <crate::Hardware as crate::Platform>::nap_ns(ns);
}

/// As `CoreCounters::count_unless_expelled`.
///
/// # Safety
/// As there.
#[inline(always)]
pub(in super::super::super) unsafe fn count(word: &AtomicU64, amount: u64) -> bool {
    let offset = OFFSET.load(Relaxed);
    // The word may be of another copy of this code, that has an area to write to.
    if offset == 0 {
        return false;
    }
    let is_counted: u32;
    // SAFETY: as in `store`. The table is there, as a lock has a counter, and the row is one of those that are in use.
    unsafe {
        asm!(
            ".pushsection __rseq_cs, \"aw\", @progbits",
            ".balign 32",
            "2:",
            ".long 0, 0",
            ".quad 3f, 4f - 3f, 5f",
            ".popsection",
            "lea {row}, [rip + 2b]",
            "xor eax, eax",
            "mov qword ptr fs:[{offset} + 8], {row}",
            "3:",
            "mov {counter:e}, dword ptr [{word}]",
            "bt {counter:e}, {folding_shift}",
            "jc 5f",
            "mov {row:e}, dword ptr fs:[{offset} + 4]",
            "cmp {row}, qword ptr [{table} + 8]",
            "jae 5f",
            "shr {counter:e}, {counter_shift}",
            "jz 5f",
            "shl {row}, {row_shift}",
            "add {row}, {table}",
            "add qword ptr [{row} + {counter} * 8 + {first_row}], {amount}",
            "4:",
            // `mov eax, 0x53053053`, as in `store`: not 0.
            ".byte 0xb8",
            ".long 0x53053053",
            "5:",
            "mov qword ptr fs:[{offset} + 8], 0",
            word = in(reg) word.as_ptr(),
            amount = in(reg) amount,
            offset = in(reg) offset,
            table = in(reg) AT,
            row = out(reg) _,
            counter = out(reg) _,
            out("eax") is_counted,
            counter_shift = const COUNTER_SHIFT,
            folding_shift = const FOLDING_SHIFT,
            row_shift = const ROW_BYTES.trailing_zeros(),
            first_row = const PAGE,
            options(nostack),
        );
    }
    is_counted != 0
}

const _: () = assert!(core::mem::offset_of!(Head, rows) == 8 && ROW_BYTES.is_power_of_two());
const _: () = assert!(COUNTER_SHIFT + COUNTER_BITS == 32, "the counter is at the top of the lower half");

#[cfg(test)]
mod tests;
