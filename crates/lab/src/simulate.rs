//! Looking at single runs on the simulated machine.

pub mod trace;
