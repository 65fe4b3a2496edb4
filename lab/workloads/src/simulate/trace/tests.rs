use super::*;
use ondeck_core::Step;
use ondeck_sim::Random;
use ondeck_sim::machine::{Cpu, builtin};
use ondeck_sim::timeline::{Mark, ThreadEvent};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Two cores of two hardware threads each: 0 and 2 are on core 0. Nothing is computed with its costs here.
fn machine() -> Machine {
    let mut machine = builtin("m1").expect("it is built in");
    let cpu = |core, kind, rank| Cpu { core, kind, socket: 0, node: 0, rank };
    (machine.name, machine.about) = ("toy <2>".into(), "a toy".into());
    machine.cpus = vec![cpu(0, 0, 0), cpu(1, 1, 1), cpu(0, 0, 2), cpu(1, 1, 3)];
    (machine.cores, machine.distance_ps) = (2, vec![0, 50_000, 50_000, 0]);
    machine
}

fn subject() -> Subject {
    Subject {
        machine: "toy <2>".into(),
        workload: "mutex-contention".into(),
        lock: "ondeck".into(),
        threads: 2,
        seed: 7,
        command: String::new(),
    }
}

fn timeline(events: &[(u64, u32, ThreadEvent)]) -> Timeline {
    let events: Vec<Event> =
        events.iter().map(|(at_ps, thread, what)| Event { at_ps: *at_ps, thread: *thread, what: *what }).collect();
    let threads = events.iter().map(|event| event.thread + 1).max().unwrap_or(0);
    Timeline { events, threads, cpus: 4, is_cut: false }
}

const GRAB: Step = Step { lock: "toy", name: "grab" };

/// Thread 0 holds the lock, thread 1 spins, sleeps, is woken and holds it on the other core.
fn story() -> Timeline {
    timeline(&[
        (0, 0, ThreadEvent::Runs { cpu: 0 }),
        (400, 1, ThreadEvent::Runs { cpu: 1 }),
        (1_000, 0, ThreadEvent::Marked(Mark::Asks)),
        (5_000, 0, ThreadEvent::Step(GRAB)),
        (5_400, 0, ThreadEvent::Marked(Mark::Holds)),
        (6_000, 1, ThreadEvent::Marked(Mark::Asks)),
        (60_000, 1, ThreadEvent::LineMoved { line: 3, from_core: 0, asked_ps: 6_000, to_write: true }),
        (100_000, 1, ThreadEvent::Paused { for_ps: 40_000 }),
        (900_000, 1, ThreadEvent::Sleeps),
        (2_000_000, 0, ThreadEvent::Marked(Mark::Released)),
        (2_000_600, 1, ThreadEvent::Woken { by: Some(0) }),
        (3_500_000, 1, ThreadEvent::Runs { cpu: 3 }),
        (3_600_000, 1, ThreadEvent::Marked(Mark::Holds)),
        (4_000_000, 0, ThreadEvent::Ends),
        (4_500_000, 1, ThreadEvent::Marked(Mark::Released)),
        (4_600_000, 1, ThreadEvent::Ends),
    ])
}

fn written(timeline: &Timeline, most: usize) -> (Header, Value) {
    let mut bytes = Vec::new();
    let header = write_first(&mut bytes, timeline, &machine(), &subject(), most).unwrap();
    (header, serde_json::from_slice(&bytes).expect("it is JSON"))
}

fn events(file: &Value) -> &[Value] {
    file["traceEvents"].as_array().unwrap()
}

fn ns_of(event: &Value, field: &str) -> u64 {
    let ns = event[field].as_f64().unwrap_or_else(|| panic!("no {field} in {event}")) * 1e3;
    assert!((ns - ns.round()).abs() < 1e-3, "{field} of {event} is no whole nanosecond");
    ns.round() as u64
}

/// Name, category, begin and end of the slices of a track, in the order of the file.
fn slices(file: &Value, track: &str) -> Vec<(String, String, u64, u64)> {
    let named = |event: &&Value| event["name"] == "thread_name" && event["args"]["name"] == track;
    let tid = &events(file).iter().find(named).unwrap_or_else(|| panic!("no track {track}"))["tid"];
    let of_track = events(file).iter().filter(|event| event["ph"] == "X" && event["tid"] == *tid);
    let text = |value: &Value| value.as_str().unwrap().to_string();
    of_track
        .map(|event| {
            let from = ns_of(event, "ts");
            (text(&event["name"]), text(&event["cat"]), from, from + ns_of(event, "dur"))
        })
        .collect()
}

fn slice(name: &str, category: &str, from: u64, to: u64) -> (String, String, u64, u64) {
    (name.into(), category.into(), from, to)
}

#[test]
fn a_thread_is_shown_as_the_lock_sees_it() {
    let (_, file) = written(&story(), 100);
    let expected = [
        slice("outside", "outside", 0, 6),
        slice("awake", "awake", 6, 900),
        slice("pauses", "pauses", 60, 100),
        slice("dugout", "dugout", 900, 2001),
        slice("awake, just woken", "awake", 2001, 3500),
        slice("awake", "awake", 3500, 3600),
        slice("at bat", "at bat", 3600, 4500),
        slice("outside", "outside", 4500, 4600),
    ];
    assert_eq!(slices(&file, "thread 1"), expected);
    let first: Vec<_> = slices(&file, "thread 0");
    assert!(first.contains(&slice("at bat", "at bat", 5, 2000)), "{first:?}");
    assert!(first.contains(&slice("wake", "wake", 2001, 2002)), "{first:?}");
    let steps: Vec<&Value> = events(&file).iter().filter(|event| event["ph"] == "i").collect();
    assert_eq!(steps.len(), 1);
    assert_eq!((&steps[0]["cat"], &steps[0]["name"], ns_of(steps[0], "ts")), (&"toy".into(), &"grab".into(), 5));
}

#[test]
fn a_hardware_thread_shows_who_runs_and_its_lines() {
    let (_, file) = written(&story(), 100);
    assert_eq!(
        slices(&file, "CPU 0, P"),
        [slice("thread 0", "runs", 0, 4000), slice("line 3", "line", 6, 7)],
        "the core that had the line gives it away"
    );
    assert_eq!(
        slices(&file, "CPU 1, E"),
        [slice("thread 1", "runs", 0, 900), slice("waits for line 3", "fetch", 6, 60), slice("line 3", "line", 59, 60)]
    );
    assert_eq!(slices(&file, "CPU 3, E"), [slice("thread 1", "runs", 3500, 4600)]);
}

#[test]
fn counts_are_of_those_who_want_the_lock() {
    let (_, file) = written(&story(), 100);
    let counts = events(&file).iter().filter(|event| event["ph"] == "C");
    let counts: Vec<(u64, u64, u64)> = counts
        .map(|event| {
            let of = |key: &str| event["args"][key].as_u64().unwrap();
            (ns_of(event, "ts"), of("awake"), of("in the dugout"))
        })
        .collect();
    let expected = [(1, 1, 0), (5, 0, 0), (6, 1, 0), (900, 0, 1), (2001, 1, 0), (3600, 0, 0)];
    assert_eq!(counts, expected);
}

#[test]
fn the_header_says_what_was_run_and_where_it_ends() {
    let (header, file) = written(&story(), 100);
    assert_eq!((header.is_cut, header.end_us), (false, 4.6));
    let other = json!({
        "kind": "ondeck-trace-1", "machine": "toy <2>", "workload": "mutex-contention", "lock": "ondeck", "threads": 2,
        "seed": 7, "end_us": 4.6, "is_cut": false
    });
    assert_eq!(file["otherData"], other);
    assert_eq!((header.subject, &file["displayTimeUnit"]), (subject(), &"ns".into()));
}

#[test]
fn what_is_left_out_is_said() {
    let is_said = |file: &Value| events(file).iter().any(|event| event["s"] == "g");
    let (header, file) = written(&story(), 9);
    assert_eq!((header.is_cut, header.end_us, is_said(&file)), (true, 0.9, true));
    check(&file);
    let (header, file) = written(&Timeline { is_cut: true, ..story() }, 100);
    assert!(header.is_cut && is_said(&file));
    let (header, file) = written(&story(), 100);
    assert!(!header.is_cut && !is_said(&file));
    let (header, file) = written(&Timeline::default(), 100);
    assert_eq!((header.end_us, events(&file).iter().filter(|event| event["ph"] != "M").count()), (0.0, 0));
}

/// What a viewer relies on: slices of a track lie beside or within each other, the outer one first; arrows have both ends,
/// in this order, each in a slice; every track has a name.
fn check(file: &Value) {
    let mut open: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    let mut last = 0;
    let mut arrows: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    let mut named = BTreeSet::new();
    for event in events(file) {
        let kind = event["ph"].as_str().unwrap();
        let tid = event["tid"].as_u64();
        if kind == "M" {
            named.extend(tid);
            continue;
        }
        let at = ns_of(event, "ts");
        assert!(at >= last, "{event} comes too late");
        last = at;
        let Some(tid) = tid else { continue };
        assert!(named.contains(&tid), "{event} is on a track without a name");
        let stack = open.entry(tid).or_default();
        stack.retain(|(_, end)| *end > at);
        match kind {
            "X" => {
                let end = at + ns_of(event, "dur");
                assert!(end > at, "{event} has no extent");
                assert!(stack.last().is_none_or(|(_, outer)| end <= *outer), "{event} overlaps {stack:?}");
                stack.push((at, end));
            }
            "s" | "f" => {
                assert!(!stack.is_empty(), "{event} is in no slice");
                let id = event["id"].as_u64().unwrap();
                let name = format!("{} {}", event["cat"], event["name"]);
                if kind == "s" {
                    assert!(arrows.insert(id, (at, name)).is_none(), "{event} begins twice");
                } else {
                    assert_eq!(event["bp"], "e");
                    let (begin, begun) = arrows.remove(&id).unwrap_or_else(|| panic!("{event} has no begin"));
                    assert!(begin <= at && begun == name, "{event} does not fit its begin");
                }
            }
            "i" => assert!(event["s"] == "t" || event["s"] == "g"),
            other => panic!("{other} is not expected"),
        }
    }
    assert!(arrows.is_empty(), "arrows without an end: {arrows:?}");
}

/// A run that makes no sense, except that times do not go back, no line is asked for after it came and nobody ends.
fn nonsense(seed: u64) -> Timeline {
    let mut random = Random::new(seed);
    let mut below = |n: u64| u64::from(random.below(n as u32));
    let mut at_ps = 0;
    let events: Vec<(u64, u32, ThreadEvent)> = (0..400)
        .map(|_| {
            at_ps += [0, below(300), below(3_000), below(90_000)][below(4) as usize];
            let what = match below(11) {
                0 | 1 => ThreadEvent::Runs { cpu: below(4) as u32 },
                2 => ThreadEvent::Waits,
                3 => ThreadEvent::Sleeps,
                4 => ThreadEvent::Woken { by: Some(below(5) as u32) },
                5 => ThreadEvent::Woken { by: None },
                6 => ThreadEvent::Paused { for_ps: below(50_000) },
                7 => ThreadEvent::Step(GRAB),
                8 => ThreadEvent::Marked([Mark::Asks, Mark::Holds, Mark::Released][below(3) as usize]),
                _ => ThreadEvent::LineMoved {
                    line: below(4) as u32,
                    from_core: below(2) as u32,
                    asked_ps: at_ps - below(at_ps.min(60_000) + 1),
                    to_write: below(2) == 0,
                },
            };
            (at_ps, below(5) as u32, what)
        })
        .collect();
    Timeline { threads: 5, ..timeline(&events) }
}

#[test]
fn viewers_can_rely_on_the_order_whatever_happens() {
    check(&written(&story(), 100).1);
    for seed in 0..300 {
        check(&written(&nonsense(seed), 1000).1);
    }
}

#[test]
fn the_same_run_gives_the_same_file() {
    assert_eq!(written(&nonsense(1), 1000), written(&nonsense(1), 1000));
}
