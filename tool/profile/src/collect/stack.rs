//! Stacks by their numbers.

/// A stack of a recording, and whether the thread had, or wanted, the lock to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stack {
    pub(crate) number: u32,
    pub(crate) is_reading: bool,
}
