//! The simulator on machines and programs whose outcome is worked out by hand. One program, as each would link all of it.

mod ahead;
mod common;
mod eevdf;
mod failures;
mod far;
mod futex;
mod idle;
mod leads;
mod loads;
mod many_threads;
mod pauses;
mod placement;
mod random_programs;
mod scheduling;
mod smt;
mod store_buffer;
mod stores;
mod worked_handoff;
mod writes;
