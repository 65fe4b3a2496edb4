//! Sentences about locks that are not recorded, and about time in which nobody sleeps.

use super::{heaviest, lock_name, named, quoted_name};
use crate::findings::classify::{AwakeTime, HiddenWait};
use crate::libraries;
use crate::profile::Profile;
use crate::rules::FROM_ANOTHER_CORE_NS;
use crate::wrappers::Tops;
use ondeck_kit::wording::{counted, duration_ns, percent, whole_of};

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

pub(super) fn awake(profile: &Profile, tops: &Tops, time: &AwakeTime) -> String {
    let share = format!("Threads spend {} of their CPU time in", percent(time.share));
    if time.spins_in.is_some_and(|frame| profile.frames[frame as usize].module.starts_with("libgomp.so")) {
        return format!(
            "{share} loops of OpenMP that only wait: for a critical section, at a barrier, or for work. Do less in critical \
             sections, or share the work more evenly."
        );
    }
    if let Some(frame) = time.spins_in {
        return format!(
            "{share} a loop that only waits, as for a spin lock, in {}. Who lets them wait is not known. Wait for a mutex \
             instead, or hold what they wait for for less.",
            named(profile, tops, frame)
        );
    }
    let lock = time.lock.map_or(String::new(), |lock| {
        let lock = &profile.locks[lock];
        let a_second = whole_of((lock.acquisitions / profile.seconds).round(), "time");
        let by = heaviest(profile, tops, &lock.takers, |site| site.count)
            .map_or(String::new(), |by| format!(", most in {by}"));
        let threads = counted(lock.threads as usize, "thread");
        format!(" Most shared: {}, which {threads} take {a_second} a second{by}.", lock_name(lock))
    });
    let moves = match time.each_ns {
        _ if time.lock.is_none() => " If threads share a lock, its memory goes from core to core each time.".to_owned(),
        ns if ns < FROM_ANOTHER_CORE_NS => String::new(),
        ns => format!(" Each time takes {}, as its memory goes from core to core.", duration_ns(ns)),
    };
    format!(
        "{share} calls that lock and unlock, and hardly wait there.{lock}{moves} Take it less often, or let each thread have its own."
    )
}
