//! Recordings, for those who read them: while they are written, and when the process is gone.
//!
//! Nothing is mapped here, and nothing believed: a file that has been cut short, or is another one, is an error that says so. Used by `ondeck`, and by tests; nothing in the recorder uses it.

mod bytes;
mod entries;
mod names;
pub mod outside;

pub use names::Names;

use crate::files;
use crate::layout::{self, Header, MAGIC, Part, Stamp, waiting};
use bytes::{Numbers, path_of, read, text};
use core::mem::offset_of;
use core::sync::atomic::{
    Ordering::{Acquire, Relaxed},
    fence,
};
use entries::{lock, nesting, sample};
use outside::Budget;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;
use std::{fmt, io};

/// The recording of one process image.
#[derive(Debug)]
pub struct Reader {
    file: File,
    path: PathBuf,
    /// Who recorded.
    pub about: RecordingInfo,
    modules: Part,
    locks: Part,
    stacks: Part,
    waiters: Part,
    names: Part,
    named: Part,
    nestings: Part,
    ring: Part,
    tail: u64,
    /// Samples that were begun and not finished, or make no sense.
    spoilt: u64,
    budget: Budget,
    /// Of [`begin_epoch`](Self::begin_epoch); 0 if places of locks are not given back.
    epoch: u32,
}

/// Who recorded, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingInfo {
    /// The process, by the kernel's number.
    pub pid: u32,
    /// Its parent, when it began.
    pub parent: u32,
    /// The program's file.
    pub program: PathBuf,
    /// Name of the lock that answered.
    pub lock: String,
    /// Which part of the process recorded, of [`layout::source`].
    pub source: u32,
    /// One of so many acquisitions was looked at.
    pub rate: u64,
    /// When it began, in ns since 1970.
    pub started_realtime_ns: u64,
    /// The same instant by the monotonic clock, which all other times are of.
    pub started_ns: u64,
}

/// Why a file is no recording.
#[derive(Debug)]
pub struct ReadError {
    path: PathBuf,
    why: String,
    /// Whether it could not be opened because as many files are open as may be.
    pub lacks_files: bool,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for ReadError {}

/// A file of the program, as it was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its path; that of the program for itself.
    pub path: PathBuf,
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// What was added to the addresses of the file.
    pub bias: u64,
    /// The build id, empty if there is none.
    pub build_id: Vec<u8>,
    /// What the file was at the start, if that is known.
    pub stamp: Option<Stamp>,
}

/// A lock or a condition variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// Its number in samples.
    pub number: u32,
    /// Its address.
    pub address: u64,
    /// Of [`layout::kind`].
    pub kind: u32,
    /// The number of a stack.
    pub origin: u32,
    /// What was waited for in the end and nobody is charged for, in ns.
    pub left_over: u64,
    /// Most threads that waited at once.
    pub most_waiting: u32,
    /// The longest wait that is over, recorded or not, in ns.
    pub longest_ns: u64,
    /// What its waiters did.
    pub parks: u32,
    /// Threads that its releases woke.
    pub wakes: u32,
    /// Changes of who is on deck.
    pub rotations: u32,
    /// Turns of loops.
    pub spins: u32,
    /// As in [`layout::Lock::name`]; [`Names::of`] knows the name.
    pub name: u32,
    /// Which of the modules that were at its address it lies in, of [`layout::in_time`].
    pub module: u32,
    /// Who waits for it, as the recorder keeps that.
    waiting: u64,
    /// Since when the hold in progress is known to last, by the recording's clock.
    pub lasts_since: u64,
}

impl Lock {
    /// What threads wait for that has no number yet, as it was never waited for to the end.
    pub fn without_a_number(address: u64, kind: u32, origin: u32) -> Self {
        Lock { address, kind, origin, ..Lock::default() }
    }

    /// Whether that is the same lock, some time later.
    fn is(&self, other: Option<&Self>) -> bool {
        let same = |lock: &Self| (lock.number, lock.address, lock.kind & 0xff, lock.origin);
        other.is_some_and(|other| same(self) == same(other))
    }

    /// What is waited for it at an instant and nobody has been charged yet, in ns.
    pub fn uncharged_ns(&self, now: u64) -> u64 {
        waiting::area(self.waiting, now)
    }
}

/// A lock that a thread took while it had another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nesting {
    /// The numbers of the locks, the one that it had first.
    pub locks: [u32; 2],
    /// Which of them it had, or took, to read, together with all others that read: [`layout::Nesting::SHARED`].
    pub shared: [bool; 2],
    /// Whether the second one was only tried: [`layout::Nesting::TRIED`].
    pub is_tried: bool,
    /// The numbers of the stacks that took them.
    pub stacks: [u32; 2],
    /// Others that it had alone each time, by number; [`layout::NONE`] where there is none.
    pub outer: [u32; 2],
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Of [`layout::event`].
    pub event: u32,
    /// The kernel's number of the thread.
    pub thread: u32,
    /// The number of the lock.
    pub lock: u32,
    /// The number of the stack.
    pub stack: u32,
    /// When it was over, by the monotonic clock.
    pub at: u64,
    /// How long it took.
    pub ns: u64,
    /// For how many it stands.
    pub weight: f64,
    /// Of a charge: how long the hold lasted, as far as that is known. Of a handing on: how long nobody had the lock, and what
    /// of the charge a long hold before has caused. In ns; 0 where it is none, or not known.
    pub lengths: [u64; 2],
}

/// A thread that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The kernel's number of the thread, as its process knows it.
    pub thread: u32,
    /// The number of the lock it waits for; [`layout::NONE`] for what has no holders that are known.
    pub lock: u32,
    /// The address of that.
    pub address: u64,
    /// Since when, by the recording's clock.
    pub since: u64,
    /// Of [`layout::kind`].
    pub kind: u32,
    /// Where it waits, if that is known.
    pub stack: u32,
}

/// What could not be recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Samples.
    pub samples: u64,
    /// Stacks.
    pub stacks: u64,
    /// Locks.
    pub locks: u64,
    /// Names that the program has given its locks.
    pub names: u64,
    /// Acquisitions of a lock while another one was held.
    pub nestings: u64,
    /// Waits that could not be seen while they lasted.
    pub waiters: u64,
}

impl RecordingInfo {
    fn of(head: &Header) -> Self {
        RecordingInfo {
            pid: head.pid,
            parent: head.parent,
            program: path_of(&head.program),
            lock: String::from_utf8_lossy(text(&head.lock)).into_owned(),
            source: head.source,
            rate: head.rate.max(1),
            started_realtime_ns: head.started_realtime_ns,
            started_ns: head.started_ns,
        }
    }
}

/// Whether nothing was opened because as many files are open as may be.
pub fn is_of_files_open(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

impl Reader {
    /// Opens a recording that has been begun.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        /// As long as a recorder makes them. A file can be longer than any disk, of holes that take for ever to read.
        const LONGEST: u64 = 1 << 34;
        const SHORTEST: u64 = 1 << 20;
        let wrong = |why: String| ReadError { path: path.to_owned(), why, lacks_files: false };
        let not_opened =
            |error: io::Error| ReadError { lacks_files: is_of_files_open(&error), ..wrong(error.to_string()) };
        // Who is recorded may have put anything there.
        let file = outside::open_made(path).map_err(not_opened)?;
        let header = || read::<Header>(&file, 0, 1).map(|mut one| one.remove(0));
        let header = || header().map_err(|error| wrong(format!("it ends within its first part: {error}")));
        let head = header()?;
        if head.magic.load(Relaxed) != MAGIC {
            return Err(wrong("it is no recording of this version, or was not begun".to_owned()));
        }
        let length = head.length;
        let actual = file.metadata().map_err(|error| wrong(error.to_string()))?.len();
        if actual < length {
            return Err(wrong(format!("it has been cut short: {actual} bytes of {length}")));
        }
        if !(SHORTEST..=LONGEST).contains(&length) {
            let than_any = if length > LONGEST { "longer" } else { "shorter" };
            return Err(wrong(format!("it is {than_any} than any recording: {length} bytes")));
        }
        let checked = |part: Part, size: usize| {
            let end = part.room.checked_mul(size as u64).and_then(|bytes| bytes.checked_add(part.start));
            let is_within = part.room > 0 && end.is_some_and(|end| end <= length);
            if is_within { Ok(part) } else { Err(wrong("its parts lie outside of it".to_owned())) }
        };
        // A file is of holes to a part, and to read them takes as long as to read what is there.
        let laid_out = |order| header().map(|mut most| (files::lay_out(&mut most, length, order), most).1);
        let [most, most_in_order] = [laid_out(0)?, laid_out(1)?];
        let checked = |part: Part, size: usize, most: Part| match checked(part, size)? {
            part if part.room <= most.room => Ok(part),
            part => {
                Err(wrong(format!("a part of it has room for {} entries, and {} are the most", part.room, most.room)))
            }
        };
        Ok(Reader {
            modules: checked(head.modules, size_of::<layout::Module>(), most.modules)?,
            locks: checked(head.locks, size_of::<layout::Lock>(), most.locks)?,
            stacks: checked(head.stacks, size_of::<u64>(), most.stacks)?,
            waiters: checked(head.waiters, size_of::<layout::Waiter>(), most.waiters)?,
            names: checked(head.names, size_of::<layout::Name>(), most.names)?,
            named: checked(head.named, size_of::<u64>(), most.named)?,
            // Without room where nothing of the kind is recorded.
            nestings: match head.nestings {
                none @ Part { room: 0, .. } => none,
                part => checked(part, size_of::<layout::Nesting>(), most_in_order.nestings)?,
            },
            ring: checked(head.ring, size_of::<layout::Slot>(), most.ring)?,
            budget: Budget::default(),
            tail: head.tail.load(Relaxed),
            spoilt: 0,
            epoch: head.epoch.load(Relaxed),
            about: RecordingInfo::of(&head),
            path: path.to_owned(),
            file,
        })
    }

    /// What it says is kept within that budget, which others have as well.
    pub fn keep_within(&mut self, budget: &Budget) {
        self.budget = budget.clone();
    }

    /// What does not fit into the budget is an error.
    fn fits<T>(&self, what: &str, entries: &[T]) -> Result<(), ReadError> {
        let fits = self.budget.take(size_of_val(entries) as u64);
        let wrong =
            |spent| ReadError { path: self.path.clone(), why: format!("its {what}: {spent}"), lacks_files: false };
        fits.map(drop).map_err(wrong)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, error: &io::Error) -> ReadError {
        ReadError { path: self.path.clone(), why: error.to_string(), lacks_files: false }
    }

    /// So many entries of a part, from the one with that index on.
    fn entries<T: Numbers>(&self, part: Part, index: u64, n: u64) -> Result<Vec<T>, ReadError> {
        read(&self.file, part.start + index * size_of::<T>() as u64, n as usize).map_err(|error| self.failed(&error))
    }

    /// A field of the header, by its offset.
    fn field<T: Numbers>(&self, at: usize) -> Result<T, ReadError> {
        Ok(self.entries(Part { start: at as u64, room: 1 }, 0, 1)?.remove(0))
    }

    /// What could not be recorded until now.
    pub fn dropped(&self) -> Result<Dropped, ReadError> {
        Ok(Dropped {
            samples: self.field(offset_of!(Header, dropped_samples))?,
            stacks: self.field(offset_of!(Header, dropped_stacks))?,
            locks: self.field(offset_of!(Header, dropped_locks))?,
            names: self.field(offset_of!(Header, dropped_names))?,
            nestings: self.field(offset_of!(Header, dropped_nestings))?,
            waiters: self.field(offset_of!(Header, dropped_waiters))?,
        })
    }

    /// Samples that were left out by [`take`](Self::take).
    pub fn spoilt(&self) -> u64 {
        self.spoilt
    }

    /// Whether the process is still there that records, with the program that did. `None` if the file system cannot tell.
    ///
    /// It is not looked for by its number: in a PID namespace of its own that is another one than here, numbers are given
    /// again, and a process may run one program after the other. The kernel gives a lease on a file only if nobody else has
    /// it open to write, and a mapping keeps open what it is of. It ends with the process, however that ends, and with
    /// its program. Overlays and file systems of other machines do not count mappings, or have no leases.
    pub fn is_mapped(&self) -> Option<bool> {
        use std::os::fd::AsRawFd;
        const COUNTING: [i64; 4] =
            [libc::TMPFS_MAGIC, libc::EXT4_SUPER_MAGIC, libc::BTRFS_SUPER_MAGIC, libc::XFS_SUPER_MAGIC];
        let file = self.file.as_raw_fd();
        let mut about = core::mem::MaybeUninit::<libc::statfs>::zeroed();
        // SAFETY: an open file, and room for the answer.
        let answer = unsafe { libc::fstatfs(file, about.as_mut_ptr()) };
        // SAFETY: filled by the call, or zeros, which are numbers too.
        let kind = unsafe { about.assume_init() }.f_type;
        if answer != 0 || !COUNTING.contains(&kind) {
            return None;
        }
        // SAFETY: takes numbers only.
        if unsafe { libc::fcntl(file, libc::F_SETLEASE, libc::F_WRLCK) } != 0 {
            let is_in_use = io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
            return is_in_use.then_some(true);
        }
        // SAFETY: as above.
        unsafe { libc::fcntl(file, libc::F_SETLEASE, libc::F_UNLCK) };
        Some(false)
    }

    /// Whether the process has come to its regular end.
    pub fn has_exited(&self) -> Result<bool, ReadError> {
        Ok(self.field::<u32>(offset_of!(Header, has_exited))? != 0)
    }

    /// Whether a lock was used at all.
    pub fn has_locked(&self) -> Result<bool, ReadError> {
        Ok(self.field::<u32>(offset_of!(Header, has_locked))? != 0)
    }

    /// The program's files that are known until now.
    pub fn modules(&self) -> Result<Vec<Module>, ReadError> {
        self.modules_from(0)
    }

    /// Those of them that are behind the first `known`.
    pub fn modules_from(&self, known: u64) -> Result<Vec<Module>, ReadError> {
        let mut modules = Vec::new();
        for index in known..self.modules.room {
            let entry: layout::Module = self.entries(self.modules, index, 1)?.remove(0);
            if entry.is_complete.into_inner() == 0 {
                break;
            }
            let path = path_of(&entry.path);
            modules.push(Module {
                path: if path.as_os_str().is_empty() { self.about.program.clone() } else { path },
                start: entry.start,
                end: entry.end,
                bias: entry.bias,
                build_id: entry.build_id.into_iter().take(entry.build_id_length as usize).collect(),
                stamp: (entry.stamp.number != 0).then_some(entry.stamp),
            });
        }
        Ok(modules)
    }

    /// Whether places for locks have become few since the last call.
    pub fn wants_places(&self) -> Result<bool, ReadError> {
        const AT: usize = offset_of!(Header, wants_places);
        let wants = self.field::<u32>(AT)? != 0;
        if wants {
            self.write(AT, 0)?;
        }
        Ok(wants)
    }

    /// Begins an epoch: from here on locks that are used are told from those that are not. What was last used two
    /// epochs before may go once this one [is taken](Self::take_epoch).
    pub fn begin_epoch(&mut self) -> Result<(), ReadError> {
        self.epoch = self.epoch.wrapping_add(1);
        self.write(offset_of!(Header, epoch), self.epoch)
    }

    /// Whether orders of locks are recorded.
    pub fn has_nestings(&self) -> bool {
        self.nestings.room > 0
    }

    /// Whether an epoch was ever begun.
    pub fn gives_places_back(&self) -> bool {
        self.epoch != 0
    }

    /// All locks have been looked at since the epoch [began](Self::begin_epoch).
    pub fn take_epoch(&self) -> Result<(), ReadError> {
        self.write(offset_of!(Header, taken), self.epoch)
    }

    fn write(&self, at: usize, number: u32) -> Result<(), ReadError> {
        self.file.write_all_at(&number.to_le_bytes(), at as u64).map_err(|error| self.failed(&error))
    }

    /// The locks and condition variables that are known until now.
    pub fn locks(&self) -> Result<Vec<Lock>, ReadError> {
        const AT_ONCE: u64 = 256;
        let mut locks = Vec::new();
        let mut first = 1;
        while first < self.locks.room {
            let n = AT_ONCE.min(self.locks.room - first);
            let n_before = locks.len();
            // A thread that has taken a number may be about to write it, or had no room on the disk.
            let entries = self.entries(self.locks, first, n)?.into_iter();
            let found = (first as u32..).zip(entries).map(|(number, entry)| lock(number, entry));
            if self.epoch == 0 {
                locks.extend(found.flatten());
            } else {
                // An entry may be given to another lock meanwhile. Whose turn it was before and after is one lock.
                fence(Acquire);
                let again = self.entries(self.locks, first, n)?.into_iter();
                let again = (first as u32..).zip(again).map(|(number, entry)| lock(number, entry));
                locks.extend(found.zip(again).filter_map(|(one, other)| one.filter(|one| one.is(other.as_ref()))));
            }
            if locks.len() == n_before {
                break;
            }
            self.fits("locks", &locks)?;
            first += n;
        }
        Ok(locks)
    }

    /// The lock of that number, if there is one.
    pub fn lock(&self, number: u32) -> Result<Option<Lock>, ReadError> {
        let at = layout::tenancy::entry(number);
        if at == layout::NONE || u64::from(at) >= self.locks.room {
            return Ok(None);
        }
        let found = lock(at, self.entries(self.locks, at.into(), 1)?.remove(0));
        Ok(found.filter(|lock| lock.number == number))
    }

    /// The threads that wait now. Of a thread that has left a wait without its end, or waits inside a wait, the newest counts.
    pub fn waiters(&self) -> Result<Vec<Waiter>, ReadError> {
        let most: u32 = self.field(offset_of!(Header, most_waiters))?;
        let slots = self.entries(self.waiters, 0, u64::from(most).min(self.waiters.room))?;
        let waiter = |slot: layout::Waiter| Waiter {
            thread: slot.thread.into_inner(),
            lock: slot.lock.into_inner(),
            address: slot.address.into_inner(),
            since: slot.since.into_inner(),
            kind: slot.kind.into_inner(),
            stack: slot.stack.into_inner(),
        };
        let mut waiters: Vec<Waiter> = slots.into_iter().map(waiter).collect();
        waiters.retain(|waiter| waiter.thread != 0 && waiter.thread != layout::Waiter::TAKEN);
        waiters.sort_by_key(|waiter| (waiter.thread, core::cmp::Reverse(waiter.since)));
        waiters.dedup_by_key(|waiter| waiter.thread);
        Ok(waiters)
    }

    /// The threads that are in a system call of the recorder's own now.
    pub fn inside(&self) -> Result<Vec<u32>, ReadError> {
        let places = Part { start: offset_of!(Header, inside) as u64, room: layout::N_INSIDE as u64 };
        let mut all: Vec<u32> = self.entries(places, 0, places.room)?;
        all.retain(|thread| *thread != 0);
        Ok(all)
    }

    /// The locks that were taken while another one was held; none unless orders are recorded. Of one pair of locks, those
    /// to read and those alone.
    pub fn nestings(&self) -> Result<Vec<Nesting>, ReadError> {
        const AT_ONCE: u64 = 4096;
        let mut nestings = Vec::new();
        for first in (0..self.nestings.room).step_by(AT_ONCE as usize) {
            let n = AT_ONCE.min(self.nestings.room - first);
            let entries: Vec<layout::Nesting> = self.entries(self.nestings, first, n)?;
            // What was there before and after was there in between.
            fence(Acquire);
            let again: Vec<layout::Nesting> = self.entries(self.nestings, first, n)?;
            let both = entries.into_iter().zip(again);
            let stays = both.filter(|(one, other)| one.locks.load(Relaxed) == other.locks.load(Relaxed));
            nestings.extend(stays.filter_map(|(one, _)| nesting(one)));
            self.fits("orders of locks", &nestings)?;
        }
        Ok(nestings)
    }

    /// The return addresses of a stack, the innermost first; empty if there is none of that number.
    pub fn stack(&self, number: u32) -> Result<Vec<u64>, ReadError> {
        let at = u64::from(number);
        if number == layout::NONE || at >= self.stacks.room {
            return Ok(Vec::new());
        }
        let length = self.entries::<u64>(self.stacks, at, 1)?[0] & 0xffff;
        if length > layout::DEPTH as u64 || at + length >= self.stacks.room {
            return Ok(Vec::new());
        }
        self.entries(self.stacks, at + 1, length)
    }

    /// Takes the samples that are new, in their order. One that is being written is waited for until the next call; once the
    /// process is gone (`is_over`) it is left out, and so is one that makes no sense.
    pub fn take(&mut self, is_over: bool, mut each: impl FnMut(Sample)) -> Result<(), ReadError> {
        const AT_ONCE: u64 = 4096;
        /// As many as threads can leave behind that are ended while they write. Behind more of them, nothing is to be expected.
        const MOST_SPOILT: u64 = 1 << 20;
        let head: u64 = self.field(offset_of!(Header, head))?; // record_ring: ask
        // Not more than there can be, whatever the file says.
        let end = head.min(self.tail.saturating_add(self.ring.room));
        let spoilt_before = self.spoilt;
        'all: while self.tail < end {
            let first = self.tail % self.ring.room;
            let n = AT_ONCE.min(end - self.tail).min(self.ring.room - first);
            let tickets: Vec<layout::Slot> = self.entries(self.ring, first, n)?; // record_ring: copy_ticket
            // A ticket is written after the words that belong to it, so these are read after it. On x86-64 that is no
            // instruction, so no test there can miss it.
            fence(Acquire);
            let slots = self.entries(self.ring, first, n)?; // record_ring: copy_words
            for (ticket, slot) in tickets.into_iter().map(|slot| slot.ticket.into_inner()).zip(slots) {
                // record_ring: examine
                let is_complete = ticket == self.tail + 1;
                if !is_complete && !is_over {
                    break 'all;
                }
                match sample(slot).filter(|_| is_complete) {
                    Some(sample) => each(sample),
                    None => self.spoilt += 1,
                }
                self.tail += 1;
            }
            if self.spoilt - spoilt_before > MOST_SPOILT {
                self.spoilt += end - self.tail;
                self.tail = end;
            }
        }
        let written = self.file.write_all_at(&self.tail.to_le_bytes(), offset_of!(Header, tail) as u64); // record_ring: free
        written.map_err(|error| self.failed(&error))
    }
}
