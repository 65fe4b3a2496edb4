//! What lies in which bytes of the C library's objects: of its own, and of those that are ours.
//!
//! Whoever acts on them is above, in `mutex`, `cond` and `glibc`.

pub(crate) mod cond;
pub(crate) mod glibc;
pub(crate) mod mutex;
