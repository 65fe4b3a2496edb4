//! Which lock hurts in a program: from the recordings that the recorder leaves to profiles, pages and advice.
//!
//! | file | what is in it |
//! |---|---|
//! | `profile` | what a run told, as everything that is shown is formed of; the JSON form |
//! | `reading` | profiles from files |
//! | `names`, `wrappers`, `words` | short names, frames that only lock, sentences: what all that follow share |
//! | `terminal` | the list that a run ends with |
//! | `flamegraph` | the picture of all stacks, in a file or a page |
//! | `page` | the page |
//! | `advice` | what the figures support that may be done, with the simulator's predictions |

mod advice;
mod flamegraph;
mod names;

mod profile;
mod reading;
#[cfg(test)]
mod sample;
mod terminal;
mod words;
mod wrappers;

pub use advice::{Advice, Kind, NOTE, OnMachine, Prediction, Subject, advice, predict, predictions};
pub use flamegraph::svg as flamegraph;
pub use profile::{
    Bar, Condition, Dropped, Ended, Frame, Histogram, Lock, Origin, Process, Profile, Site, Spot, Timeline, VERSION,
};
pub use reading::{is_profile, parse};
pub use terminal::table;
