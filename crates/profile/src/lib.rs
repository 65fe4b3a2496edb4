//! Which lock hurts in a program: from the recordings that the recorder leaves to profiles, pages and advice.
//!
//! | file | what is in it |
//! |---|---|
//! | `profile` | what a run told, as everything that is shown is formed of; the JSON form |

mod profile;

pub use profile::{
    Bar, Condition, Dropped, Ended, Frame, Histogram, Lock, Origin, Process, Profile, Site, Spot, Timeline, VERSION,
};
