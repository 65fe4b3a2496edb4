//! Which lock hurts in a program: from the recordings that the recorder leaves to profiles, pages and advice.
//!
//! | file | what is in it |
//! |---|---|
//! | `profile` | what a run told, as everything that is shown is formed of; the JSON form |
//! | `collect` | from recordings to a profile |
//! | `symbols` | names for addresses |
//! | `json`, `pprof`, `folded`, `firefox` | the files for others; the first two are read back |
//! | `rows` | what these say of a lock: who waited, held and took it, complete to its totals |
//! | `input`, `summary`, `compare` | files of profiles, what of them is compared, two runs side by side |

mod collect;
pub mod compare;
pub mod firefox;
pub mod folded;
mod input;
mod names;
pub mod json;
pub mod pprof;
mod profile;
pub mod symbols;
mod rows;
#[cfg(test)]
mod sample;
mod summary;
mod wrappers;

pub use collect::{Collector, Run};
pub use input::{is_profile, read_profile};
pub use profile::{
    Bar, Condition, Dropped, Ended, Frame, Histogram, Lock, Origin, Process, Profile, Site, Spot, Timeline, VERSION,
};
pub use summary::Summary;
