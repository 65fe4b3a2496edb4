//! A lock is destroyed, where the program says so: its name goes with it.

use super::bare;
use crate::charging::{Marks, Tag, generation};
use crate::layout::{Lock, NONE};
use crate::store::{Recording, current, locks, names};
use core::sync::atomic::Ordering::{Acquire, Release};

/// The lock at that address, with those marks if it has room for them, is destroyed. What comes to be there has no name.
#[inline]
pub fn destroyed(address: u64, marks: Option<&Marks>) {
    if names::are_there() {
        destroyed_with_a_look(address, marks);
    }
}

#[cold]
#[inline(never)]
fn destroyed_with_a_look(address: u64, marks: Option<&Marks>) {
    let name = names::of(address);
    if let Some(recording) = current() {
        tell(recording, address, marks, name);
    }
    if name != 0 {
        names::end(address);
    }
}

/// Writes down what the lock was called.
fn tell(recording: &Recording, address: u64, marks: Option<&Marks>, name: u16) {
    let number = match marks {
        Some(marks) => known(recording, marks, address),
        // Without marks, what comes to be at an address is the same lock as before, which is well as long as none has a name.
        None if name == 0 => NONE,
        None => {
            let numbers = [bare::forget(recording, address), locks::known_at(address)];
            locks::forget(address);
            numbers.into_iter().find(|number| *number != NONE).unwrap_or(NONE)
        }
    };
    if let Some(lock) = locks::lock(recording, number) {
        lock.name.store(if name == 0 { Lock::NAMELESS } else { name.into() }, Release);
    }
}

/// The number of the lock that has these marks; [`NONE`] if it has none yet.
pub(crate) fn known(recording: &Recording, marks: &Marks, address: u64) -> u32 {
    let tag = marks.tag.load(Acquire);
    let is_ours = tag & Tag::GENERATION == generation(recording) && tag & Tag::IS_ORIGIN == 0;
    let number = if is_ours { tag >> Tag::NUMBER_AT } else { NONE };
    locks::in_entry(recording, number, address).map_or(NONE, |(number, _)| number)
}
