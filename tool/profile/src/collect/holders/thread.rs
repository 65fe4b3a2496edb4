//! What the kernel tells of a thread.

use super::Activity;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A thread, by files of the kernel that stay open: to open one takes longer than to read it.
#[derive(Debug)]
pub(crate) struct Thread {
    call: Option<File>,
    times: Option<File>,
    is_kept: bool,
}

/// So many threads' files stay open, of all processes.
static N_KEPT: AtomicUsize = AtomicUsize::new(0);

impl Drop for Thread {
    fn drop(&mut self) {
        N_KEPT.fetch_sub(usize::from(self.is_kept), Relaxed);
    }
}

impl Thread {
    pub(crate) fn new(process: &Path, thread: u32) -> Self {
        let open = |what: &str| File::open(process.join(format!("task/{thread}/{what}"))).ok();
        Thread { call: open("syscall"), times: open("schedstat"), is_kept: false }
    }

    /// Whether its files are to stay open: of those that this process may have, they are a small part.
    pub(crate) fn keep(&mut self) -> bool {
        const MOST: usize = 64;
        self.is_kept = N_KEPT.fetch_add(1, Relaxed) < MOST;
        N_KEPT.fetch_sub(usize::from(!self.is_kept), Relaxed);
        self.is_kept
    }

    /// What it does; `None` if the thread has ended, or may not be looked at.
    pub(crate) fn doing(&self) -> Option<Activity> {
        told(self.call.as_ref()?, doing)?
    }

    /// The same, and what the kernel says of it.
    pub(crate) fn doing_with_text(&self) -> Option<(Activity, String)> {
        told(self.call.as_ref()?, |text| Some((doing(text)?, text.to_owned())))?
    }

    /// How long it has run, how long it has been kept from running by others, both in ns, and how often it was given a core.
    pub(crate) fn times(&self) -> Option<[u64; 3]> {
        told(self.times.as_ref()?, |text| {
            let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
            Some([numbers.next()??, numbers.next()??, numbers.next()??])
        })?
    }
}

fn doing(text: &str) -> Option<Activity> {
    match text.split_whitespace().next()? {
        "running" => Some(Activity::Computing),
        // Less than 0 where it sleeps outside a call, as for a page of memory.
        number => Some(Activity::Blocked(number.parse().ok())),
    }
}

/// What a file of the kernel says.
fn told<R>(file: &File, read: impl FnOnce(&str) -> R) -> Option<R> {
    let mut room = [0; 256];
    let n = file.read_at(&mut room, 0).ok()?;
    std::str::from_utf8(&room[..n]).ok().map(read)
}
