pub(super) mod interleavings;

use super::*;
use crate::store::tests::{alone, with_room_for_samples};

/// A reader looks at entries while they are written.
#[test]
fn an_entry_that_shows_its_address_is_complete() {
    const LOCKS: u32 = 4_000;
    let _alone = alone();
    begin();
    let recording = with_room_for_samples(LOCKS.into(), 1);
    std::thread::scope(|scope| {
        scope
            .spawn(|| (1..LOCKS).for_each(|_| assert_ne!(add(recording, 64, 7, Origin { stack: 8, module: 0 }), NONE)));
        for number in 1..LOCKS {
            let lock = lock(recording, number).unwrap();
            while lock.address.load(Acquire) == 0 {
                core::hint::spin_loop();
            }
            assert_eq!((lock.kind(), lock.origin.load(Relaxed)), (7, 8), "entry {number}");
        }
    });
    begin();
}

const A: u64 = 0xa00;
const B: u64 = 0xb00;
const C: u64 = 0xc00;

/// A recording that has room for one lock.
struct One(&'static Recording);

impl One {
    /// That was last used in epoch 1, if that is to be, and all is known of that epoch.
    fn prepare(&self, has_a: bool) {
        let One(recording) = *self;
        begin();
        recording.wants_places.store(0, Relaxed);
        let entry = self.entry();
        entry.tenancy.store(0, Relaxed);
        [&entry.address, &entry.waiting, &entry.longest].into_iter().for_each(|word| word.store(0, Relaxed));
        if has_a {
            self.is_epoch(1);
            assert_ne!(self.add(A), NONE);
        }
        self.is_epoch(3);
    }

    /// An epoch has begun, and all locks have been looked at.
    fn is_epoch(&self, epoch: u32) {
        [&self.0.epoch, &self.0.taken].into_iter().for_each(|word| word.store(epoch, Relaxed));
    }

    fn entry(&self) -> &Lock {
        entry(self.0, 1).unwrap()
    }

    fn add(&self, address: u64) -> u32 {
        add(self.0, address, 7, Origin { stack: address as u32, module: 0 })
    }

    fn number(&self, address: u64) -> Option<u32> {
        in_entry(self.0, 1, address).map(|(number, _)| number)
    }

    /// A thread adds a lock. It is used in this epoch, so nobody gets its entry.
    fn adds(&self, address: u64) -> bool {
        let number = self.add(address);
        if number != NONE {
            assert_eq!(self.number(address), Some(number));
            assert_eq!(
                (self.entry().address.load(Relaxed), self.entry().origin.load(Relaxed)),
                (address, address as u32)
            );
            assert_eq!(self.entry().longest.load(Relaxed), 0);
        }
        number != NONE
    }

    /// Whether that lock has the entry, and keeps it for some steps.
    fn stays(&self, number: u32, address: u64) {
        for _ in 0..3 {
            step();
            let word = self.entry().tenancy.load(Relaxed);
            assert!(tenancy::is_of(number, word) && word & FILLED == 0);
            assert_eq!(self.entry().address.load(Relaxed), address);
        }
    }

    /// A thread waits for A, unless it is gone.
    fn waits(&self) {
        if let Some(found) = in_entry(self.0, 1, A) {
            if count_in(self.0, found, 5).is_some() {
                self.stays(found.0, A);
                count_out(found.1, 5);
            }
        }
    }

    /// A thread uses the lock at that address.
    fn uses(&self, address: u64) {
        if let Some(number) = self.number(address) {
            self.stays(number, address);
        }
    }
}

/// Such a recording, for one test at a time.
fn one() -> (std::sync::MutexGuard<'static, ()>, One) {
    (alone(), One(with_room_for_samples(2, 1)))
}

#[test]
fn what_is_waited_for_keeps_its_entry() {
    let (_alone, one) = one();
    let prepare = || one.prepare(true);
    let n = interleavings::in_each(3, prepare, &[&|| one.waits(), &|| _ = one.adds(B)]);
    // Epochs pass while a thread has lost its core that has found the entry.
    let adds_later = |address| {
        one.is_epoch(6);
        one.adds(address);
    };
    let n_later = interleavings::in_each(3, prepare, &[&|| one.waits(), &|| adds_later(B)]);
    let n_three = interleavings::in_each(2, prepare, &[&|| one.waits(), &|| adds_later(B), &|| adds_later(C)]);
    // In memory alone no use but a wait counts.
    let one = One(with_room_for_samples(2, 0));
    let prepare = || one.prepare(true);
    let n_memory = interleavings::in_each(3, prepare, &[&|| one.waits(), &|| _ = one.adds(B)]);
    assert!([n, n_later, n_three, n_memory].iter().all(|n| *n > 500), "{n} {n_later} {n_three} {n_memory}");
    begin();
}

#[test]
fn what_is_used_keeps_its_entry() {
    let (_alone, one) = one();
    interleavings::in_each(3, || one.prepare(true), &[&|| one.uses(A), &|| _ = one.adds(B)]);
    interleavings::in_each(2, || one.prepare(true), &[&|| one.uses(A), &|| _ = one.adds(B), &|| _ = one.adds(C)]);
    begin();
}

/// A thread that knows where the lock was once.
#[test]
fn a_lock_that_comes_again_is_found_by_its_new_number() {
    let (_alone, one) = one();
    interleavings::in_each(3, || one.prepare(true), &[&|| one.uses(B), &|| _ = one.adds(B)]);
    begin();
}

#[test]
fn an_entry_has_one_lock() {
    let (_alone, one) = one();
    for has_a in [false, true] {
        let n_added = AtomicU32::new(0);
        let adds = |address| {
            n_added.fetch_add(one.adds(address).into(), Relaxed);
        };
        let prepare = || {
            assert!(n_added.swap(0, Relaxed) <= 1);
            one.prepare(has_a);
        };
        interleavings::in_each(3, prepare, &[&|| adds(B), &|| adds(C)]);
        assert!(n_added.swap(0, Relaxed) <= 1);
    }
    begin();
}

/// Its last use before was long ago.
#[test]
fn the_end_of_a_wait_is_a_use() {
    use crate::charging::{Marks, Tag, generation};
    let (_alone, one) = one();
    let marks = Marks::new();
    let prepare = || {
        marks.tag.store(1 << Tag::NUMBER_AT | generation(one.0), Relaxed);
        one.prepare(true);
        one.is_epoch(1);
    };
    let waits = || {
        let wait = marks.begin_to_wait(one.0, A, false).unwrap();
        one.is_epoch(3);
        wait.write_down(one.0, true);
        one.stays(1, A);
    };
    interleavings::in_each(3, prepare, &[&waits, &|| assert!(!one.adds(B))]);
    begin();
}

/// The number of an entry alone does not say whether it is in use.
#[test]
fn what_is_in_use_is_not_spare_whatever_its_turn() {
    let (_alone, one) = one();
    one.prepare(true);
    assert!(is_spare(one.0, 1, A) && is_spare(one.0, 1, B));
    assert!(one.adds(B));
    assert!(is_spare(one.0, 1, A) && !is_spare(one.0, 1, B));
    let number = one.number(B).unwrap();
    assert!(number != 1 && !is_spare(one.0, number, B));
    begin();
}
