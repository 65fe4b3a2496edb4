//! What programs ask of their locks, they ask too while an observer has them begin to record and end it, again and again.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

#[path = "../../../proof/testprograms/library.rs"]
mod library;

use library::library;
use ondeck_launch::running::{Files, NotRecorded, RecordOptions, RunningProcess};
use ondeck_record::read::Reader;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The processes whose programs are in that directory.
fn processes(directory: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let program = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    pids.filter(|pid| program(pid).is_some_and(|path| path.starts_with(directory))).collect()
}

#[derive(Default)]
struct Tally {
    recordings: AtomicU64,
    samples: AtomicU64,
    idle: AtomicU64,
}

/// Records a process for some ms.
fn record(pid: u32, turn: u64, tally: &Tally) {
    let Ok(mut process) = RunningProcess::find(pid) else { return };
    let directory = tempfile::tempdir().unwrap();
    // All of it, and samples.
    let rate = [1, 1000][turn as usize % 2];
    let path = directory.path().as_os_str().as_encoded_bytes();
    let options = RecordOptions::new(path, rate, 1, RecordOptions::DEFAULT_BUDGET).unwrap();
    match process.begin(&options, Files::OfProcess) {
        Ok(()) => {}
        Err(NotRecorded::Idle(_)) => {
            tally.idle.fetch_add(1, Relaxed);
            return;
        }
        // It has ended.
        Err(NotRecorded::NotAllowed(_)) => return,
        Err(why) => panic!("{pid}: {why}"),
    }
    std::thread::sleep(Duration::from_millis(turn % 7 * 5));
    process.end();
    tally.recordings.fetch_add(1, Relaxed);
    for file in directory.path().read_dir().unwrap() {
        let mut reader = Reader::open(&file.unwrap().path()).unwrap();
        let mut samples = Vec::new();
        reader.take(false, |sample| samples.push(sample)).unwrap();
        let is_known = |lock: u32| reader.lock(lock).unwrap().is_some();
        for sample in &samples {
            assert!(is_known(sample.lock), "{pid}: {sample:?} is of no lock of this recording");
        }
        assert_eq!(reader.spoilt(), 0);
        tally.samples.fetch_add(samples.len() as u64, Relaxed);
    }
}

#[test]
fn programs_pass_while_recordings_begin_and_end() {
    let only = "kinds exclusion exclusion_cpp cond_many_threads cancel cond_destroy destroy_after_unlock fork fork_threads \
        many_threads lost_wakeups random_ops timeouts signal_handler unlock_in_handler once_left oversubscribed";
    let script = || {
        let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proof/testprograms/run"));
        command.env("ONLY", only);
        command
    };
    // The tests of the preloaded library have them built there, too.
    let programs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    assert!(script().arg(&programs).arg("--build").status().unwrap().success(), "the programs cannot be built");
    let pass_with = |lock: &str| {
        let linked = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("switched-{lock}"));
        std::fs::create_dir_all(&linked).unwrap();
        let status = Command::new("cp").arg("-alf").arg(programs.join(".")).arg(&linked).status().unwrap();
        assert!(status.success(), "the programs cannot be linked");
        let (tally, is_over) = (Tally::default(), AtomicBool::new(false));
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut turn = 0;
                while !is_over.load(Relaxed) {
                    for pid in processes(&linked) {
                        turn += 1;
                        record(pid, turn, &tally);
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let output = script().arg(&linked).arg(library()).env("ONDECK_LOCK", lock).output().unwrap();
            is_over.store(true, Relaxed);
            output
        });
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let [recordings, samples, idle] = [&tally.recordings, &tally.samples, &tally.idle].map(|n| n.load(Relaxed));
        println!("{lock}: {recordings} recordings, {samples} samples, {idle} times idle");
        assert!(output.status.success() && text.trim_end().ends_with("programs, 0 failed"), "{lock}: {text}");
        assert!(recordings > 20 && samples > 1000, "{recordings} recordings, {samples} samples");
    };
    // Side by side, as most of the time they wait.
    std::thread::scope(|scope| {
        ["glibc", "ondeck"].map(|lock| scope.spawn(move || pass_with(lock))).map(|run| run.join())
    })
    .into_iter()
    .for_each(|run| run.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
}
