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
    delay: Option<File>,
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
        Thread { call: open("syscall"), delay: open("schedstat"), is_kept: false }
    }

    /// Whether its files are to stay open: of those that this process may have, they are a small part.
    pub(super) fn keep(&mut self) -> bool {
        const MOST: usize = 8;
        self.is_kept = N_KEPT.fetch_add(1, Relaxed) < MOST;
        N_KEPT.fetch_sub(usize::from(!self.is_kept), Relaxed);
        self.is_kept
    }

    /// What it does; `None` if the thread has ended, or may not be looked at.
    pub(crate) fn doing(&self) -> Option<Activity> {
        word(self.call.as_ref()?, 0, |word| match word {
            "running" => Activity::Computing,
            // Less than 0 where it sleeps outside a call, as for a page of memory.
            number => Activity::Blocked(number.parse().ok()),
        })
    }

    /// How long it has been kept from running by others, in ns.
    pub(super) fn delay_ns(&self) -> Option<u64> {
        word(self.delay.as_ref()?, 1, |word| word.parse().ok())?
    }
}

/// The word at that place in a file of the kernel.
fn word<R>(file: &File, at: usize, read: impl FnOnce(&str) -> R) -> Option<R> {
    let mut room = [0; 256];
    let n = file.read_at(&mut room, 0).ok()?;
    std::str::from_utf8(&room[..n]).ok()?.split_whitespace().nth(at).map(read)
}
