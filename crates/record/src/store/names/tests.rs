use super::*;
use crate::layout::{Header, Part};
use crate::store::tests::{alone, with_room_for_samples};
use std::boxed::Box;
use std::collections::BTreeSet;
use std::format;
use std::string::String;
use std::thread;
use std::vec::Vec;

fn table<const N: usize>() -> Box<MemoryPlaces<N>> {
    Box::new([const { AtomicU64::new(0) }; N])
}

fn chance(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*state >> 33) % below
}

/// As locks of all usual sizes lie in memory.
#[test]
fn tens_of_thousands_of_addresses_have_room() {
    for stride in [4, 8, 16, 40, 48, 64, 128, 4096] {
        let places = table::<MOST_NAMED>();
        let address = |n: u64| 0x7f12_3456_0000 + n * stride;
        for n in 0..50_000 {
            assert!(put(&*places, address(n), 1 + (n % 1000) as u16), "{n} of stride {stride}");
        }
        for n in 0..50_000 {
            assert_eq!(find(&*places, address(n)), 1 + (n % 1000) as u16);
        }
        assert_eq!(find(&*places, address(50_000)), 0);
    }
}

/// Against a map, in a table in which places become scarce.
#[test]
fn a_table_has_what_was_put_last_and_not_taken() {
    let (places, mut state) = (table::<64>(), 7);
    let mut known: [u16; 60] = [0; 60];
    let mut n_full = 0;
    for _ in 0..100_000 {
        let index = chance(&mut state, 60) as usize;
        let address = 4096 + 8 * index as u64;
        if chance(&mut state, 2) == 0 {
            let number = 1 + chance(&mut state, 1000) as u16;
            if put(&*places, address, number) {
                known[index] = number;
            } else {
                assert_eq!(known[index], 0, "what is there can be changed");
                n_full += 1;
            }
        } else {
            take(&*places, address);
            known[index] = 0;
        }
        let other = chance(&mut state, 60) as usize;
        assert_eq!(find(&*places, 4096 + 8 * other as u64), known[other]);
    }
    assert!(n_full < 1000, "{n_full}");
    let full = table::<32>();
    assert!((1..=32).all(|n| put(&*full, 8 * n, 1)) && !put(&*full, 8 * 33, 1));
    assert_eq!(find(&*full, 8 * 33), 0);
    take(&*full, 8);
    assert!(put(&*full, 8 * 33, 2) && !put(&*full, 8, 1), "a place is taken again");
}

/// As two threads leave it that have named a lock at once, while another place came to be free.
#[test]
fn the_next_name_is_the_only_one_of_its_address() {
    for is_named_again in [true, false] {
        let places = table::<64>();
        let near: Vec<usize> = crate::store::locks::indices(64, 4096).take(6).collect();
        for (index, address) in near.into_iter().zip([8, 4096, 16, 4096, 24, 4096]) {
            places[index].store(named::word(address, 1), Relaxed);
        }
        if is_named_again {
            assert!(put(&*places, 4096, 3));
        } else {
            take(&*places, 4096);
        }
        let words = places.iter().map(|place| place.load(Relaxed));
        let left = words.filter(|word| named::address(*word) == 4096 && named::number(*word) != 0).count();
        assert_eq!((left, find(&*places, 4096)), if is_named_again { (1, 3) } else { (0, 0) });
    }
}

/// A reader copies words while two threads name locks and take the names away, each its own and some that both name.
#[test]
fn a_reader_sees_only_names_that_were_given() {
    let places = table::<512>();
    let number = |address: u64, thread: u64| (address / 8 % 100 * 2 + thread + 1) as u16;
    let address = |thread: u64, n: u64| (1 << 20) + (thread << 10) + n * 8;
    let is_over = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..2 {
            let (places, is_over) = (&*places, &is_over);
            scope.spawn(move || {
                let mut state = thread + 1;
                for _ in 0..300_000 {
                    let n = chance(&mut state, 64);
                    let own = address(thread, n);
                    let both = address(2, n);
                    assert!(put(places, own, number(own, thread)));
                    put(places, both, number(both, thread));
                    assert_eq!(find(places, own), number(own, thread), "nobody else names it");
                    if chance(&mut state, 2) == 0 {
                        take(places, own);
                        assert_eq!(find(places, own), 0);
                    }
                    take(places, both);
                }
                is_over.fetch_add(1, Relaxed);
            });
        }
        while is_over.load(Relaxed) < 2 {
            for word in places.iter().map(|place| place.load(Acquire)).filter(|word| named::number(*word) != 0) {
                let (found, at) = (named::number(word), named::address(word));
                assert!((0..2).any(|thread| found == number(at, thread)), "{found} of {at:#x}");
                assert!((0..3).any(|thread| (0..64).any(|n| at == address(thread, n))), "{at:#x}");
            }
        }
    });
    // What both have named at once was in two places at most, and is in none.
    (0..64).for_each(|n| take(&*places, address(2, n)));
    let left: Vec<u64> =
        places.iter().map(|place| place.load(Relaxed)).filter(|word| named::number(*word) != 0).collect();
    let addresses: BTreeSet<u64> = left.iter().map(|word| named::address(*word)).collect();
    assert_eq!(addresses.len(), left.len(), "each address is in one place");
}

/// A recording with room for names, none of which is in use.
fn with_room_for_names() -> &'static Recording {
    let recording = with_room_for_samples(1, 1);
    // SAFETY: the test's own, and nobody else has it yet.
    let header = unsafe { &mut *(&raw const *recording).cast_mut().cast::<Header>() };
    let start = header.locks.start;
    header.names = Part { start, room: MOST as u64 };
    header.named = Part { start: start + (MOST * size_of::<Name>()) as u64, room: MOST_NAMED as u64 };
    recording
}

/// One thread writes down what it has found, as if a recording began, while another gives the lock another name.
#[test]
fn who_writes_down_an_old_name_writes_again() {
    const ROUNDS: u64 = 100_000;
    const ADDRESS: u64 = 1 << 29;
    let _alone = alone();
    let recording = with_room_for_names();
    let numbers = ["one", "other"].map(|text| number_of(1, text.as_bytes()).unwrap());
    let mut n_wrong = 0;
    let (round, n_done) = (AtomicU64::new(0), AtomicU64::new(0));
    let until = |word: &AtomicU64, value: u64| {
        while word.load(Acquire) < value {
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..=ROUNDS {
                until(&round, n);
                write_down(recording, ADDRESS);
                n_done.fetch_add(1, Release);
            }
        });
        for n in 1..=ROUNDS {
            round.store(n, Release);
            (0..n % 40).for_each(|_| core::hint::spin_loop());
            assert!(put(&NAMED, ADDRESS, numbers[n as usize % 2]));
            TURN.fetch_add(1, AcqRel);
            write_down(recording, ADDRESS);
            until(&n_done, n);
            n_wrong += u64::from(find(recording, ADDRESS) != find(&NAMED, ADDRESS));
        }
    });
    assert_eq!(n_wrong, 0, "of {ROUNDS} rounds");
    take(&NAMED, ADDRESS);
}

fn text_in(recording: &Recording, number: u16) -> String {
    let entry = recording.entry::<Name>(recording.names, u64::from(number) - 1).unwrap();
    let bytes = entry.text.each_ref().map(|word| word.load(Relaxed).to_ne_bytes());
    assert_ne!(entry.length.load(Acquire), 0);
    String::from_utf8_lossy(bytes.as_flattened()).trim_end_matches('\0').into()
}

/// A recording begins while others name locks, and takes names away: in the end it has what the process has.
#[test]
fn a_recording_that_begins_meanwhile_has_all_names() {
    let _alone = alone();
    for round in 0..20 {
        let recording = with_room_for_names();
        let address = |thread: u64, n: u64| (1 << 30) + (round << 24) + (thread << 16) + n * 8;
        thread::scope(|scope| {
            for thread in 0..2 {
                scope.spawn(move || {
                    let mut state = round * 2 + thread + 1;
                    for n in 0..2000 {
                        let at = address(thread, n);
                        let text = format!("name {}", chance(&mut state, 50));
                        let number = number_of(8, text.as_bytes()).unwrap();
                        assert!(put(&NAMED, at, number));
                        TURN.fetch_add(1, AcqRel);
                        write_down(recording, at);
                        if chance(&mut state, 3) == 0 {
                            let before = address(thread, chance(&mut state, n + 1));
                            take(&NAMED, before);
                            TURN.fetch_add(1, AcqRel);
                            write_down(recording, before);
                        }
                    }
                });
            }
            write_all(recording);
        });
        for at in (0..2).flat_map(|thread| (0..2000).map(move |n| address(thread, n))) {
            let number = find(&NAMED, at);
            assert_eq!(find(recording, at), number, "{at:#x}");
            if number != 0 {
                assert!(text_in(recording, number).starts_with("name "));
            }
            take(&NAMED, at);
        }
        assert_eq!(recording.dropped_names.load(Relaxed), DROPPED.load(Relaxed));
    }
}

/// Threads that give the same names for the first time.
#[test]
fn a_name_is_whole_when_it_has_a_number() {
    let _alone = alone();
    let texts: Vec<String> = (0..250).map(|n| format!("{n} {}", "x".repeat(n % 50))).collect();
    let n_ready = AtomicU64::new(0);
    // Both at once, and looked at at once.
    let given = |text: &String| {
        let ready = n_ready.fetch_add(1, AcqRel) + 1;
        while n_ready.load(Acquire) < ready + ready % 2 {
            core::hint::spin_loop();
        }
        let number = number_of(1, text.as_bytes()).unwrap();
        let words = NAMES[usize::from(number) - 1].name.text.each_ref().map(|word| word.load(Relaxed).to_ne_bytes());
        (number, words)
    };
    let numbers: Vec<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| texts.iter().map(given).collect())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let recording = with_room_for_names();
    for (text, (number, words)) in numbers.iter().flat_map(|all| texts.iter().zip(all)) {
        assert!(write_name(recording, *number));
        let expected = &text[..text.len().min(47)];
        assert_eq!(text_in(recording, *number), expected);
        assert!(words.as_flattened().starts_with(expected.as_bytes()), "{text} is not whole: {words:?}");
        let again = number_of(1, text.as_bytes()).unwrap();
        assert!(
            numbers.iter().any(|all| all.iter().any(|(number, _)| *number == again)),
            "{text} has the number of one of them"
        );
    }
    assert_ne!(number_of(2, texts[0].as_bytes()), number_of(1, texts[0].as_bytes()), "of locks of another length");
}
