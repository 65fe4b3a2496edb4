//! Whose an entry among the locks is, if it has had several locks one after the other: the word [`Lock::tenancy`](super::Lock::tenancy).
//!
//! The number of a lock that samples and waiters have is that of its entry, and above it the lower bits of how often
//! the entry was given to another lock: its *turn*. Together they are 30 bits: [`Nesting`](super::Nesting) uses the others.

/// Bits of the number of an entry.
pub const NUMBER: u32 = 24;
const TURN: u32 = 0x3f;
/// Nobody has the entry: a thread fills it for the lock of that turn.
pub const FILLED: u32 = 0x40;
/// A thread will give the entry to another lock, if it is not used before. In the place of the epoch is the number of the claim.
pub const CLAIMED: u32 = 0x80;
const EPOCH_AT: u32 = 8;
const EPOCHS: u32 = u32::MAX >> EPOCH_AT;

/// The number of the entry in that of a lock.
pub const fn entry(number: u32) -> u32 {
    number & ((1 << NUMBER) - 1)
}

/// The number of the lock whose entry has that number and that word.
pub const fn number(entry: u32, word: u32) -> u32 {
    entry | (word & TURN) << NUMBER
}

/// Whether the entry has that word while a lock of that number has it.
pub const fn is_of(number: u32, word: u32) -> bool {
    number >> NUMBER == word & TURN
}

/// The word of the same lock, used in that epoch.
pub const fn used(word: u32, epoch: u32) -> u32 {
    word & TURN | epoch << EPOCH_AT
}

/// The word of the same lock, claimed. No two claims at one time have one number.
pub const fn claimed(word: u32, claim: u32) -> u32 {
    word & TURN | CLAIMED | claim << EPOCH_AT
}

/// The word of the next lock while its entry is filled.
pub const fn next(word: u32) -> u32 {
    (word + 1) & TURN | FILLED
}

/// Whether it was last used so long ago that all is known of it: two epochs before what was taken.
pub const fn may_go(word: u32, taken: u32) -> bool {
    let age = taken.wrapping_sub(word >> EPOCH_AT) & EPOCHS;
    age >= 2 && age <= EPOCHS / 2
}
