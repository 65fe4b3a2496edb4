//! Profiles whose numbers and bytes are not those of a run: what is made of them ends, or they are refused.

use super::*;
use crate::profile::Site;
use crate::sample::toy;
use crate::{compare, flamegraph, page, pprof, table};
use proptest::prelude::*;

proptest! {
    /// One byte of a file is another: it is read, or refused.
    #[test]
    fn changed_bytes_do_no_harm(place: prop::sample::Index, byte: u8) {
        let mut bytes = to_json(&toy()).into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let _ = from_json(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_texts_do_no_harm(text: String) {
        let _ = from_json(&text);
    }
}

/// Where the numbers of a document are, as JSON pointers.
fn numbers(value: &serde_json::Value, at: &str, into: &mut Vec<String>) {
    use serde_json::Value;
    match value {
        Value::Number(_) => into.push(at.to_owned()),
        Value::Array(list) => list.iter().enumerate().for_each(|(n, value)| numbers(value, &format!("{at}/{n}"), into)),
        Value::Object(map) => map.iter().for_each(|(key, value)| numbers(value, &format!("{at}/{key}"), into)),
        _ => {}
    }
}

/// What is made of a profile, if it is one, ends.
fn shown(changed: &serde_json::Value) {
    let Ok(profile) = from_json(&changed.to_string()) else { return };
    let both = compare(&toy(), &profile, ["a", "b"], 120);
    let texts = [table(&profile, 120), page(&profile), both, flamegraph(&profile)];
    assert!(!texts.iter().any(|text| text.contains("NaN")));
    let sizes = texts.map(|text| text.len());
    assert!(sizes.iter().all(|size| *size < 10 << 20), "{sizes:?}");
    let _ = pprof::write(&profile);
}

fn extremes() -> [serde_json::Value; 6] {
    use serde_json::json;
    [json!(0), json!(1e-300), json!(1e18), json!(1e308), json!(u32::MAX), json!(u64::MAX)]
}

fn whole() -> serde_json::Value {
    serde_json::from_str(&to_json(&toy())).unwrap()
}

/// Each number of a profile is an extreme: what is made of it ends, or it is refused.
#[test]
fn no_number_is_too_much() {
    let mut pointers = Vec::new();
    numbers(&whole(), "", &mut pointers);
    let extremes = extremes();
    for (pointer, extreme) in pointers.iter().flat_map(|pointer| extremes.iter().map(move |value| (pointer, value))) {
        println!("{extreme} at {pointer}");
        let mut changed = whole();
        *changed.pointer_mut(pointer).unwrap() = extreme.clone();
        shown(&changed);
    }
}

proptest! {
    /// The same of several, small ones among them, and of lists that are empty.
    #[test]
    fn no_numbers_together_are_too_much(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..9_usize), 1..12),
        emptied in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut changed = whole();
        let mut pointers = Vec::new();
        numbers(&changed, "", &mut pointers);
        for (at, which) in changes {
            let value = extremes().get(which).cloned().unwrap_or_else(|| which.into());
            *changed.pointer_mut(&pointers[at.index(pointers.len())]).unwrap() = value;
        }
        if let Some(at) = emptied {
            // A number that lies in a list has its place there at the end.
            let lists: Vec<&str> = pointers.iter().filter_map(|pointer| Some(pointer.rsplit_once('/')?.0)).collect();
            let list = changed.pointer_mut(lists[at.index(lists.len())]).unwrap();
            if let Some(list) = list.as_array_mut() {
                list.clear();
            }
        }
        shown(&changed);
    }
}

/// 2 MB of a stack, and 5,000 places that name it: what goes through each of them takes minutes.
#[test]
fn a_small_file_of_endless_stacks_is_refused() {
    let mut profile = toy();
    profile.stacks[0] = vec![0; 1_000_000];
    let site = profile.locks[0].waiters[0];
    profile.locks[0].waiters = vec![Site { stack: 0, ..site }; 5_000];
    let what = from_json(&to_json(&profile)).unwrap_err();
    assert!(what.starts_with("has sites with 50"), "{what}");
}
