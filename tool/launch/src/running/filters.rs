//! Filters of system calls (seccomp) of a process with the recorder in it: whether a command may end it.
//!
//! A filter that the program has set itself allows what the program needs, and may end the process for anything else. One that
//! was there when the program began, as a container's, has let the loader do what a command asks for. The recorder has
//! counted those, so what is more is the program's own.

use super::{NotRecorded, Recorder};
use ondeck_futex::process::threads;
use ondeck_record::control::{Control, refused};
use ondeck_record::filters;
use std::fmt;
use std::io;
use std::mem::offset_of;

/// Which filter a process may not be recorded under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// One of its threads has set it since the program began.
    ItsOwn,
    /// It is not known whether it was there when the program began.
    Unknown,
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Filter::ItsOwn => "it has set a system call filter (seccomp) since it was started",
            Filter::Unknown => {
                "it runs under a system call filter (seccomp), and the kernel does not say whether it has set that itself"
            }
        })?;
        f.write_str(", which may end a process that makes calls it does not expect")
    }
}

/// What was refused to the recorder, and the error.
#[derive(Clone, Copy, Debug)]
pub struct Refused(u64);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, error) = ((self.0 >> 32) as u32, self.0 as u32 as i32);
        let name = match what {
            refused::OPENAT => "openat",
            refused::MMAP => "mmap",
            refused::MEMORY => return f.write_str("madvise gave it no memory for the beginning of the file"),
            _ => return f.write_str("its file system, or its limit for files, has no room"),
        };
        write!(f, "{name} failed there: {}", io::Error::from_raw_os_error(error))
    }
}

impl Recorder {
    /// What was refused.
    pub(super) fn refused(&self) -> Refused {
        Refused(self.memory.word(self.control + offset_of!(Control, refused) as u64).unwrap_or(0))
    }

    /// Whether no filter is there that might end it for obeying.
    pub(super) fn may_be_commanded(&self) -> Result<(), NotRecorded> {
        let known: u32 = self.memory.word(self.control + offset_of!(Control, filters) as u64)?;
        judge(known.checked_sub(1), &self.counts()).map_or(Ok(()), |filter| Err(NotRecorded::Filtered(filter)))
    }

    /// How many filters each of its threads is under, which the kernel may not say. A thread that has ended is under none.
    fn counts(&self) -> Vec<Option<u32>> {
        let status = |thread| std::fs::read(format!("/proc/{}/task/{thread}/status", self.pid)).unwrap_or_default();
        threads(self.pid).into_iter().map(|thread| filters::count(&status(thread))).collect()
    }

    /// Refuses to command anything where that might end the process, and has it leave files where there is any filter.
    pub(super) fn seal_or_refuse(&self) -> Result<(), NotRecorded> {
        self.may_be_commanded()?;
        self.write(offset_of!(Control, refused), &0_u64.to_ne_bytes())?;
        self.seal(self.is_filtered())
    }

    /// The same while it records: it may close a sandbox then.
    pub(super) fn seal_if_filtered(&self) {
        if self.is_filtered() {
            // Of a process that has ended nothing need be told.
            let _ = self.seal(true);
        }
    }

    fn is_filtered(&self) -> bool {
        self.counts().iter().any(|count| *count != Some(0))
    }

    fn seal(&self, is_sealed: bool) -> Result<(), NotRecorded> {
        self.write(offset_of!(Control, is_sealed), &u32::from(is_sealed).to_ne_bytes())
    }
}

/// Which filter is in the way of threads under so many filters, in a process that began with so many.
fn judge(at_first: Option<u32>, now: &[Option<u32>]) -> Option<Filter> {
    let is_more = |count: &Option<u32>| at_first.is_some_and(|first| count.is_some_and(|count| count > first));
    let is_unknown = |count: &Option<u32>| *count != Some(0) && (at_first.is_none() || count.is_none());
    if now.iter().any(is_more) {
        return Some(Filter::ItsOwn);
    }
    now.iter().any(is_unknown).then_some(Filter::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_that_were_there_at_first_are_no_obstacle() {
        for (first, now, expected) in [
            (Some(0), &[Some(0), Some(0)][..], None),
            (Some(1), &[Some(1), Some(1)], None),
            (Some(2), &[Some(1)], None),
            (Some(0), &[Some(0), Some(1)], Some(Filter::ItsOwn)),
            (Some(1), &[Some(2), Some(1)], Some(Filter::ItsOwn)),
            (Some(0), &[Some(u32::MAX)], Some(Filter::ItsOwn)),
            (None, &[Some(0)], None),
            (None, &[Some(0), Some(1)], Some(Filter::Unknown)),
            (None, &[None], Some(Filter::Unknown)),
            (Some(1), &[None], Some(Filter::Unknown)),
            (Some(0), &[], None),
        ] {
            assert_eq!(judge(first, now), expected, "{first:?} {now:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_call_and_the_error() {
        let text = |what: u32, error: u64| Refused(u64::from(what) << 32 | error).to_string();
        assert_eq!(text(refused::OPENAT, 1), "openat failed there: Operation not permitted (os error 1)");
        assert!(text(refused::MMAP, 12).starts_with("mmap failed there: Cannot allocate memory"));
        assert!(text(refused::MEMORY, 12).contains("no memory") && text(0, 0).contains("no room"));
    }
}
