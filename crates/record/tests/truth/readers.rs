//! Locks that many may have at once to read.

use crate::ground::{in_its_own_process, lock_at, pass, reader, samples, start, when};
use ondeck_record::Access::{Reading, Writing};
use ondeck_record::Charging::{AtInstants, Exact};
use ondeck_record::layout::{event, kind};
use ondeck_record::{Marks, prepare_to_read};

const LOCK: u64 = 0x5000;

fn read(marks: &Marks, was_free: bool) {
    let stack = prepare_to_read();
    marks.read(LOCK, stack, was_free);
}

fn release_read(marks: &Marks) -> bool {
    let pending = marks.release_read(LOCK);
    let is_some = pending.is_some();
    pending.into_iter().for_each(ondeck_record::Pending::done);
    is_some
}

#[test]
fn each_reader_has_a_hold_of_its_own() {
    in_its_own_process("readers::each_reader_has_a_hold_of_its_own", 1, |directory| {
        start(Exact);
        let marks = &Marks::default();
        let ((), outer) = when(|| read(marks, true));
        pass(300);
        // Another reads meanwhile, for a shorter time.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                read(marks, false);
                assert!(release_read(marks));
            });
        });
        // Once more inside, ended first.
        let ((), inner) = when(|| read(marks, false));
        pass(300);
        let (_, inner_end) = when(|| release_read(marks));
        let (_, outer_end) = when(|| release_read(marks));
        assert!(!release_read(marks));
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        assert!(samples.iter().all(|sample| sample.event == event::TAKE | event::READING), "{samples:?}");
        assert_eq!(samples.len(), 3);
        assert!(samples[0].thread != samples[1].thread && samples[0].ns < samples[2].ns);
        assert!(inner.until(inner_end).contains(&samples[1].ns), "{samples:?}");
        assert!(outer.until(outer_end).contains(&samples[2].ns), "{samples:?}");
        assert_eq!(lock_at(&reader, LOCK).kind, kind::SEEN | kind::SEVERAL);
    });
}

/// Charges of such a lock are exact, also where those of others are not: while a writer waits, each reading is charged.
#[test]
fn while_a_writer_waits_each_reading_is_charged() {
    in_its_own_process("readers::while_a_writer_waits_each_reading_is_charged", 1, |directory| {
        start(AtInstants);
        let marks = Marks::default();
        let writer = marks.wait_for_one_of_several(LOCK, Writing).unwrap();
        for _ in 0..20 {
            read(&marks, true);
            assert!(release_read(&marks));
        }
        writer.end_of_several(true, LOCK, Writing);
        let samples = samples(&mut reader(directory));
        let n_of = |event| samples.iter().filter(|sample| sample.event == event).count();
        assert_eq!((n_of(event::CHARGE | event::READING), n_of(event::HANDING_ON)), (20, 21));
        assert_eq!(n_of(event::TAKE | event::READING), 20);
    });
}

/// What a thread remembers of a reading that another has ended is dropped, once the lock was free.
#[test]
fn a_reading_that_another_ends_is_forgotten() {
    in_its_own_process("readers::a_reading_that_another_ends_is_forgotten", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        (0..3).for_each(|_| read(&marks, false));
        pass(1000);
        let ((), begun) = when(|| read(&marks, true));
        let (_, ended) = when(|| release_read(&marks));
        assert!(!release_read(&marks));
        let samples = samples(&mut reader(directory));
        assert_eq!(samples.len(), 1);
        assert!(begun.until(ended).contains(&samples[0].ns));
    });
}

#[test]
fn more_holds_than_are_remembered_cost_the_oldest() {
    in_its_own_process("readers::more_holds_than_are_remembered_cost_the_oldest", 1, |directory| {
        start(Exact);
        let marks: Vec<Marks> = (0..10).map(|_| Marks::default()).collect();
        for (n, marks) in marks.iter().enumerate() {
            marks.read(LOCK + 64 * n as u64, 0, true);
        }
        for (n, marks) in marks.iter().enumerate() {
            let pending = marks.release_read(LOCK + 64 * n as u64);
            assert_eq!(pending.is_some(), n >= 2, "{n}");
            pending.into_iter().for_each(ondeck_record::Pending::done);
        }
        let mut reader = reader(directory);
        let numbers: Vec<u32> = samples(&mut reader).iter().map(|sample| sample.lock).collect();
        assert_eq!(numbers, (3..=10).collect::<Vec<u32>>());
    });
}

#[test]
fn readers_and_writers_are_charged_apart() {
    in_its_own_process("readers::readers_and_writers_are_charged_apart", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        read(&marks, true);
        let (writer, came) = when(|| marks.wait_for_one_of_several(LOCK, Writing).unwrap());
        pass(300);
        let (_, read_for) = when(|| release_read(&marks));
        writer.end_of_several(true, LOCK, Writing);
        let (waiting, came_to_read) = when(|| marks.wait_for_one_of_several(LOCK, Reading).unwrap());
        pass(300);
        let (_, written_for) = when(|| marks.release_written(LOCK).unwrap().done());
        waiting.end_of_several(true, LOCK, Reading);
        assert!(release_read(&marks));
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        let events: Vec<u32> = samples.iter().map(|sample| sample.event).collect();
        let (take, charge, free, wait) = (event::TAKE, event::CHARGE, event::HANDING_ON, event::WAIT);
        let reading = event::READING;
        let expected =
            [take | reading, charge | reading, free, wait, take, charge, free, wait | reading, take | reading];
        assert_eq!(events, expected);
        assert!(came.until(read_for).contains(&samples[1].ns));
        assert!(came_to_read.until(written_for).contains(&samples[5].ns));
        // Who has waited to read is known by the stack that did.
        assert_eq!(samples[7].stack, samples[8].stack);
    });
}
