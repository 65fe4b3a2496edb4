//! Whether the version rises with the form. An observer writes into processes, and reads their files, that may be of another
//! version: only the version keeps it from taking one field for another.

use super::*;
use crate::control::{Control, answer, command, refused};
use crate::options::RecordOptions;
use core::mem::offset_of;
use std::format;
use std::string::String;

/// The version, and what [`form`] comes to in it.
const KNOWN: (u8, u64) = (0x0d, 0x654a_1423_a791_1f14);

/// Where each field of these begins, and how many bytes it has. A struct with a field that is not named here does not compile.
macro_rules! fields {
    ($($type:ident { $($field:ident)* })*) => {{
        let mut text = String::new();
        $(
            let _ = |$type { $($field: _),* }: $type| ();
            text += &format!("{} {}\n", stringify!($type), size_of::<$type>());
            $(
                let bytes = bytes_of(|it: &$type| &it.$field);
                text += &format!("{} {} {bytes}\n", stringify!($field), offset_of!($type, $field));
            )*
        )*
        text
    }};
}

/// Numbers that have a meaning in the file.
macro_rules! numbers {
    ($($number:expr),* $(,)?) => { String::new() $(+ &format!("{:?}\n", $number))* };
}

fn bytes_of<T, F>(_: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

fn form() -> String {
    let fields = fields! {
        Header {
            magic length pid parent started_realtime_ns started_ns rate lock program modules locks index stacks names waiters
            named nestings ring head tail dropped_samples dropped_stacks dropped_locks dropped_names dropped_nestings
            dropped_waiters has_exited has_locked source number most_waiters has_names epoch taken wants_places inside
        }
        Part { start room }
        Module { is_complete build_id_length start end bias build_id path stamp }
        Stamp { device number size modified_ns }
        Lock {
            address kind module victims waiting charged_until left_over taken_at taken_by most_waiting lasts_since origin parks
            wakes rotations spins name held_by tenancy period settled longest class
        }
        Waiter { thread lock address since kind stack }
        Name { length text }
        Nesting { locks stacks outer }
        Slot { ticket what place at ns weight }
        Control { here process command answer observer beats bells options filters is_sealed file refused }
        RecordOptions { rate max_mb budget order directory }
    };
    let numbers = numbers! {
        [kind::SEEN, kind::INITIALISED, kind::CONDITION, kind::OPAQUE, kind::SEMAPHORE, kind::BARRIER, kind::ONCE],
        [kind::JOIN, kind::SPIN, kind::SEVERAL],
        [event::WAIT, event::GAVE_UP, event::CONDITION, event::CHARGE, event::HANDING_ON, event::TAKE, event::NOTIFY],
        [event::TRIED, event::REFUSED, event::READING, event::AGAIN, event::ALL],
        [source::LIBRARY, source::PROGRAM],
        [Lock::NAMELESS, Waiter::TAKEN, NONE, in_time::UNTOLD, Nesting::SHARED, Nesting::TRIED],
        [Nesting::word([1, 2]), named::word(1, 2), waiting::one(1), in_time::address(1, 2), in_time::TAKEN_AT],
        [tenancy::number(1, 2), tenancy::used(1, 2), tenancy::claimed(1, 2), tenancy::next(1)],
        [encoded(1 << 20), LENGTHS_AT[0], LENGTHS_AT[1]],
        [command::NOTHING, command::BEGIN, command::END, command::ABANDON, Control::NOTE],
        [answer::NONE, answer::UNDER_WAY, answer::BEGUN, answer::ENDED, answer::NO_FILE, answer::RECORDED],
        [answer::OTHER_LOCK, refused::OPENAT, refused::MMAP, refused::MEMORY],
    };
    fields + &numbers
}

#[test]
fn the_version_rises_when_the_form_changes() {
    // FNV-1a.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let now = (MAGIC.to_le_bytes()[7], form().bytes().fold(0xcbf2_9ce4_8422_2325, hash));
    let is_same_version = now.0 == KNOWN.0;
    assert!(
        !is_same_version || now == KNOWN,
        "the form has changed: raise the version, the last byte of `MAGIC`\n{now:#x?}"
    );
    assert!(is_same_version, "of a new version, write down the form: `KNOWN` is {now:#x?}");
}
