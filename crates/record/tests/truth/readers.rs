//! Locks that many may have at once to read.

use crate::common::Mode::{Exact, Sampled, Told};
use crate::common::{in_its_own_process, lock_at, pass, reader, samples, start, when};
use ondeck_record::Access::{Reading, Writing};
use ondeck_record::layout::{NONE, event, kind};
use ondeck_record::{Marks, is_due, prepare_to_read};

const LOCK: u64 = 0x5000;

fn read(marks: &Marks, was_free: bool) {
    let stack = prepare_to_read();
    marks.read(LOCK, stack, was_free);
}

fn release_read(marks: &Marks) -> bool {
    release_read_as(marks, true)
}

fn release_read_as(marks: &Marks, is_alone: bool) -> bool {
    let pending = marks.release_read(LOCK, || is_alone);
    let is_some = pending.is_some();
    pending.into_iter().for_each(ondeck_record::PendingRelease::done);
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
    in_its_own_process("readers::while_a_writer_waits_each_reading_is_charged", 2, |directory| {
        start(Sampled);
        let marks = Marks::default();
        let writer = marks.wait_for_one_of_several(LOCK, Writing).unwrap();
        for _ in 0..20 {
            // More than is always recorded at that rate.
            pass(2);
            read(&marks, true);
            pass(2);
            assert!(release_read(&marks));
        }
        pass(2);
        writer.end_of_several(true, LOCK, Writing);
        let samples = samples(&mut reader(directory));
        let n_of = |event| samples.iter().filter(|sample| sample.event == event).count();
        assert_eq!((n_of(event::CHARGE | event::READING), n_of(event::HANDING_ON)), (20, 21));
    });
}

/// While one reads for long, and a writer waits, others come and go.
#[test]
fn of_several_readers_the_one_that_stays_is_charged() {
    in_its_own_process("readers::of_several_readers_the_one_that_stays_is_charged", 1, |directory| {
        start(Exact);
        let marks = &Marks::default();
        read(marks, true);
        let (writer, came) = when(|| marks.wait_for_one_of_several(LOCK, Writing).unwrap());
        // Longer than the first walk of a thread takes on a busy machine.
        pass(50_000);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..5 {
                    read(marks, false);
                    pass(10);
                    release_read_as(marks, false);
                }
                // Stays a little longer than the first one.
                read(marks, false);
            });
        });
        let (_, read_for) = when(|| release_read_as(marks, false));
        pass(50);
        let (_, left) = when(|| release_read_as(marks, true));
        writer.end_of_several(true, LOCK, Writing);
        let samples = samples(&mut reader(directory));
        let charges: Vec<_> = samples.iter().filter(|one| one.event == event::CHARGE | event::READING).collect();
        assert_eq!(charges.len(), 2, "{samples:?}");
        // Both were released here, and the takes before by the other thread.
        assert!(charges[0].thread == charges[1].thread && charges[0].thread != samples[0].thread, "{samples:?}");
        assert!(came.until(read_for).contains(&charges[0].ns), "{samples:?}");
        assert!(read_for.until(left).contains(&charges[1].ns), "{samples:?}");
    });
}

/// Readers that overlap without an end keep a writer waiting: each is charged for its time.
#[test]
fn readers_that_relieve_each_other_are_charged_in_turn() {
    in_its_own_process("readers::readers_that_relieve_each_other_are_charged_in_turn", 1, |directory| {
        start(Exact);
        let marks = &Marks::default();
        let writer = marks.wait_for_one_of_several(LOCK, Writing).unwrap();
        read(marks, true);
        // This thread and another one take turns, and the lock is never free.
        let (to_other, from_here) = std::sync::mpsc::channel();
        let (to_here, from_other) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while from_here.recv().is_ok() {
                    read(marks, false);
                    to_here.send(()).unwrap();
                    from_here.recv().unwrap();
                    release_read_as(marks, false);
                    to_here.send(()).unwrap();
                }
            });
            let tell = || (to_other.send(()).unwrap(), from_other.recv().unwrap());
            for _ in 0..5 {
                tell();
                release_read_as(marks, false);
                read(marks, false);
                tell();
            }
            drop(to_other);
        });
        release_read(marks);
        writer.end_of_several(true, LOCK, Writing);
        let samples = samples(&mut reader(directory));
        let n_charges = samples.iter().filter(|one| one.event == event::CHARGE | event::READING).count();
        assert_eq!(n_charges, 11, "{samples:?}");
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
            let pending = marks.release_read(LOCK + 64 * n as u64, || true);
            assert_eq!(pending.is_some(), n >= 2, "{n}");
            pending.into_iter().for_each(ondeck_record::PendingRelease::done);
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

/// Of what waits, and of what reads or writes: also before anything of it is released.
#[test]
fn it_is_known_at_once_that_many_may_have_it() {
    in_its_own_process("readers::it_is_known_at_once_that_many_may_have_it", 1, |directory| {
        start(Told);
        let marks = Marks::default();
        let reader = reader(directory);
        read(&marks, true);
        // A lock was used, from a stack that nobody has walked before.
        assert!(reader.has_locked().unwrap());
        assert_eq!(lock_at(&reader, LOCK).kind, kind::SEEN | kind::SEVERAL);
        let (writer, other) = (Marks::default(), Marks::default());
        let wait = writer.wait_for_one_of_several(LOCK + 64, Writing).unwrap();
        assert_eq!(lock_at(&reader, LOCK + 64).kind, kind::SEEN | kind::SEVERAL);
        wait.end_of_several(false, LOCK + 64, Writing);
        other.taken(LOCK + 128);
        assert_eq!(lock_at(&reader, LOCK + 128).kind, kind::SEEN);
        other.release_written(LOCK + 128).unwrap().done();
        assert_eq!(lock_at(&reader, LOCK + 128).kind, kind::SEEN | kind::SEVERAL);
    });
}

#[test]
fn who_has_waited_to_read_has_used_a_lock_unless_it_gave_up() {
    in_its_own_process("readers::who_has_waited_to_read_has_used_a_lock_unless_it_gave_up", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        let mut reader = reader(directory);
        marks.wait_for_one_of_several(LOCK, Reading).unwrap().end_of_several(false, LOCK, Reading);
        assert!(!reader.has_locked().unwrap());
        // Of who had it meanwhile: what was waited for is charged, and nothing is known of its beginning.
        assert!(release_read(&marks));
        marks.wait_for_one_of_several(LOCK, Reading).unwrap().end_of_several(true, LOCK, Reading);
        assert!(reader.has_locked().unwrap() && release_read(&marks));
        let events: Vec<u32> = samples(&mut reader).iter().map(|sample| sample.event & !event::READING).collect();
        assert_eq!(events, [event::GAVE_UP, event::CHARGE, event::HANDING_ON, event::WAIT, event::TAKE]);
    });
}

/// A walk takes longer than many a hold, so it is done before, and only if it is needed.
#[test]
fn a_stack_is_walked_before_a_reading_that_is_looked_at() {
    in_its_own_process("readers::a_stack_is_walked_before_a_reading_that_is_looked_at", 50, |directory| {
        start(Exact);
        let marks = Marks::default();
        let mut reader = reader(directory);
        let mut n_due = 0;
        for n in 0..1000 {
            let is_due = is_due();
            n_due += u32::from(is_due);
            let stack = prepare_to_read();
            assert_eq!(stack != NONE, is_due);
            // What is given is what is recorded.
            marks.read(LOCK, if is_due { 1_000_000 + n } else { NONE }, true);
            let is_looked_at = release_read(&marks);
            // Nobody has counted yet before the first.
            assert!(is_looked_at == is_due || n == 0);
            if is_due {
                assert_eq!(samples(&mut reader).last().unwrap().stack, 1_000_000 + n);
            }
        }
        assert!((1..500).contains(&n_due), "{n_due}");
    });
}

/// Also one that is not looked at for itself.
#[test]
fn while_a_writer_waits_those_are_charged_who_are_not_looked_at() {
    const RATE: u64 = 100;
    in_its_own_process("readers::while_a_writer_waits_those_are_charged_who_are_not_looked_at", RATE, |directory| {
        start(Sampled);
        let marks = Marks::default();
        read(&marks, true);
        release_read(&marks);
        let mut reader = reader(directory);
        samples(&mut reader);
        let writer = marks.wait_for_one_of_several(LOCK, Writing).unwrap();
        for _ in 0..5 {
            // More than is always recorded at that rate.
            pass(RATE);
            read(&marks, true);
            pass(RATE);
            assert!(release_read(&marks));
        }
        pass(RATE);
        writer.end_of_several(true, LOCK, Writing);
        let samples = samples(&mut reader);
        let n_of = |event| samples.iter().filter(|sample| sample.event == event).count();
        assert_eq!((n_of(event::CHARGE | event::READING), n_of(event::HANDING_ON)), (5, 6), "{samples:?}");
    });
}

/// The end of an inner reading, which is not looked at, is not taken for the end of the outer one, which is.
#[test]
fn an_inner_reading_does_not_end_the_outer_one() {
    in_its_own_process("readers::an_inner_reading_does_not_end_the_outer_one", 4, |directory| {
        start(Exact);
        let marks = Marks::default();
        let mut reader = reader(directory);
        read(&marks, true);
        release_read(&marks);
        samples(&mut reader);
        let mut n_outer_only = 0;
        for _ in 0..400 {
            let is_outer_due = is_due();
            let ((), outer) = when(|| read(&marks, true));
            let is_inner_due = is_due();
            read(&marks, false);
            assert_eq!(release_read(&marks), is_inner_due);
            let (is_outer_looked_at, outer_end) = when(|| release_read(&marks));
            assert_eq!(is_outer_looked_at, is_outer_due);
            let samples = samples(&mut reader);
            assert_eq!(samples.len(), usize::from(is_outer_due) + usize::from(is_inner_due));
            if is_outer_due {
                assert!(outer.until(outer_end).contains(&samples.last().unwrap().ns), "{samples:?}");
                n_outer_only += u32::from(!is_inner_due);
            }
        }
        assert!(n_outer_only > 0);
    });
}

/// What is not looked at takes no place of what is.
#[test]
fn readings_of_other_locks_are_not_remembered_beside_one() {
    in_its_own_process("readers::readings_of_other_locks_are_not_remembered_beside_one", 50, |directory| {
        start(Exact);
        let marks: Vec<Marks> = (0..9).map(|_| Marks::default()).collect();
        let at = |n: usize| LOCK + 64 * n as u64;
        let mut reader = reader(directory);
        let mut n_alone = 0;
        // Mostly some hundred times, until one is looked at and none of the eight that follow.
        while n_alone == 0 {
            let is_first_due = is_due();
            let n_due = (0..9).filter(|n| {
                let is_due = is_due();
                marks[*n].read(at(*n), NONE, true);
                is_due
            });
            let n_due = n_due.count();
            samples(&mut reader);
            for (n, marks) in marks.iter().enumerate() {
                marks.release_read(at(n), || true).into_iter().for_each(ondeck_record::PendingRelease::done);
            }
            let n_samples = samples(&mut reader).len();
            // The very first may be looked at with nothing said before.
            assert!(n_samples >= n_due && n_samples <= n_due + 1);
            n_alone += u32::from(is_first_due && n_due == 1);
        }
    });
}
