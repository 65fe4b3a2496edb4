//! Which lock hurts in a program: from the recordings that the recorder leaves to profiles, pages and advice.
//!
//! | file | what is in it |
//! |---|---|
//! | `profile` | what a run told, as everything that is shown is formed of; the JSON form |
//! | `symbols` | names for addresses |

mod profile;
mod symbols;

pub use profile::{
    Bar, Condition, Dropped, Ended, Frame, Histogram, Lock, Origin, Process, Profile, Site, Spot, Timeline, VERSION,
};
pub use symbols::{Module, Symbols};
