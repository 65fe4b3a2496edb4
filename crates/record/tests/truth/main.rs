//! What a recording says of a process that knows what it did. One thread plays all parts here: it begins several waits,
//! takes and releases, and each figure must lie between the clock's readings around those calls. So the tests hold on a busy
//! machine too.
#![cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]

mod bare;
mod chances;
mod charges;
mod commands;
mod common;
mod damaged;
mod files;
mod instants;
mod lock_order;
mod locks;
mod machine;
mod meanwhile;
mod rarely;
mod readers;
mod scarce;
mod several;
#[cfg(feature = "stats")]
mod statistics;
mod surroundings;
mod tries;
