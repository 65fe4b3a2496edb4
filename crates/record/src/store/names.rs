//! Names that the program gives its locks: `ondeck_name` in C and C++, `ondeck::name` in Rust.
//!
//! They are kept in memory of the process, so that the child of a fork, and a recording that begins later, have them
//! too. A name belongs to addresses. The program may use the memory of a freed lock for another one, which then has the
//! name, until it is given one of its own.

use super::{Recording, current};
use crate::layout::{Name, copy_text};
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// More names are ignored.
pub(crate) const MOST: usize = 1024;

static NAMES: [Name; MOST] = [const {
    Name { address: AtomicU64::new(0), length: AtomicU64::new(0), text: [const { AtomicU64::new(0) }; Name::TEXT / 8] }
}; MOST];

/// What lies in `length` bytes from that address on is called so from here on, as far as 47 bytes hold that. Of names given
/// to one lock at the same time any may be kept, or parts of several. Never blocks.
pub fn name(address: u64, length: u64, text: &[u8]) {
    if address == 0 {
        return;
    }
    let mine = |name: &&Name| match name.address.compare_exchange(0, address, AcqRel, Acquire) {
        Ok(_) => true,
        Err(known) => known == address,
    };
    let Some((index, name)) = NAMES.iter().enumerate().find(|(_, name)| mine(name)) else { return };
    name.length.store(length.max(1), Relaxed);
    let mut words = [0_u8; Name::TEXT];
    copy_text(text, &mut words);
    for (word, bytes) in name.text.iter().zip(words.chunks_exact(8)) {
        word.store(u64::from_ne_bytes(bytes.try_into().unwrap_or_default()), Relaxed);
    }
    N_GIVEN.fetch_add(1, Release);
    if let Some(recording) = current() {
        write_down(recording, index);
    }
}

/// Counts names.
static N_GIVEN: AtomicU32 = AtomicU32::new(0);

/// How many names were given until now.
pub(crate) fn n_given() -> u32 {
    N_GIVEN.load(Acquire)
}

/// The name of what lies at that address; of a thing within another, its own.
pub(crate) fn text_of(address: u64) -> Option<[u64; Name::TEXT / 8]> {
    let known = NAMES.iter().take_while(|name| name.address.load(Relaxed) != 0);
    let has = |name: &&Name| address.wrapping_sub(name.address.load(Relaxed)) < name.length.load(Relaxed);
    let name = known.filter(has).min_by_key(|name| name.length.load(Relaxed))?;
    Some(name.text.each_ref().map(|word| word.load(Relaxed))).filter(|text| text[0] != 0)
}

/// Writes down the names that were given before the recording began.
pub(crate) fn write_all(recording: &Recording) {
    let known = NAMES.iter().take_while(|name| name.address.load(Relaxed) != 0).count();
    (0..known).for_each(|index| write_down(recording, index));
}

fn write_down(recording: &Recording, index: usize) {
    let name = &NAMES[index];
    let Some(entry) = recording.entry::<Name>(recording.names, index as u64) else { return };
    entry.length.store(name.length.load(Relaxed), Relaxed);
    for (to, from) in entry.text.iter().zip(&name.text) {
        to.store(from.load(Relaxed), Relaxed);
    }
    entry.address.store(name.address.load(Relaxed), Release);
}
