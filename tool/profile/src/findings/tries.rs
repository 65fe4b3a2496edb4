//! Locks that threads try to lock again and again. No wait is recorded then, as none of these calls waits.

use super::texts::{heaviest, lock_name};
use crate::profile::{Lock, Profile};
use crate::wrappers::Tops;
use ondeck_kit::wording::whole_of;

/// So many tries in vain for each time that somebody had the lock: a thread that turns to something else instead tries once.
const MATTERS: f64 = 2.0;
/// Fewer in a second are no loop.
const FEWEST: f64 = 100.0;

/// What is said of the lock that was tried in vain most often, if that looks like a loop.
pub(super) fn in_vain(profile: &Profile, tops: &Tops) -> Option<String> {
    let tries = |lock: &Lock| lock.tries.iter().map(|site| site.count).sum::<f64>();
    let most = profile.locks.iter().max_by(|one, other| tries(one).total_cmp(&tries(other)))?;
    let n = tries(most);
    let times = n / most.acquisitions.max(1.0);
    let by = heaviest(profile, tops, &most.tries, |site| site.count).map_or(String::new(), |by| format!(" in {by}"));
    (times >= MATTERS && n >= FEWEST * profile.seconds).then(|| {
        format!(
            "But threads tried to lock {} {} in vain{by}. If they try until they have it, lock it instead: who waits \
             for a lock sleeps.",
            lock_name(most),
            whole_of(n, "time"),
        )
    })
}
