//! Tries in vain: how much time they take, and who has the mutex meanwhile.

use crate::common::Mode::Exact;
use crate::common::{in_its_own_process, reader, samples, start, when};
use ondeck_record::layout::event;
use ondeck_record::{Marks, has_by_try};
use std::time::{Duration, Instant};

const LOCK: u64 = 0x5000;
const A_WHILE: Duration = Duration::from_millis(8);

fn sleep() {
    std::thread::sleep(A_WHILE);
}

#[test]
fn who_tries_until_it_has_the_mutex_has_lost_that_time() {
    in_its_own_process("tries::who_tries_until_it_has_the_mutex_has_lost_that_time", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        let ((), first) = when(|| marks.tried(LOCK));
        sleep();
        let ((), second) = when(|| marks.tried(LOCK));
        sleep();
        let ((), had) = when(|| has_by_try(LOCK));
        marks.taken(LOCK);
        // It has it no more, so nothing is lost with what follows.
        sleep();
        has_by_try(LOCK);
        let samples = samples(&mut reader(directory));
        let tries: Vec<_> = samples.iter().filter(|sample| sample.event == event::TRIED).collect();
        assert_eq!(tries.iter().map(|sample| sample.weight).collect::<Vec<f64>>(), [1.0, 1.0]);
        for (sample, time) in tries.into_iter().zip([first.until(second), second.until(had)]) {
            // It has run for a little of it.
            let least = A_WHILE.as_nanos() as u64 / 2;
            assert!((least..*time.end() + 1).contains(&sample.ns), "{sample:?} of {time:?}");
        }
    });
}

#[test]
fn who_does_something_else_instead_loses_nothing() {
    in_its_own_process("tries::who_does_something_else_instead_loses_nothing", 1, |directory| {
        start(Exact);
        let (marks, other) = (Marks::default(), Marks::default());
        marks.tried(LOCK);
        other.taken(LOCK + 64);
        sleep();
        let ((), again) = when(|| marks.tried(LOCK));
        let ran = Instant::now();
        while ran.elapsed() < A_WHILE {
            std::hint::spin_loop();
        }
        let ((), last) = when(|| marks.tried(LOCK));
        let samples = samples(&mut reader(directory));
        let ns: Vec<u64> = samples.iter().filter(|one| one.event == event::TRIED).map(|one| one.ns).collect();
        assert_eq!((ns.len(), ns[0]), (2, 0), "it has locked another one");
        // On a busy machine it had no core for a part of it.
        assert!(ns[1] < *again.until(last).end(), "it computed");
    });
}

#[test]
fn who_has_the_mutex_tells_of_itself_at_its_unlock() {
    in_its_own_process("tries::who_has_the_mutex_tells_of_itself_at_its_unlock", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        assert!(!marks.is_marked());
        let ((), tried) = when(|| marks.tried(LOCK));
        assert!(marks.is_marked());
        sleep();
        let (_, released) = when(|| marks.release(LOCK).unwrap().done());
        assert!(!marks.is_marked());
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        let [held] = &samples[..] else { panic!("{samples:?}") };
        assert_eq!((held.event, held.weight), (event::REFUSED, 1.0));
        assert!(tried.until(released).contains(&held.ns), "{held:?}");
        assert!(reader.stack(held.stack).unwrap().len() > 3);
    });
}
