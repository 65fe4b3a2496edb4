//! Any lock, behind one type per size.
//!
//! In the simulator an indirect call takes no simulated time, so a workload need not be compiled once per lock there: it is
//! compiled once per size of lock, and the lock is found through a table of functions. The storage has the lock's size and
//! nothing else in it, so that whatever shares a line with the lock shares it still. That is why the table is not kept in
//! the lock but with the thread of the system that the run is on: all locks of one run are of one kind.

use crate::bench_lock::{BenchLock, BenchLockVisitor};
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;

/// A lock in `WORDS` words of 64 bits, of the kind that [`with_kind`] has set; `FAT` is its
/// [`HAS_FAT_FORM`](BenchLock::HAS_FAT_FORM).
pub(super) struct ErasedLock<const WORDS: usize, const FAT: bool>(UnsafeCell<[u64; WORDS]>);

// SAFETY: what is stored is a lock, which is both; the table that it is used through checks the size of the lock.
unsafe impl<const WORDS: usize, const FAT: bool> Send for ErasedLock<WORDS, FAT> {}
// SAFETY: as above.
unsafe impl<const WORDS: usize, const FAT: bool> Sync for ErasedLock<WORDS, FAT> {}

/// The functions of one kind of lock. Each takes a pointer to one, which lies where an [`ErasedLock`] of its size does.
#[derive(Clone, Copy)]
struct LockFunctions {
    make: unsafe fn(*mut u64),
    drop: unsafe fn(*mut u64),
    with: unsafe fn(*const u64, &mut dyn FnMut()),
    try_with: unsafe fn(*const u64, &mut dyn FnMut()) -> bool,
    make_fat: unsafe fn(*const u64),
    shows_sleeper: unsafe fn(*const u64) -> Option<bool>,
}

thread_local! {
    static KIND: Cell<Option<LockFunctions>> = const { Cell::new(None) };
}

/// Does `visitor` with a type of the size of `L`, whose values are locks `L` until this thread of the system calls this
/// again: what is left of a run is dropped after the visitor has returned.
pub(super) fn with_kind<L: BenchLock, V: BenchLockVisitor>(visitor: V) -> V::Output {
    KIND.set(Some(FunctionsOf::<L>::KIND));
    visit_size::<L, V>(visitor)
}

/// The sizes in words, with what [`BenchLock::HAS_FAT_FORM`] says. Only those that a lock has: for each, all workloads are
/// compiled once more.
macro_rules! sizes {
    ($($words:literal $is_fat:literal,)*) => {
        const fn has_size(words: usize, is_fat: bool) -> bool {
            $((words == $words && is_fat == $is_fat))||*
        }

        fn visit_size<L: BenchLock, V: BenchLockVisitor>(visitor: V) -> V::Output {
            const {
                assert!(align_of::<L>() <= align_of::<u64>());
                assert!(has_size(words_of::<L>(), L::HAS_FAT_FORM), "a lock of a new size, which `sizes!` must name");
            }
            match (words_of::<L>(), L::HAS_FAT_FORM) {
                $(($words, $is_fat) => visitor.visit::<ErasedLock<$words, $is_fat>>(),)*
                _ => unreachable!("asserted above"),
            }
        }
    };
}

sizes! { 1 false, 2 false, 4 false, 5 false, 5 true, 6 true, }

const fn words_of<L>() -> usize {
    if size_of::<L>() <= 8 { 1 } else { size_of::<L>().div_ceil(8) }
}

/// The functions of `L`.
struct FunctionsOf<L>(PhantomData<L>);

impl<L: BenchLock> FunctionsOf<L> {
    const KIND: LockFunctions = LockFunctions {
        // SAFETY: as each function says: the caller has a place of the size of `L`, aligned, and, but for `make`, a lock in it.
        make: |place| unsafe { place.cast::<L>().write(L::new()) },
        // SAFETY: as above.
        drop: |place| unsafe { place.cast::<L>().drop_in_place() },
        // SAFETY: as above.
        with: |place, section| unsafe { &*place.cast::<L>() }.with(section),
        // SAFETY: as above.
        try_with: |place, section| unsafe { &*place.cast::<L>() }.try_with(section).is_some(),
        // SAFETY: as above.
        make_fat: |place| unsafe { &*place.cast::<L>() }.make_fat(),
        // SAFETY: as above.
        shows_sleeper: |place| unsafe { &*place.cast::<L>() }.shows_sleeper(),
    };
}

fn kind() -> LockFunctions {
    KIND.get().expect("an erased lock is used within with_kind")
}

impl<const WORDS: usize, const FAT: bool> ErasedLock<WORDS, FAT> {
    fn place(&self) -> *const u64 {
        self.0.get().cast()
    }
}

impl<const WORDS: usize, const FAT: bool> BenchLock for ErasedLock<WORDS, FAT> {
    fn new() -> Self {
        let erased = ErasedLock(UnsafeCell::new([0; WORDS]));
        // SAFETY: `with_kind` has chosen a size and alignment that hold the lock.
        unsafe { (kind().make)(erased.0.get().cast()) };
        erased
    }

    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let (mut section, mut result) = (Some(section), None);
        let mut once = || result = section.take().map(|section| section());
        // SAFETY: `new` has put a lock of this kind there.
        unsafe { (kind().with)(self.place(), &mut once) };
        result.expect("a lock calls its section once")
    }

    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        let (mut section, mut result) = (Some(section), None);
        let mut once = || result = section.take().map(|section| section());
        // SAFETY: `new` has put a lock of this kind there.
        unsafe { (kind().try_with)(self.place(), &mut once) };
        result
    }

    const HAS_FAT_FORM: bool = FAT;

    fn make_fat(&self) {
        // SAFETY: `new` has put a lock of this kind there.
        unsafe { (kind().make_fat)(self.place()) };
    }

    fn shows_sleeper(&self) -> Option<bool> {
        // SAFETY: `new` has put a lock of this kind there.
        unsafe { (kind().shows_sleeper)(self.place()) }
    }
}

impl<const WORDS: usize, const FAT: bool> Drop for ErasedLock<WORDS, FAT> {
    fn drop(&mut self) {
        // SAFETY: `new` has put a lock of this kind there, and this is the end of it.
        unsafe { (kind().drop)(self.0.get().cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::{LockSpec, lock_names_on};
    use crate::simulate::machine;
    use ondeck_sim::{Options, Simulated};

    /// Everything that a lock can do, erased and not.
    struct AllOperations;

    impl BenchLockVisitor for AllOperations {
        type Output = (usize, bool, Option<bool>, Option<u32>, u32);
        fn visit<E: BenchLock>(self) -> Self::Output {
            let lock = E::new();
            lock.make_fat();
            let tried = lock.try_with(|| 3);
            (size_of::<E>().div_ceil(8), E::HAS_FAT_FORM, lock.shows_sleeper(), tried, lock.with(|| 4))
        }
    }

    struct ErasedAndDirect;

    impl BenchLockVisitor for ErasedAndDirect {
        type Output = bool;
        fn visit<L: BenchLock>(self) -> bool {
            let plain = AllOperations.visit::<L>();
            let erased = with_kind::<L, AllOperations>(AllOperations);
            assert_eq!((plain.0.max(1), plain.1, plain.2, plain.3, plain.4), erased);
            erased.3 == Some(3)
        }
    }

    #[test]
    fn an_erased_lock_is_the_lock() {
        let machine = machine("rpi5", None).unwrap();
        for name in lock_names_on::<Simulated>() {
            let spec = LockSpec::parse(name).unwrap();
            let both_ways = || spec.visit::<Simulated, _>(ErasedAndDirect);
            let outcome = crate::execution::simulated::run(&machine, &Options { seed: 1, record: false }, both_ways);
            assert_eq!(outcome.unwrap().value, Some(true), "{name}");
        }
    }
}
