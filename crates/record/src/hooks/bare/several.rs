//! Locks that many may have at once to read, and that have no room for marks: as `hooks/rwlock.rs` has it, with the marks of
//! the table. A writer is recorded as who has a mutex.

use super::{begin_hold, destroyed, end_hold, find, marks, recording, stack_of_hold, tell_order};
use crate::hooks::lock_order::tells_order;
use crate::hooks::mutex::PendingRelease;
use crate::hooks::rwlock::{Access, note, stayed};
use crate::hooks::wait::Wait;
use crate::layout::NONE;
use crate::store::current;
use crate::thread::{Hold, own};

/// The calling thread begins to wait for the lock at that address. `None` if that cannot be recorded.
pub fn wait(address: u64, access: Access) -> Option<Wait<'static>> {
    let recording = recording()?;
    marks(recording, address)?.begin_to_wait_for_one_of_several(recording, address, access, false)
}

/// A wait for the lock at that address is over: the calling thread has it, or has given up.
pub fn waited(wait: Wait<'_>, has_it: bool, address: u64, access: Access) {
    match access {
        Access::Writing => super::waited(&wait, has_it, address, None),
        Access::Reading => wait.end_of_several(has_it, address, access),
    }
}

/// The calling thread has acquired the lock at that address, without waiting; `is_due` as [`is_due`](super::is_due) has
/// said, and `was_free` if nobody had it.
pub fn taken(address: u64, access: Access, is_due: bool, is_contended: bool, was_free: bool) {
    match access {
        Access::Writing => super::taken(address, None, is_due, is_contended),
        Access::Reading => read(address, is_due, is_contended, was_free),
    }
}

fn read(address: u64, is_due: bool, is_contended: bool, was_free: bool) {
    let Some(recording) = begin_hold(address, is_due, was_free) else { return };
    let holds = &own().holds;
    // Before what was not its own is charged: of what follows, it may be charged all.
    let hold = Hold::new(recording, address, 0, NONE, false);
    let marks_there = if is_contended { find(address) } else { None };
    if let Some(marks) = marks_there.filter(|_| was_free) {
        marks.found_bare(recording, address);
    }
    let is_timed = is_due && holds.count(recording);
    if is_timed || tells_order() {
        let Some(stack) = stack_of_hold(recording, address) else { return };
        if let Some(number) = marks(recording, address).and_then(|marks| marks.number(recording, address)) {
            note(recording, number);
        }
        holds.remember(Hold { stack, is_timed, ..hold });
        if tells_order() {
            tell_order(recording, address, stack, true);
        }
    } else if marks_there.is_some_and(|marks| marks.asks_for_charge(recording)) || holds.has(address) {
        // So that it is not charged for what was before it, and its end is not taken for the end of an outer one.
        holds.remember(hold);
    }
}

/// The calling thread is about to release the lock at that address; `is_alone` if no other has it. What is to be done after
/// that is in the answer; the lock may be gone by then.
pub fn release(
    address: u64,
    access: Access,
    is_contended: bool,
    is_alone: impl Fn() -> bool,
) -> Option<PendingRelease> {
    let is_writing = access == Access::Writing;
    let number = || {
        let (recording, marks) = (current()?, find(address).filter(|_| is_writing)?);
        Some(destroyed::known(recording, marks, address))
    };
    let is_charged = |hold, lock: &_, now| is_writing || is_alone() || stayed(hold, lock, now);
    end_hold(address, 0, is_contended, number, is_charged).map(|pending| pending.with(access))
}
