//! Which locks a thread has while it takes another one.

use crate::common::{in_its_own_process, lock_at, reader};
use ondeck_record::layout::NONE;
use ondeck_record::read::{Nesting, Reader};
use ondeck_record::{Marks, RecordOptions, Sleep, Source, bare, gives_up};
use std::path::Path;

const A: u64 = 0x5000;
const B: u64 = 0x6000;
const C: u64 = 0x7000;
const D: u64 = 0x8000;
const E: u64 = 0x8100;

/// Mutexes at these addresses, in a process that tells their order.
struct Locks([(u64, Marks); 5]);

impl Locks {
    fn begin() -> Self {
        let options = RecordOptions::of_environment().expect("the environment asks").with_order();
        ondeck_record::ask_loader();
        assert!(ondeck_record::start(&options, "a lock", Sleep::AtOnce, Source::Library));
        Locks([A, B, C, D, E].map(|address| (address, Marks::default())))
    }

    fn marks(&self, address: u64) -> &Marks {
        &self.0.iter().find(|(at, _)| *at == address).unwrap().1
    }

    fn take(&self, address: u64) {
        self.marks(address).taken(address);
    }

    fn release(&self, address: u64) {
        assert!(self.marks(address).is_marked(), "each release is told");
        if let Some(pending) = self.marks(address).release(address) {
            pending.done();
        }
    }
}

/// The addresses of the locks, and of the outer locks.
fn nestings(reader: &Reader) -> Vec<([u64; 2], Vec<u64>)> {
    let address = |number: u32| reader.lock(number).unwrap().map_or(0, |lock| lock.address);
    let told = |one: Nesting| {
        assert!(one.stacks.iter().all(|stack| !reader.stack(*stack).unwrap().is_empty()), "{one:?}");
        let outer = one.outer.into_iter().filter(|outer| *outer != NONE);
        (one.locks.map(address), outer.map(address).collect())
    };
    let mut all: Vec<_> = reader.nestings().unwrap().into_iter().map(told).collect();
    all.sort();
    all
}

fn told(directory: &Path) -> Vec<([u64; 2], Vec<u64>)> {
    nestings(&reader(directory))
}

#[test]
fn each_lock_that_is_held_is_told_in_whatever_order_they_are_released() {
    in_its_own_process(
        "lock_order::each_lock_that_is_held_is_told_in_whatever_order_they_are_released",
        1000,
        |directory| {
            let locks = Locks::begin();
            locks.take(A);
            locks.take(B);
            locks.release(A);
            locks.take(C);
            locks.release(B);
            locks.release(C);
            locks.take(A);
            assert_eq!(told(directory), [([A, B], vec![]), ([B, C], vec![])]);
            locks.take(C);
            locks.take(B);
            // Each is an outer lock of the others, until it is not there.
            let nested = [([A, B], vec![]), ([A, C], vec![]), ([B, C], vec![]), ([C, B], vec![A])];
            assert_eq!(told(directory), nested);
        },
    );
}

/// Two outer locks are remembered, and whichever of them is held the next time is an outer lock still.
#[test]
fn of_many_outer_locks_one_that_is_held_each_time_stays() {
    in_its_own_process("lock_order::of_many_outer_locks_one_that_is_held_each_time_stays", 1000, |directory| {
        let locks = Locks::begin();
        for outer in [[C, D].as_slice(), &[E, C, D], &[E, D]] {
            let all: Vec<u64> = outer.iter().copied().chain([A, B]).collect();
            all.iter().for_each(|address| locks.take(*address));
            all.iter().for_each(|address| locks.release(*address));
        }
        let of_both = told(directory).into_iter().find(|(pair, _)| *pair == [A, B]).unwrap();
        assert_eq!(of_both.1, [D]);
    });
}

#[test]
fn who_gives_up_tells_no_order_but_has_the_lock() {
    in_its_own_process("lock_order::who_gives_up_tells_no_order_but_has_the_lock", 1000, |directory| {
        let locks = Locks::begin();
        locks.take(A);
        gives_up(|| locks.take(B));
        locks.take(C);
        assert_eq!(told(directory), [([A, C], vec![B]), ([B, C], vec![A])]);
    });
}

/// As `std::lock` does. The one that is waited for is no outer lock of the tried ones: it is released before these are waited for.
#[test]
fn a_tried_lock_is_told_with_those_before_the_last_that_was_waited_for() {
    let name = "lock_order::a_tried_lock_is_told_with_those_before_the_last_that_was_waited_for";
    in_its_own_process(name, 1000, |directory| {
        let locks = Locks::begin();
        locks.take(A);
        locks.take(B);
        gives_up(|| locks.take(C));
        gives_up(|| locks.take(D));
        let reader = reader(directory);
        let both = ([A, B], vec![]);
        assert_eq!(nestings(&reader), [both, ([A, C], vec![]), ([A, D], vec![])]);
        assert_eq!(reader.nestings().unwrap().iter().filter(|one| one.is_tried).count(), 2);
    });
}

#[test]
fn a_lock_that_another_thread_has_released_is_not_held() {
    in_its_own_process("lock_order::a_lock_that_another_thread_has_released_is_not_held", 1000, |directory| {
        let locks = Locks::begin();
        locks.take(A);
        std::thread::scope(|scope| scope.spawn(|| locks.release(A)).join().unwrap());
        locks.take(B);
        assert_eq!(told(directory), []);
        // Another thread has it now.
        std::thread::scope(|scope| scope.spawn(|| locks.take(A)).join().unwrap());
        locks.take(C);
        assert_eq!(told(directory), [([B, C], vec![])]);
    });
}

#[test]
fn a_lock_that_is_made_again_is_another_one() {
    in_its_own_process("lock_order::a_lock_that_is_made_again_is_another_one", 1000, |directory| {
        let locks = Locks::begin();
        for (first, second) in [(A, B), (B, A)] {
            [A, B].into_iter().for_each(|address| locks.marks(address).initialised());
            locks.take(first);
            locks.take(second);
            locks.release(second);
            locks.release(first);
        }
        let numbers: Vec<[u32; 2]> = reader(directory).nestings().unwrap().iter().map(|one| one.locks).collect();
        let [one, other] = numbers[..] else { panic!("{numbers:?}") };
        assert!(!one.iter().any(|number| other.contains(number)), "{numbers:?}");
    });
}

#[test]
fn readers_are_told_and_no_outer_locks() {
    in_its_own_process("lock_order::readers_are_told_and_no_outer_locks", 1000, |directory| {
        let locks = Locks::begin();
        locks.marks(A).read(A, NONE, true);
        // Twice, and once given back.
        locks.marks(A).read(A, NONE, false);
        assert!(locks.marks(A).release_read(A, || false).is_none());
        locks.take(B);
        locks.take(C);
        assert_eq!(told(directory), [([A, B], vec![]), ([A, C], vec![B]), ([B, C], vec![])]);
        locks.release(C);
        locks.release(B);
        assert!(locks.marks(A).release_read(A, || true).is_none());
        locks.take(C);
        assert_eq!(told(directory).len(), 3);
    });
}

#[test]
fn of_more_than_sixteen_the_newest_are_known() {
    in_its_own_process("lock_order::of_more_than_sixteen_the_newest_are_known", 1000, |directory| {
        let locks = Locks::begin();
        let many: Vec<(u64, Marks)> = (0..17).map(|at| (0x9000 + at * 64, Marks::default())).collect();
        many.iter().for_each(|(address, marks)| marks.taken(*address));
        locks.take(A);
        let reader = reader(directory);
        // There is room in the file.
        assert_eq!(reader.dropped().unwrap().nestings, 0);
        let of_a = nestings(&reader).into_iter().filter(|(pair, _)| pair[1] == A).count();
        assert_eq!((of_a, lock_at(&reader, A).address), (16, A));
    });
}

#[test]
fn locks_without_marks_are_told_too() {
    in_its_own_process("lock_order::locks_without_marks_are_told_too", 1000, |directory| {
        let locks = Locks::begin();
        let take = |address| bare::within(|| bare::taken(address, Some(1), bare::is_due(), false));
        let release = |address| assert!(bare::within(|| bare::release(address, Some(1), false)).is_none());
        assert!(bare::remembers());
        take(A);
        std::thread::scope(|scope| scope.spawn(|| release(A)).join().unwrap());
        take(B);
        take(C);
        release(C);
        release(B);
        locks.take(A);
        assert_eq!(told(directory), [([B, C], vec![])]);
    });
}
