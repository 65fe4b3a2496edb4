//! Recordings that are not as a recorder has written them: nothing in a file is believed.

use crate::common::Mode::Exact;
use crate::common::{files, in_its_own_process, samples, start};
use ondeck_record::layout::{DEPTH, Header, Lock, MAGIC, Module, NONE, Slot, kind};
use ondeck_record::read::Reader;
use ondeck_record::{Marks, OpaqueWait};
use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const LOCK: u64 = 0x5000;
const LENGTH: u64 = 1 << 20;

/// The one recording in a directory, for who writes into it.
struct DamagedRecording {
    path: PathBuf,
    file: File,
}

impl DamagedRecording {
    fn of(directory: &Path) -> Self {
        let path = files(directory).pop().unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let damaged = DamagedRecording { path, file };
        assert_eq!(damaged.get(0), MAGIC);
        damaged
    }

    fn get(&self, at: u64) -> u64 {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, at).unwrap();
        u64::from_le_bytes(word)
    }

    fn set(&self, at: u64, word: u64) {
        self.file.write_all_at(&word.to_le_bytes(), at).unwrap();
    }

    /// Where the part begins that is named there in the header, and its room.
    fn part(&self, at: usize) -> (u64, u64) {
        (self.get(at as u64), self.get(at as u64 + 8))
    }

    fn reader(&self) -> Reader {
        Reader::open(&self.path).unwrap()
    }
}

#[test]
fn numbers_that_there_cannot_be_are_cut() {
    in_its_own_process("damaged::numbers_that_there_cannot_be_are_cut", 7, |directory| {
        start(Exact);
        let damaged = DamagedRecording::of(directory);
        assert_eq!(damaged.reader().about.rate, 7);
        damaged.set(offset_of!(Header, rate) as u64, 0);
        assert_eq!(damaged.reader().about.rate, 1);
        let (modules, _) = damaged.part(offset_of!(Header, modules));
        let length = [33, 0, 0, 0];
        damaged.file.write_all_at(&length, modules + offset_of!(Module, build_id_length) as u64).unwrap();
        let id = [9; 32];
        damaged.file.write_all_at(&id, modules + offset_of!(Module, build_id) as u64).unwrap();
        assert_eq!(damaged.reader().modules().unwrap()[0].build_id, id);
    });
}

#[test]
fn stacks_end_with_their_part_and_with_the_file() {
    in_its_own_process("damaged::stacks_end_with_their_part_and_with_the_file", 1, |directory| {
        start(Exact);
        let damaged = DamagedRecording::of(directory);
        let (at, room) = damaged.part(offset_of!(Header, stacks));
        let stack = |number: u64| damaged.reader().stack(number as u32).unwrap();
        let put = |number: u64, words: &[u64]| {
            (0..).zip(words).for_each(|(n, word)| damaged.set(at + (number + n) * 8, *word));
        };
        put(u64::from(NONE), &[3, 1, 2, 3]);
        assert_eq!(stack(NONE.into()), []);
        // The upper bits are no length.
        put(1, &[0xabc_0002, 7, 8]);
        assert_eq!(stack(1), [7, 8]);
        put(1, &[DEPTH as u64 + 1]);
        assert_eq!(stack(1), []);
        put(1, &[DEPTH as u64]);
        assert_eq!(stack(1).len(), DEPTH);
        // At the end of the part, behind which others are.
        put(room - 4, &[3, 7, 8, 9, 2, 5, 6]);
        assert_eq!((stack(room - 4), stack(room)), (vec![7, 8, 9], vec![]));
        put(room - 3, &[3, 7, 8, 9]);
        assert_eq!(stack(room - 3), []);
        assert_eq!((stack(room + 1), stack(u32::MAX.into())), (vec![], vec![]));
        // A part that ends where the file does is one of it.
        let start = LENGTH - room * 8;
        damaged.set(offset_of!(Header, stacks) as u64, start);
        damaged.set(start + (room - 3) * 8, 2);
        assert_eq!((stack(room - 3), stack(room)), (vec![0, 0], vec![]));
    });
}

#[test]
fn locks_end_with_their_part() {
    in_its_own_process("damaged::locks_end_with_their_part", 1, |directory| {
        start(Exact);
        let damaged = DamagedRecording::of(directory);
        let (at, room) = damaged.part(offset_of!(Header, locks));
        for address in 1..room {
            OpaqueWait::begin(address * 64, kind::SEMAPHORE).unwrap().end();
        }
        for (number, ns) in [(2, 7), (300, 9)] {
            damaged.set(at + number * size_of::<Lock>() as u64 + offset_of!(Lock, left_over) as u64, ns);
        }
        // Behind them is something that is no lock.
        damaged.set(at + room * size_of::<Lock>() as u64, LOCK);
        let locks = damaged.reader().locks().unwrap();
        let numbers: Vec<u64> = locks.iter().map(|lock| lock.number.into()).collect();
        assert_eq!(numbers, (1..room).collect::<Vec<_>>());
        assert!(locks.iter().all(|lock| lock.address == u64::from(lock.number) * 64));
        let left_over: Vec<_> = locks.iter().filter(|lock| lock.left_over > 0).collect();
        assert_eq!(left_over.iter().map(|lock| (lock.number, lock.left_over)).collect::<Vec<_>>(), [(2, 7), (300, 9)]);
    });
}

#[test]
fn samples_are_taken_around_the_end_of_the_ring() {
    in_its_own_process("damaged::samples_are_taken_around_the_end_of_the_ring", 1, |directory| {
        start(Exact);
        let damaged = DamagedRecording::of(directory);
        let (at, room) = damaged.part(offset_of!(Header, ring));
        let mut reader = damaged.reader();
        let marks = Marks::default();
        let mut take = |n: u64| {
            for _ in 0..n {
                marks.taken(LOCK);
                marks.release(LOCK).unwrap().done();
            }
            let samples = samples(&mut reader);
            assert!(samples.windows(2).all(|two| two[0].at <= two[1].at));
            samples.len() as u64
        };
        for n in [room - 10, 30, 1] {
            assert_eq!(take(n), n);
        }
        // More than there is room for is not there, whatever the file says.
        let (head, tail) = (offset_of!(Header, head) as u64, offset_of!(Header, tail) as u64);
        assert_eq!((damaged.get(head), damaged.get(tail)), (room + 21, room + 21));
        damaged.set(head, 3 * room);
        let next = at + 21 * size_of::<Slot>() as u64;
        damaged.set(next + offset_of!(Slot, ticket) as u64, 2 * room + 22);
        assert_eq!(samples(&mut damaged.reader()), []);
        assert_eq!(damaged.get(tail), 2 * room + 21);
    });
}

#[test]
fn a_weight_without_end_is_none() {
    in_its_own_process("damaged::a_weight_without_end_is_none", 1, |directory| {
        start(Exact);
        let damaged = DamagedRecording::of(directory);
        let marks = Marks::default();
        for _ in 0..2 {
            marks.taken(LOCK);
            marks.release(LOCK).unwrap().done();
        }
        let (at, _) = damaged.part(offset_of!(Header, ring));
        for weight in [f64::INFINITY, f64::MAX, f64::NAN, 0.0, -1.0] {
            damaged.set(offset_of!(Header, tail) as u64, 0);
            damaged.set(at + offset_of!(Slot, weight) as u64, weight.to_bits());
            let mut reader = damaged.reader();
            assert_eq!((samples(&mut reader).len(), reader.spoilt()), (1, 1), "{weight}");
        }
    });
}
