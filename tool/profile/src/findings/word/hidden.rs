//! Sentences about locks that are not recorded.

use super::{named, quoted_name};
use crate::findings::classify::HiddenWait;
use crate::libraries;
use crate::profile::Profile;
use crate::wrappers::Tops;
use ondeck_kit::wording::percent;

pub(super) fn sentence(profile: &Profile, tops: &Tops, wait: &HiddenWait) -> String {
    let by = wait.caller.map_or(String::new(), |caller| format!(", most in {}", named(profile, tops, caller)));
    let share = format!("Threads spend {} of their time", percent(wait.share));
    let inside = quoted_name(libraries::plain(&wait.inside));
    match wait.library {
        _ if wait.is_of_file => {
            let call = &wait.call;
            format!(
                "{share} waiting for the lock of a file (`{call}`){by}. Hold it for less, or lock parts of the file."
            )
        }
        Some(lock) => format!("{share} waiting for {}, inside of {inside}{by}. {}.", lock.what, lock.advice),
        None if wait.inside.is_empty() => {
            format!("{share} waiting for a lock that is not recorded{by}. Who holds it is not known.")
        }
        None => format!(
            "{share} waiting for a lock inside of {inside}{by}. It is none that is recorded, so who holds it is not known."
        ),
    }
}
