//! Recordings that are damaged, as by a program that writes into its recorder's memory: whatever stands in one, a list comes of it.

use super::statistics::ROOM_OF_COUNTS;
use super::{Collector, Run};
use crate::made_up::show;
use ondeck_record::Sleep;
use ondeck_record::layout::{HEADER_BYTES, Header, Lock, MOST_MODULES, Module, Nesting, Slot, source};
use ondeck_record::{Marks, RecordOptions, Source};
use std::collections::BTreeSet;
use std::fs::File;
use std::mem::offset_of;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// As a weight, the last one is nearly the largest that there may be.
const EXTREMES: [u64; 5] = [0, 1 << 33, 1 << 63, u64::MAX, 0x43ef_ffff_ffff_ffff];
const FILE: &str = "1-0.ondeck";
const NAME: &str = "collect::damage::whatever_is_in_a_recording_a_list_comes_of_it";
/// The middle of the file's first parts, where a program is named.
const PROGRAM: Range<usize> = offset_of!(Header, program)..offset_of!(Header, modules);

/// Some waits and holds, with time between them.
fn record() {
    const LOCK: u64 = 0x5000;
    const OTHER: u64 = 0x6000;
    let options = RecordOptions::of_environment().expect("the environment asks").with_order();
    ondeck_record::ask_loader();
    assert!(ondeck_record::start(&options, "ondeck", Sleep::AtOnce, Source::Library));
    let marks = Marks::default();
    for _ in 0..6 {
        marks.taken(LOCK);
        let waiting = marks.wait(LOCK).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        marks.release(LOCK).unwrap().done();
        waiting.end(true, LOCK);
        marks.taken(LOCK);
        marks.release(LOCK).unwrap().done();
    }
    let other = Marks::default();
    let all = [(&marks, LOCK), (&other, OTHER)];
    for order in [[0, 1], [1, 0]].map(|order| order.map(|at: usize| all[at])) {
        order.iter().for_each(|(marks, address)| marks.taken(*address));
        order.iter().for_each(|(marks, address)| marks.release(*address).unwrap().done());
    }
    ondeck_record::exit();
}

/// The bytes of what another process has recorded. Its modules are a small file, as names are not the point here.
fn recording() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", NAME, "--nocapture"]).env("ONDECK_RECORD", directory.path());
    command.env("ONDECK_RECORD_RATE", "1").env("ONDECK_RECORD_MAX_MB", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = directory.path().read_dir().unwrap().next().expect("it has recorded").unwrap();
    let mut bytes = std::fs::read(file.path()).unwrap();
    let mut at = word(&bytes, offset_of!(Header, modules)) as usize;
    while bytes[at + offset_of!(Module, is_complete)] != 0 {
        bytes[at + offset_of!(Module, build_id_length)..][..4].fill(0);
        bytes[at + offset_of!(Module, path)..][..10].copy_from_slice(b"/bin/true\0");
        at += size_of::<Module>();
    }
    bytes
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// All that is made of a recording, while its process runs and afterwards.
fn collected(bytes: &[u8]) -> crate::Profile {
    let (directory, run) = written(bytes);
    profile(directory.path(), run)
}

/// A recording in a directory, and the run that it is of.
fn written(bytes: &[u8]) -> (TempDir, Run) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(FILE), bytes).unwrap();
    let at = |field: usize| bytes.get(field..field + 8).map_or(0, |_| word(bytes, field));
    let started_ns = at(offset_of!(Header, started_ns)).saturating_sub(5_000_000);
    let started_realtime_ns = at(offset_of!(Header, started_realtime_ns)).saturating_sub(5_000_000);
    (directory, Run { command: vec!["p".to_owned()], started_realtime_ns, started_ns, cores: 2 })
}

fn profile(directory: &Path, run: Run) -> crate::Profile {
    let now = run.started_ns.saturating_add(1_000_000_000);
    let mut collector = Collector::new(directory, run);
    // As if its process were there.
    let held = File::options().write(true).open(directory.join(FILE)).unwrap();
    collector.take(now);
    collector.snapshot(now);
    drop(held);
    collector.take(now);
    let profile = collector.profile(now);
    show(&profile);
    let mut text = String::new();
    collector.statistics().prometheus(&mut text).unwrap();
    assert!(text.contains("ondeck_lock_missed_total"), "{text}");
    profile
}

/// They are for months in which locks come and go.
#[test]
fn statistics_keep_counts_alone_and_give_back_what_they_kept_of_locks_that_are_no_more() {
    let (directory, run) = written(&recording());
    let now = run.started_ns + 1_000_000_000;
    let _held = File::options().write(true).open(directory.path().join(FILE)).unwrap();
    let text_of = |mut collector: Collector| {
        collector.take(now);
        let mut text = String::new();
        collector.statistics().prometheus(&mut text).unwrap();
        (text, collector)
    };
    // The first one takes the samples from the file.
    let whole = std::fs::read(directory.path().join(FILE)).unwrap();
    let (expected, _) = text_of(Collector::new(directory.path(), run.clone()));
    std::fs::write(directory.path().join(FILE), whole).unwrap();
    let (text, mut collector) = text_of(Collector::of_statistics(directory.path(), run));
    // A profile tells lengths apart otherwise.
    let counts = |text: &str| text.lines().filter(|line| !line.contains("_bucket{")).collect::<Vec<_>>().join("\n");
    assert!(counts(&text) == counts(&expected) && text.contains("ondeck_lock_waits_total"), "{text}\n{expected}");
    let recording = &mut collector.recordings[0];
    let kept = || collector.budget.taken();
    assert!(!recording.locks.is_empty() && recording.recent.is_empty());
    assert!(recording.locks.values().all(|account| account.stacks().next().is_none() && account.threads.is_empty()));
    let n_bytes = (recording.locks.len() * ROOM_OF_COUNTS) as u64;
    let before = kept();
    assert!(before >= n_bytes);
    recording.take_out_all_but(&BTreeSet::new());
    assert_eq!(before - kept(), n_bytes);
}

/// Where the entries of orders are that are in use.
fn nestings(bytes: &[u8]) -> Vec<usize> {
    let start = word(bytes, offset_of!(Header, nestings)) as usize;
    let room = word(bytes, offset_of!(Header, nestings) + 8) as usize;
    let all = (0..room).map(|entry| start + entry * size_of::<Nesting>());
    all.filter(|at| word(bytes, *at) != 0).collect()
}

/// Each of two locks was taken while the other one was held.
#[test]
fn orders_of_readers_and_those_that_are_being_written_are_none() {
    let whole = recording();
    let [one, other] = nestings(&whole)[..] else { panic!("it has told two orders") };
    let n_orders = |changes: &[(usize, u64)]| {
        let mut bytes = whole.clone();
        for (at, bits) in changes {
            let word = word(&bytes, *at) ^ bits;
            bytes[*at..*at + 8].copy_from_slice(&word.to_le_bytes());
        }
        collected(&bytes).order.len()
    };
    let [held, taken] = [u64::from(Nesting::SHARED), u64::from(Nesting::SHARED) << 32];
    for (changes, expected) in [
        (&[][..], 1),
        (&[(one, held)], 1),
        (&[(one, taken)], 1),
        // What the one wants to read, the other one reads.
        (&[(one, taken), (other, held)], 0),
        (&[(one, held), (other, taken)], 0),
        (&[(one, held), (other, held)], 1),
        (&[(one, held | taken), (other, held | taken)], 0),
        (&[(one + offset_of!(Nesting, outer), Nesting::SEEN)], 0),
    ] {
        assert_eq!(n_orders(changes), expected, "{changes:?}");
    }
}

#[test]
fn a_recording_that_was_given_back_is_told_from_one_that_is_there() {
    let (directory, mut bytes) = (tempfile::tempdir().unwrap(), recording());
    let run = Run { command: vec!["p".to_owned()], started_realtime_ns: 0, started_ns: 0, cores: 2 };
    let file = directory.path().join(FILE);
    std::fs::write(&file, &bytes).unwrap();
    // As if its process were there.
    let _held = File::options().write(true).open(&file).unwrap();
    let mut collector = Collector::new(directory.path(), run);
    collector.take(1);
    assert!(!collector.is_emptied());
    bytes[HEADER_BYTES as usize..].fill(0);
    std::fs::write(&file, &bytes).unwrap();
    assert!(collector.is_emptied());
}

#[test]
fn libraries_for_which_there_was_no_room_are_told_of() {
    let mut bytes = recording();
    let start = word(&bytes, offset_of!(Header, modules)) as usize;
    let all: Vec<usize> = (0..MOST_MODULES as usize).map(|at| start + at * size_of::<Module>()).collect();
    let mut is_told_with = |n: usize| {
        all[..n].iter().for_each(|at| bytes[at + offset_of!(Module, is_complete)] = 1);
        let notes = collected(&bytes).notes;
        notes.iter().any(|note| note.contains("libraries that were loaded after the first 512 have no names"))
    };
    assert!(!is_told_with(all.len() - 1) && is_told_with(all.len()));
}

/// As a test runner's processes: the same program. Whose locks' marks lie elsewhere does not know when one is gone.
#[test]
fn the_order_of_several_processes_is_one() {
    assert!(same_in_three_processes(source::LIBRARY));
    assert!(!same_in_three_processes(source::PROGRAM));
}

/// Whether the order is surely of the same locks each time.
fn same_in_three_processes(source: u32) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = recording();
    bytes[offset_of!(Header, source)..][..4].copy_from_slice(&source.to_le_bytes());
    let started_ns = word(&bytes, offset_of!(Header, started_ns));
    let started_realtime_ns = word(&bytes, offset_of!(Header, started_realtime_ns));
    for pid in 1_u32..=3 {
        bytes[offset_of!(Header, pid)..][..4].copy_from_slice(&pid.to_le_bytes());
        std::fs::write(directory.path().join(format!("{pid}-0.ondeck")), &bytes).unwrap();
    }
    let run = Run { command: vec!["p".to_owned()], started_realtime_ns, started_ns, cores: 2 };
    let profile = profile(directory.path(), run);
    let [order] = &profile.order[..] else { panic!("{:?}", profile.order) };
    assert_eq!((profile.processes.len(), order.processes, order.same_addresses), (3, 3, true), "{order:?}");
    order.same_objects
}

#[test]
fn whatever_is_in_a_recording_a_list_comes_of_it() {
    if std::env::var_os("ONDECK_RECORD").is_some() {
        return record();
    }
    let whole = recording();
    let undamaged = collected(&whole);
    assert!(undamaged.locks.iter().any(|lock| lock.wait_ns > 5e6), "{undamaged:?}");
    assert_eq!((undamaged.dropped.samples, undamaged.dropped.processes, undamaged.order.len()), (0, 0, 1));
    let header = (0..PROGRAM.start).chain(PROGRAM.end..size_of::<Header>());
    // The first module without its path, the first lock behind that which is none, a stack, and some samples.
    let parts = [
        (offset_of!(Header, modules), 0, offset_of!(Module, path)),
        (offset_of!(Header, locks), size_of::<Lock>(), size_of::<Lock>()),
        (offset_of!(Header, stacks), 8, 80),
        (offset_of!(Header, ring), 0, 4 * size_of::<Slot>()),
    ];
    let parts = parts.map(|(at, skipped, length)| {
        let start = word(&whole, at) as usize + skipped;
        start..start + length
    });
    let nesting = nestings(&whole)[0];
    let numbers = parts.iter().cloned().flatten().chain(nesting..nesting + size_of::<Nesting>());
    for at in header.chain(numbers).step_by(8) {
        for value in EXTREMES {
            println!("{value:#x} at {at:#x}");
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            collected(&bytes);
        }
    }
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % below
    };
    for round in 0..100 {
        println!("round {round}");
        let mut bytes = whole.clone();
        for _ in 0..1 + next(20) {
            let range = match next(5) {
                4 => 0..size_of::<Header>(),
                part => parts[part].clone(),
            };
            bytes[range.start + next(range.len())] ^= 1 << next(8);
        }
        if next(4) == 0 {
            bytes.truncate(next(bytes.len()));
        }
        collected(&bytes);
    }
}
