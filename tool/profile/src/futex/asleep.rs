//! What a thread waits for that sleeps in one of ondeck's locks: such a thread mostly sleeps on a word of its own.
//!
//! The lock or the condition variable is found from the word by the process's memory, as long as the thread sleeps:
//!
//! - Who is on deck naps on the upper half of the lock's word. The word says so itself: it is locked, a seat is taken, and who
//!   sits there naps. The words of other locks, and pointers, have other bits there.
//! - A sleeper in the dugout, and a waiter of a condition variable, sleep on a word of their node. A label lies behind that.
//!   `dugout.rs` of ondeck's locks says why nothing else is taken for one.
//!
//! The numbers are the lock's own (`ondeck_core::ondeck::seen`).
//!
//! Both are asked only of a thread whose stack is in ondeck's code, and that has waited for long. One whose stack is too far
//! away for the lock's word has no node. It sleeps for a moment at a time, so the kernel shows short waits.
//!
//! In a program that has its locks by ondeck's library, a thread waits for the mutex around the lock, which also says who has
//! it. In another program it waits for the lock itself.

use super::cells::JOINED;
use super::names::Names;
use crate::kinds::{Class, FutexOwner, WaitSubject};
use crate::profile::{LockKind, WaitKind};
use ondeck_core::ondeck::seen::{CONDITION, GRANT, LABEL, MAGIC, NAPS, NODE};
use ondeck_futex::process::bytes;
use ondeck_futex::{Wait, in_time};
use ondeck_record::layout::LOCK_IN_MUTEX;

/// Who serves the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LockServer {
    /// The library, in a mutex of pthreads'.
    Library,
    Program,
}

impl Names<'_> {
    /// Where a thread that still sleeps waits for what: the address of a lock or of a condition variable. For a wait that is not
    /// ondeck's, the address that the kernel tells.
    pub(super) fn meant_by_sleeper(&mut self, wait: &Wait) -> u64 {
        if wait.joins {
            return JOINED;
        }
        let stack = self.stack(wait.image, wait.stack);
        let Some(by) = self.server(stack) else { return wait.address };
        let pid = self.told.processes[wait.image].pid;
        let found = find(in_time::plain(wait.address), by, |address| bytes(pid, address).map(u64::from_ne_bytes));
        let Some((address, meaning)) = found else { return wait.address };
        let address = self.told.now(wait.image, address);
        self.known_by_sleepers.insert((wait.image, address), Class { meaning, whose: FutexOwner::Object(0) });
        address
    }

    fn server(&self, stack: u32) -> Option<LockServer> {
        let is_ours = |name: &str| name.contains("ondeck_lineage::") || name.contains("ondeck_core::");
        if self.is_in_library(stack) {
            Some(LockServer::Library)
        } else {
            self.names(stack).any(is_ours).then_some(LockServer::Program)
        }
    }
}

/// What a word is for on which a thread sleeps in ondeck's code.
fn find(word: u64, by: LockServer, read: impl Fn(u64) -> Option<u64>) -> Option<(u64, WaitSubject)> {
    let mutex = |lock: u64| {
        (
            if by == LockServer::Library { lock.wrapping_sub(LOCK_IN_MUTEX) } else { lock },
            WaitSubject::Lock(LockKind::Mutex),
        )
    };
    if word % 8 == 4 {
        let lock = word - 4;
        return (read(lock)? & NAPS == NAPS).then(|| mutex(lock));
    }
    if word % NODE != GRANT {
        return None;
    }
    let what = read(word + LABEL)?;
    match what ^ read(word + LABEL + 8)? {
        MAGIC if what & CONDITION != 0 => Some((what & !CONDITION, WaitSubject::Wait(WaitKind::Condition))),
        MAGIC => Some(mutex(what)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: u64 = 0x7000 + GRANT;

    fn labelled(word: u64, by: LockServer, [what, check]: [u64; 2]) -> Option<(u64, WaitSubject)> {
        find(word, by, |address| Some(if address == word + LABEL { what } else { check }))
    }

    #[test]
    fn only_labels_of_sleepers_are_taken_for_locks() {
        let is_lock = |found, address| assert_eq!(found, Some((address, WaitSubject::Lock(LockKind::Mutex))));
        let label = |what: u64| [what, what ^ MAGIC];
        is_lock(labelled(WORD, LockServer::Program, label(0x5018)), 0x5018);
        is_lock(labelled(WORD, LockServer::Library, label(0x5018)), 0x5000);
        for by in [LockServer::Library, LockServer::Program] {
            let condition = Some((0x5030, WaitSubject::Wait(WaitKind::Condition)));
            assert_eq!(labelled(WORD, by, label(0x5030 | CONDITION)), condition);
            assert_eq!(labelled(WORD + 8, by, label(0x5018)), None, "another word");
            assert_eq!(labelled(WORD, by, [0; 2]), None, "a new node");
            assert_eq!(labelled(WORD, by, [0x5018, 0x5030 ^ MAGIC]), None, "half of a new label");
            assert_eq!(find(WORD, by, |_| None), None, "the process is gone");
        }
    }

    #[test]
    fn a_nap_is_told_from_other_sleep_between_multiples_of_eight() {
        let found = |by, state: u64| find(0x501c, by, |address| (address == 0x5018).then_some(state));
        let is_lock = |found, address| assert_eq!(found, Some((address, WaitSubject::Lock(LockKind::Mutex))));
        is_lock(found(LockServer::Program, NAPS | 77), 0x5018);
        is_lock(found(LockServer::Library, NAPS | 77), 0x5000);
        for other in [0, 2, 1 << 62, 0x7fff_1234_5678, NAPS & !(1 << 55)] {
            assert_eq!(found(LockServer::Library, other), None, "{other:x}");
        }
    }
}
