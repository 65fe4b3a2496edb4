//! What a person reads at the end of a run: tables, then a few sentences that say what the tables show.

mod grid;
mod tables;
pub mod text;
mod verdict;
mod waits;

pub use grid::Grid;
pub use tables::tables;
pub use verdict::{next_command, sentences};

/// The lock that the others are compared with.
pub const FLAGSHIP: &str = "ondeck";
