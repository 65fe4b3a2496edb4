//! The names that a program has given its locks.

use super::{Lock, ReadError, Reader, text};
use crate::layout::{self, named};
use core::mem::offset_of;
use core::ops::Range;
use core::sync::atomic::{Ordering::Acquire, fence};
use std::borrow::ToOwned;
use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

/// Names, and the addresses that have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// By their numbers, from 1 on. Threads that have given one at the same time may have made two of it.
    names: BTreeMap<u16, Name>,
    /// Addresses and numbers, in the order of addresses.
    named: Vec<(u64, u16)>,
    /// The longest lock has so many bytes.
    longest: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Name {
    length: u64,
    text: String,
}

impl Names {
    fn new(names: impl Iterator<Item = Name>, words: impl Iterator<Item = u64>) -> Self {
        let names: BTreeMap<u16, Name> = (1..).zip(names).filter(|(_, name)| !name.text.is_empty()).collect();
        let words = words.map(|word| (named::address(word), named::number(word)));
        let mut named: Vec<(u64, u16)> = words.filter(|(_, number)| names.contains_key(number)).collect();
        named.sort_unstable();
        let longest = names.values().map(|name| name.length).max().unwrap_or(0);
        Names { names, named, longest }
    }

    /// What a lock is called: what its address is, or was when the lock was destroyed.
    pub fn of(&self, lock: &Lock) -> Option<&str> {
        match lock.name {
            0 => self.at(lock.address),
            number => {
                u16::try_from(number).ok().and_then(|number| self.names.get(&number)).map(|name| name.text.as_str())
            }
        }
    }

    /// As [`Lock::name`] has it of a lock that is no more: what the address of this one is called now.
    pub fn kept(&self, lock: &Lock) -> u32 {
        match (lock.name, self.index_at(lock.address)) {
            (0, None) => layout::Lock::NAMELESS,
            (0, Some(index)) => self.named[index].1.into(),
            (number, _) => number,
        }
    }

    /// The name of what lies around an address: of the innermost, if a lock is a part of what has a name too.
    pub fn at(&self, address: u64) -> Option<&str> {
        let index = self.index_at(address)?;
        self.names.get(&self.named[index].1).map(|name| name.text.as_str())
    }

    fn index_at(&self, address: u64) -> Option<usize> {
        let address = address & named::ADDRESS;
        let behind = self.named.partition_point(|(start, _)| *start <= address);
        let near = (0..behind).rev().take_while(|index| address - self.named[*index].0 < self.longest);
        let is_inside = |index: &usize| {
            let (start, number) = self.named[*index];
            self.names.get(&number).is_some_and(|name| address - start < name.length)
        };
        near.into_iter().find(is_inside)
    }

    /// Those of some addresses, and of locks that have been destroyed.
    pub fn of_addresses(&self, addresses: impl Iterator<Item = u64>) -> Self {
        let mut indices: Vec<usize> = addresses.filter_map(|address| self.index_at(address)).collect();
        indices.sort_unstable();
        indices.dedup();
        let named = indices.into_iter().map(|index| self.named[index]).collect();
        Names { named, names: self.names.clone(), longest: self.longest }
    }

    /// All of them: which bytes have which name.
    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, &str)> {
        self.named.iter().filter_map(|(start, number)| {
            let name = self.names.get(number)?;
            Some((*start..start.saturating_add(name.length), name.text.as_str()))
        })
    }
}

impl Reader {
    /// The names that the program has given its locks. To be asked for before the locks: one that is destroyed meanwhile has
    /// its name in the one or the other.
    pub fn names(&self) -> Result<Names, ReadError> {
        if self.field::<u32>(offset_of!(layout::Header, has_names))? == 0 {
            return Ok(Names::default());
        }
        let words: Vec<u64> = self.entries(self.named, 0, self.named.room)?;
        // A name is whole before an address has it, so it is read later.
        fence(Acquire);
        let names = self.entries(self.names, 0, self.names.room)?.into_iter().map(|entry: layout::Name| {
            let bytes = entry.text.map(|word| word.into_inner().to_ne_bytes());
            // What was cut in the middle of a character ends before it.
            let text = String::from_utf8_lossy(text(bytes.as_flattened())).trim_end_matches('\u{fffd}').to_owned();
            Name { length: entry.length.into_inner(), text }
        });
        Ok(Names::new(names, words.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_name_around_an_address_counts() {
        let name = |length, text: &str| Name { length, text: text.to_owned() };
        let names = [name(1, "lock"), name(100, "cache"), name(0, ""), name(8, "field")].into_iter();
        // In any order, of what has no name any more, and of a name that is not there.
        let words = [(140, 4), (100, 2), (50, 1), (300, 0), (400, 3), (500, 9)];
        let names = Names::new(names, words.into_iter().map(|(address, number)| named::word(address, number)));
        for (address, expected) in [
            (49, None),
            (50, Some("lock")),
            (51, None),
            (99, None),
            (100, Some("cache")),
            (139, Some("cache")),
            (140, Some("field")),
            (147, Some("field")),
            (148, Some("cache")),
            (199, Some("cache")),
            (200, None),
            (300, None),
            (500, None),
            (1 << 60 | 50, Some("lock")),
        ] {
            assert_eq!(names.at(address), expected, "{address}");
            assert_eq!(names.of_addresses([7, address].into_iter()).at(address), expected, "{address}");
            // Of a lock that was destroyed, what it was called then.
            for (number, own) in [(0, expected), (1, Some("lock")), (3, None), (layout::Lock::NAMELESS, None)] {
                let lock = Lock { name: number, ..Lock::without_a_number(address, 0, 0) };
                assert_eq!(names.of(&lock), own, "{address} {number}");
            }
        }
        assert_eq!(names.of_addresses([51, 145].into_iter()).iter().collect::<Vec<_>>(), [(140..148, "field")]);
    }
}
