//! Which lock is which, and waits on what has no marks.

use crate::common::Mode::Exact;
use crate::common::{files, from_here, in_its_own_process, lock_at, part, pass, reader, samples, start, when};
use crate::files::by_ways;
use ondeck_record::layout::{NONE, event, kind};
use ondeck_record::read::Reader;
use ondeck_record::{Access, Marks, OpaqueWait, forget};
use std::path::Path;

const LOCK: u64 = 0x5000;

fn use_once(marks: &Marks, address: u64) {
    marks.taken(address);
    marks.release(address).unwrap().done();
}

#[test]
fn a_lock_is_known_by_where_it_was_initialised() {
    in_its_own_process("locks::a_lock_is_known_by_where_it_was_initialised", 1, |directory| {
        start(Exact);
        let (told, untold) = (Marks::default(), Marks::default());
        from_here(|| told.initialised());
        for _ in 0..2 {
            from_here(|| use_once(&told, LOCK));
            from_here(|| use_once(&untold, LOCK + 64));
        }
        let reader = reader(directory);
        assert_eq!(reader.locks().unwrap().len(), 2);
        let (told, untold) = (lock_at(&reader, LOCK), lock_at(&reader, LOCK + 64));
        assert_eq!((told.kind, untold.kind), (kind::INITIALISED, kind::SEEN));
        let origins = [told.origin, untold.origin].map(|origin| reader.stack(origin).unwrap());
        assert!(origins.iter().all(|origin| origin.len() > 3) && origins[0] != origins[1]);
    });
}

#[test]
fn what_is_initialised_again_or_has_moved_is_another_lock() {
    in_its_own_process("locks::what_is_initialised_again_or_has_moved_is_another_lock", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        use_once(&marks, LOCK);
        marks.initialised();
        use_once(&marks, LOCK);
        use_once(&marks, LOCK + 64);
        let mut reader = reader(directory);
        let locks = reader.locks().unwrap();
        let addresses: Vec<u64> = locks.iter().map(|lock| lock.address).collect();
        assert_eq!(addresses, [LOCK, LOCK, LOCK + 64]);
        let kinds: Vec<u32> = locks.iter().map(|lock| lock.kind).collect();
        assert_eq!(kinds, [kind::SEEN, kind::INITIALISED, kind::SEEN]);
        let numbers: Vec<u32> = samples(&mut reader).iter().map(|sample| sample.lock).collect();
        assert_eq!(numbers, [1, 2, 3]);
    });
}

/// Before it is used, an initialised lock has the number of a stack where others have their own.
#[test]
fn the_number_of_a_stack_is_no_locks() {
    in_its_own_process("locks::the_number_of_a_stack_is_no_locks", 1, |directory| {
        start(Exact);
        const N: u32 = 400;
        // So many locks at one address, one after the other.
        (0..N).for_each(|_| use_once(&Marks::default(), LOCK));
        let marks = Marks::default();
        marks.initialised();
        use_once(&marks, LOCK);
        use_once(&marks, LOCK);
        let mut reader = reader(directory);
        let lock = lock_at(&reader, LOCK);
        assert_eq!((lock.number, lock.kind), (N + 1, kind::INITIALISED));
        assert!(lock.origin < N, "{lock:?}: there is no lock of that number");
        let numbers: Vec<u32> = samples(&mut reader).iter().map(|sample| sample.lock).skip(N as usize).collect();
        assert_eq!(numbers, [N + 1; 2]);
    });
}

/// A reader that does not ask for it, as one for profiles, keeps all locks.
#[test]
fn a_new_lock_gets_the_place_of_one_that_was_not_used_for_a_while() {
    in_its_own_process("locks::a_new_lock_gets_the_place_of_one_that_was_not_used_for_a_while", 1, |directory| {
        const ROOM: u64 = (1 << 20) / 8 / 128 - 1;
        start(Exact);
        let mut reader = reader(directory);
        let address = |n: u64| LOCK + 64 * n;
        let use_new = |n: u64| use_once(&Marks::default(), address(n));
        let (waited_for, used) = (Marks::default(), Marks::default());
        let wait = waited_for.wait(address(0)).unwrap();
        use_once(&used, address(1));
        assert!(!reader.wants_places().unwrap());
        (2..ROOM).for_each(use_new);
        assert!(reader.wants_places().unwrap() && !reader.wants_places().unwrap());
        samples(&mut reader);
        let before = reader.locks().unwrap();
        assert_eq!((before.len() as u64, reader.dropped().unwrap().locks), (ROOM, 0));
        let epoch = |reader: &mut Reader| {
            reader.begin_epoch().unwrap();
            use_once(&used, address(1));
            reader.take_epoch().unwrap();
        };
        epoch(&mut reader);
        // A thread may have used any lock in the epoch before.
        Marks::default().taken(address(ROOM));
        assert_eq!(reader.dropped().unwrap().locks, 1);
        epoch(&mut reader);
        samples(&mut reader);
        let mut numbers = Vec::new();
        for n in 2 * ROOM..4 * ROOM {
            use_new(n);
            if n % 100 == 0 {
                epoch(&mut reader);
                epoch(&mut reader);
            }
            numbers.push(lock_at(&reader, address(n)).number);
            // Each sample is of the lock that it was written of.
            assert!(
                samples(&mut reader).iter().all(|sample| sample.lock == numbers[numbers.len() - 1]) || n % 100 == 0
            );
        }
        assert_eq!(reader.dropped().unwrap().locks, 1);
        // Each has a number of its own, and what is used or waited for keeps its place.
        let known: std::collections::BTreeSet<u32> = before.iter().map(|lock| lock.number).chain(numbers).collect();
        assert_eq!(known.len() as u64, 3 * ROOM);
        wait.end(true, address(0));
        for n in [0, 1] {
            let then = before.iter().find(|lock| lock.address == address(n)).unwrap();
            assert_eq!(lock_at(&reader, address(n)).number, then.number);
        }
    });
}

/// What has no marks is found in a table, near the place that its address wants.
#[test]
fn addresses_that_want_one_place_are_told_apart() {
    in_its_own_process("locks::addresses_that_want_one_place_are_told_apart", 1, |directory| {
        start(Exact);
        let place = |address: u64| (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 4096;
        let addresses: Vec<u64> =
            (1..).map(|n| n * 64).filter(|address| place(*address) == place(64)).take(40).collect();
        for _ in 0..2 {
            for address in &addresses {
                OpaqueWait::begin(*address, kind::SEMAPHORE).unwrap().end();
            }
        }
        let reader = reader(directory);
        let found: Vec<u64> = reader.locks().unwrap().iter().map(|lock| lock.address).collect();
        // The others have found no room near enough, twice.
        assert_eq!(found, addresses[..32]);
        assert_eq!(reader.dropped().unwrap().locks, 16);
        forget(addresses[31]);
        forget(addresses[39]);
        for at in [30, 31, 31] {
            OpaqueWait::begin(addresses[at], kind::SEMAPHORE).unwrap().end();
        }
        let locks = reader.locks().unwrap();
        assert_eq!((locks.len(), locks[32].address), (33, addresses[31]));
    });
}

/// Its hold began elsewhere.
#[test]
fn what_has_moved_while_it_was_held_has_no_hold() {
    in_its_own_process("locks::what_has_moved_while_it_was_held_has_no_hold", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        marks.taken(LOCK);
        marks.release(LOCK + 64).unwrap().done();
        assert_eq!(samples(&mut reader(directory)).len(), 0);
    });
}

/// What a file system that is full answers for one piece of the file, an empty file does here.
#[test]
fn a_lock_whose_entry_has_no_memory_is_not_recorded() {
    in_its_own_process("locks::a_lock_whose_entry_has_no_memory_is_not_recorded", 1, |directory| {
        use ondeck_record::layout::{Header, Lock};
        use std::os::fd::AsRawFd;
        const PIECE: u64 = 64 << 10;
        start(Exact);
        let (recording, locks) = part(directory, std::mem::offset_of!(Header, locks));
        let piece = locks.next_multiple_of(PIECE);
        let place = recording + piece;
        let empty = tempfile::tempfile().unwrap();
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: within the recording, and nobody has used it yet.
        let at = unsafe { libc::mmap(place as *mut _, PIECE as usize, protection, flags, empty.as_raw_fd(), 0) };
        assert_eq!(at as u64, place);
        for _ in 1..(piece - locks) / size_of::<Lock>() as u64 {
            use_once(&Marks::default(), LOCK);
        }
        assert!(Marks::default().wait(LOCK).is_none());
        assert_eq!(reader(directory).dropped().unwrap().locks, 1);
    });
}

/// Where the first recording has filled a neighbourhood, and has known where locks were initialised.
#[test]
fn another_recording_begins_with_no_locks() {
    in_its_own_process("locks::another_recording_begins_with_no_locks", 1, |directory| {
        let place = |address: u64| (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 4096;
        let addresses: Vec<u64> =
            (1..).map(|n| n * 64).filter(|address| place(*address) == place(64)).take(64).collect();
        let use_all = |addresses: &[u64]| {
            addresses.iter().for_each(|address| OpaqueWait::begin(*address, kind::SEMAPHORE).unwrap().end());
        };
        start(Exact);
        use_all(&addresses[..32]);
        let (told, waited_for) = (Marks::default(), Marks::default());
        told.initialised();
        let _waiting = waited_for.wait(LOCK + 64).unwrap();
        start(Exact);
        use_all(&addresses[32..]);
        let second = &files(directory)[1];
        let mut reader = ondeck_record::read::Reader::open(second).unwrap();
        assert_eq!((reader.locks().unwrap().len(), reader.dropped().unwrap().locks), (32, 0));
        // The number of a stack of the first is none here.
        use_once(&told, LOCK);
        assert_eq!(lock_at(&reader, LOCK).kind, kind::SEEN);
        // And who waited then asks nobody now.
        assert_eq!(samples(&mut reader).len(), 33);
        waited_for.read(LOCK + 64, NONE, true);
        assert_eq!(samples(&mut reader).len(), 0);
    });
}

/// In the child of a fork marks are the parent's, and mean nothing.
#[test]
fn a_child_finds_nothing_of_its_parent() {
    in_its_own_process("locks::a_child_finds_nothing_of_its_parent", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        use_once(&marks, LOCK + 64);
        (2..9).for_each(|n| from_here(|| use_once(&Marks::default(), LOCK + n * 64)));
        marks.taken(LOCK);
        let waiting = marks.wait(LOCK);
        // SAFETY: the child only does what follows.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_right = std::panic::catch_unwind(|| in_the_child(&marks, directory)).is_ok();
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!is_right)) };
        }
        let mut status = 0;
        // SAFETY: our child.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "see what the child has said");
        assert!(waiting.is_some() && marks.release(LOCK).is_some());
    });
}

fn in_the_child(marks: &Marks, directory: &Path) {
    // The kernel has taken the file away, before anybody is told.
    assert!(!ondeck_record::is_on());
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains(".ondeck"), "{maps}");
    ondeck_record::in_child();
    assert!(!ondeck_record::is_on());
    assert!(marks.release(LOCK).is_none() && marks.wait(LOCK).is_none());
    start(Exact);
    assert_eq!(files(directory).len(), 2);
    // The parent's numbers are others' here, which are at the same address.
    (0..20).for_each(|_| use_once(&Marks::default(), LOCK));
    // What the parent had begun is not of this recording.
    assert!(marks.release(LOCK).is_none() && !marks.is_marked());
    use_once(marks, LOCK);
    let files = files(directory);
    let own = files.iter().find(|file| file.to_str().unwrap().contains(&format!("/{}-", std::process::id())));
    let mut reader = ondeck_record::read::Reader::open(own.unwrap()).unwrap();
    assert_eq!(reader.about.parent, std::os::unix::process::parent_id());
    let samples = samples(&mut reader);
    assert_eq!((samples.len(), samples[20].lock), (21, 21));
    // SAFETY: always may be called.
    assert_eq!(samples[0].thread, unsafe { libc::gettid() } as u32);
    // Behind that of who has started it, and not behind those of the parent.
    let stack = reader.stack(samples[0].stack).unwrap();
    assert!(stack.len() > 3 && samples[0].stack < 3 * stack.len() as u32, "{samples:?}");
    let locks = reader.locks().unwrap();
    assert!(locks.iter().all(|lock| lock.address == LOCK) && locks.len() == 21, "{locks:?}");
}

#[test]
fn waits_on_what_has_no_marks_are_told_by_kind() {
    in_its_own_process("locks::waits_on_what_has_no_marks_are_told_by_kind", 1, |directory| {
        start(Exact);
        let kinds = [
            (kind::CONDITION, event::CONDITION),
            (kind::OPAQUE, event::WAIT),
            (kind::SEMAPHORE, event::CONDITION),
            (kind::SPIN, event::WAIT),
        ];
        let mut spans = Vec::new();
        for (kind, _) in kinds {
            let (wait, begun) = when(|| OpaqueWait::begin(LOCK + u64::from(kind), kind).unwrap());
            from_here(|| wait.look());
            pass(300);
            spans.push(begun.until(when(|| wait.end()).1));
        }
        let several = OpaqueWait::begin_for_one_of_several(LOCK, Access::Reading).unwrap();
        several.end();
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        for ((sample, span), (kind, event)) in samples.iter().zip(&spans).zip(kinds) {
            let lock = lock_at(&reader, LOCK + u64::from(kind));
            assert_eq!((lock.kind, lock.number, sample.event), (kind, sample.lock, event));
            assert!(span.contains(&sample.ns), "{sample:?}, and not {span:?}");
            assert_eq!(reader.stack(sample.stack).unwrap(), reader.stack(lock.origin).unwrap());
            assert!(reader.stack(sample.stack).unwrap().len() > 3);
        }
        assert_eq!(samples[4].event, event::WAIT | event::READING);
        assert_eq!(lock_at(&reader, LOCK).kind, kind::OPAQUE | kind::SEVERAL);
    });
}

#[test]
fn an_address_is_of_one_thing_until_it_is_forgotten() {
    in_its_own_process("locks::an_address_is_of_one_thing_until_it_is_forgotten", 1, |directory| {
        start(Exact);
        // Far more than a few share a place in the table.
        for turn in 0..3 {
            for n in 1..=500_u64 {
                OpaqueWait::begin(n * 8, kind::SEMAPHORE).unwrap().end();
                if turn == 1 && n % 100 == 0 {
                    forget(n * 8);
                }
            }
        }
        OpaqueWait::begin(8, kind::CONDITION).unwrap().end();
        // Of joins the place in the program counts.
        for n in 0..3 {
            OpaqueWait::begin(n, kind::JOIN).unwrap().end();
        }
        let reader = reader(directory);
        let locks = reader.locks().unwrap();
        let n_of = |kind| locks.iter().filter(|lock| lock.kind == kind).count();
        assert_eq!((n_of(kind::SEMAPHORE), n_of(kind::CONDITION), n_of(kind::JOIN)), (505, 1, 1));
        assert_eq!(reader.dropped().unwrap(), ondeck_record::read::Dropped::default());
    });
}

#[test]
fn a_wait_is_known_by_where_it_was_looked_at() {
    in_its_own_process("locks::a_wait_is_known_by_where_it_was_looked_at", 1, |directory| {
        start(Exact);
        let [looked_at, other] = [LOCK, LOCK + 64].map(|lock| OpaqueWait::begin(lock, kind::SEMAPHORE).unwrap());
        by_ways(0, 12, &mut || from_here(|| looked_at.look()));
        from_here(|| looked_at.end());
        from_here(|| other.end());
        let mut reader = reader(directory);
        let depths: Vec<usize> =
            samples(&mut reader).iter().map(|sample| reader.stack(sample.stack).unwrap().len()).collect();
        // A hold that was not looked at is known by where it has ended.
        assert!(depths.len() == 2 && depths[1] > 3 && depths[0] >= depths[1] + 12, "{depths:?}");
    });
}

#[test]
fn joins_are_told_apart_by_the_place_in_the_program() {
    in_its_own_process("locks::joins_are_told_apart_by_the_place_in_the_program", 1, |directory| {
        start(Exact);
        for thread in 1..=3 {
            from_here(|| OpaqueWait::begin(thread, kind::JOIN).unwrap().end());
        }
        from_here(|| OpaqueWait::begin(1, kind::JOIN).unwrap().end());
        let mut reader = reader(directory);
        let numbers: Vec<u32> = samples(&mut reader).iter().map(|sample| sample.lock).collect();
        assert_eq!(numbers, [1, 1, 1, 2]);
        for lock in reader.locks().unwrap() {
            assert_eq!((lock.kind, lock.address), (kind::JOIN, reader.stack(lock.origin).unwrap()[0]));
        }
    });
}

#[test]
fn of_short_waits_few_are_recorded() {
    in_its_own_process("locks::of_short_waits_few_are_recorded", 1_000_000, |directory| {
        start(Exact);
        const N: usize = 1000;
        (0..N).for_each(|_| OpaqueWait::begin(LOCK, kind::SEMAPHORE).unwrap().end());
        // One that takes as long as a second is recorded. These together do not.
        let n = samples(&mut reader(directory)).len();
        assert!(n < N / 2, "{n}");
    });
}

/// Where the kernel does not wipe what is the parent's, a child is told. This process stands for one.
#[test]
fn a_child_that_finds_its_parents_recording_forgets_it() {
    in_its_own_process("locks::a_child_that_finds_its_parents_recording_forgets_it", 1, |directory| {
        start(Exact);
        assert!(ondeck_record::is_on());
        ondeck_record::in_child();
        assert!(!ondeck_record::is_on());
        let marks = Marks::default();
        marks.taken(LOCK);
        assert!(marks.wait(LOCK).is_none() && OpaqueWait::begin(LOCK, kind::SEMAPHORE).is_none());
        assert_eq!(reader(directory).locks().unwrap().len(), 0);
    });
}
