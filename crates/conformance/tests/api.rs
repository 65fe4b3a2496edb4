//! What every lock claims to be: its size, constant construction, and an assertion that catches misuse; and the lists of
//! this crate against the table of all locks.

use ondeck_conformance::{for_each_freeable_lock, for_each_lock, for_each_sleeping_lock};
use ondeck_conformance::{for_each_timed_freeable_lock, for_each_timed_lock};
use ondeck_locks::*;
use ondeck_platform::Hardware;
use std::collections::BTreeSet;

macro_rules! any_lock {
    ($name:ident, $lock:ident) => {
        mod $name {
            use super::*;

            static LOCK: $lock<Hardware> = $lock::INIT;

            #[test]
            fn is_built_in_a_constant() {
                assert!(LOCK.is_at_rest());
                LOCK.acquire();
                assert!(!LOCK.is_at_rest());
                assert!(!LOCK.try_acquire());
                // SAFETY: acquired above, by this thread.
                unsafe { LOCK.release() };
                assert!(LOCK.is_at_rest());
            }

            #[test]
            fn has_the_size_it_says() {
                assert_eq!(size_of::<$lock<Hardware>>(), $lock::<Hardware>::ENTRY.bytes);
                assert!(!std::mem::needs_drop::<$lock<Hardware>>());
            }

            #[test]
            #[cfg(debug_assertions)]
            fn misuse_is_caught() {
                let lock = $lock::<Hardware>::new();
                // SAFETY: it is not: nobody holds the lock. The assertion fires before anything depends on it, and
                // the lock is forgotten afterwards.
                let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| unsafe { lock.release() }));
                assert!(answer.is_err(), "the release of a free lock went unnoticed");
            }
        }
    };
}

for_each_lock!(any_lock);

/// The names of the locks for whose entry `has` holds.
fn entries(has: fn(&Entry) -> bool) -> BTreeSet<&'static str> {
    LOCKS.iter().filter(|entry| has(entry)).map(|entry| entry.name).collect()
}

/// `listed!(macro)`: the names of the locks in one of our lists.
macro_rules! listed {
    ($for_each:ident) => {{
        let mut names = BTreeSet::new();
        macro_rules! name {
            ($name:ident, $lock:ident) => {
                names.insert($lock::<Hardware>::ENTRY.name);
            };
        }
        $for_each!(name);
        names
    }};
}

#[test]
fn lists_agree_with_the_table_of_locks() {
    assert_eq!(listed!(for_each_lock), entries(|_| true));
    assert_eq!(listed!(for_each_sleeping_lock), entries(|entry| entry.promises.sleeps));
    assert_eq!(listed!(for_each_timed_lock), entries(|entry| entry.promises.timed));
    assert_eq!(listed!(for_each_freeable_lock), entries(|entry| entry.promises.free_after_release));
    let both = |entry: &Entry| entry.promises.timed && entry.promises.free_after_release;
    assert_eq!(listed!(for_each_timed_freeable_lock), entries(both));
}
