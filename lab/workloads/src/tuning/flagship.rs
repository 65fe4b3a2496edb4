//! The flagship's constants by name: what `ondeck[low-latency+poll_max_ns=4000]` means.
//!
//! A lock takes its constants from a type, so that it pays nothing for them. A run takes them from its command line, so
//! there is one type that reads them from a place, which is filled anew before each measurement. Hence variants of one lock
//! can stand side by side in one run, measured in turns like any other locks.

use crate::bench_lock::{BenchLockVisitor, Family};
use ondeck_core::{Hardware, Platform};
use ondeck_lineage::ondeck::{BALANCED, ENTRY, LOW_LATENCY, Policy, RawOndeck, Tuning};
use ondeck_sim::Simulated;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};
use std::sync::{Mutex, PoisonError};

/// The name of the flagship.
pub(super) const NAME: &str = ENTRY.name;

/// Sets of constants that have a name.
const NAMED: [(&str, Tuning); 3] = [("default", BALANCED), ("balanced", BALANCED), ("low-latency", LOW_LATENCY)];

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
    look_ns yields poll_first_ns poll_max_ns poll_asked_ns hot_period_ns hot_most_ns hot_most_near_ns
    audit_every_ns patience_ns rotate_ns nap_after_ns
}

/// Reads a tuning: a name, or constants as `FIELD=NUMBER`, or a name and constants that differ from it; joined by `+`.
/// The error is one line with what is accepted.
pub(super) fn parse(text: &str) -> Result<Tuning, String> {
    let named = |text: &str| NAMED.iter().find(|(name, _)| *name == text).map(|(_, tuning)| *tuning);
    let base = text.split('+').next().and_then(named);
    let mut tuning = base.unwrap_or(BALANCED);
    for constant in text.split('+').skip(usize::from(base.is_some())) {
        let pair = constant.split_once('=');
        let Some((place, number)) = pair.and_then(|(name, number)| Some((field(&mut tuning, name)?, number))) else {
            return Err(unknown(constant));
        };
        *place = number.parse().map_err(|_| format!("{constant}: accepted: whole numbers from 0 to {}", u32::MAX))?;
    }
    Ok(tuning)
}

fn unknown(part: &str) -> String {
    let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
    format!(
        "there is no tuning '{part}'; accepted: {}, or FIELD=NUMBER, several joined by +, where FIELD is one of {}",
        names.join(", "),
        FIELDS.join(", ")
    )
}

/// A platform with a place where a lock that is measured finds its constants. One lock is measured at a time, so one place
/// is enough.
pub trait TuningSlot: Platform {
    /// Puts `tuning` there, for all locks that are made from now on.
    fn put(tuning: &'static Tuning);

    /// What was put there last.
    fn tuning() -> &'static Tuning;
}

static SWEPT: AtomicPtr<Tuning> = AtomicPtr::new(ptr::from_ref(&BALANCED).cast_mut());

/// One for all: threads of all cores look there.
impl TuningSlot for Hardware {
    fn put(tuning: &'static Tuning) {
        SWEPT.store(ptr::from_ref(tuning).cast_mut(), Release);
    }

    #[inline]
    fn tuning() -> &'static Tuning {
        // SAFETY: only `put` stores here, what lives for ever; the acquire goes with its release.
        unsafe { &*SWEPT.load(Acquire) }
    }
}

thread_local! {
    static SIMULATED: Cell<&'static Tuning> = const { Cell::new(&BALANCED) };
}

/// One per run: each is computed by one thread of the system, and several are at once.
impl TuningSlot for Simulated {
    fn put(tuning: &'static Tuning) {
        SIMULATED.set(tuning);
    }

    fn tuning() -> &'static Tuning {
        SIMULATED.get()
    }
}

/// The policy whose constants are in a place.
struct SweptPolicy<P>(PhantomData<P>);

// SAFETY: `TuningSlot::tuning` reads a pointer. On its own thread, a slot of a `thread_local!` without a destructor is there.
unsafe impl<P: TuningSlot> Policy for SweptPolicy<P> {
    #[inline]
    fn tuning() -> &'static Tuning {
        P::tuning()
    }
}

/// A tuning that lives for ever. Each is kept once: a command line names a few, and measures them again and again.
pub(super) fn kept(tuning: Tuning) -> &'static Tuning {
    static KEPT: Mutex<Vec<&'static Tuning>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = kept.iter().find(|same| ***same == tuning) {
        return same;
    }
    let new: &'static Tuning = Box::leak(Box::new(tuning));
    kept.push(new);
    new
}

/// Does `visitor` with the flagship with `tuning`.
pub(super) fn visit<P: TuningSlot, V: BenchLockVisitor>(tuning: &'static Tuning, visitor: V) -> V::Output {
    P::put(tuning);
    visitor.visit::<Family<RawOndeck<P, SweptPolicy<P>>>>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_constants() {
        assert_eq!(parse("default"), Ok(BALANCED));
        assert_eq!(parse("low-latency"), Ok(LOW_LATENCY));
        assert_eq!(parse("rotate_ns=7"), Ok(Tuning { rotate_ns: 7, ..BALANCED }));
        let both = Tuning { rotate_ns: 7, look_ns: 0, ..LOW_LATENCY };
        assert_eq!(parse("low-latency+rotate_ns=7+look_ns=0"), Ok(both));
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
        for text in ["", "best", "rotate_ns", "rotate=7", "rotate_ns=7+low-latency", "low-latency+", "=7"] {
            let message = parse(text).unwrap_err();
            assert!(message.contains("low-latency") && message.contains("nap_after_ns"), "{text}: {message}");
            assert_eq!(message.lines().count(), 1);
        }
        for number in ["", "-1", "1.5", "many", "4294967296"] {
            let message = parse(&format!("rotate_ns={number}")).unwrap_err();
            assert!(message.contains("0 to 4294967295"), "{number}: {message}");
        }
    }

    #[test]
    fn a_lock_has_the_tuning_that_was_put_last() {
        let rotate_ns = |rotate_ns| Tuning { rotate_ns, ..BALANCED };
        for tuning in [rotate_ns(1), rotate_ns(2), rotate_ns(1)] {
            Simulated::put(kept(tuning));
            assert_eq!(*SweptPolicy::<Simulated>::tuning(), tuning);
        }
        assert!(ptr::eq(kept(rotate_ns(1)), kept(rotate_ns(1))), "kept once");
    }
}
