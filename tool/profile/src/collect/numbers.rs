//! Numbers of threads of a process in a PID namespace of its own, as a container's: the recording, and the memory of locks,
//! have those that it has there, and the kernel here knows others.

use ondeck_futex::process::{number_inside, threads};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What the threads of one process are called here.
#[derive(Debug, Default)]
pub(crate) struct ThreadNumbers {
    pid: u32,
    /// Whether they are other numbers than there.
    are_others: bool,
    /// By the number there.
    known: HashMap<u32, u32>,
    listed_at: Option<Instant>,
}

impl ThreadNumbers {
    /// Of the process with that number here.
    pub(crate) fn of(pid: u32) -> Self {
        let are_others = number_inside(pid).is_some_and(|number| number != pid);
        ThreadNumbers { pid, are_others, ..ThreadNumbers::default() }
    }

    /// The number here of a thread; its own if it has ended.
    pub(crate) fn here(&mut self, there: u32) -> u32 {
        const AGAIN: Duration = Duration::from_millis(50);
        if !self.are_others {
            return there;
        }
        let is_old = self.listed_at.is_none_or(|at| at.elapsed() >= AGAIN);
        if !self.known.contains_key(&there) && is_old {
            let number = |here| Some((number_inside(here)?, here));
            self.known = threads(self.pid).into_iter().filter_map(number).collect();
            self.listed_at = Some(Instant::now());
        }
        self.known.get(&there).copied().unwrap_or(there)
    }

    /// The number there of a thread.
    pub(crate) fn there(&self, here: u32) -> u32 {
        if self.are_others { number_inside(here).unwrap_or(here) } else { here }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_this_namespace_keep_their_numbers() {
        let pid = std::process::id();
        let mut numbers = ThreadNumbers::of(pid);
        assert_eq!((numbers.here(pid), numbers.there(pid), numbers.here(u32::MAX)), (pid, pid, u32::MAX));
    }

    #[test]
    fn threads_of_another_namespace_are_found_by_their_numbers_there() {
        let pid = std::process::id();
        // As if it were another one, in which they have the same.
        let mut numbers = ThreadNumbers { are_others: true, ..ThreadNumbers::of(pid) };
        assert_eq!((numbers.here(pid), numbers.here(u32::MAX)), (pid, u32::MAX));
        assert_eq!(numbers.known.get(&pid), Some(&pid));
    }
}
