//! What every lock claims to be: its size, constant construction, and an assertion that catches misuse; and the lists of
//! the table against the entries in the locks' files.

use ondeck_core::Hardware;
use ondeck_lineage::*;
/// Whether a lock can be a static. Two cannot: their buckets are on the heap.
macro_rules! is_constant {
    (parking_lot_port, $lock:ident) => {};
    (parking_lot_012_port, $lock:ident) => {};
    ($name:ident, $lock:ident) => {
        static LOCK: $lock<Hardware> = $lock::INIT;

        #[test]
        fn needs_no_drop() {
            assert!(!std::mem::needs_drop::<$lock<Hardware>>());
        }

        #[test]
        fn is_built_in_a_constant() {
            assert!(LOCK.is_at_rest());
            LOCK.acquire();
            assert!(!LOCK.is_at_rest());
            let by_another = std::thread::spawn(|| LOCK.try_acquire()).join();
            assert!(!by_another.expect("a try does not panic"), "another thread got in");
            let again = LOCK.try_acquire();
            assert_eq!(again, $lock::<Hardware>::ENTRY.promises.reentrant);
            if again {
                // SAFETY: acquired a second time above, by this thread.
                unsafe { LOCK.release() };
            }
            assert!(!LOCK.is_at_rest());
            // SAFETY: acquired above, by this thread.
            unsafe { LOCK.release() };
            assert!(LOCK.is_at_rest());
        }
    };
}

macro_rules! any_lock {
    ($name:ident, $lock:ident) => {
        mod $name {
            use super::*;

            is_constant!($name, $lock);

            #[test]
            fn has_the_size_it_says() {
                assert_eq!(size_of::<$lock<Hardware>>(), $lock::<Hardware>::ENTRY.bytes);
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

/// `listed!(list)`: the names of the locks in this list of the table.
macro_rules! listed {
    ($list:ident) => {{
        let mut names = Vec::new();
        macro_rules! name {
            ($name:ident, $lock:ident) => {
                names.push($lock::<Hardware>::ENTRY.name);
            };
        }
        for_each_lock!(name, $list);
        names
    }};
}

#[test]
fn the_lists_of_the_table_are_those_of_the_entries() {
    let entries = |has: fn(&Promises) -> bool| -> Vec<&str> {
        LOCKS.iter().filter(|entry| has(&entry.promises)).map(|entry| entry.name).collect()
    };
    assert_eq!(listed!(timed), entries(|promises| promises.timed));
    assert_eq!(listed!(reentrant), entries(|promises| promises.reentrant));
}

macro_rules! monitor {
    ($name:ident, $lock:ident) => {
        mod $name {
            use super::*;

            #[test]
            fn only_the_holder_may_wait_and_pulse() {
                let lock = $lock::<Hardware>::new();
                assert_eq!((lock.is_held(), lock.wait(None), lock.pulse_all()), (false, Err(NotHeld), Err(NotHeld)));
                for _ in 0..2 {
                    lock.acquire();
                    assert_eq!((lock.is_held(), lock.pulse(), lock.pulse_all()), (true, Ok(false), Ok(0)));
                    let stranger = || (lock.is_held(), lock.wait(None), lock.pulse());
                    let answers = std::thread::scope(|scope| scope.spawn(stranger).join());
                    assert_eq!(answers.expect("no panic"), (false, Err(NotHeld), Err(NotHeld)));
                    // SAFETY: acquired above, by this thread.
                    unsafe { lock.release() };
                    // Once more, in the other form.
                    lock.inflate();
                }
            }

            #[test]
            fn a_wait_that_nobody_ends_gives_the_lock_back_as_it_was() {
                let lock = $lock::<Hardware>::new();
                for levels in [1, 64, 65] {
                    (0..levels).for_each(|_| lock.acquire());
                    assert_eq!(lock.wait(Some(Hardware::now_ns() + 1_000_000)), Ok(false));
                    for _ in 0..levels {
                        assert!(lock.is_held());
                        // SAFETY: acquired as often above, by this thread.
                        unsafe { lock.release() };
                    }
                    assert!(lock.is_at_rest() && !lock.is_held());
                }
            }

            #[test]
            #[should_panic = "does not hold the lock"]
            fn release_by_a_stranger_is_caught_in_either_form() {
                let lock = $lock::<Hardware>::new();
                lock.acquire();
                let stranger = || {
                    // SAFETY: it is not: another thread holds the lock. The assertion comes before anything else.
                    std::thread::scope(|scope| scope.spawn(|| unsafe { lock.release() }).join())
                };
                assert!(stranger().is_err(), "a release of what somebody else holds went unnoticed");
                lock.inflate();
                std::panic::resume_unwind(stranger().expect_err("fat"));
            }
        }
    };
}

/// What monitors can do beyond locks.
mod monitors {
    use super::*;

    for_each_lock!(monitor, reentrant);
}
