//! Recordings that begin and end by command, in one process: what is of the one is not in the other.

use crate::common::{files, in_its_own_process, pass, samples};
use ondeck_record::control::{Control, answer, command, control};
use ondeck_record::layout::{event, kind};
use ondeck_record::read::Reader;
use ondeck_record::{Change, Marks, OpaqueWait, RecordOptions, Sleep, Source, obey};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

const LOCK: u64 = 0x5000;

/// As an observer gives it, and the next thread obeys: what came of it, and what has changed by then.
fn commanded(what: u32, directory: &Path, lock: Option<&str>) -> (u32, Option<Change>) {
    let Control { options, command, answer, process, .. } = control();
    process.store(std::process::id(), Relaxed);
    let path = directory.as_os_str().as_encoded_bytes();
    answer.store(answer::NONE, Relaxed);
    // SAFETY: this process has one thread that uses it.
    unsafe { *options.get() = RecordOptions::new(path, 1, 1, 0).unwrap() };
    command.store(what, Relaxed);
    let mut changed = None;
    assert!(obey(lock, Sleep::AtOnce, Source::Library, |change| changed = Some(change)));
    assert!(!obey(lock, Sleep::AtOnce, Source::Library, |_| panic!("nobody has commanded that")));
    (answer.load(Relaxed), changed)
}

fn begin(directory: &Path) {
    assert_eq!(commanded(command::BEGIN, directory, Some("a lock")), (answer::BEGUN, Some(Change::Begun)));
}

fn end(directory: &Path) {
    assert_eq!(commanded(command::END, directory, Some("a lock")), (answer::ENDED, Some(Change::Ended)));
}

/// What the recordings in the directory have, in their command.
fn events(directory: &Path) -> Vec<Vec<u32>> {
    let of_file = |path: &std::path::PathBuf| {
        let samples = samples(&mut Reader::open(path).unwrap());
        samples.iter().map(|sample| sample.event).collect()
    };
    files(directory).iter().map(of_file).collect()
}

#[test]
fn what_began_in_one_recording_is_not_told_to_another() {
    in_its_own_process("commands::what_began_in_one_recording_is_not_told_to_another", 1, |directory| {
        let (held, waited) = (Marks::default(), Marks::default());
        begin(directory);
        held.taken(LOCK);
        let release = held.release(LOCK).unwrap();
        let wait = waited.wait(LOCK + 64).unwrap();
        let other = OpaqueWait::begin(LOCK + 128, kind::SEMAPHORE).unwrap();
        end(directory);
        begin(directory);
        pass(100);
        release.done();
        assert_eq!(wait.end(true, LOCK + 64), 0);
        other.end();
        assert_eq!(events(directory), [vec![], vec![]]);
        held.taken(LOCK);
        held.release(LOCK).unwrap().done();
        assert_eq!(events(directory), [vec![], vec![event::TAKE]]);
    });
}

/// Numbers in marks come again after eight recordings.
#[test]
fn a_lock_is_another_one_in_each_recording() {
    in_its_own_process("commands::a_lock_is_another_one_in_each_recording", 1, |directory| {
        const AGAIN_AFTER: usize = 8;
        let marks = Marks::default();
        for at in 0..AGAIN_AFTER {
            begin(directory);
            if at == 0 {
                // It is held as the recording ends, and then nobody looks at it.
                marks.taken(LOCK);
            }
            end(directory);
        }
        begin(directory);
        let others: Vec<Marks> = (0..3).map(|_| Marks::default()).collect();
        for (at, other) in others.iter().enumerate() {
            other.taken(LOCK + 64 * (at as u64 + 1));
        }
        marks.taken(LOCK);
        marks.release(LOCK).unwrap().done();
        let file =
            files(directory).into_iter().max_by_key(|path| path.metadata().unwrap().modified().unwrap()).unwrap();
        let mut reader = Reader::open(&file).unwrap();
        let samples = samples(&mut reader);
        assert_eq!(samples.len(), 1, "{samples:?}");
        assert_eq!(reader.lock(samples[0].lock).unwrap().unwrap().address, LOCK);
    });
}

#[test]
fn a_command_that_cannot_be_obeyed_says_why() {
    in_its_own_process("commands::a_command_that_cannot_be_obeyed_says_why", 1, |directory| {
        let nothing = Some(Change::Nothing);
        assert_eq!(commanded(command::BEGIN, directory, None), (answer::OTHER_LOCK, nothing));
        assert_eq!(commanded(command::END, directory, Some("a lock")), (answer::ENDED, nothing));
        let missing = directory.join("missing");
        assert_eq!(commanded(command::BEGIN, &missing, Some("a lock")).0, answer::NO_FILE);
        assert!(!ondeck_record::is_on() && files(directory).is_empty());
        // Who records from the start goes on, whoever commands what.
        crate::common::start(crate::common::Mode::Exact);
        assert_eq!(commanded(command::BEGIN, directory, Some("a lock")), (answer::RECORDED, nothing));
        assert_eq!(commanded(command::END, directory, Some("a lock")), (answer::ENDED, nothing));
        assert!(ondeck_record::is_on());
    });
}

/// An observer that stood still for a while reads what was recorded until it was taken for gone.
#[test]
fn an_abandoned_recording_is_there_for_who_has_it_open() {
    abandoned("commands::an_abandoned_recording_is_there_for_who_has_it_open", libc::RLIM_INFINITY);
}

/// A service may have a limit for its data, and have reached it.
#[test]
fn it_is_there_if_the_process_may_have_no_more_data() {
    abandoned("commands::it_is_there_if_the_process_may_have_no_more_data", 1);
}

fn abandoned(test: &str, most_data: u64) {
    in_its_own_process(test, 1, |directory| {
        let own = directory.join("own");
        std::fs::create_dir(&own).unwrap();
        begin(&own);
        let marks = Marks::default();
        let hold = || {
            marks.taken(LOCK);
            marks.release(LOCK).into_iter().for_each(|pending| pending.done());
        };
        hold();
        let mut reader = Reader::open(&files(&own)[0]).unwrap();
        let may_have = |rlim_cur| {
            let limit = libc::rlimit { rlim_cur, rlim_max: libc::RLIM_INFINITY };
            // SAFETY: of this process.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) }, 0);
        };
        may_have(most_data);
        commanded(command::ABANDON, directory, Some("a lock"));
        may_have(libc::RLIM_INFINITY);
        // Threads that are late do no harm, and write nothing there.
        hold();
        let mut holds = 0;
        reader.take(true, |sample| holds += u32::from(sample.event == event::TAKE)).unwrap();
        assert_eq!((holds, reader.locks().unwrap().len()), (1, 1));
        // Nothing of the process keeps the file.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(!maps.contains(".ondeck"), "{maps}");
        assert!(!own.exists() && reader.is_mapped() != Some(true));
    });
}

/// As the process commands it itself, if its observer does not beat.
#[test]
fn a_recording_that_is_abandoned_leaves_nothing() {
    in_its_own_process("commands::a_recording_that_is_abandoned_leaves_nothing", 1, |directory| {
        let own = directory.join("own");
        for next in [command::ABANDON, command::BEGIN] {
            std::fs::create_dir(&own).unwrap();
            begin(&own);
            Marks::default().taken(LOCK);
            assert_eq!(files(&own).len(), 1);
            // Another observer's command comes after one that has died, too.
            commanded(next, directory, Some("a lock"));
            assert!(!own.exists());
            assert_eq!(ondeck_record::is_on(), next == command::BEGIN);
        }
        assert_eq!(files(directory).len(), 1);
    });
}
