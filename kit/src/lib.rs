//! What both wings use and neither owns: words and numbers for people, tables, colours, pictures and pages, statistics of
//! small samples, files that are written whole, the terminal, and how a program ends.
//!
//! The crates of `tool/` and `lab/` use it, and `xtask`. It knows nothing of locks, and no other crate of ours. Begin with
//! [`wording`], which almost every text goes through; [`Grid`], the one table; [`exit::Exit`], how a command ends.

pub mod date;
pub mod drawing;
pub mod exit;
pub mod figure;
pub mod file;
mod grid;
pub mod hash;
pub mod histogram;
pub mod page;
pub mod palette;
pub mod stats;
pub mod terminal;
pub mod wording;

pub use grid::Grid;
