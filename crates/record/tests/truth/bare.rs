//! Locks of the program itself, whose marks are in a table.

use crate::common::{from_here, further_in, in_its_own_process, lock_at, pass, prepare, reader, samples, when};
use ondeck_record::layout::{event, kind};
use ondeck_record::{OpaqueWait, PendingRelease, bare};
use std::path::Path;

const LOCK: u64 = 0x5000;

fn taken(turn: Option<u64>, is_due: bool, is_contended: bool) {
    from_here(|| bare::taken(LOCK, turn, is_due, is_contended));
}

/// Whether there was something to write down.
fn release(turn: Option<u64>, is_contended: bool) -> bool {
    from_here(|| bare::release(LOCK, turn, is_contended).map(PendingRelease::done).is_some())
}

fn events(directory: &Path) -> Vec<u32> {
    samples(&mut reader(directory)).iter().map(|sample| sample.event).collect()
}

#[test]
fn waits_and_holds_are_those_of_marks() {
    in_its_own_process("bare::waits_and_holds_are_those_of_marks", 1, |directory| {
        assert!(prepare());
        taken(Some(1), bare::is_due(), false);
        assert!(bare::remembers());
        let (waiting, came) = when(|| bare::wait(LOCK).unwrap());
        pass(300);
        let (_, released) = when(|| assert!(release(Some(1), true)));
        assert!(!bare::remembers());
        pass(300);
        let (_, got) = when(|| bare::waited(&waiting, true, LOCK, Some(2)));
        assert!(release(Some(2), false));
        let mut reader = reader(directory);
        assert_eq!((reader.about.source, reader.about.lock.as_str()), (1, "ondeck"));
        let samples = samples(&mut reader);
        let events: Vec<u32> = samples.iter().map(|sample| sample.event).collect();
        assert_eq!(events, [event::TAKE, event::CHARGE, event::HANDING_ON, event::WAIT, event::TAKE]);
        assert!(came.until(released).contains(&samples[1].ns));
        assert!(released.until(got).contains(&samples[2].ns));
        assert!(came.until(got).contains(&samples[3].ns));
        // A thread that has waited is known by the stack that did.
        assert_eq!(samples[3].stack, samples[4].stack);
        assert_eq!((reader.locks().unwrap().len(), lock_at(&reader, LOCK).most_waiting), (1, 1));
    });
}

/// Only if one has a name is it known that another lock has come to its address.
#[test]
fn a_destroyed_lock_takes_its_name_with_it() {
    in_its_own_process("bare::a_destroyed_lock_takes_its_name_with_it", 1, |directory| {
        assert!(prepare());
        let use_mutex = || {
            taken(Some(1), bare::is_due(), false);
            assert!(release(Some(1), false));
        };
        for text in [None, None, Some("first"), None, Some("second")] {
            use_mutex();
            if let Some(text) = text {
                ondeck_record::name(LOCK, 8, text.as_bytes());
            }
            ondeck_record::destroyed(LOCK, None);
        }
        let reader = reader(directory);
        let names = reader.names().unwrap();
        let locks = reader.locks().unwrap();
        assert_eq!(locks.iter().map(|lock| names.of(lock)).collect::<Vec<_>>(), [Some("first"), Some("second")]);
        assert_eq!(names.iter().count(), 0);
    });
}

/// Somebody waits, and another finds the lock free.
#[test]
fn what_is_waited_while_the_lock_is_free_is_charged_to_nobody() {
    in_its_own_process("bare::what_is_waited_while_the_lock_is_free_is_charged_to_nobody", 1, |directory| {
        assert!(prepare());
        let (waiting, came) = when(|| bare::wait(LOCK).unwrap());
        pass(300);
        // The lock has not told that somebody waits.
        taken(Some(1), false, false);
        assert!(!release(Some(1), false));
        let ((), got) = when(|| bare::taken(LOCK, Some(2), false, true));
        pass(300);
        let (_, gave_back) = when(|| assert!(release(Some(2), true)));
        pass(300);
        let (_, left) = when(|| bare::waited(&waiting, false, LOCK, None));
        assert!(!bare::remembers());
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        let events: Vec<u32> = samples.iter().map(|sample| sample.event).collect();
        assert_eq!(events, [event::HANDING_ON, event::CHARGE, event::GAVE_UP]);
        assert!(came.until(got).contains(&samples[0].ns));
        assert!(got.until(gave_back).contains(&samples[1].ns));
        assert!(came.until(left).contains(&samples[2].ns));
        assert!(gave_back.until(left).contains(&lock_at(&reader, LOCK).left_over));
    });
}

#[test]
fn only_what_is_due_is_looked_at() {
    in_its_own_process("bare::only_what_is_due_is_looked_at", 1, |directory| {
        assert!(prepare());
        taken(Some(1), false, false);
        assert!(!bare::remembers() && !release(Some(1), false));
        assert!(reader(directory).has_locked().unwrap());
        assert_eq!(events(directory), []);
    });
}

#[test]
fn of_a_million_hardly_one_is_due() {
    in_its_own_process("bare::of_a_million_hardly_one_is_due", 1_000_000, |_| {
        assert!(prepare());
        taken(Some(1), bare::is_due(), false);
        release(Some(1), false);
        let n_due = (0..100).filter(|_| bare::is_due()).count();
        assert!(n_due < 3, "{n_due}");
    });
}

/// A hold may be ended by another thread, of which this one hears nothing.
#[test]
fn what_another_has_ended_is_forgotten() {
    in_its_own_process("bare::what_another_has_ended_is_forgotten", 1, |directory| {
        assert!(prepare());
        // By its turn.
        taken(Some(3), true, false);
        assert!(!release(Some(5), false));
        // By the next acquisition, where the lock does not know its turn.
        taken(None, true, false);
        taken(None, false, false);
        assert!(!release(None, false));
        taken(None, true, false);
        let waiting = from_here(|| bare::wait(LOCK).unwrap());
        from_here(|| bare::waited(&waiting, true, LOCK, None));
        assert!(release(None, false) && !release(None, false));
        // One side that does not know is enough to believe it.
        // Asked for something by who waits, it begins anew from 0.
        for (then, now) in
            [(None, Some(9)), (Some(9), None), (Some(9), Some(9)), (Some(9), Some(0)), (Some(0), Some(9))]
        {
            taken(then, true, false);
            assert!(release(now, false), "{then:?} {now:?}");
        }
        assert_eq!(events(directory).iter().filter(|event| **event == event::TAKE).count(), 6);
    });
}

#[test]
fn who_gives_up_has_nothing() {
    in_its_own_process("bare::who_gives_up_has_nothing", 1, |directory| {
        assert!(prepare());
        let waiting = from_here(|| bare::wait(LOCK).unwrap());
        from_here(|| bare::waited(&waiting, false, LOCK, None));
        assert!(!bare::remembers());
        assert_eq!(events(directory), [event::GAVE_UP]);
        assert!(!reader(directory).has_locked().unwrap());
        // And who gets it has used a lock.
        let waiting = from_here(|| bare::wait(LOCK).unwrap());
        from_here(|| bare::waited(&waiting, true, LOCK, Some(1)));
        assert!(reader(directory).has_locked().unwrap() && bare::remembers());
    });
}

/// Addresses that want the same place in the table.
#[test]
fn locks_that_share_a_place_are_told_apart() {
    in_its_own_process("bare::locks_that_share_a_place_are_told_apart", 1, |directory| {
        assert!(prepare());
        let place = |address: u64| (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % (1 << 14);
        let same = (1..).map(|n| n * 64).filter(|address| place(*address) == place(64)).take(40);
        let addresses: Vec<u64> = same.collect();
        for address in &addresses {
            from_here(|| bare::taken(*address, None, true, false));
            from_here(|| bare::release(*address, None, false).map(PendingRelease::done));
        }
        // The others have found no room near enough.
        let mut reader = reader(directory);
        let found: Vec<u64> = reader.locks().unwrap().iter().map(|lock| lock.address).collect();
        assert_eq!(found, addresses[..32]);
        assert_eq!((samples(&mut reader).len(), reader.dropped().unwrap().locks), (32, 8));
    });
}

/// Also where one of them has no place at all, and is next to one that others wait for.
#[test]
fn a_lock_that_was_never_looked_at_has_no_marks() {
    in_its_own_process("bare::a_lock_that_was_never_looked_at_has_no_marks", 1, |directory| {
        assert!(prepare());
        let place = |address: u64| (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % (1 << 14);
        let next = (1..).map(|n| LOCK + n * 64).find(|address| place(*address) == place(LOCK)).unwrap();
        let _waiting = from_here(|| bare::wait(LOCK).unwrap());
        from_here(|| bare::taken(next, Some(1), false, true));
        assert!(from_here(|| bare::release(next, Some(1), true)).is_none());
        assert_eq!(events(directory), []);
        assert_eq!(reader(directory).locks().unwrap().len(), 1);
    });
}

/// Once nobody waits any more, one release finds that, and the next ones need not look.
#[test]
fn who_finds_that_nobody_waits_is_the_last_to_look() {
    in_its_own_process("bare::who_finds_that_nobody_waits_is_the_last_to_look", 1, |directory| {
        assert!(prepare());
        let waiting = from_here(|| bare::wait(LOCK).unwrap());
        from_here(|| bare::waited(&waiting, false, LOCK, None));
        assert!(release(Some(1), true) && !release(Some(2), true));
        assert_eq!(events(directory), [event::GAVE_UP, event::CHARGE]);
    });
}

#[test]
fn only_a_process_that_is_to_be_recorded_is_told_so() {
    in_its_own_process("bare::only_a_process_that_is_to_be_recorded_is_told_so", 1, |directory| {
        // SAFETY: this process has one thread.
        unsafe { std::env::remove_var("ONDECK_RECORD") };
        assert!(!prepare());
        // SAFETY: as above.
        unsafe { std::env::set_var("ONDECK_RECORD", directory) };
        // Twice, as each library in a program does it for its own locks.
        assert_eq!([prepare(), prepare()], [true; 2]);
        taken(None, bare::is_due(), false);
        assert!(release(None, false));
        assert_eq!(events(directory), [event::TAKE]);
    });
}

/// It does so now and then.
#[test]
fn a_process_that_cannot_record_looks_again() {
    in_its_own_process("bare::a_process_that_cannot_record_looks_again", 1, |directory| {
        std::fs::remove_dir(directory).unwrap();
        assert!(prepare());
        let n_until_due = || (0..100_000).take_while(|_| !bare::is_due()).count();
        assert_eq!(n_until_due(), 0);
        taken(None, true, false);
        assert_eq!(n_until_due(), 9_999);
        // Those between, which are told for another reason, do not put it off.
        taken(None, true, false);
        (0..5000).for_each(|_| assert!(!bare::is_due()));
        taken(None, false, false);
        assert_eq!(n_until_due(), 4_999);
    });
}

#[test]
fn a_wait_follows_another_if_nothing_was_locked_between() {
    in_its_own_process("bare::a_wait_follows_another_if_nothing_was_locked_between", 1, |directory| {
        const CONDITION: u64 = LOCK + 64;
        assert!(prepare());
        taken(None, bare::is_due(), false);
        let wait = || {
            release(None, false);
            let wait = from_here(|| OpaqueWait::begin(CONDITION, kind::CONDITION)).unwrap();
            // Has the lock again.
            taken(None, bare::is_due(), false);
            from_here(|| wait.end());
        };
        wait();
        wait();
        release(None, false);
        taken(None, bare::is_due(), false);
        wait();
        let waits: Vec<u32> = events(directory).into_iter().filter(|event| *event != event::TAKE).collect();
        assert_eq!(waits, [event::CONDITION, event::CONDITION | event::AGAIN, event::CONDITION]);
    });
}

extern "C" fn compare(_: *const libc::c_void, _: *const libc::c_void) -> libc::c_int {
    taken(None, true, false);
    0
}

/// It would have to be remembered, and the lock may be that of the allocator.
#[test]
fn code_that_is_loaded_later_is_not_asked_for() {
    in_its_own_process("bare::code_that_is_loaded_later_is_not_asked_for", 1, |directory| {
        assert!(prepare());
        taken(None, true, false);
        assert!(release(None, false));
        let mut reader = reader(directory);
        let before = reader.modules().unwrap().len();
        // The C library once more, which each program has.
        // SAFETY: a string of C.
        let library = unsafe { libc::dlmopen(libc::LM_ID_NEWLM, c"libc.so.6".as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null());
        // SAFETY: a library that is loaded, and a string of C.
        let search = unsafe { libc::dlsym(library, c"bsearch".as_ptr()) };
        assert!(!search.is_null());
        type Compare = extern "C" fn(*const libc::c_void, *const libc::c_void) -> libc::c_int;
        type Search = extern "C" fn(*const u8, *const u8, usize, usize, Compare) -> *const u8;
        // SAFETY: the function has this type.
        let search_in = unsafe { std::mem::transmute::<*mut libc::c_void, Search>(search) };
        let array = [0_u8];
        assert_eq!(search_in(array.as_ptr(), array.as_ptr(), 1, 1, compare), array.as_ptr());
        assert!(release(None, false));
        let stack = samples(&mut reader)[1].stack;
        let stack = reader.stack(stack).unwrap();
        // It was there, as an address without a name.
        let code = search as u64..search as u64 + 4096;
        assert!(stack.iter().any(|address| code.contains(address)), "{stack:x?}, {code:x?}");
        assert_eq!(reader.modules().unwrap().len(), before);
    });
}

#[test]
fn the_place_where_it_was_entered_is_there_again_after_an_inner_one() {
    in_its_own_process("bare::the_place_where_it_was_entered_is_there_again_after_an_inner_one", 1, |directory| {
        assert!(prepare());
        let mut has_inner = true;
        // Both times at one place, however the compiler arranges the calls.
        let mut enter = || {
            from_here(|| {
                if has_inner {
                    from_here(|| ());
                }
                bare::taken(LOCK, None, true, false);
            });
            has_inner = false;
        };
        for _ in 0..2 {
            further_in(0, &mut enter);
            assert!(release(None, false));
        }
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        let stacks = [0, 1].map(|at| reader.stack(samples[at].stack).unwrap());
        assert_eq!((stacks[0].len(), stacks[0][0]), (stacks[1].len(), stacks[1][0]), "{stacks:x?}");
    });
}

/// It is tried once: a program that cannot have a file would try at each lock.
#[test]
fn a_recording_that_cannot_begin_is_not_tried_again() {
    in_its_own_process("bare::a_recording_that_cannot_begin_is_not_tried_again", 1, |directory| {
        std::fs::remove_dir(directory).unwrap();
        assert!(prepare());
        taken(None, true, false);
        std::fs::create_dir(directory).unwrap();
        for _ in 0..3 {
            taken(None, true, false);
            assert!(bare::wait(LOCK).is_none() && !release(None, true));
        }
        assert!(!ondeck_record::is_on() && directory.read_dir().unwrap().next().is_none());
        // But in a child, which may be more lucky.
        // SAFETY: the child only does what follows.
        let child = unsafe { libc::fork() };
        if child == 0 {
            ondeck_record::in_child();
            taken(None, true, false);
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!ondeck_record::is_on())) };
        }
        let mut status = 0;
        // SAFETY: our child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((status, reader(directory).about.pid), (0, child as u32));
    });
}
