//! Locks that are taken in both orders, or in a circle: a deadlock that has not happened yet.

use super::named;
use crate::names::in_a_sentence;
use crate::profile::{LockOrder, OrderStep, Profile};
use crate::wrappers::Tops;
use ondeck_kit::wording::counted;

/// A stack below a line that says what it is.
pub(crate) type NamedStack = (String, u32);

/// What is said of each, with the stacks.
pub(crate) fn told(profile: &Profile) -> Vec<(String, Vec<NamedStack>)> {
    let tops = Tops::new(profile);
    profile.order.iter().map(|order| (sentence(profile, &tops, order), stacks(order))).collect()
}

/// The first of them, and how many there are.
pub(super) fn verdict(profile: &Profile, tops: &Tops) -> String {
    let first = sentence(profile, tops, &profile.order[0]);
    let more = match profile.order.len() - 1 {
        0 => String::new(),
        n => format!(" Below: {} of this kind.", counted(n, "more finding")),
    };
    first + &more
}

fn lock(name: &str) -> String {
    in_a_sentence(name)
}

/// A lock by its name, or as one of several.
fn one(name: &str) -> String {
    let lock = lock(name);
    if lock.starts_with(|first: char| first.is_ascii_digit()) { format!("one of {lock}") } else { lock }
}

fn sentence(profile: &Profile, tops: &Tops, order: &LockOrder) -> String {
    let place = |stack: Option<u32>| {
        let frame = stack.and_then(|stack| tops.top(stack));
        frame.map_or(String::new(), |frame| format!(", in {}", named(profile, tops, frame)))
    };
    if order.is_read_again() {
        let (lock, step) = (one(&order.first), &order.steps[0]);
        return format!(
            "{lock} is taken to read{} by a thread that has it to read. If a writer comes in between, both wait for ever, as the \
             lock prefers writers. Take it once, or make it prefer readers.",
            place(step.taken_stack)
        );
    }
    let step = |step: &OrderStep| match step.held == step.taken {
        true => format!("one is taken while another one is held{}", place(step.taken_stack)),
        false => {
            format!("{} is taken while {} is held{}", one(&step.taken), one(&step.held), place(step.taken_stack))
        }
    };
    let is_one_kind = order.steps.iter().all(|step| step.held == step.taken);
    let before = if is_one_kind { format!("Of {}, ", lock(&order.first)) } else { String::new() };
    let (threads, way) = match (order.steps.len(), is_one_kind) {
        (2, true) => ("Two threads", ", and the same two the other way round"),
        (2, false) => ("Two threads", ", and "),
        (_, true) => ("Threads", ", and so on in a circle"),
        (_, false) => ("Threads", "; "),
    };
    let steps = match is_one_kind {
        true => {
            let places = order.steps.iter().skip(1).map(|step| place(step.taken_stack));
            let places: Vec<String> = places.filter(|other| *other != place(order.steps[0].taken_stack)).collect();
            format!("{}{way}{}", step(&order.steps[0]), places.first().map_or("", String::as_str))
        }
        false => order.steps.iter().map(step).collect::<Vec<String>>().join(way),
    };
    let such = if is_one_kind { ", such as that of their addresses" } else { "" };
    let advice = format!("that do this at once wait for each other for ever. Take the locks in one order{such}");
    let doubt = match (order.same_objects, order.same_addresses) {
        (true, _) => "",
        (_, true) => {
            " These may be later locks at the same addresses: the recorder does not see when one is freed. If the same ones \
             never meet, this is no deadlock."
        }
        _ => " So far these were different objects of their kinds: if the same ones never meet, this is no deadlock.",
    };
    let where_else = match order.processes {
        0 | 1 => String::new(),
        n => format!(" This was seen in {n} processes."),
    };
    format!("{before}{steps}. {threads} {advice}.{doubt}{where_else}")
}

fn stacks(order: &LockOrder) -> Vec<NamedStack> {
    let plain = |name: &str| one(name).replace('`', "");
    let of_step = |step: &OrderStep| {
        let held = step.held_stack.map(|stack| (format!("{} is taken here", plain(&step.held)), stack));
        let is_same = step.held == step.taken;
        let taken = if order.is_read_again() {
            "and here again".to_owned()
        } else if is_same {
            "and then another one".to_owned()
        } else {
            format!("and then {}", plain(&step.taken))
        };
        held.into_iter().chain(step.taken_stack.map(|stack| (taken, stack))).collect::<Vec<NamedStack>>()
    };
    let mut all: Vec<NamedStack> = Vec::new();
    for stack in order.steps.iter().flat_map(of_step) {
        // Steps of one kind of locks may all be at one place.
        if !all.contains(&stack) {
            all.push(stack);
        }
    }
    all
}
