//! Condition variables whose threads are woken, and go back to sleep without what they waited for; what else threads wait
//! for that is no lock.

use super::texts::{heaviest, place, quoted_name};
use crate::profile::{Condition, Profile, WaitKind, WaitObject};
use crate::wrappers::Tops;
use ondeck_kit::wording::{duration_ns, percent, whole, whole_of};

/// To put a thread to sleep, wake it and run it for nothing takes about so long.
const EACH_NS: f64 = 10e3;
/// Part of all cores' time below which it does not matter.
const MATTERS: f64 = 0.02;
/// More threads than that are woken by a notification.
const SEVERAL: f64 = 1.5;

/// What is said of the condition variable where most is lost so, if that matters.
pub(super) fn woken_for_nothing(profile: &Profile, tops: &Tops) -> Option<String> {
    let time_ns = profile.seconds * 1e9 * f64::from(profile.cores.max(1));
    let conditions = profile.conditions.iter().filter(|one| one.kind == WaitKind::Condition);
    let worst = conditions.max_by(|one, other| one.again.total_cmp(&other.again))?;
    let lost_ns = worst.again * EACH_NS;
    let notified: f64 = worst.notifiers.iter().map(|site| site.count).sum();
    let is_for_all = worst.notifications_of_all >= 0.5 * notified && notified > 0.0;
    let is_worth_it = lost_ns >= MATTERS * time_ns && lost_ns >= 0.1 * profile.wait_ns();
    let is_herd = is_for_all && worst.waits >= SEVERAL * notified && worst.again >= 0.5 * worst.waits;
    (is_worth_it && is_herd).then(|| text(profile, tops, worst, notified))
}

fn text(profile: &Profile, tops: &Tops, condition: &Condition, notified: f64) -> String {
    let woken = condition.waits / notified;
    let by = heaviest(profile, tops, &condition.notifiers, |site| site.count);
    let by = by.map_or(String::new(), |function| format!(" in {function}"));
    format!(
        "About {woken:.0} threads are woken for each `notify_all` of {}{by}, and {} of the {} go back to sleep at once. Use \
         `notify_one`, or wake as many as there is work for.",
        quoted_name(&condition.name),
        percent((condition.again / condition.waits).min(1.0)),
        whole(condition.waits),
    )
}

/// What is said of what threads waited for longest that is no lock, if that matters. An initialisation is as good as one, but
/// which thread is at it is not recorded. Of most threads that wait for the others, nobody knows whether they should.
pub(super) fn no_lock(profile: &Profile, tops: &Tops) -> Option<String> {
    let time_ns = profile.seconds * 1e9 * f64::from(profile.cores.max(1));
    let kinds = [WaitKind::Once, WaitKind::Barrier, WaitKind::Semaphore, WaitKind::Condition];
    let ones = profile.conditions.iter().enumerate().filter(|(_, one)| kinds.contains(&one.kind));
    let (index, most) = ones.max_by(|one, other| one.1.wait_ns.total_cmp(&other.1.wait_ns))?;
    let by =
        heaviest(profile, tops, &most.waiters, |site| site.ns).map_or(String::new(), |by| format!(", most in {by}"));
    let advice = match most.kind {
        WaitKind::Once => " Do that before the threads start, or make it shorter.".to_owned(),
        WaitKind::Barrier => " Share the work more evenly.".to_owned(),
        _ => heaviest(profile, tops, &most.notifiers, |site| site.count)
            .map_or(String::new(), |function| format!(" It is notified in {function}.")),
    };
    (most.wait_ns >= MATTERS * time_ns).then(|| {
        format!(
            "Threads waited {} for {} in {}{by}.{advice}",
            duration_ns(most.wait_ns),
            place(profile, Some(WaitObject::Condition(index as u32))),
            whole_of(most.waits, "wait"),
        )
    })
}
