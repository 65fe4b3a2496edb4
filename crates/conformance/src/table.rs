//! Which locks there are to test, and which of them claim what: `tests/table.rs` holds these lists against the table
//! in `ondeck-locks`.
//!
//! The lists are macros because a test function per lock and property must exist by name. Each calls the given macro
//! as `register!(module_name, RawType);`, the type being generic over its platform.

/// Every lock.
#[macro_export]
macro_rules! for_each_lock {
    ($register:ident) => {
        $register!(tas, RawTas);
        $register!(ttas, RawTtas);
        $register!(ticket, RawTicket);
        $register!(mcs, RawMcs);
    };
}

/// Locks whose acquisition can be given up.
#[macro_export]
macro_rules! for_each_timed_lock {
    ($register:ident) => {
        $register!(tas, RawTas);
        $register!(ttas, RawTtas);
    };
}
