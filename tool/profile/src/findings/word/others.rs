//! Sentences about programs that hang, about threads that are woken for nothing or wait for what is no lock, and about locks that
//! are tried in a loop.

use super::{heaviest, lock_name, named, place, quoted_name};
use crate::findings::classify::{StuckTogether, Waiters};
use crate::profile::{Condition, Lock, Profile, State, Stuck, WaitKind, WaitObject};
use crate::rules::LONG_NS;
use crate::words::is_from_outside;
use crate::wrappers::{Tops, is_below};
use ondeck_kit::wording::{counted_that, duration_ns, percent, whole, whole_of};

pub(super) fn deadlock(profile: &Profile, tops: &Tops, circle: &[&Stuck]) -> String {
    let lock = |one: &Stuck| place(profile, Some(one.on));
    let sentences = circle.iter().enumerate().map(|(at, one)| {
        // Who waits for it is the one before in the circle.
        let before = circle[(at + circle.len() - 1) % circle.len()];
        let who = who(profile, tops, one);
        if circle.len() == 1 {
            return format!("{who} locks {}, which it holds already, since {}", lock(one), duration_ns(one.ns as f64));
        }
        format!("{who} holds {} and waits for {} since {}", lock(before), lock(one), duration_ns(one.ns as f64))
    });
    format!("Deadlock: {}.", sentences.collect::<Vec<String>>().join("; "))
}

pub(super) fn stacks_of_circle(profile: &Profile, circle: &[&Stuck]) -> Vec<(String, u32)> {
    let lock = |one: &Stuck| place(profile, Some(one.on)).replace('`', "");
    let line = |one: &Stuck| format!("thread {} waits for {} here", one.thread, lock(one));
    circle.iter().filter_map(|one| Some((line(one), one.stack?))).collect()
}

pub(super) fn held_up(profile: &Profile, tops: &Tops, stuck: &StuckTogether<'_>) -> String {
    let StuckTogether { n, first, function, its_wait, .. } = stuck;
    let does = match first.state {
        _ if its_wait.is_some() => format!("waits for {}", place(profile, *its_wait)),
        State::Blocked if first.call.is_empty() => "sleeps".to_owned(),
        State::Blocked => format!("is blocked in {}", first.call),
        State::Computing => "is computing".to_owned(),
        State::NoCore => "has no core".to_owned(),
        _ => "holds it".to_owned(),
    };
    let Some(holder) = first.holder else {
        return format!("{}. Who has it is not known.", threads_wait(profile, *n, first));
    };
    format!(
        "{}: thread {holder} has it and {does}{}.",
        threads_wait(profile, *n, first),
        in_function(profile, tops, *function)
    )
}

pub(super) fn stacks_of_holder(stuck: &StuckTogether<'_>) -> Vec<(String, u32)> {
    let StuckTogether { first, holder_stack, .. } = stuck;
    let line = format!("thread {} has it, and is here", first.holder.unwrap_or_default());
    let waiter = first.stack.map(|stack| (format!("thread {} waits here", first.thread), stack));
    holder_stack.map(|stack| (line, stack)).into_iter().chain(waiter).collect()
}

pub(super) fn idle(profile: &Profile, tops: &Tops, idle: &StuckTogether<'_>) -> String {
    let StuckTogether { n, first, function, .. } = idle;
    let notified = match first.on {
        WaitObject::Condition(at) if !is_from_outside(profile) => {
            notified(profile, tops, &profile.conditions[at as usize])
        }
        _ => String::new(),
    };
    format!("{}{}.{notified}", threads_wait(profile, *n, first), in_function(profile, tops, *function))
}

fn notified(profile: &Profile, tops: &Tops, condition: &Condition) -> String {
    match heaviest(profile, tops, &condition.notifiers, |site| site.count) {
        _ if condition.kind != WaitKind::Condition => String::new(),
        Some(function) => format!(" It is notified in {function}."),
        None => " It was not seen to be notified.".to_owned(),
    }
}

fn threads_wait(profile: &Profile, n: usize, first: &Stuck) -> String {
    let (threads_wait, on) = (counted_that(n, "thread", ["waits", "wait"]), place(profile, Some(first.on)));
    format!("{threads_wait} for {on} since {}", duration_ns(first.ns as f64))
}

fn in_function(profile: &Profile, tops: &Tops, function: Option<u32>) -> String {
    function.map_or(String::new(), |frame| format!(", in {}", named(profile, tops, frame)))
}

/// A thread by the function in which it waits. A stack that ends in a library says nothing of that.
fn who(profile: &Profile, tops: &Tops, one: &Stuck) -> String {
    let top = one.stack.and_then(|stack| tops.top(stack));
    match top.filter(|number| !is_below(&profile.frames[*number as usize])) {
        Some(frame) => format!("{} (thread {})", named(profile, tops, frame), one.thread),
        None => format!("thread {}", one.thread),
    }
}

pub(super) fn herd(profile: &Profile, tops: &Tops, condition: &Condition) -> String {
    let woken = condition.waits / condition.notifications();
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

pub(super) fn no_lock(profile: &Profile, tops: &Tops, index: usize, waiters: Waiters) -> String {
    let most = &profile.conditions[index];
    let by =
        heaviest(profile, tops, &most.waiters, |site| site.ns).map_or(String::new(), |by| format!(", most in {by}"));
    let n_waits = Some(most.waits).filter(|n| *n > 0.0);
    let n_waits = n_waits.map_or(String::new(), |n| format!(" in {}", whole_of(n, "wait")));
    let advice = match most.kind {
        WaitKind::Once => " Do that before the threads start, or make it shorter.".to_owned(),
        WaitKind::Barrier => " Share the work more evenly.".to_owned(),
        WaitKind::Semaphore => " If it is used as a lock, make shorter what threads do while they have it.".to_owned(),
        _ => heaviest(profile, tops, &most.notifiers, |site| site.count).map_or(String::new(), |function| match waiters {
            Waiters::ForEachOther => format!(
                " It is notified in {function}, too: they wait for each other, as at a barrier. Share the work more evenly, or let \
                 them meet less often."
            ),
            Waiters::Often => format!(" It is notified in {function}. If they had work to do, make that function faster."),
            Waiters::ByHand(frame) => {
                let around = named(profile, tops, frame);
                format!(
                    " It is notified in {function}, and both are called by {around}: it may be a lock that the program has made, or \
                     a queue. If it is a lock, make shorter what {around} does between the two."
                )
            }
            Waiters::Seldom => format!(" It is notified in {function}."),
        }),
    };
    format!(
        "Threads waited {} for {}{n_waits}{by}.{advice}",
        duration_ns(most.wait_ns),
        place(profile, Some(WaitObject::Condition(index as u32))),
    )
}

pub(super) fn tries(profile: &Profile, tops: &Tops, lock: &Lock, part: f64) -> String {
    let n: f64 = lock.tries.iter().map(|site| site.count).sum();
    let by = heaviest(profile, tops, &lock.tries, |site| site.ns).map_or(String::new(), |by| format!(" in {by}"));
    let refused: f64 = lock.refusers.iter().map(|site| site.count).sum();
    let meanwhile = heaviest(profile, tops, &lock.refusers, |site| site.ns).map_or(String::new(), |who| {
        // A try comes in the middle of a hold, in the mean.
        let each_ns = 2.0 * lock.refusers.iter().map(|site| site.ns).sum::<f64>() / refused;
        let advice = if each_ns >= LONG_NS as f64 { " Make that shorter." } else { "" };
        format!(" {who} has it meanwhile, for about {} at a time.{advice}", duration_ns(each_ns))
    });
    format!(
        "Instead of waiting, threads tried to lock {} {} in vain{by}, for {} of their time.{meanwhile} If they try until they \
         have it, lock it instead: who waits for a lock sleeps.",
        lock_name(lock),
        whole_of(n, "time"),
        percent(part),
    )
}
