//! The file: what it says of the process, what happens where there is no room, and files that are none.

use crate::common::Mode::Exact;
use crate::common::{files, from_here, in_its_own_process, reader, samples, start};
use ondeck_record::layout::{NONE, event, kind};
use ondeck_record::read::Reader;
use ondeck_record::{Marks, OpaqueWait, RecordOptions, Sleep, Source};
use std::hint::black_box;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, Ordering};

const LOCK: u64 = 0x5000;

#[test]
fn a_recording_says_whose_it_is() {
    in_its_own_process("files::a_recording_says_whose_it_is", 7, |directory| {
        assert!(!ondeck_record::is_on());
        let began = std::time::SystemTime::now();
        start(Exact);
        assert!(ondeck_record::is_on());
        let reader = reader(directory);
        let about = &reader.about;
        assert_eq!((about.pid, about.parent), (std::process::id(), std::os::unix::process::parent_id()));
        assert_eq!(about.program, std::env::current_exe().unwrap());
        assert_eq!((about.lock.as_str(), about.rate, about.source), ("a lock", 7, 0));
        let since = |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
        let times = since(began)..=since(std::time::SystemTime::now());
        assert!(times.contains(&about.started_realtime_ns.into()), "{about:?}");
        assert!(about.started_ns > 0);
        assert!(!reader.has_locked().unwrap() && !reader.has_exited().unwrap());
        ondeck_record::exit();
        assert!(reader.has_exited().unwrap());
    });
}

#[test]
fn the_programs_files_are_known() {
    in_its_own_process("files::the_programs_files_are_known", 1, |directory| {
        start(Exact);
        let reader = reader(directory);
        let modules = reader.modules().unwrap();
        let own = modules.iter().find(|module| module.path == reader.about.program).unwrap();
        let here = start as *const () as u64;
        assert!((own.start..own.end).contains(&here) && own.bias > 0, "{own:?}");
        let c = modules.iter().find(|module| module.path.to_str().unwrap().contains("libc.so")).unwrap();
        assert!((c.start..c.end).contains(&(libc::getpid as *const () as u64)));
        assert!(c.build_id.len() >= 16, "{c:?}");
        assert!(modules.iter().all(|module| module.start < module.end));
        for module in [own, c] {
            let (file, stamp) = (std::fs::metadata(&module.path).unwrap(), module.stamp.unwrap());
            assert_eq!((stamp.device, stamp.number, stamp.size), (file.dev(), file.ino(), file.size()));
            let modified = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(stamp.modified_ns as u64);
            assert_eq!(modified, file.modified().unwrap());
        }
        let kernels = modules.iter().find(|module| module.path.to_str() == Some("linux-vdso.so.1"));
        assert!(kernels.is_none_or(|module| module.stamp.is_none()));
    });
}

#[test]
fn what_finds_no_room_is_counted() {
    in_its_own_process("files::what_finds_no_room_is_counted", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        let mut reader = reader(directory);
        // The ring of a file of 1 MB has room for less than that.
        const N: u64 = 30_000;
        for _ in 0..N {
            marks.taken(LOCK);
            marks.release(LOCK).unwrap().done();
        }
        let dropped = reader.dropped().unwrap();
        let n = samples(&mut reader).len() as u64;
        assert!(n > 1000 && dropped.samples > 0 && n + dropped.samples == N, "{n}, {dropped:?}");
        // There is room again.
        for _ in 0..n {
            marks.taken(LOCK);
            marks.release(LOCK).unwrap().done();
        }
        assert_eq!(samples(&mut reader).len() as u64, n);
        assert_eq!(reader.dropped().unwrap(), dropped);
        // Locks: an eighth of the file, 128 bytes each.
        let room = (1 << 20) / 8 / 128;
        for address in 1..=room {
            OpaqueWait::begin(address * 64, kind::SEMAPHORE).unwrap().end();
        }
        let n_locks = reader.locks().unwrap().len() as u64;
        assert_eq!(n_locks, room - 1);
        assert_eq!(reader.dropped().unwrap().locks, 2);
        // A wait for one that has no entry is left out. The mutex has waited for nobody.
        assert_eq!(samples(&mut reader).len() as u64, n_locks - 1);
        let (one, other) = (Marks::default(), Marks::default());
        one.taken(1);
        assert!(other.wait(2).is_none());
        assert_eq!(reader.dropped().unwrap().locks, 4);
    });
}

/// Calls itself from one of two places, as the bits say, and then does `last`: two to the power of `depth` stacks.
#[inline(never)]
pub(crate) fn by_ways(bits: u32, depth: u32, last: &mut dyn FnMut()) -> u32 {
    if depth == 0 {
        last();
        return 0;
    }
    // No jumps: each call has a frame. And what differs before and after the calls keeps them two.
    if bits & 1 == 0 {
        black_box(1);
        black_box(by_ways(bits >> 1, depth - 1, last)) + 1
    } else {
        black_box(by_ways(bits >> 1, depth - 1, last)) + black_box(2)
    }
}

#[test]
fn each_stack_is_there_once_until_there_is_no_room() {
    in_its_own_process("files::each_stack_is_there_once_until_there_is_no_room", 1, |directory| {
        start(Exact);
        let mut reader = reader(directory);
        let marks = Marks::default();
        let mut walked = |bits, depth| {
            by_ways(bits, depth, &mut || from_here(|| marks.taken(LOCK)));
            marks.release(LOCK).unwrap().done();
            let samples = samples(&mut reader);
            assert_eq!(samples.len(), 1);
            (samples[0].stack, reader.stack(samples[0].stack).unwrap(), reader.dropped().unwrap().stacks)
        };
        let (_, short, _) = walked(0, 0);
        let mut known = std::collections::BTreeMap::new();
        let (mut n_without, mut last) = (0, NONE);
        // 11 calls of each: with what is around them more words than an eighth of a MB has.
        // The first once more, at the end.
        for bits in (0..4096).chain([0]) {
            let (number, stack, n_dropped) = walked(bits, 12);
            n_without += u64::from(number == NONE);
            assert_eq!(n_dropped, n_without);
            if number != NONE {
                assert_eq!(stack.len(), short.len() + 12);
                assert!(stack.ends_with(&short[short.len() - 6..]), "{stack:x?} {short:x?}");
                let before = known.insert(bits, (number, stack.clone()));
                assert!(before.is_none_or(|before| bits == 0 && before == (number, stack)));
            }
            last = number;
        }
        assert_eq!(last, known[&0].0);
        let n_different = known.values().collect::<std::collections::BTreeSet<_>>().len();
        assert!(n_without > 100 && known.len() > 500 && n_different == known.len(), "{n_without}, {n_different}");
    });
}

#[test]
fn a_deep_stack_is_cut_at_its_outer_end() {
    in_its_own_process("files::a_deep_stack_is_cut_at_its_outer_end", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        by_ways(0, 300, &mut || from_here(|| marks.taken(LOCK)));
        marks.release(LOCK).unwrap().done();
        let mut reader = reader(directory);
        let number = samples(&mut reader)[0].stack;
        let stack = reader.stack(number).unwrap();
        assert_eq!(stack.len(), ondeck_record::layout::DEPTH);
        assert!(stack[2..].iter().all(|address| *address == stack[2]), "{stack:x?}");
    });
}

#[test]
fn a_second_recording_of_a_process_is_a_second_file() {
    in_its_own_process("files::a_second_recording_of_a_process_is_a_second_file", 1, |directory| {
        start(Exact);
        start(Exact);
        let names: Vec<String> =
            files(directory).iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        let pid = std::process::id();
        assert_eq!(names, [format!("{pid}-0.ondeck"), format!("{pid}-1.ondeck")]);
    });
}

#[test]
fn without_a_file_nothing_is_recorded() {
    in_its_own_process("files::without_a_file_nothing_is_recorded", 1, |directory| {
        let limit = libc::rlimit { rlim_cur: 1 << 19, rlim_max: 1 << 19 };
        // SAFETY: of this process.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
        let options = RecordOptions::of_environment().unwrap();
        assert!(!ondeck_record::start(&options, "a lock", Sleep::AtOnce, Source::Library));
        assert!(!ondeck_record::is_on() && files(directory).is_empty());
        // Nothing of this does anything.
        let marks = Marks::default();
        marks.initialised();
        marks.taken(LOCK);
        assert!(marks.wait(LOCK).is_none() && marks.release(LOCK).is_none() && !marks.is_marked());
        assert!(OpaqueWait::begin(LOCK, kind::SEMAPHORE).is_none());
        ondeck_record::forget(LOCK);
        ondeck_record::exit();
        // SAFETY: this process has one thread that reads it.
        unsafe { std::env::set_var("ONDECK_RECORD", "/does/not/exist") };
        let options = RecordOptions::of_environment().unwrap();
        assert!(!ondeck_record::start(&options, "a lock", Sleep::AtOnce, Source::Library));
    });
}

#[test]
fn wishes_are_read_or_are_none() {
    in_its_own_process("files::wishes_are_read_or_are_none", 1, |directory| {
        let set = |name: &std::ffi::CStr, value: &str| {
            // SAFETY: this process has one thread that reads it.
            unsafe { std::env::set_var(name.to_str().unwrap(), value) };
        };
        for (rate, expected) in [("0", 1), ("nonsense", 1000), ("99999999999", u64::from(u32::MAX)), ("12", 12)] {
            set(RecordOptions::RATE, rate);
            start(Exact);
            let file = files(directory).pop().unwrap();
            assert_eq!(Reader::open(&file).unwrap().about.rate, expected);
            std::fs::remove_file(&file).unwrap();
        }
        for (max_mb, expected) in [("0", 1), ("3", 3)] {
            set(RecordOptions::MAX_MB, max_mb);
            start(Exact);
            let file = files(directory).pop().unwrap();
            assert_eq!(std::fs::metadata(&file).unwrap().len(), expected << 20);
            std::fs::remove_file(&file).unwrap();
        }
        for none in ["", &"x".repeat(RecordOptions::LONGEST)] {
            set(RecordOptions::DIRECTORY, none);
            assert!(RecordOptions::of_environment().is_none());
        }
    });
}

#[test]
fn what_is_no_recording_is_refused() {
    in_its_own_process("files::what_is_no_recording_is_refused", 1, |directory| {
        start(Exact);
        let file = files(directory).pop().unwrap();
        let whole = std::fs::read(&file).unwrap();
        let refused = |bytes: &[u8], why: &str| {
            let other = directory.join("other");
            std::fs::write(&other, bytes).unwrap();
            let error = Reader::open(&other).expect_err(why).to_string();
            assert!(error.contains("other: ") && error.contains(why), "{error}");
        };
        refused(&whole[..100], "it ends within its first part");
        refused(&whole[..whole.len() - 1], "it has been cut short: 1048575 bytes of 1048576");
        let changed = |at: usize, word: u64| {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            bytes
        };
        refused(&changed(0, 0), "it is no recording of this version");
        use ondeck_record::layout::Header;
        // Of holes that take for ever to read.
        let endless = directory.join("endless");
        std::fs::write(&endless, changed(std::mem::offset_of!(Header, length), 1 << 40)).unwrap();
        std::fs::File::options().write(true).open(&endless).unwrap().set_len(1 << 40).unwrap();
        let error = Reader::open(&endless).expect_err("it is too long").to_string();
        assert!(error.contains("longer than any recording"), "{error}");
        // Of holes to one part, as long as a recording may be.
        let (length, waiters) = (std::mem::offset_of!(Header, length), std::mem::offset_of!(Header, waiters));
        let named = std::mem::offset_of!(Header, named);
        for (part, size) in [(waiters, 64), (named, 8)] {
            let mut bytes = changed(length, 1 << 34);
            bytes[part..part + 8].copy_from_slice(&8192_u64.to_le_bytes());
            bytes[part + 8..part + 16].copy_from_slice(&(((1_u64 << 34) - 8192) / size).to_le_bytes());
            let holes = directory.join("holes");
            std::fs::write(&holes, bytes).unwrap();
            std::fs::File::options().write(true).open(&holes).unwrap().set_len(1 << 34).unwrap();
            let error = Reader::open(&holes).expect_err("it is all one part").to_string();
            assert!(error.contains("a part of it has room for"), "{error}");
        }
        refused(&changed(length, 4096), "it is shorter than any recording");
        let modules = std::mem::offset_of!(Header, modules);
        // Nobody reads the index of stacks, which is the third.
        for part in [0, 1, 3, 4] {
            for wrong in [(0, 1 << 20), (8, 1 << 40), (8, 0), (0, u64::MAX)] {
                refused(&changed(modules + 16 * part + wrong.0, wrong.1), "its parts lie outside of it");
            }
        }
        assert!(Reader::open(&directory.join("nowhere")).is_err());
    });
}

#[test]
fn a_file_that_is_mapped_is_of_a_process_that_lives() {
    in_its_own_process("files::a_file_that_is_mapped_is_of_a_process_that_lives", 1, |directory| {
        start(Exact);
        let file = files(directory).pop().unwrap();
        let reader = reader(directory);
        // Some file systems do not tell.
        let Some(is_mapped) = reader.is_mapped() else { return eprintln!("SKIPPED: no leases in {directory:?}") };
        let copy = directory.join("copy");
        std::fs::copy(&file, &copy).unwrap();
        let copy = Reader::open(&copy).unwrap();
        assert_eq!((is_mapped, copy.is_mapped(), reader.is_mapped()), (true, Some(false), Some(true)));
    });
}

/// An entry that a thread has taken and not written, or for which the disk had no room.
#[test]
fn locks_behind_one_that_is_missing_are_known() {
    in_its_own_process("files::locks_behind_one_that_is_missing_are_known", 1, |directory| {
        start(Exact);
        // More than are read at once.
        for address in 1..=300 {
            OpaqueWait::begin(address * 64, kind::SEMAPHORE).unwrap().end();
        }
        use ondeck_record::layout::{Header, Lock};
        let file = std::fs::File::options().read(true).write(true).open(&files(directory)[0]).unwrap();
        let mut word = [0; 8];
        file.read_exact_at(&mut word, std::mem::offset_of!(Header, locks) as u64).unwrap();
        for missing in [2, 256] {
            let at = u64::from_le_bytes(word) + missing * size_of::<Lock>() as u64;
            file.write_all_at(&0_u64.to_le_bytes(), at + std::mem::offset_of!(Lock, address) as u64).unwrap();
        }
        let numbers: Vec<u32> = reader(directory).locks().unwrap().iter().map(|lock| lock.number).collect();
        assert_eq!(numbers, (1..=300).filter(|number| ![2, 256].contains(number)).collect::<Vec<u32>>());
    });
}

/// A sample that is begun and not written yet is waited for, and left out when the process is gone.
#[test]
fn a_sample_that_is_being_written_is_waited_for() {
    in_its_own_process("files::a_sample_that_is_being_written_is_waited_for", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        for n in 0..3 {
            marks.taken(LOCK + n * 64);
            marks.release(LOCK + n * 64).unwrap().done();
        }
        use ondeck_record::layout::Header;
        let file = std::fs::File::options().read(true).write(true).open(&files(directory)[0]).unwrap();
        let mut start = [0; 8];
        file.read_exact_at(&mut start, std::mem::offset_of!(Header, ring) as u64).unwrap();
        let second = u64::from_le_bytes(start) + 48;
        file.write_all_at(&0_u64.to_le_bytes(), second).unwrap();
        let mut reader = reader(directory);
        let mut take = |is_over| {
            let mut locks = Vec::new();
            reader.take(is_over, |sample| locks.push(sample.lock)).unwrap();
            locks
        };
        assert_eq!(take(false), [1]);
        assert_eq!(take(false), []);
        file.write_all_at(&2_u64.to_le_bytes(), second).unwrap();
        assert_eq!(take(false), [2, 3]);
        assert_eq!(take(true), []);
        // A later reader begins where this one has ended.
        let mut later = Reader::open(&files(directory)[0]).unwrap();
        assert_eq!(samples(&mut later).len(), 0);
        // Events that there are not, and weights that none has, are left out.
        for (at, word) in [(8, u64::from(event::REFUSED) + 1), (8, 0), (40, f64::NAN.to_bits()), (40, 0), (0, 0)] {
            file.write_all_at(&0_u64.to_le_bytes(), std::mem::offset_of!(Header, tail) as u64).unwrap();
            let mut kept = [0; 8];
            file.read_exact_at(&mut kept, second + at).unwrap();
            file.write_all_at(&word.to_le_bytes(), second + at).unwrap();
            let mut again = Reader::open(&files(directory)[0]).unwrap();
            assert_eq!(samples(&mut again).len(), 2, "{at} {word}");
            file.write_all_at(&kept, second + at).unwrap();
        }
    });
}

/// Those from before the recording too, and of thousands of locks; what has no room is counted.
#[test]
fn names_are_kept_as_they_were_given_last() {
    in_its_own_process("files::names_are_kept_as_they_were_given_last", 1, |directory| {
        use ondeck_record::name;
        name(64, 8, b"before");
        start(Exact);
        assert_eq!(reader(directory).names().unwrap().iter().collect::<Vec<_>>(), [(64..72, "before")]);
        name(0, 8, b"nothing is there");
        let long = "n".repeat(46) + "\u{e9}";
        name(72, 0, long.as_bytes());
        name(80, 1, b"for a while");
        name(80, 1, b"");
        name(64, 16, b"later");
        let names = reader(directory).names().unwrap();
        let whole = [(64..80, "later"), (72..73, &*"n".repeat(46))];
        assert_eq!(names.iter().collect::<Vec<_>>(), whole);
        // As many as there is room for in 1 MB.
        (0..2000).for_each(|at| name(1000 + 8 * at, 1, b"one of many"));
        let count = || {
            let reader = reader(directory);
            let n_kept = reader.names().unwrap().iter().filter(|(_, name)| *name == "one of many").count() as u64;
            (n_kept, reader.dropped().unwrap().names)
        };
        let (n_kept, n_dropped) = count();
        assert!((900..=1022).contains(&n_kept) && n_kept + n_dropped == 2000, "{n_kept} {n_dropped}");
        // 1024 texts have room: five are there.
        (0..1100).for_each(|n| name(64, 16, format!("text {n}").as_bytes()));
        assert_eq!(count(), (n_kept, n_dropped + 81));
        assert_eq!(reader(directory).names().unwrap().at(70), Some("text 1018"));
    });
}

/// By the threads that give them, or by the one that begins the recording.
#[test]
fn names_that_are_given_while_a_recording_begins_are_there() {
    in_its_own_process("files::names_that_are_given_while_a_recording_begins_are_there", 1, |directory| {
        const MOST: u64 = 400;
        let address = |thread: u64, n: u64| ((thread + 1) << 20) + n * 64;
        let has_begun = AtomicBool::new(false);
        let given: Vec<u64> = std::thread::scope(|scope| {
            let namers: Vec<_> = (0..2)
                .map(|thread| {
                    let has_begun = &has_begun;
                    scope.spawn(move || {
                        let mut n = 0;
                        while n < MOST && !has_begun.load(Ordering::Relaxed) {
                            ondeck_record::name(address(thread, n), 1, b"shard");
                            std::thread::sleep(std::time::Duration::from_micros(20));
                            n += 1;
                        }
                        n
                    })
                })
                .collect();
            start(Exact);
            has_begun.store(true, Ordering::Relaxed);
            namers.into_iter().map(|namer| namer.join().unwrap()).collect()
        });
        let names = reader(directory).names().unwrap();
        for (thread, n) in (0..2).zip(given).flat_map(|(thread, n_given)| (0..n_given).map(move |n| (thread, n))) {
            assert_eq!(names.at(address(thread, n)), Some("shard"), "{thread} {n}");
        }
    });
}

/// What comes to be at its address has a name of its own, or none.
#[test]
fn a_destroyed_lock_takes_its_name_with_it() {
    in_its_own_process("files::a_destroyed_lock_takes_its_name_with_it", 1, |directory| {
        use ondeck_record::{OpaqueWait, destroyed, layout::kind, name};
        start(Exact);
        let use_mutex = |marks: &Marks| {
            marks.taken(LOCK);
            marks.release(LOCK).unwrap().done();
        };
        let first = Marks::default();
        use_mutex(&first);
        name(LOCK, 1, b"named late");
        destroyed(LOCK, Some(&first));
        let second = Marks::default();
        use_mutex(&second);
        destroyed(LOCK, Some(&second));
        let third = Marks::default();
        name(LOCK, 1, b"third");
        use_mutex(&third);
        destroyed(LOCK, Some(&third));
        name(LOCK, 1, b"fourth");
        use_mutex(&Marks::default());
        // One that has no marks.
        let wait = || OpaqueWait::begin(LOCK + 64, kind::CONDITION).unwrap().end();
        name(LOCK + 64, 1, b"filled");
        wait();
        destroyed(LOCK + 64, None);
        wait();
        // Never used.
        name(LOCK + 128, 1, b"unused");
        destroyed(LOCK + 128, Some(&Marks::default()));
        destroyed(LOCK + 192, None);
        let reader = reader(directory);
        let names = reader.names().unwrap();
        let locks = reader.locks().unwrap();
        let found: Vec<Option<&str>> = locks.iter().map(|lock| names.of(lock)).collect();
        assert_eq!(found, [Some("named late"), None, Some("third"), Some("fourth"), Some("filled"), None]);
        assert_eq!(names.iter().collect::<Vec<_>>(), [(LOCK..LOCK + 1, "fourth")]);
    });
}
