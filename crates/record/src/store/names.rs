//! Names that the program gives its locks: `ondeck_name` in C and C++, `ondeck::name` in Rust.
//!
//! Thousands of locks may share a name. So each name is kept once, with the length of the locks that have it, and a
//! [table](table) has one word for each address. Both are in memory of the process, so that the child of a fork, and a
//! recording that begins later, have them too. A recording has the same two tables. Nothing here allocates or waits. What
//! finds no room is counted.
//!
//! A name belongs to an address. A lock that is destroyed takes its name with it: its entry in the recording keeps the name,
//! and the address has none. Where nobody says that a lock is gone, what comes to be at its address has the name, until it is
//! given one of its own.
//!
//! # What a reader and two writers can see
//! - **A name is whole, or is not there.** Who finds a free place writes [`BEING_WRITTEN`] there, and no other thread writes the
//!   text then. Its state says `Release` after the text what is read by `Acquire` before it. Who meets a name that is being
//!   written goes on to another place. So two threads that give a name for the first time may write it twice. Readers compare
//!   texts, so that shows nowhere. What a fork interrupts stays unfinished in the child, which loses that one place.
//! - **An address has a name that it was given.** Address and number change by one compare-exchange of one word, so none ever
//!   shows with the other's. The name is whole before, in the process and in the recording.
//! - **Of two names that are given to one lock at once, either is kept,** and both threads may keep theirs, in two places, if
//!   the places of other locks come to be free meanwhile. The next name for that lock, or its end, clears the second place.
//! - **The recording has what the process has.** Each thread that changes the process's table, or the recording's, does an
//!   `AcqRel` addition to [`TURN`] before it looks at the other table. Of two threads the second to add sees all that the first had
//!   written. So who has written down a name that is not true any more notices it and writes again, and a name that is given
//!   while a recording begins is found by one of the two threads: by the namer, which finds the recording, or by
//!   [`write_all`], which finds the name.
//!
//! All this holds in the child of a fork too: there is nothing that another thread would have to finish.

mod table;

use super::{Recording, current};
use crate::layout::{Name, copy_text, named};
use core::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use table::{MemoryPlaces, find, put, take};

/// Names that differ, in text or in length; more are ignored.
pub(crate) const MOST: usize = 1024;
/// Places for addresses that have one.
pub(crate) const MOST_NAMED: usize = 1 << 16;

/// One name, on a cache line of its own.
#[repr(align(64))]
struct Known {
    /// 0, [`BEING_WRITTEN`], or the [hash](hash_of) of the name once it is whole.
    state: AtomicU64,
    name: Name,
}

const BEING_WRITTEN: u64 = 1;

/// A text in words, as it is kept.
type Text = [u64; Name::TEXT / 8];

static NAMES: [Known; MOST] = [const {
    let name = Name { length: AtomicU64::new(0), text: [const { AtomicU64::new(0) }; Name::TEXT / 8] };
    Known { state: AtomicU64::new(0), name }
}; MOST];

static NAMED: MemoryPlaces<MOST_NAMED> = [const { AtomicU64::new(0) }; MOST_NAMED];
/// How often a table was changed; 0 if there never was a name.
static TURN: AtomicU64 = AtomicU64::new(0);
/// The length of the longest thing that has a name.
static LONGEST: AtomicU64 = AtomicU64::new(0);
/// Names that found no room.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// What lies in `length` bytes from that address on is called so from here on, as far as 47 bytes hold that. An empty text
/// takes the name away. Never blocks.
pub fn name(address: u64, length: u64, text: &[u8]) {
    if address & named::ADDRESS == 0 {
        return;
    }
    if text.is_empty() {
        end(address);
        return;
    }
    LONGEST.fetch_max(length, Relaxed);
    let is_kept = number_of(length.max(1), text).is_some_and(|number| put(&NAMED, address, number));
    TURN.fetch_add(1, AcqRel);
    if !is_kept {
        DROPPED.fetch_add(1, Relaxed);
    }
    let Some(recording) = current() else { return };
    if is_kept {
        write_down(recording, address);
    } else {
        recording.count_dropped(&recording.dropped_names);
    }
}

/// Whether a lock may have a name.
#[inline]
pub(crate) fn are_there() -> bool {
    TURN.load(Relaxed) != 0
}

/// The number of the name of a lock, which begins at that address; 0 if it has none.
pub(crate) fn of(address: u64) -> u16 {
    find(&NAMED, address)
}

/// What comes to be at that address has no name.
pub(crate) fn end(address: u64) {
    take(&NAMED, address);
    TURN.fetch_add(1, AcqRel);
    if let Some(recording) = current() {
        write_down(recording, address);
    }
}

/// How often a name was given or taken away until now.
pub(crate) fn n_given() -> u32 {
    TURN.load(Acquire) as u32
}

/// The name of what lies at that address, which may be inside of what was named.
pub(crate) fn text_of(address: u64) -> Option<Text> {
    /// Further than that a name is not looked for: the calling thread may have a lock.
    const FARTHEST: u64 = 256;
    let farthest = LONGEST.load(Relaxed).clamp(1, FARTHEST);
    let named = |distance: u64| {
        let index = usize::from(of(address.wrapping_sub(distance))).checked_sub(1)?;
        let name = &NAMES[index].name;
        (name.length.load(Relaxed) > distance).then_some(name)
    };
    let name = (0..farthest).step_by(align_of::<u64>()).find_map(named)?;
    Some(name.text.each_ref().map(|word| word.load(Relaxed)))
}

/// Writes down the names that were given before the recording began.
pub(crate) fn write_all(recording: &Recording) {
    if TURN.fetch_add(0, AcqRel) == 0 {
        return;
    }
    recording.dropped_names.fetch_add(DROPPED.load(Relaxed), Relaxed);
    for word in NAMED.iter().map(|place| place.load(Acquire)).filter(|word| named::number(*word) != 0) {
        write_down(recording, named::address(word));
    }
}

/// Makes the recording say of an address what the process does.
fn write_down(recording: &Recording, address: u64) {
    loop {
        let number = find(&NAMED, address);
        if number == 0 {
            take(recording, address);
        } else if !write_name(recording, number) || !put(recording, address, number) {
            recording.count_dropped(&recording.dropped_names);
        }
        TURN.fetch_add(0, AcqRel);
        // Each further turn is due to a name that the lock was given meanwhile.
        if find(&NAMED, address) == number {
            return;
        }
    }
}

/// Writes a name into the recording, if it is not there. False if there is no room on the disk.
fn write_name(recording: &Recording, number: u16) -> bool {
    let index = usize::from(number) - 1;
    let from = &NAMES[index].name;
    let Some(to) = recording.entry::<Name>(recording.names, index as u64) else { return false };
    // Two threads may write the same here.
    if to.length.load(Acquire) == 0 {
        for (to, from) in to.text.iter().zip(&from.text) {
            to.store(from.load(Relaxed), Relaxed);
        }
        to.length.store(from.length.load(Relaxed), Release);
        recording.has_names.store(1, Relaxed);
    }
    true
}

/// The number of a name, which is kept from here on. `None` if there is no room.
fn number_of(length: u64, text: &[u8]) -> Option<u16> {
    let mut bytes = [0; Name::TEXT];
    copy_text(text, &mut bytes);
    let mut words: Text = [0; Name::TEXT / 8];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
    }
    let hash = hash_of(length, &words);
    let first = hash as usize / 4 % MOST;
    let index = (first..first + MOST).map(|at| at % MOST).find(|index| {
        let known = &NAMES[*index];
        match known.state.load(Acquire) {
            0 => known.begin_with(hash, length, &words),
            state => state == hash && known.is(length, &words),
        }
    });
    index.map(|index| index as u16 + 1)
}

impl Known {
    /// Writes a name into a free place. False if another thread was faster.
    fn begin_with(&self, hash: u64, length: u64, text: &Text) -> bool {
        if self.state.compare_exchange(0, BEING_WRITTEN, Relaxed, Relaxed).is_err() {
            return false;
        }
        self.name.length.store(length, Relaxed);
        for (to, from) in self.name.text.iter().zip(text) {
            to.store(*from, Relaxed);
        }
        self.state.store(hash, Release);
        true
    }

    /// Whether a whole one is this one.
    fn is(&self, length: u64, text: &Text) -> bool {
        let is_same = |(here, there): (&AtomicU64, &u64)| here.load(Relaxed) == *there;
        self.name.length.load(Relaxed) == length && self.name.text.iter().zip(text).all(is_same)
    }
}

/// Neither 0 nor [`BEING_WRITTEN`].
fn hash_of(length: u64, text: &Text) -> u64 {
    let step = |hash: u64, word: &u64| {
        let product = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ product >> 32
    };
    text.iter().fold(length, step) | 2
}

#[cfg(test)]
mod tests;
