//! What a person reads at the end of a run: tables, then a few sentences that say what the tables show.

pub mod answers;
pub mod document;
pub mod figure;
pub mod figures;
mod grid;
pub mod lanes;
pub mod markdown;
mod next;
pub mod page;
pub mod palette;
pub mod picture;
pub mod source;
mod summary;
mod tables;
pub mod text;
pub mod trace;
mod verdict;
mod waits;

pub use grid::Grid;
pub use next::Kept;
pub use summary::summary;

/// The lock that the others are compared with.
pub const FLAGSHIP: &str = "ondeck";
