//! Locks of the program itself, whose marks are in a table, and which many may have at once to read.

use crate::common::{from_here, in_its_own_process, lock_at, pass, prepare, reader, samples, when};
use ondeck_record::Access::{self, Reading, Writing};
use ondeck_record::bare::{self, several};
use ondeck_record::layout::{event, kind};
use ondeck_record::{PendingRelease, Wait};
use std::path::Path;

const LOCK: u64 = 0x5000;
const READ: u32 = event::READING;

fn taken(access: Access, is_contended: bool, was_free: bool) {
    from_here(|| several::taken(LOCK, access, bare::is_due(), is_contended, was_free));
}

/// Whether there was something to write down.
fn release(access: Access, is_contended: bool, is_alone: bool) -> bool {
    let pending = || several::release(LOCK, access, is_contended, || is_alone);
    from_here(|| pending().map(PendingRelease::done).is_some())
}

fn wait(access: Access) -> Wait<'static> {
    from_here(|| several::wait(LOCK, access).unwrap())
}

fn waited(wait: Wait<'_>, access: Access) {
    from_here(|| several::waited(wait, true, LOCK, access));
}

fn events(directory: &Path) -> Vec<u32> {
    samples(&mut reader(directory)).iter().map(|sample| sample.event).collect()
}

#[test]
fn readers_and_writers_are_charged_apart() {
    in_its_own_process("several::readers_and_writers_are_charged_apart", 1, |directory| {
        assert!(prepare());
        taken(Reading, false, true);
        let (writer, came) = when(|| several::wait(LOCK, Writing).unwrap());
        pass(300);
        let (_, read_for) = when(|| assert!(release(Reading, true, true)));
        waited(writer, Writing);
        let (waiting, came_to_read) = when(|| several::wait(LOCK, Reading).unwrap());
        pass(300);
        let (_, written_for) = when(|| assert!(release(Writing, true, true)));
        waited(waiting, Reading);
        assert!(bare::remembers() && release(Reading, false, true) && !bare::remembers());
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        let events: Vec<u32> = samples.iter().map(|sample| sample.event).collect();
        let (take, charge, free, wait) = (event::TAKE, event::CHARGE, event::HANDING_ON, event::WAIT);
        let expected = [take | READ, charge | READ, free, wait, take, charge, free, wait | READ, take | READ];
        assert_eq!(events, expected);
        assert!(came.until(read_for).contains(&samples[1].ns));
        assert!(came_to_read.until(written_for).contains(&samples[5].ns));
        // Who has waited is known by the stack that did.
        assert_eq!((samples[3].stack, samples[7].stack), (samples[4].stack, samples[8].stack));
        assert_eq!(lock_at(&reader, LOCK).kind, kind::SEEN | kind::SEVERAL);
    });
}

/// While one reads for long, and a writer waits, others come and go. They are told of, as the lock says that somebody waits.
#[test]
fn of_several_readers_the_one_that_stays_is_charged() {
    in_its_own_process("several::of_several_readers_the_one_that_stays_is_charged", 1, |directory| {
        assert!(prepare());
        taken(Reading, false, true);
        let (writer, came) = when(|| several::wait(LOCK, Writing).unwrap());
        // Longer than the first walk of a thread takes on a busy machine.
        pass(50_000);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..5 {
                    taken(Reading, true, false);
                    release(Reading, true, false);
                }
            });
        });
        let (_, left) = when(|| assert!(release(Reading, true, true)));
        waited(writer, Writing);
        let samples = samples(&mut reader(directory));
        let charges: Vec<_> = samples.iter().filter(|one| one.event == event::CHARGE | READ).collect();
        assert_eq!(charges.len(), 1, "{samples:?}");
        assert!(came.until(left).contains(&charges[0].ns), "{samples:?}");
    });
}

/// Also one that is not looked at for itself; and the end of it is not that of the outer one.
#[test]
fn an_inner_reading_does_not_end_the_outer_one() {
    const RATE: u64 = 100_000;
    in_its_own_process("several::an_inner_reading_does_not_end_the_outer_one", RATE, |directory| {
        assert!(prepare());
        // The first may be looked at for itself.
        taken(Reading, false, true);
        release(Reading, false, true);
        let n_before = events(directory).len();
        taken(Reading, false, true);
        let writer = wait(Writing);
        taken(Reading, true, false);
        assert!(bare::remembers());
        // The outer one stays, and is not remembered: it began before anybody waited.
        release(Reading, true, false);
        assert!(!bare::remembers());
        // More than is always recorded at that rate.
        pass(RATE);
        assert!(release(Reading, true, true));
        waited(writer, Writing);
        let samples = samples(&mut reader(directory));
        let of_readers = samples.iter().skip(n_before).filter(|sample| sample.event & READ != 0);
        assert!(of_readers.clone().all(|sample| sample.event == event::CHARGE | READ), "{samples:?}");
        assert!(of_readers.count() >= 1, "{samples:?}");
    });
}

#[test]
fn only_what_is_due_is_looked_at() {
    in_its_own_process("several::only_what_is_due_is_looked_at", 1, |directory| {
        assert!(prepare());
        from_here(|| several::taken(LOCK, Reading, false, false, true));
        assert!(!bare::remembers() && !release(Reading, false, true));
        // And one that others wait for, as far as it says, and that was never looked at.
        from_here(|| several::taken(LOCK, Reading, false, true, true));
        assert!(!bare::remembers() && !release(Reading, true, true));
        assert_eq!(events(directory), []);
        assert!(reader(directory).locks().unwrap().is_empty());
    });
}

/// A guard may go with another thread.
#[test]
fn a_reading_that_another_ends_is_forgotten() {
    in_its_own_process("several::a_reading_that_another_ends_is_forgotten", 1, |directory| {
        assert!(prepare());
        (0..3).for_each(|_| taken(Reading, false, false));
        pass(1000);
        let ((), begun) = when(|| taken(Reading, false, true));
        let (_, ended) = when(|| assert!(release(Reading, false, true)));
        assert!(!release(Reading, false, true));
        let samples = samples(&mut reader(directory));
        assert_eq!(samples.len(), 1);
        assert!(begun.until(ended).contains(&samples[0].ns));
    });
}

/// A reader that comes while others wait, and finds the lock free, is not charged for that.
#[test]
fn what_is_waited_while_the_lock_is_free_is_charged_to_nobody() {
    in_its_own_process("several::what_is_waited_while_the_lock_is_free_is_charged_to_nobody", 1, |directory| {
        assert!(prepare());
        let (writer, came) = when(|| several::wait(LOCK, Writing).unwrap());
        pass(300);
        let ((), read) = when(|| taken(Reading, true, true));
        pass(300);
        let (_, left) = when(|| assert!(release(Reading, true, true)));
        waited(writer, Writing);
        let samples = samples(&mut reader(directory));
        assert_eq!((samples[0].event, samples[1].event), (event::HANDING_ON, event::TAKE | READ), "{samples:?}");
        assert_eq!(samples[2].event, event::CHARGE | READ, "{samples:?}");
        assert!(came.until(read).contains(&samples[0].ns) && read.until(left).contains(&samples[2].ns));
    });
}
