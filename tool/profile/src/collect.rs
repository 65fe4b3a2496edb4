//! From recordings to a profile: while the program runs, and at its end.
//!
//! Samples are added up as they come, so what is kept grows with the number of locks and stacks and not with time.

pub(crate) mod account;
mod build;
mod bypassed;
mod charges;
mod clock;
mod contents;
#[cfg(test)]
mod damage;
mod gaps;
pub(crate) mod holders;
mod looked_at;
pub(crate) mod numbers;
mod run;
mod statistics;
pub(crate) mod thread_times;

use crate::profile::{LockKind, ProcessEnd, WaitKind};
use crate::rules::{LONG_NS, LOOK_NS};
use crate::runtimes::Programs;
use crate::symbols::Symbols;
use account::Account;
use bypassed::BypassedProcesses;
use clock::Clock;
use contents::{Contents, name_of};
use holders::{Holders, Now};
use looked_at::LookedAt;
use ondeck_futex::maps;
use ondeck_record::layout::{event, kind};
use ondeck_record::read::outside::{Budget, Share, Spent};
use ondeck_record::read::{Dropped, ReadError, Reader, Waiter, is_of_files_open};
pub use run::Run;
pub(crate) use run::SNAPSHOT;
use statistics::{Ended, ROOM_OF_COUNTS};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thread_times::{RecordedWait, ThreadTimes, own_time};

/// So often more files are opened in one go, after others have been closed.
const MOST_ROUNDS: u32 = 64;

/// The recordings of a directory, read as they grow.
pub struct Collector {
    /// Where recordings are, and of which process, if they are of one that we did not start.
    directories: Vec<(PathBuf, Option<Arc<LookedAt>>)>,
    run: Run,
    /// Files that were looked at.
    seen: BTreeSet<PathBuf>,
    recordings: Vec<Recording>,
    /// Files that are no recordings, and why.
    unreadable: Vec<String>,
    /// The same of those that may still become some.
    unopened: Vec<String>,
    /// Whether as many files are open as may be.
    lacks_files: bool,
    bypassed: Option<BypassedProcesses>,
    symbols: Symbols,
    /// What all recordings and names may keep in memory.
    budget: Budget,
    programs: Programs,
    last_snapshot_ns: Option<u64>,
    /// What [`statistics`](Self::statistics) have of processes that have ended.
    ended: Ended,
    /// The beginnings of notes that were given.
    said: BTreeSet<String>,
    /// Whether no profile will be asked for.
    only_statistics: bool,
}

/// What one part of a process image records.
#[derive(Debug)]
struct Recording {
    contents: Contents,
    /// Of which process it is, if it was not started by us.
    looked_at: Option<Arc<LookedAt>>,
    clock: Clock,
    /// By the number of the lock: from the start, and since the last snapshot.
    locks: BTreeMap<u32, Account>,
    /// See [`locks`](Self::locks).
    recent: BTreeMap<u32, Account>,
    /// How locks are called in statistics, by number.
    labels: BTreeMap<u32, String>,
    holders: Holders,
    /// What the threads of its process spend their time with, if no recording before it has them.
    times: Option<ThreadTimes>,
    /// Threads that waited at the last look, and for how many there was room at most.
    waiters: Vec<Waiter>,
    most_waiters: usize,
    ended: ProcessEnd,
    /// When something was last known of it, from the start of the run.
    last_ns: u64,
    /// Samples whose times cannot be.
    n_untimely: u64,
    /// Samples that cannot be read.
    n_spoilt: u64,
    /// Whether all has been taken that will ever be there.
    is_closed: bool,
    has_locked: bool,
    dropped: Dropped,
    /// For what is kept of it.
    kept: Kept,
    /// Only how often and how long threads waited and held is kept.
    only_statistics: bool,
}

/// What the sums and the looked-up parts of a recording take of the budget.
#[derive(Debug, Default)]
struct Kept {
    share: Option<Share>,
    /// Why some samples were left out.
    spent: Option<Spent>,
    n_left_out: u64,
}

impl Kept {
    /// Whether so many bytes more may be kept.
    fn fits(&mut self, bytes: usize) -> bool {
        let grown = self.share.as_mut().map_or(Ok(()), |share| share.grow(bytes as u64));
        self.spent = self.spent.or(grown.err());
        self.n_left_out += u64::from(grown.is_err());
        grown.is_ok()
    }

    /// The same of what is asked for again and again: it is counted once.
    fn has_room(&mut self, bytes: usize) -> bool {
        let n_before = self.n_left_out;
        let fits = self.fits(bytes);
        self.n_left_out = self.n_left_out.min(n_before.max(1));
        fits
    }

    /// So many bytes are kept no more.
    fn give_back(&mut self, bytes: usize) {
        self.share.iter_mut().for_each(|share| share.shrink(bytes as u64));
    }
}

impl Collector {
    /// For the recordings that will be in that directory.
    pub fn new(directory: &Path, run: Run) -> Self {
        let mut collector = Self::of_running(run);
        collector.directories.push((directory.to_owned(), None));
        collector
    }

    /// For recordings of processes that have begun before and go on after them, see [`looks_at`](Self::looks_at).
    pub fn of_running(run: Run) -> Self {
        let budget = Budget::default();
        Collector {
            directories: Vec::new(),
            run,
            seen: BTreeSet::new(),
            recordings: Vec::new(),
            unreadable: Vec::new(),
            unopened: Vec::new(),
            lacks_files: false,
            bypassed: None,
            symbols: Symbols::within(&budget),
            budget,
            programs: Programs::default(),
            last_snapshot_ns: None,
            ended: Ended::default(),
            said: BTreeSet::new(),
            only_statistics: false,
        }
    }

    /// Tells which process the program began with: those that come from it and do not record become notes. Where the run may
    /// take months, they are looked for less often.
    pub fn begins_with(&mut self, pid: u32, is_for_long: bool) {
        self.bypassed = Some(BypassedProcesses::new(pid, is_for_long));
    }

    /// The process of that number here will record in these files of that directory.
    pub fn looks_at(&mut self, pid: u32, directory: &Path, files: Vec<String>) {
        self.directories.push((directory.to_owned(), Some(Arc::new(LookedAt::new(pid, files)))));
    }

    /// When something was last known of any process, by the monotonic clock.
    pub fn recorded_until(&self) -> u64 {
        let last = self.recordings.iter().map(|recording| recording.last_ns).max();
        self.run.started_ns.saturating_add(last.unwrap_or_default())
    }

    /// Whether a process has given back what it had recorded before that was read: each has modules and locks otherwise.
    pub fn is_emptied(&self) -> bool {
        let is_emptied = |recording: &Recording| {
            recording.contents.modules().is_ok_and(|all| all.is_empty())
                && recording.contents.locks().is_ok_and(|all| all.is_empty())
        };
        self.recordings.iter().any(is_emptied)
    }

    /// Whether any process has recorded.
    pub fn is_empty(&self) -> bool {
        self.recordings.is_empty() && self.ended.is_empty()
    }

    /// Takes what is new. To be called a few times a second, as there is room for some seconds of samples only.
    pub fn take(&mut self, now_ns: u64) {
        let asked = Instant::now();
        self.look_for_files(now_ns);
        if let Some(bypassed) = &mut self.bypassed {
            let recordings = &self.recordings;
            let is_of = |recording: &Recording, pid| recording.contents.about().pid == pid && !recording.is_closed;
            bypassed.look(now_ns, |pid| recordings.iter().any(|recording| is_of(recording, pid)));
        }
        // As many files as may be open at once make room for those that are left. A user may make files faster than they are read.
        for round in 1.. {
            let n_closed = self.take_from_open(now_ns, asked);
            if n_closed == 0 || !self.lacks_files || round > MOST_ROUNDS {
                return;
            }
            self.look_for_files(now_ns);
        }
    }

    /// How many recordings end by that.
    fn take_from_open(&mut self, now_ns: u64, asked: Instant) -> usize {
        let (mut mapped, mut n_closed) = (None, 0);
        for at in 0..self.recordings.len() {
            if self.recordings[at].is_closed {
                continue;
            }
            let is_gone = match self.recordings[at].contents.is_mapped() {
                Some(is_mapped) => !is_mapped,
                None => self.seems_gone(at) && !mapped.get_or_insert_with(mapped_files).contains(self.name(at)),
            };
            let recording = &mut self.recordings[at];
            match recording.take(is_gone, now_ns, asked) {
                // Another process may come to have its number, and then a file of that name.
                Ok(Some(removed)) => _ = self.seen.remove(&removed),
                Ok(None) => {}
                Err(error) => {
                    recording.is_closed = true;
                    self.unreadable.push(error.to_string());
                }
            }
            n_closed += usize::from(self.recordings[at].is_closed);
        }
        n_closed
    }

    /// Looks at the holders of locks for so long, again and again; to be called in place of a sleep between two calls of
    /// [`take`](Self::take). `now_ns` tells the time.
    pub fn watch(&mut self, time: Duration, now_ns: impl Fn() -> u64) {
        const GAP: Duration = Duration::from_nanos(LOOK_NS);
        /// Looks take a small part of the time, however many processes there are.
        const GAP_OF_LOOKS: u32 = 40;
        let end = Instant::now() + time;
        loop {
            // Who looks may lose its core meanwhile, and then has not taken the time.
            let before = own_time();
            for recording in self.recordings.iter_mut().filter(|recording| !recording.is_closed) {
                // What is wrong with it is found out when it is taken.
                let _ = recording.look(now_ns(), Instant::now());
            }
            self.look_at_threads(now_ns());
            let gap = GAP.max(own_time().saturating_sub(before) * GAP_OF_LOOKS);
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(gap.min(left));
            if gap >= left {
                return;
            }
        }
    }

    /// The locks, by process and address, for which a thread has waited so long by the last [`take`](Self::take), and still does.
    pub fn waited_for(&self, length: Duration) -> BTreeSet<(u32, u64)> {
        let length = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let open = self.recordings.iter().filter(|recording| !recording.is_closed);
        let of = |recording: &Recording| {
            recording.long_waits(length).map(|lock| (recording.contents.about().pid, lock)).collect::<Vec<_>>()
        };
        open.flat_map(of).collect()
    }

    /// Looks at what all threads of the processes do. A process may record from two sources at once, and its threads are the same.
    fn look_at_threads(&mut self, now_ns: u64) {
        let mut seen = BTreeSet::new();
        for at in 0..self.recordings.len() {
            let recording = &mut self.recordings[at];
            let pid = recording.contents.about().pid;
            if recording.is_closed || !recording.is_looked_at() || !seen.insert(pid) {
                continue;
            }
            let age = recording
                .clock
                .until_now(now_ns)
                .saturating_sub(recording.clock.since(recording.contents.about().started_ns));
            let mut times =
                recording.times.take().unwrap_or_else(|| ThreadTimes::since(pid, Duration::from_nanos(age)));
            times.look(|| self.recordings.iter_mut().flat_map(|other| other.waits_of(pid)).collect(), |_| ());
            self.recordings[at].times = Some(times);
        }
    }

    /// What can be said by the process's number, if its file system does not tell. In a PID namespace of its own that is
    /// another one's.
    fn seems_gone(&self, at: usize) -> bool {
        let number = |recording: &Recording| (recording.contents.about().pid, recording.contents.about().source);
        let this = number(&self.recordings[at]);
        // Another program has taken its place in the process. A process may record from two sources at once.
        self.recordings[at + 1..].iter().any(|other| number(other) == this) || !is_alive(this.0)
    }

    fn name(&self, at: usize) -> &str {
        self.recordings[at].contents.name()
    }

    fn look_for_files(&mut self, now_ns: u64) {
        self.unopened.clear();
        self.lacks_files = false;
        for (directory, looked_at) in self.directories.clone() {
            self.look_for_files_in(&directory, looked_at.as_ref(), now_ns);
        }
    }

    fn look_for_files_in(&mut self, directory: &Path, looked_at: Option<&Arc<LookedAt>>, now_ns: u64) {
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                self.lacks_files |= is_of_files_open(&error);
                return self.unopened.push(format!("{}: {error}", directory.display()));
            }
        };
        let paths = entries.take(Budget::MOST_FILES).filter_map(Result::ok).map(|entry| entry.path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "ondeck")).collect();
        paths.retain(|path| !self.seen.contains(path) && looked_at.is_none_or(|process| process.has(path)));
        let room = Budget::MOST_FILES.saturating_sub(self.seen.len());
        if paths.len() > room {
            let (n, most, directory) = (paths.len() - room, Budget::MOST_FILES, directory.display());
            self.unopened.push(format!("{directory}: {n} of its files are not read: {most} at once are the most"));
            paths.truncate(room);
        }
        let mut opened: Vec<Recording> = Vec::new();
        for path in paths {
            match Reader::open(&path) {
                Ok(mut reader) => {
                    self.seen.insert(path);
                    reader.keep_within(&self.budget);
                    if let Some(process) = looked_at {
                        reader.about.pid = process.pid;
                    }
                    let recording = Recording::new(reader, &self.run, &self.budget, now_ns);
                    let (looked_at, only_statistics) = (looked_at.cloned(), self.only_statistics);
                    opened.push(Recording { looked_at, only_statistics, ..recording });
                }
                Err(error) if error.lacks_files => {
                    self.lacks_files = true;
                    self.unopened.push(error.to_string());
                }
                // It may have been begun just now.
                Err(error) if !is_older_than_a_second(&path) => self.unopened.push(error.to_string()),
                Err(error) => {
                    self.seen.insert(path);
                    self.unreadable.push(error.to_string());
                }
            }
        }
        opened.sort_by_key(|recording| recording.contents.about().started_ns);
        self.recordings.extend(opened);
    }
}

impl Recording {
    fn new(reader: Reader, run: &Run, budget: &Budget, now_ns: u64) -> Self {
        let clock = Clock::new(&reader.about, run, now_ns);
        let last_ns = clock.since(reader.about.started_ns);
        Recording {
            contents: Contents::of(reader),
            looked_at: None,
            clock,
            locks: BTreeMap::new(),
            recent: BTreeMap::new(),
            labels: BTreeMap::new(),
            holders: Holders::default(),
            times: None,
            waiters: Vec::new(),
            most_waiters: 0,
            ended: ProcessEnd::Running,
            last_ns,
            n_untimely: 0,
            n_spoilt: 0,
            is_closed: false,
            has_locked: false,
            dropped: Dropped::default(),
            kept: Kept { share: budget.take(0).ok(), ..Kept::default() },
            only_statistics: false,
        }
    }

    /// Takes what is new. Once the process is gone its file is removed, whose path is the answer.
    fn take(&mut self, is_gone: bool, now_ns: u64, asked: Instant) -> Result<Option<PathBuf>, ReadError> {
        self.look(now_ns, asked)?;
        self.contents.look_at_files(self.looked_at.as_deref())?;
        self.contents.keep_orders()?;
        let Some(reader) = self.contents.reader() else { return Ok(None) };
        let holders = &mut self.holders;
        let (locks, recent, last_ns) = (&mut self.locks, &mut self.recent, &mut self.last_ns);
        let (clock, n_untimely, kept) = (self.clock, &mut self.n_untimely, &mut self.kept);
        let only_statistics = self.only_statistics;
        reader.take(is_gone, |sample| {
            let (sample, could_be) = clock.corrected(sample, now_ns);
            *n_untimely += u64::from(!could_be);
            *last_ns = (*last_ns).max(sample.at);
            if only_statistics {
                if locks.contains_key(&sample.lock) || kept.fits(ROOM_OF_COUNTS) {
                    locks.entry(sample.lock).or_default().count(&sample, statistics::bar);
                }
                return;
            }
            // A length is known to an eighth.
            let from = sample.at.saturating_sub(sample.lengths[0] + sample.lengths[0] / 8);
            let is_long = event::plain(sample.event) == event::CHARGE && sample.lengths[0] >= LONG_NS;
            let did = if is_long { holders.during(sample.lock, sample.thread, from, sample.at) } else { None };
            if !kept.fits(Account::room_for(&sample, locks.get(&sample.lock))) {
                return;
            }
            locks.entry(sample.lock).or_default().add(&sample, did.as_ref());
            recent.entry(sample.lock).or_default().add(&sample, did.as_ref());
        })?;
        let mut waiters = reader.waiters()?;
        // A process may claim as many as there is room for.
        let more = waiters.len().saturating_sub(self.most_waiters);
        if more == 0 || kept.has_room(more * size_of::<Waiter>()) {
            self.most_waiters += more;
        }
        waiters.truncate(self.most_waiters);
        waiters.shrink_to_fit();
        self.waiters = waiters;
        self.holders.leave_out_ended(&mut self.waiters, is_gone, clock.until_now(now_ns));
        self.n_spoilt = reader.spoilt();
        self.dropped = reader.dropped()?;
        self.has_locked = reader.has_locked()?;
        if !is_gone {
            self.last_ns = self.last_ns.max(clock.until_now(now_ns));
            return Ok(None);
        }
        self.is_closed = true;
        self.holders.close();
        self.times.iter_mut().for_each(ThreadTimes::close);
        let pid = self.looked_at.as_ref().map(|process| process.pid);
        self.ended = match reader.has_exited()? {
            true => ProcessEnd::Exit,
            // It has ended the recording only, as it took us for gone.
            false if pid.is_some_and(is_alive) => ProcessEnd::Running,
            false => ProcessEnd::Abruptly,
        };
        let has_waits = self.times.as_ref().is_some_and(ThreadTimes::has_waits);
        self.contents.keep(&self.locks, &self.waiters, has_waits)
    }

    /// Whether the kernel here tells of its threads.
    fn is_looked_at(&mut self) -> bool {
        self.contents.reader().is_some_and(|reader| self.holders.process(reader).is_some())
    }

    /// The waits that are under way, if it is of that process.
    fn waits_of(&mut self, pid: u32) -> Vec<RecordedWait> {
        let is_of = !self.is_closed && self.contents.about().pid == pid;
        let reader = self.contents.reader().filter(|_| is_of);
        let waiters = reader.and_then(|reader| reader.waiters().ok()).unwrap_or_default();
        let wait = |waiter: Waiter| RecordedWait {
            thread: self.holders.here(waiter.thread),
            address: waiter.address,
            kind: waiter.kind,
        };
        waiters.into_iter().map(wait).collect()
    }

    /// Looks at the holders of locks that threads wait for. It was `now_ns` when that was asked.
    fn look(&mut self, now_ns: u64, asked: Instant) -> Result<(), ReadError> {
        let now = Now { then: self.clock.until_now(now_ns), asked };
        match self.contents.reader() {
            Some(reader) => self.holders.look(reader, &self.clock, now),
            None => Ok(()),
        }
    }
}

/// Whether there is such a process, and a thread of it has not ended. Its first thread may have ended before the others.
/// True also if that cannot be found out, for want of files that may be open.
pub fn is_alive(pid: u32) -> bool {
    // Twice: a thread that starts another and ends may have done both after the list was made.
    has_thread(pid) || has_thread(pid)
}

fn has_thread(pid: u32) -> bool {
    let is_there =
        |error: io::Error| error.kind() != io::ErrorKind::NotFound && error.raw_os_error() != Some(NO_PROCESS);
    let threads = match std::fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(threads) => threads,
        Err(error) => return is_there(error),
    };
    threads.flatten().any(|thread| {
        let stat = match std::fs::read_to_string(thread.path().join("stat")) {
            Ok(stat) => stat,
            Err(error) => return is_there(error),
        };
        // The name before it may hold anything, a parenthesis too.
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        !matches!(state, None | Some('Z' | 'X' | 'x'))
    })
}

/// The ends of the paths of all recordings that some process has mapped, as far as we may know. A path may begin otherwise
/// in the process's mount namespace.
fn mapped_files() -> BTreeSet<String> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let lines = pids.filter_map(|pid| maps::lines(pid).ok()).flatten();
    lines.filter(|line| line.ends_with(".ondeck")).map(|line| name_of(&line)).collect()
}

/// `ESRCH`: the process has ended between two looks.
const NO_PROCESS: i32 = 3;

fn is_older_than_a_second(path: &Path) -> bool {
    let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
    modified.and_then(|at| at.elapsed().ok()).is_some_and(|age| age.as_secs() >= 1)
}

/// What kind of lock an entry among the locks is, or what threads wait for there that is no lock.
const fn meaning(what: u32) -> Result<LockKind, WaitKind> {
    match what & !kind::SEVERAL {
        kind::CONDITION => Err(WaitKind::Condition),
        kind::SEMAPHORE => Err(WaitKind::Semaphore),
        kind::BARRIER => Err(WaitKind::Barrier),
        kind::ONCE => Err(WaitKind::Once),
        kind::JOIN => Err(WaitKind::Join),
        kind::SPIN => Ok(LockKind::Spin),
        _ if what & kind::SEVERAL != 0 => Ok(LockKind::RwLock),
        _ => Ok(LockKind::Mutex),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_mapped_as_long_as_a_process_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1-0.ondeck");
        std::fs::write(&path, [0; 4096]).unwrap();
        let name = name_of(path.to_str().unwrap());
        assert!(!mapped_files().contains(&name));
        let file = std::fs::File::open(&path).unwrap();
        // SAFETY: nobody changes the file.
        let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
        drop(file);
        assert!(mapped_files().contains(&name));
        drop(map);
        assert!(!mapped_files().contains(&name));
    }
}
