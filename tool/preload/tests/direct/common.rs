//! A process of its own for each test, with the library preloaded, and what its recording says.

use crate::library::library;
use ondeck_record::read::{Lock, Reader, Sample};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

/// Names the test that this process is for.
const CASE: &str = "ONDECK_DIRECT_CASE";

/// How the process of a test ended.
pub(crate) struct ProcessEnd {
    is_ok: bool,
    pub(crate) signal: Option<i32>,
    /// What it has written, to either output.
    pub(crate) text: String,
    directory: tempfile::TempDir,
}

/// Runs `body` in a process of its own with that lock, recorded at that rate, if any. `name` is the test's. `None` in that
/// process.
#[track_caller]
pub(crate) fn ended(name: &str, lock: &str, rate: Option<u64>, body: impl FnOnce()) -> Option<ProcessEnd> {
    let case = format!("{name} {lock}");
    if let Ok(current) = std::env::var(CASE) {
        if current == case {
            body();
            println!("through");
        }
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command.env(CASE, case).env("LD_PRELOAD", library()).env("ONDECK_LOCK", lock);
    if let Some(rate) = rate {
        command.env("ONDECK_RECORD", directory.path()).env("ONDECK_RECORD_MAX_MB", "1");
        command.env("ONDECK_RECORD_RATE", rate.to_string());
    }
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Some(ProcessEnd { is_ok: output.status.success(), signal: output.status.signal(), text, directory })
}

/// The same of a process that must end well.
#[track_caller]
pub(crate) fn passed(name: &str, lock: &str, rate: Option<u64>, body: impl FnOnce()) -> Option<ProcessEnd> {
    let ended = ended(name, lock, rate, body)?;
    assert!(ended.is_ok && ended.text.contains("through"), "{name}, {lock}: {}", ended.text);
    Some(ended)
}

impl ProcessEnd {
    /// What the process has [`tell`]ed by that name.
    #[track_caller]
    pub(crate) fn told(&self, name: &str) -> u64 {
        let mut words = self.text.split_whitespace();
        let value = words.find(|word| *word == name).and_then(|_| words.next()).and_then(|word| word.parse().ok());
        value.unwrap_or_else(|| panic!("no {name}: {}", self.text))
    }

    /// Its recording.
    pub(crate) fn recording(&self) -> Recording {
        let files: Vec<_> = self.directory.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let mut reader = Reader::open(&files[0]).unwrap();
        let mut samples = Vec::new();
        reader.take(true, |sample| samples.push(sample)).unwrap();
        Recording { locks: reader.locks().unwrap(), samples }
    }
}

pub(crate) struct Recording {
    locks: Vec<Lock>,
    samples: Vec<Sample>,
}

impl Recording {
    /// The entries of what was at that address, one after another.
    pub(crate) fn locks_at(&self, address: u64) -> Vec<Lock> {
        self.locks.iter().copied().filter(|lock| lock.address == address).collect()
    }

    #[track_caller]
    pub(crate) fn lock_at(&self, address: u64) -> Lock {
        let locks = self.locks_at(address);
        assert_eq!(locks.len(), 1, "at {address:#x}: {:?}", self.locks);
        locks[0]
    }

    /// The samples of that kind of what was at the address.
    pub(crate) fn samples_of(&self, address: u64, event: u32) -> Vec<Sample> {
        let numbers: Vec<u32> = self.locks_at(address).iter().map(|lock| lock.number).collect();
        let is_it = |sample: &Sample| {
            sample.event & !ondeck_record::layout::event::AGAIN == event && numbers.contains(&sample.lock)
        };
        self.samples.iter().copied().filter(is_it).collect()
    }
}

/// Hands a figure on to the other process.
pub(crate) fn tell(name: &str, value: u64) {
    println!("{name} {value}");
}

/// Whether the thread of that number, 0 for none yet, sleeps in the kernel.
pub(crate) fn is_asleep(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}

/// Lets time pass, so that what is measured is told apart from nothing.
pub(crate) fn pass() {
    std::thread::sleep(Duration::from_micros(300));
}

/// Between which instants something happened.
#[derive(Clone, Copy)]
pub(crate) struct TimeRange {
    before: Instant,
    after: Instant,
}

pub(crate) fn when<T>(act: impl FnOnce() -> T) -> (T, TimeRange) {
    let before = Instant::now();
    let result = act();
    (result, TimeRange { before, after: Instant::now() })
}

impl TimeRange {
    /// Hands on how many ns may have passed from this to the other.
    pub(crate) fn tell_until(self, end: TimeRange, name: &str) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap();
        tell(&format!("{name}_least"), ns(end.before.saturating_duration_since(self.after)).saturating_sub(1));
        tell(&format!("{name}_most"), ns(end.after - self.before) + 1);
    }
}

impl TimeRange {
    /// Hands on how long it took at most.
    pub(crate) fn tell_itself(self, name: &str) {
        self.tell_around(TimeRange { before: self.after, after: self.after }, name);
    }

    /// Hands on how long it took, at least as long as what went on meanwhile.
    pub(crate) fn tell_around(self, inside: TimeRange, name: &str) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap();
        tell(&format!("{name}_least"), ns(inside.after - inside.before).saturating_sub(1));
        tell(&format!("{name}_most"), ns(self.after - self.before) + 1);
    }
}

/// Whether a time lies between those that were handed on by that name.
#[track_caller]
pub(crate) fn assert_between(ended: &ProcessEnd, name: &str, ns: u64) {
    let (least, most) = (ended.told(&format!("{name}_least")), ended.told(&format!("{name}_most")));
    assert!((least..=most).contains(&ns), "{name}: {ns}, and not {least} to {most}");
}
