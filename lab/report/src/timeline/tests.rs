use super::*;
use crate::trace::{Header, MARKER, Subject};

fn span(place: Place, from_ns: u64, to_ns: u64) -> Span {
    Span { place, from_ns, to_ns }
}

fn trace(threads: &[(u32, Vec<Span>)]) -> Trace {
    let subject = Subject {
        machine: "toy".into(),
        workload: "mutex-contention".into(),
        lock: "ondeck".into(),
        threads: threads.len() as u32,
        seed: 7,
        command: String::new(),
    };
    let header = Header { kind: MARKER.into(), subject, end_us: 1.0, is_cut: false };
    Trace { label: "a.json".into(), header, threads: threads.iter().cloned().collect() }
}

/// Threads take turns of 100 ns; each wants the lock 100 ns before its turn and sleeps the rest of the time.
fn turns(n_threads: u32, n_turns: u32) -> Trace {
    let mut threads: Vec<(u32, Vec<Span>)> = (0..n_threads).map(|thread| (thread, Vec::new())).collect();
    for turn in 0..n_turns {
        let spans = &mut threads[(turn % n_threads) as usize].1;
        let at = u64::from(turn) * 100 + 100;
        let asleep_from = spans.last().map_or(0, |span| span.to_ns);
        spans.extend([
            span(Place::Dugout, asleep_from, at - 100),
            span(Place::Awake, at - 100, at),
            span(Place::AtBat, at, at + 100),
        ]);
        spans.retain(|span| span.from_ns < span.to_ns);
    }
    trace(&threads)
}

#[test]
fn the_middle_of_the_run_is_shown_with_so_many_acquisitions() {
    let lanes = Lanes::new(&turns(4, 1000)).unwrap();
    let (from, to) = lanes.window;
    assert_eq!(to - from, 4000, "40 turns");
    assert!((45_000..55_000).contains(&from), "{from}");
    assert_eq!(lanes.lanes.iter().map(|lane| lane.acquisitions).sum::<usize>(), ACQUISITIONS);
    assert!(lanes.lanes.iter().all(|lane| lane.spans.iter().all(|span| from <= span.from_ns && span.to_ns <= to)));
    assert_eq!(
        lanes.text,
        "In the 4.00 us shown, the lock is acquired 40 times and goes from one thread to another 39 times. It is held \
         100 % of the time. On average, 1 thread is awake and wants the lock, 1 at most, and 2.00 in the dugout. No \
         thread acquires it more often than 10 times."
    );
    assert!(lanes.table().markdown().contains("| thread 0 | 10 | 25.0% | 25.0% | 50.0% | 0.0% |"));
    assert!(lanes.caption.contains("simulated toy, seed 7: 4.00 us of the run"), "{}", lanes.caption);
}

#[test]
fn a_thread_that_keeps_the_lock_makes_the_part_longer() {
    // Thread 0 has it a hundred times for each time of thread 1.
    let mut threads = [(0, Vec::new()), (1, vec![span(Place::Dugout, 0, 10)])];
    for turn in 0..3000_u64 {
        let who = usize::from(turn % 100 == 99);
        threads[who].1.push(span(Place::AtBat, 10 + turn * 10, 15 + turn * 10));
    }
    let lanes = Lanes::new(&trace(&threads)).unwrap();
    let of_second = lanes.lanes[1].acquisitions;
    let all: usize = lanes.lanes.iter().map(|lane| lane.acquisitions).sum();
    assert!(of_second >= CHANGES / 2 && all <= MOST_ACQUISITIONS, "{of_second} of {all}");
    let mut alone = trace(&threads);
    alone.threads.remove(&1);
    let to_the_end = 2970 - 2970 / 2;
    assert!(Lanes::new(&alone).unwrap().lanes[0].acquisitions.abs_diff(to_the_end) < 5);
}

#[test]
fn a_short_run_is_shown_whole() {
    let few = Lanes::new(&turns(3, 5)).unwrap();
    assert_eq!((few.window, few.lanes.len()), ((100, 500), 3));
    let never = trace(&[(0, vec![span(Place::Awake, 50, 80)]), (1, vec![span(Place::Outside, 0, 100)])]);
    let lanes = Lanes::new(&never).unwrap();
    assert_eq!((lanes.window, lanes.lanes.len()), ((50, 80), 1), "who does not want the lock has no lane");
    assert!(lanes.text.contains("acquired 0 times") && lanes.text.ends_with("Nobody acquires the lock."));
    assert_eq!(Lanes::new(&trace(&[(1, vec![span(Place::Outside, 0, 100)])])), None);
    assert_eq!(Lanes::new(&trace(&[])), None);
    assert!(sentences(&trace(&[])).is_empty());
}

#[test]
fn of_many_threads_the_busiest_are_shown() {
    let lanes = Lanes::new(&turns(100, 2000)).unwrap();
    assert_eq!(lanes.lanes.len(), MOST_LANES);
    assert!(lanes.lanes.iter().all(|lane| lane.acquisitions > 0), "40 of the 100 had their turn");
    assert!(lanes.caption.ends_with(" The 24 busiest of 100 threads are shown."), "{}", lanes.caption);
    let numbers: Vec<&String> = lanes.lanes.iter().map(|lane| &lane.name).collect();
    assert!(numbers[0].len() < 10 && numbers.is_sorted_by_key(|name| (name.len(), name.as_str())), "{numbers:?}");
    // The figures are those of all.
    assert!(lanes.text.contains("and 98.0 in the dugout"), "{}", lanes.text);
}

#[test]
fn averages_are_of_the_time_when_all_are_there() {
    let said = sentences(&turns(4, 1000));
    // The first 100 of 100,100 ns are before the first turn.
    let expected = [
        "ondeck, mutex-contention, 4 threads on a simulated toy: on average 0.999 threads are awake and want the lock and \
         2.00 sleep.",
        "This covers 100 us from when all threads had wanted the lock, with 1000 acquisitions.",
    ];
    assert_eq!(said, expected);
}

#[test]
fn spans_that_touch_are_not_at_once() {
    let most = |spans: &[(u64, u64)]| {
        let spans: Vec<Span> = spans.iter().map(|(from, to)| span(Place::Awake, *from, *to)).collect();
        most_at_once(spans.iter())
    };
    assert_eq!([most(&[]), most(&[(0, 5), (5, 9)]), most(&[(0, 6), (5, 9), (5, 8), (9, 10)])], [0, 1, 3]);
}

#[test]
fn a_lock_is_not_held_for_more_than_all_of_the_time() {
    let of = |spans: &[(u64, u64)]| {
        let spans: Vec<Span> = spans.iter().map(|(from, to)| span(Place::AtBat, *from, *to)).collect();
        covered(spans.iter())
    };
    assert_eq!([of(&[]), of(&[(5, 9), (0, 5)]), of(&[(0, 6), (5, 9), (1, 2)]), of(&[(0, 2), (4, 5)])], [0, 9, 9, 3]);
}

#[test]
fn names_of_pictures_differ() {
    let lanes = Lanes::new(&turns(2, 100)).unwrap();
    let mut all = [lanes.clone(), lanes.clone(), lanes];
    make_ids_unique(&mut all);
    assert_eq!(all.map(|lanes| lanes.id), ["timeline", "timeline-2", "timeline-3"]);
}
