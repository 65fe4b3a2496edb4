//! `--known-orders`: orders of locks that are meant, and so make no circle.

use ondeck_kit::exit::Exit;
use ondeck_profile::{LockOrder, OrderStep, Profile};
use std::collections::BTreeSet;
use std::path::Path;

/// From a file: which lock is held, and which is taken meanwhile, by name.
#[derive(Debug, Default)]
pub(super) struct KnownOrders(BTreeSet<(String, String)>);

const BETWEEN: &str = " -> ";

impl KnownOrders {
    pub(super) fn read(path: &Path) -> Result<Self, Exit> {
        let fault = |what: String| Exit::Usage(format!("--known-orders {}{what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| fault(format!(": {error}")))?;
        Self::parse(&text).map_err(|(line, text)| {
            fault(format!(":{line}: {text:?} is no order; accepted: HELD -> TAKEN, like index -> cache"))
        })
    }

    /// Or the number of the first line that is none, and the line.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut known = BTreeSet::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.split_once(BETWEEN) {
                Some((held, taken)) if !taken.contains(BETWEEN) => known.insert((plain(held), plain(taken))),
                _ => return Err((number, line.to_owned())),
            };
        }
        Ok(KnownOrders(known))
    }

    /// Leaves out what has such a step, and notes how many that are.
    pub(super) fn leave_out_of(&self, profile: &mut Profile) {
        let is_known = |step: &OrderStep| self.0.contains(&(plain(&step.held), plain(&step.taken)));
        let n_before = profile.order.len();
        profile.order.retain(|order: &LockOrder| !order.steps.iter().any(is_known));
        let n = n_before - profile.order.len();
        if n > 0 {
            let said = format!("left out, as --known-orders has one of their orders: {n} of {n_before} findings");
            profile.notes.push(said.into());
        }
    }
}

/// A lock's name without what another build or run changes: how many there are, the line, the address.
fn plain(name: &str) -> String {
    let name = name.trim().trim_matches('`');
    let name = name.trim_start_matches(|first: char| first.is_ascii_digit()).trim_start();
    let name = name.trim_start_matches("a lock ").trim_start_matches("locks ").replace("initialised in ", "made in ");
    let name = name.replace("first seen in ", "first used in ").replace('`', "");
    let end = name.find(" (").or_else(|| name.find(" at 0x")).unwrap_or(name.len());
    name[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let step =
            |held: &str, taken: &str| OrderStep { held: held.into(), taken: taken.into(), ..OrderStep::default() };
        let order = |steps| LockOrder { steps, ..LockOrder::default() };
        let pair = |one: &str, other: &str| order(vec![step(one, other), step(other, one)]);
        let files = pair("initialised in new_file (a.c:7)", "index");
        Profile { order: vec![pair("index", "cache"), pair("cache", "log"), files], ..Profile::default() }
    }

    #[test]
    fn circles_with_a_known_order_are_left_out() {
        for (text, left) in [
            ("", 3),
            ("# nothing\n\n", 3),
            ("index -> cache", 2),
            ("cache -> index\nlog -> cache\n", 1),
            ("cache -> table", 3),
            ("index -> a lock made in `new_file (a.c:12)`", 2),
            ("3 locks made in `new_file` -> `index`", 2),
        ] {
            let mut profile = profile();
            KnownOrders::parse(text).unwrap().leave_out_of(&mut profile);
            assert_eq!((profile.order.len(), profile.notes.len()), (left, usize::from(left < 3)), "{text}");
        }
    }

    #[test]
    fn a_line_that_is_no_order_is_named() {
        for text in ["index", "# a\nindex cache", "a -> b -> c", "a->b"] {
            let (number, line) = KnownOrders::parse(text).unwrap_err();
            assert_eq!(Some(&*line), text.lines().nth(number - 1));
        }
    }
}
