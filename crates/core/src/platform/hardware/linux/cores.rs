//! The cores that may run the threads of this process.
//!
//! Affinity belongs to a thread. A program that pins each of its threads to a core of its own can use all of these
//! cores, though every thread sees one. So the masks of the threads are united.

use super::file::File;
use crate::platform::kernel;
use core::ffi::CStr;
use core::iter;

/// One bit per core. 8192 is the most that Linux can be configured for.
pub(super) type Mask = [u64; 8192 / 64];

const NO_CORES: Mask = [0; 8192 / 64];

/// How many bytes of directory records are looked at: some forty threads, the oldest. That is plenty to tell one core
/// from several.
const RECORD_BYTES: usize = 1024;

/// How many cores may run the calling thread or one of the oldest threads. Zero only if the kernel does not answer.
pub(super) fn count() -> u32 {
    mask().iter().map(|word| word.count_ones()).sum()
}

/// These cores.
pub(super) fn mask() -> Mask {
    const CALLER: u32 = 0;
    let mut union: Mask = NO_CORES;
    unite(&mut union, CALLER);
    if let Some(threads) = File::open(c"/proc/self/task") {
        let mut records = [0; RECORD_BYTES];
        thread_ids(threads.read_records(&mut records)).for_each(|thread| unite(&mut union, thread));
    }
    union
}

/// Whether the core is one of them.
pub(super) fn has(mask: &Mask, core: u32) -> bool {
    mask.get(core as usize / 64).is_some_and(|word| word >> (core % 64) & 1 != 0)
}

/// Adds the cores that may run `thread`; none, if it has ended meanwhile.
fn unite(union: &mut Mask, thread: u32) {
    let mut mask: Mask = NO_CORES;
    // The bare call, because the C library's refuses to tell what fits from what does not.
    // SAFETY: the kernel writes at most the size given into a mask that is ours.
    let _ = unsafe {
        kernel::call(libc::SYS_sched_getaffinity, [thread as usize, size_of::<Mask>(), mask.as_mut_ptr() as usize])
    };
    union.iter_mut().zip(mask).for_each(|(all, these)| *all |= these);
}

/// The names in directory records (`struct linux_dirent64`) that are numbers.
fn thread_ids(mut records: &[u8]) -> impl Iterator<Item = u32> {
    const LENGTH: core::ops::Range<usize> = 16..18;
    const NAME: usize = 19;
    let record = move || {
        let length = u16::from_ne_bytes(records.get(LENGTH)?.try_into().ok()?);
        // A record without a name cannot be, and one of no length would be met for ever.
        let (record, rest) = records.split_at_checked(usize::from(length)).filter(|(record, _)| record.len() > NAME)?;
        records = rest;
        Some(&record[NAME..])
    };
    iter::from_fn(record).filter_map(|name| CStr::from_bytes_until_nul(name).ok()?.to_str().ok()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, length: u16) -> Vec<u8> {
        let mut bytes = vec![0; 16];
        bytes.extend(length.to_ne_bytes());
        bytes.push(4);
        bytes.extend(name.as_bytes());
        bytes.resize(usize::from(length).max(bytes.len()), 0);
        bytes
    }

    #[test]
    fn records_are_parsed() {
        let all = [record(".", 24), record("..", 24), record("712", 24), record("1234567", 32)].concat();
        assert_eq!(thread_ids(&all).collect::<Vec<_>>(), [712, 1234567]);
    }

    #[test]
    fn broken_records_end_the_list() {
        for broken in [record("7", 0), record("7", 19), record("7", 24)[..20].to_vec(), vec![0; 5]] {
            let all = [record("5", 24), broken].concat();
            assert_eq!(thread_ids(&all).collect::<Vec<_>>(), [5], "{all:?}");
        }
    }

    #[test]
    fn a_mask_has_the_cores_that_it_has() {
        let mut mask: Mask = NO_CORES;
        (mask[0], mask[1]) = (1 << 63, 1);
        assert_eq!(
            [62, 63, 64, 65, 8191, 8192, u32::MAX].map(|core| has(&mask, core)),
            [false, true, true, false, false, false, false]
        );
    }

    #[test]
    fn pinning_one_thread_takes_no_core_away() {
        let before = count();
        let in_pinned = std::thread::spawn(|| {
            // SAFETY: plain data.
            let mut one: libc::cpu_set_t = unsafe { core::mem::zeroed() };
            // SAFETY: no arguments, no memory.
            let here = unsafe { libc::sched_getcpu() };
            // SAFETY: a core's number is far below the size of the set.
            unsafe { libc::CPU_SET(here as usize, &mut one) };
            // SAFETY: reads a set that is ours.
            let answer = unsafe { libc::sched_setaffinity(0, size_of_val(&one), &one) };
            assert_eq!(answer, 0);
            count()
        });
        assert!(before >= 1);
        assert_eq!(in_pinned.join().unwrap(), before);
    }
}
