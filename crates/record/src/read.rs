//! Recordings, for those who read them: while they are written, and when the process is gone.
//!
//! Nothing is mapped here, and nothing believed: a file that has been cut short, or is another one, is an error that says so. Used by `ondeck`, and by tests; nothing in the recorder uses it.

use crate::layout::{self, Header, LENGTHS_AT, MAGIC, Part, Stamp, event, waiting};
use core::mem::offset_of;
use core::sync::atomic::{Ordering::Acquire, fence};
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
    ring: Part,
    tail: u64,
    /// Samples that were begun and not finished, or make no sense.
    spoilt: u64,
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
    /// What its waiters did.
    pub parks: u32,
    /// Threads that its releases woke.
    pub wakes: u32,
    /// Changes of who is on deck.
    pub rotations: u32,
    /// Turns of loops.
    pub spins: u32,
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

    /// What is waited for it at an instant and nobody has been charged yet, in ns.
    pub fn uncharged_ns(&self, now: u64) -> u64 {
        waiting::area(self.waiting, now)
    }
}

/// A name that the program has given a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Of the lock.
    pub addresses: core::ops::Range<u64>,
    /// The name.
    pub text: String,
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Of [`event`].
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
}

impl Reader {
    /// Opens a recording that has been begun.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        /// As long as a recorder makes them. A file can be longer than any disk, of holes that take for ever to read.
        const LONGEST: u64 = 1 << 34;
        let wrong = |why: String| ReadError { path: path.to_owned(), why };
        let file = File::options().read(true).write(true).open(path).map_err(|error| wrong(error.to_string()))?;
        let head = Bytes::read(&file, 0, size_of::<Header>());
        let head = head.map_err(|error| wrong(format!("it ends within its first part: {error}")))?;
        if head.u64(offset_of!(Header, magic)) != MAGIC {
            return Err(wrong("it is no recording of this version, or was not begun".to_owned()));
        }
        let length = head.u64(offset_of!(Header, length));
        let actual = file.metadata().map_err(|error| wrong(error.to_string()))?.len();
        if actual < length {
            return Err(wrong(format!("it has been cut short: {actual} bytes of {length}")));
        }
        if length > LONGEST {
            return Err(wrong(format!("it is longer than any recording: {length} bytes")));
        }
        let part = |at: usize, size: usize| {
            let part = Part { start: head.u64(at), room: head.u64(at + 8) };
            let end = part.room.checked_mul(size as u64).and_then(|bytes| bytes.checked_add(part.start));
            let is_within = part.room > 0 && end.is_some_and(|end| end <= length);
            if is_within { Ok(part) } else { Err(wrong("its parts lie outside of it".to_owned())) }
        };
        Ok(Reader {
            modules: part(offset_of!(Header, modules), size_of::<layout::Module>())?,
            locks: part(offset_of!(Header, locks), size_of::<layout::Lock>())?,
            stacks: part(offset_of!(Header, stacks), size_of::<u64>())?,
            waiters: part(offset_of!(Header, waiters), size_of::<layout::Waiter>())?,
            names: part(offset_of!(Header, names), size_of::<layout::Name>())?,
            ring: part(offset_of!(Header, ring), size_of::<layout::Slot>())?,
            tail: head.u64(offset_of!(Header, tail)),
            spoilt: 0,
            about: RecordingInfo {
                pid: head.u32(offset_of!(Header, pid)),
                parent: head.u32(offset_of!(Header, parent)),
                program: path_of(head.text(offset_of!(Header, program), 4096)),
                lock: String::from_utf8_lossy(head.text(offset_of!(Header, lock), 32)).into_owned(),
                source: head.u32(offset_of!(Header, source)),
                rate: head.u64(offset_of!(Header, rate)).max(1),
                started_realtime_ns: head.u64(offset_of!(Header, started_realtime_ns)),
                started_ns: head.u64(offset_of!(Header, started_ns)),
            },
            path: path.to_owned(),
            file,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn bytes(&self, at: u64, length: usize) -> Result<Bytes, ReadError> {
        let wrong = |error: io::Error| ReadError { path: self.path.clone(), why: error.to_string() };
        Bytes::read(&self.file, at, length).map_err(wrong)
    }

    /// What could not be recorded until now.
    pub fn dropped(&self) -> Result<Dropped, ReadError> {
        let head = self.bytes(0, size_of::<Header>())?;
        Ok(Dropped {
            samples: head.u64(offset_of!(Header, dropped_samples)),
            stacks: head.u64(offset_of!(Header, dropped_stacks)),
            locks: head.u64(offset_of!(Header, dropped_locks)),
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
        Ok(self.bytes(offset_of!(Header, has_exited) as u64, 4)?.u32(0) != 0)
    }

    /// Whether a lock was used at all.
    pub fn has_locked(&self) -> Result<bool, ReadError> {
        Ok(self.bytes(offset_of!(Header, has_locked) as u64, 4)?.u32(0) != 0)
    }

    /// The program's files that are known until now.
    pub fn modules(&self) -> Result<Vec<Module>, ReadError> {
        self.modules_from(0)
    }

    /// Those of them that are behind the first `known`.
    pub fn modules_from(&self, known: u64) -> Result<Vec<Module>, ReadError> {
        use layout::Module as Entry;
        let mut modules = Vec::new();
        for index in known..self.modules.room {
            let entry = self.bytes(self.modules.start + index * size_of::<Entry>() as u64, size_of::<Entry>())?;
            if entry.u32(offset_of!(Entry, is_complete)) == 0 {
                break;
            }
            let id_length = (entry.u32(offset_of!(Entry, build_id_length)) as usize).min(32);
            let id_at = offset_of!(Entry, build_id);
            let path = path_of(entry.text(offset_of!(Entry, path), 448));
            let word = |at: usize| entry.u64(offset_of!(Entry, stamp) + at);
            let stamp = Stamp {
                device: word(offset_of!(Stamp, device)),
                number: word(offset_of!(Stamp, number)),
                size: word(offset_of!(Stamp, size)),
                modified_ns: word(offset_of!(Stamp, modified_ns)) as i64,
            };
            modules.push(Module {
                path: if path.as_os_str().is_empty() { self.about.program.clone() } else { path },
                start: entry.u64(offset_of!(Entry, start)),
                end: entry.u64(offset_of!(Entry, end)),
                bias: entry.u64(offset_of!(Entry, bias)),
                build_id: entry.0[id_at..id_at + id_length].to_vec(),
                stamp: (stamp.number != 0).then_some(stamp),
            });
        }
        Ok(modules)
    }

    /// The locks and condition variables that are known until now.
    pub fn locks(&self) -> Result<Vec<Lock>, ReadError> {
        const AT_ONCE: u64 = 256;
        let mut locks = Vec::new();
        let mut first = 1;
        while first < self.locks.room {
            let n = AT_ONCE.min(self.locks.room - first);
            let size = size_of::<layout::Lock>();
            let entries = self.bytes(self.locks.start + first * size as u64, n as usize * size)?;
            let n_before = locks.len();
            // A thread that has taken a number may be about to write it, or had no room on the disk.
            let known = (0..n as usize).filter_map(|index| lock(&entries, index * size, first as u32 + index as u32));
            locks.extend(known);
            if locks.len() == n_before {
                break;
            }
            first += n;
        }
        Ok(locks)
    }

    /// The lock of that number, if there is one.
    pub fn lock(&self, number: u32) -> Result<Option<Lock>, ReadError> {
        if number == layout::NONE || u64::from(number) >= self.locks.room {
            return Ok(None);
        }
        let size = size_of::<layout::Lock>();
        let entry = self.bytes(self.locks.start + u64::from(number) * size as u64, size)?;
        Ok(lock(&entry, 0, number))
    }

    /// The threads that wait now. Of a thread that has left a wait without its end, or waits inside a wait, the newest counts.
    pub fn waiters(&self) -> Result<Vec<Waiter>, ReadError> {
        use layout::Waiter as Entry;
        const SIZE: usize = size_of::<Entry>();
        let most = self.bytes(offset_of!(Header, most_waiters) as u64, 4)?.u32(0);
        let n = u64::from(most).min(self.waiters.room) as usize;
        let slots = self.bytes(self.waiters.start, n * SIZE)?;
        let waiter = |at: usize| Waiter {
            thread: slots.u32(at + offset_of!(Entry, thread)),
            lock: slots.u32(at + offset_of!(Entry, lock)),
            address: slots.u64(at + offset_of!(Entry, address)),
            since: slots.u64(at + offset_of!(Entry, since)),
            kind: slots.u32(at + offset_of!(Entry, kind)),
            stack: slots.u32(at + offset_of!(Entry, stack)),
        };
        let mut waiters: Vec<Waiter> = (0..n).map(|index| waiter(index * SIZE)).collect();
        waiters.retain(|waiter| waiter.thread != 0 && waiter.thread != Entry::TAKEN);
        waiters.sort_by_key(|waiter| (waiter.thread, core::cmp::Reverse(waiter.since)));
        waiters.dedup_by_key(|waiter| waiter.thread);
        Ok(waiters)
    }

    /// The names that the program has given its locks.
    pub fn names(&self) -> Result<Vec<Name>, ReadError> {
        use layout::Name as Entry;
        const AT_ONCE: u64 = 64;
        let mut names = Vec::new();
        for first in (0..self.names.room).step_by(AT_ONCE as usize) {
            let n = AT_ONCE.min(self.names.room - first);
            let entries =
                self.bytes(self.names.start + first * size_of::<Entry>() as u64, n as usize * size_of::<Entry>())?;
            let name = |index: usize| {
                let at = index * size_of::<Entry>();
                let address = entries.u64(at + offset_of!(Entry, address));
                let end = address.saturating_add(entries.u64(at + offset_of!(Entry, length)));
                let text = entries.text(at + offset_of!(Entry, text), Entry::TEXT);
                // What was cut in the middle of a character ends before it.
                let text = String::from_utf8_lossy(text).trim_end_matches('\u{fffd}').to_owned();
                Name { addresses: address..end, text }
            };
            let known = (0..n as usize).map(name).filter(|name| name.addresses.start != 0 && !name.text.is_empty());
            let n_before = names.len();
            names.extend(known);
            if names.len() == n_before {
                break;
            }
        }
        Ok(names)
    }

    /// The return addresses of a stack, the innermost first; empty if there is none of that number.
    pub fn stack(&self, number: u32) -> Result<Vec<u64>, ReadError> {
        let at = u64::from(number);
        if number == layout::NONE || at >= self.stacks.room {
            return Ok(Vec::new());
        }
        let length = (self.bytes(self.stacks.start + at * 8, 8)?.u64(0) & 0xffff) as usize;
        if length > layout::DEPTH || at + length as u64 >= self.stacks.room {
            return Ok(Vec::new());
        }
        let words = self.bytes(self.stacks.start + (at + 1) * 8, length * 8)?;
        Ok((0..length).map(|index| words.u64(index * 8)).collect())
    }

    /// Takes the samples that are new, in their order. One that is being written is waited for until the next call; once the
    /// process is gone (`is_over`) it is left out, and so is one that makes no sense.
    pub fn take(&mut self, is_over: bool, mut each: impl FnMut(Sample)) -> Result<(), ReadError> {
        const AT_ONCE: u64 = 4096;
        let head = self.bytes(offset_of!(Header, head) as u64, 8)?.u64(0); // record_ring: ask
        let size = size_of::<layout::Slot>();
        // Not more than there can be, whatever the file says.
        let end = head.min(self.tail.saturating_add(self.ring.room));
        'all: while self.tail < end {
            let first = self.tail % self.ring.room;
            let n = AT_ONCE.min(end - self.tail).min(self.ring.room - first);
            let (at, length) = (self.ring.start + first * size as u64, n as usize * size);
            let tickets = self.bytes(at, length)?; // record_ring: copy_ticket
            // A ticket is written after the words that belong to it, so these are read after it. On x86-64 that is no
            // instruction, so no test there can miss it.
            fence(Acquire);
            let slots = self.bytes(at, length)?; // record_ring: copy_words
            for index in 0..n as usize {
                // record_ring: examine
                let ticket = tickets.u64(index * size + offset_of!(layout::Slot, ticket));
                let is_complete = ticket == self.tail + 1;
                if !is_complete && !is_over {
                    break 'all;
                }
                match sample(&slots, index * size).filter(|_| is_complete) {
                    Some(sample) => each(sample),
                    None => self.spoilt += 1,
                }
                self.tail += 1;
            }
        }
        let wrong = |error: io::Error| ReadError { path: self.path.clone(), why: error.to_string() };
        // record_ring: free
        self.file.write_all_at(&self.tail.to_le_bytes(), offset_of!(Header, tail) as u64).map_err(wrong)
    }
}

fn lock(entries: &Bytes, at: usize, number: u32) -> Option<Lock> {
    use layout::Lock as Entry;
    let (field, word) = (|offset: usize| entries.u32(at + offset), |offset: usize| entries.u64(at + offset));
    let address = word(offset_of!(Entry, address));
    (address != 0).then(|| Lock {
        number,
        address,
        kind: field(offset_of!(Entry, kind)),
        origin: field(offset_of!(Entry, origin)),
        left_over: word(offset_of!(Entry, left_over)),
        most_waiting: field(offset_of!(Entry, most_waiting)),
        parks: field(offset_of!(Entry, parks)),
        wakes: field(offset_of!(Entry, wakes)),
        rotations: field(offset_of!(Entry, rotations)),
        spins: field(offset_of!(Entry, spins)),
        waiting: word(offset_of!(Entry, waiting)),
        lasts_since: word(offset_of!(Entry, lasts_since)),
    })
}

fn sample(slots: &Bytes, at: usize) -> Option<Sample> {
    use layout::Slot;
    let field = |offset: usize| slots.u64(at + offset);
    let (what, place) = (field(offset_of!(Slot, what)), field(offset_of!(Slot, place)));
    let event = what as u32 & !(!0 << LENGTHS_AT[0]);
    let weight = f64::from_bits(field(offset_of!(Slot, weight)));
    // Sums of weights, and of what they are multiplied with, stay far from infinity.
    let is_possible = weight > 0.0 && weight <= u64::MAX as f64;
    let is_known = (event::WAIT..=event::TRIED).contains(&event::plain(event)) && is_possible;
    is_known.then_some(Sample {
        event,
        thread: (what >> 32) as u32,
        lock: place as u32,
        stack: (place >> 32) as u32,
        at: field(offset_of!(Slot, at)),
        ns: field(offset_of!(Slot, ns)),
        weight,
        lengths: LENGTHS_AT.map(|at| layout::decoded(what as u32 >> at & layout::LENGTH)),
    })
}

/// A piece of a file.
struct Bytes(Vec<u8>);

impl Bytes {
    fn read(file: &File, at: u64, length: usize) -> io::Result<Self> {
        let mut bytes = std::vec![0; length];
        file.read_exact_at(&mut bytes, at)?;
        Ok(Bytes(bytes))
    }

    fn u32(&self, at: usize) -> u32 {
        self.0[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn u64(&self, at: usize) -> u64 {
        self.0[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Up to a zero.
    fn text(&self, at: usize, room: usize) -> &[u8] {
        let text = &self.0[at..at + room];
        &text[..text.iter().position(|byte| *byte == 0).unwrap_or(room)]
    }
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
