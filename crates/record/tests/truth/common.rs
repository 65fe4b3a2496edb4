//! A process of its own for each test, a recording in it, and clocks that say between which instants something happened.

use ondeck_record::read::{Lock, Reader, Sample};
use ondeck_record::{RecordOptions, Sleep, Source};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Names the test that this process is for.
const CASE: &str = "ONDECK_RECORD_CASE";

/// Runs `body` in a process of its own, whose environment asks for a recording of 1 MB with that rate: what a recorder writes
/// down is of a whole process. `name` is the test's.
#[track_caller]
pub(crate) fn in_its_own_process(name: &str, rate: u64, body: impl FnOnce(&Path)) {
    if std::env::var(CASE).is_ok_and(|case| case == name) {
        return body(Path::new(&std::env::var_os("ONDECK_RECORD").unwrap()));
    }
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command.env(CASE, name).env("ONDECK_RECORD", directory.path());
    command.env("ONDECK_RECORD_RATE", rate.to_string()).env("ONDECK_RECORD_MAX_MB", "1");
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{name}: {}\n{text}", output.status);
    assert!(text.contains("1 passed"), "no test is called {name}:\n{text}");
}

/// What is recorded, and of which lock.
pub(crate) enum Mode {
    /// Each charge, of one whose waiters sleep at once.
    Exact,
    /// Each charge, of one whose waiters tell when they sleep.
    Told,
    /// Charges at instants, if not each acquisition is recorded.
    Sampled,
    /// The same, and waits as long as all that costs 1 % of a core.
    Cheap,
}

/// Begins to record this process.
pub(crate) fn start(mode: Mode) {
    let budget = match mode {
        Mode::Exact | Mode::Told => "0",
        Mode::Sampled => "1000000",
        Mode::Cheap => "10000",
    };
    // SAFETY: this thread alone asks the environment.
    unsafe { std::env::set_var("ONDECK_RECORD_BUDGET", budget) };
    let options = RecordOptions::of_environment().expect("the environment asks");
    ondeck_record::ask_loader();
    let sleep = if matches!(mode, Mode::Told) { Sleep::Told } else { Sleep::AtOnce };
    assert!(ondeck_record::start(&options, "a lock", sleep, Source::Library));
}

/// The recordings in a directory, in the order of their names.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The one recording in the directory.
pub(crate) fn reader(directory: &Path) -> Reader {
    let files = files(directory);
    assert_eq!(files.len(), 1, "{files:?}");
    Reader::open(&files[0]).unwrap()
}

/// All samples that were not taken yet.
pub(crate) fn samples(reader: &mut Reader) -> Vec<Sample> {
    let mut samples = Vec::new();
    reader.take(true, |sample| samples.push(sample)).unwrap();
    samples
}

/// The entry of the lock that was seen last at that address.
#[track_caller]
pub(crate) fn lock_at(reader: &Reader, address: u64) -> Lock {
    let locks = reader.locks().unwrap();
    *locks.iter().rfind(|lock| lock.address == address).unwrap_or_else(|| panic!("none at {address:#x}: {locks:?}"))
}

/// Where this process has mapped the newest recording, and how far behind that a part begins. `field` is the part's place
/// in the header.
pub(crate) fn part(directory: &Path, field: usize) -> (u64, u64) {
    let file = files(directory).pop().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.ends_with(file.to_str().unwrap())).unwrap();
    let mut start = [0; 8];
    File::open(&file).unwrap().read_exact_at(&mut start, field as u64).unwrap();
    (u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap(), u64::from_le_bytes(start))
}

/// Between which instants something happened.
#[derive(Clone, Copy)]
pub(crate) struct TimeRange {
    before: Instant,
    after: Instant,
}

/// Does it as the recorder of a program does: the stack is that of who calls this.
#[inline(never)]
pub(crate) fn from_here<T>(act: impl FnOnce() -> T) -> T {
    ondeck_record::bare::within(act)
}

/// Does it so many calls further in.
#[inline(never)]
pub(crate) fn further_in<T>(n_calls: u32, act: &mut dyn FnMut() -> T) -> T {
    let result = if n_calls == 0 { act() } else { further_in(n_calls - 1, act) };
    // No jumps: each call has a frame.
    std::hint::black_box(result)
}

/// Does it from here, and says when.
pub(crate) fn when<T>(act: impl FnOnce() -> T) -> (T, TimeRange) {
    let before = Instant::now();
    let result = from_here(act);
    (result, TimeRange { before, after: Instant::now() })
}

impl TimeRange {
    /// How many ns may have passed from this to the other.
    pub(crate) fn until(self, end: TimeRange) -> RangeInclusive<u64> {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap();
        // The other clock has the same source, and may be cut to a whole number elsewhere.
        ns(end.before.saturating_duration_since(self.after)).saturating_sub(1)..=ns(end.after - self.before) + 1
    }
}

/// The sum of two such times.
pub(crate) fn sum(one: &RangeInclusive<u64>, other: &RangeInclusive<u64>) -> RangeInclusive<u64> {
    one.start() + other.start()..=one.end() + other.end()
}

/// Lets time pass, so that what is measured is told apart from nothing.
pub(crate) fn pass(us: u64) {
    std::thread::sleep(Duration::from_micros(us));
}

/// The system's allocator, which counts.
struct CountingAllocator;

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

thread_local! {
    static N_ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's, whatever is counted.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        N_ALLOCATED.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same, and all places are the system's.
        unsafe { System.dealloc(place, layout) }
    }
}

/// How often the calling thread asks for memory in it.
pub(crate) fn n_allocated(act: impl FnOnce()) -> u64 {
    let before = N_ALLOCATED.with(Cell::get);
    act();
    N_ALLOCATED.with(Cell::get) - before
}

/// Prepares for locks without marks: whether the environment asks for a recording.
pub(crate) fn prepare() -> bool {
    static IS_WISHED: AtomicBool = AtomicBool::new(false);
    ondeck_record::bare::prepare(&IS_WISHED);
    IS_WISHED.load(Relaxed)
}
