//! The flagship's constants by name: what `ondeck[throughput+poll_max_ns=4000]` means.
//!
//! A lock takes its constants from a type, so that it pays nothing for them. A run takes them from its command line,
//! so there is a small fixed set of types that each read a place which is filled once. Hence variants of one lock can
//! stand side by side in one run, measured in turns like any other locks.

use crate::lock::{Family, VisitLock};
use ondeck_locks::ondeck::{BALANCED, ENTRY, LOW_LATENCY, Policy, RawOndeck, THROUGHPUT, Tuning};
use ondeck_platform::Platform;
use std::sync::OnceLock;

/// The name of the flagship.
pub(super) const NAME: &str = ENTRY.name;

/// Sets of constants that have a name. The first is what the lock has without being asked.
const NAMED: [(&str, Tuning); 4] =
    [("default", BALANCED), ("balanced", BALANCED), ("throughput", THROUGHPUT), ("low-latency", LOW_LATENCY)];

/// So many different tunings can be measured by one process.
pub const MOST_TUNINGS: usize = 8;

macro_rules! fields {
    ($($field:ident)*) => {
        const FIELDS: &[&str] = &[$(stringify!($field)),*];

        /// The constant called `name`, if there is one.
        fn field<'a>(tuning: &'a mut Tuning, name: &str) -> Option<&'a mut u32> {
            // Without `..`: a constant that is added to the lock and not here does not compile.
            let Tuning { $($field),* } = tuning;
            $(if name == stringify!($field) {
                return Some($field);
            })*
            None
        }
    };
}

fields! {
    look_ns look_gap_ns look_releases poll_first_ns poll_first_hot_ns poll_max_ns poll_asked_ns hot_period_ns
    hot_most_ns audit_every_ns cool_every idle_ns patience_ns rotate_ns quiet_ns nap_after_ns revoke_ns room_ns
    prefer_core_among
}

/// Reads a tuning: a name, or constants as `FIELD=NUMBER`, or a name and constants that differ from it; joined by `+`.
/// The error is one line with what is accepted.
///
/// # Example
///
/// ```
/// use ondeck_lab::tuning::parse;
///
/// let tuning = parse("low-latency+poll_max_ns=4000").unwrap();
/// assert_eq!((tuning.poll_max_ns, tuning.rotate_ns), (4_000, parse("low-latency").unwrap().rotate_ns));
/// ```
pub fn parse(text: &str) -> Result<Tuning, String> {
    let named = |text: &str| NAMED.iter().find(|(name, _)| *name == text).map(|(_, tuning)| *tuning);
    let base = text.split('+').next().and_then(named);
    let mut tuning = base.unwrap_or(BALANCED);
    for constant in text.split('+').skip(usize::from(base.is_some())) {
        let pair = constant.split_once('=');
        let Some((place, number)) = pair.and_then(|(name, number)| Some((field(&mut tuning, name)?, number))) else {
            return Err(unknown(constant));
        };
        *place =
            number.parse().map_err(|_| format!("{constant}: whole numbers from 0 to {} are accepted", u32::MAX))?;
    }
    Ok(tuning)
}

/// Whether `text` names the constants that the lock has anyway.
pub(super) fn is_default(text: &str) -> bool {
    text == NAMED[0].0 || text == NAMED[1].0
}

fn unknown(part: &str) -> String {
    let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
    format!(
        "there is no tuning '{part}'; accepted: {}, or FIELD=NUMBER, more of them joined by +, where FIELD is {}",
        names.join(", "),
        FIELDS.join(", ")
    )
}

/// Each is filled once, by the first tuning that wants it, and stays so until the process ends.
static PLACES: [OnceLock<Tuning>; MOST_TUNINGS] = [const { OnceLock::new() }; MOST_TUNINGS];

/// Index of the place that holds `tuning`: an old one if it is there, else the first empty one.
fn place_in(places: &[OnceLock<Tuning>], tuning: Tuning) -> Option<usize> {
    places.iter().position(|place| *place.get_or_init(|| tuning) == tuning)
}

/// The policy of the tuning in place `N`.
struct Swept<const N: usize>;

impl<const N: usize> Policy for Swept<N> {
    fn tuning() -> &'static Tuning {
        PLACES[N].get().expect("the place was filled before its lock was made")
    }
}

/// What is wrong with `tuning`, in one line; claims a place for it.
pub(super) fn fault(tuning: &str) -> Option<String> {
    match parse(tuning).map(|tuning| place_in(&PLACES, tuning)) {
        Ok(Some(_)) => None,
        Ok(None) => Some(format!("'{tuning}' is one tuning too many; {MOST_TUNINGS} in one run are accepted")),
        Err(text) => Some(text),
    }
}

/// Does `visitor` with the flagship with `tuning`; `None` where [`fault`] says why.
pub(super) fn with_tuning<P: Platform, V: VisitLock>(tuning: &str, visitor: V) -> Option<V::Out> {
    match place_in(&PLACES, parse(tuning).ok()?)? {
        0 => Some(visitor.visit::<Variant<P, 0>>()),
        1 => Some(visitor.visit::<Variant<P, 1>>()),
        2 => Some(visitor.visit::<Variant<P, 2>>()),
        3 => Some(visitor.visit::<Variant<P, 3>>()),
        4 => Some(visitor.visit::<Variant<P, 4>>()),
        5 => Some(visitor.visit::<Variant<P, 5>>()),
        6 => Some(visitor.visit::<Variant<P, 6>>()),
        7 => Some(visitor.visit::<Variant<P, 7>>()),
        MOST_TUNINGS.. => None,
    }
}

type Variant<P, const N: usize> = Family<RawOndeck<P, Swept<N>>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_constants() {
        assert_eq!(parse("default"), Ok(BALANCED));
        assert_eq!(parse("low-latency"), Ok(LOW_LATENCY));
        assert_eq!(parse("rotate_ns=7"), Ok(Tuning { rotate_ns: 7, ..BALANCED }));
        let both = Tuning { rotate_ns: 7, prefer_core_among: 0, ..THROUGHPUT };
        assert_eq!(parse("throughput+rotate_ns=7+prefer_core_among=0"), Ok(both));
    }

    #[test]
    fn every_field_can_be_set() {
        for name in FIELDS {
            let tuning = parse(&format!("{name}=123456")).unwrap();
            assert_ne!(tuning, BALANCED, "{name}");
            assert!(format!("{tuning:?}").contains(&format!("{name}: 123456")), "{tuning:?}");
        }
    }

    #[test]
    fn errors_say_what_is_accepted() {
        for text in ["", "best", "rotate_ns", "rotate=7", "rotate_ns=7+throughput", "throughput+", "=7"] {
            let message = parse(text).unwrap_err();
            assert!(message.contains("low-latency") && message.contains("prefer_core_among"), "{text}: {message}");
            assert_eq!(message.lines().count(), 1);
        }
        for number in ["", "-1", "1.5", "many", "4294967296"] {
            let message = parse(&format!("rotate_ns={number}")).unwrap_err();
            assert!(message.contains("0 to 4294967295"), "{number}: {message}");
        }
    }

    #[test]
    fn each_tuning_gets_one_place() {
        let places: [OnceLock<Tuning>; 2] = Default::default();
        let place = |rotate_ns| place_in(&places, Tuning { rotate_ns, ..BALANCED });
        assert_eq!([place(1), place(2), place(1), place(3)], [Some(0), Some(1), Some(0), None]);
        assert_eq!(places[1].get().unwrap().rotate_ns, 2);
    }
}
