//! A table by addresses: words of an address and the number of its name, in memory or in a recording.
//!
//! A place is free with a word of 0, or with the number 0: the name that an address had before is no more. What lies behind a
//! place is found past it, so it is never 0 again, but may be taken for another address.

use crate::layout::named;
use crate::store::Recording;
use crate::store::locks::indices;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};

/// Where the words are.
pub(super) trait Places {
    fn n_places(&self) -> usize;

    /// `None` if the disk has no room for it.
    fn place(&self, index: usize) -> Option<&AtomicU64>;
}

/// In memory.
pub(super) type MemoryPlaces<const N: usize> = [AtomicU64; N];

impl<const N: usize> Places for MemoryPlaces<N> {
    fn n_places(&self) -> usize {
        N
    }

    fn place(&self, index: usize) -> Option<&AtomicU64> {
        self.get(index)
    }
}

impl Places for Recording {
    fn n_places(&self) -> usize {
        self.named.room as usize
    }

    fn place(&self, index: usize) -> Option<&AtomicU64> {
        self.entry(self.named, index as u64)
    }
}

/// The places in which an address may be, and what is there, up to the first one that never was in use, and with it.
fn near(places: &impl Places, address: u64) -> impl Iterator<Item = (&AtomicU64, u64)> {
    let mut is_over = false;
    let found = indices(places.n_places(), address & named::ADDRESS).map_while(|index| places.place(index));
    found
        .map(|place| (place, place.load(Acquire)))
        .take_while(move |(_, word)| !core::mem::replace(&mut is_over, *word == 0))
}

fn has_name(word: u64, address: u64) -> bool {
    named::number(word) != 0 && named::address(word) == address & named::ADDRESS
}

/// The number of an address's name; 0 if it has none.
pub(super) fn find(places: &impl Places, address: u64) -> u16 {
    near(places, address).find(|(_, word)| has_name(*word, address)).map_or(0, |(_, word)| named::number(word))
}

/// Gives the address the name of that number, instead of any that it had. False if there is no room.
pub(super) fn put(places: &impl Places, address: u64, number: u16) -> bool {
    /// Each is due to another thread that has taken the place, for another lock or the same one.
    const MOST_TURNS: usize = 64;
    for _ in 0..MOST_TURNS {
        let [mut own, mut free] = [None; 2];
        for (place, word) in near(places, address) {
            if !has_name(word, address) {
                free = free.or((named::number(word) == 0).then_some((place, word)));
            } else if own.is_none() {
                own = Some((place, word));
            } else {
                // Of two threads that have named it at once.
                let _ = place.compare_exchange(word, named::word(address, 0), AcqRel, Acquire);
            }
        }
        let Some((place, word)) = own.or(free) else { return false };
        if place.compare_exchange(word, named::word(address, number), AcqRel, Acquire).is_ok() {
            return true;
        }
    }
    false
}

/// The address has no name any more.
pub(super) fn take(places: &impl Places, address: u64) {
    for (place, word) in near(places, address).filter(|(_, word)| has_name(*word, address)) {
        // It fails if the lock is given another name at the same time: then that is its name.
        let _ = place.compare_exchange(word, named::word(address, 0), AcqRel, Acquire);
    }
}
