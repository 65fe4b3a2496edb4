//! What lies in which bytes of the C library's objects: of its own, and of those that are ours.
//!
//! The modules that act on them are above: `mutex`, `cond` and `glibc`.

pub(crate) mod cond;
pub(crate) mod glibc;
pub(crate) mod mutex;
