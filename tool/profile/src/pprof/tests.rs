use super::*;
use crate::profile::{Site, State};
use crate::sample::{Builder, toy};
use crate::summary::{LockSummary, Sites, Summary};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Read;

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut unpacked).unwrap();
    unpacked
}

fn file_of(profile: &Profile) -> proto::Profile {
    proto::Profile::decode(&unpacked(&write(profile))[..]).unwrap()
}

fn file() -> proto::Profile {
    file_of(&toy())
}

fn error(file: &proto::Profile) -> String {
    read(&file.encode_to_vec()).unwrap_err()
}

#[test]
fn inlined_functions_share_the_location_of_their_caller() {
    let file = file();
    let text = |number: i64| file.string_table[number as usize].as_str();
    let name = |id: u64| text(file.function.iter().find(|function| function.id == id).unwrap().name);
    let names = |id: &u64| {
        let location = file.location.iter().find(|location| location.id == *id).unwrap();
        location.line.iter().map(|line| name(line.function_id)).collect::<Vec<&str>>()
    };
    let first: Vec<Vec<&str>> = file.sample[0].location_id.iter().map(names).collect();
    assert_eq!(first, [vec!["queue_lock", "push"], vec!["worker"], vec!["main"]]);
    assert_eq!(file.sample[0].value, [1000, 2_000_000, 0, 0, 0, 0, 0, 0]);
    let labels: Vec<(&str, &str)> =
        file.sample[0].label.iter().map(|label| (text(label.key), text(label.str))).collect();
    assert_eq!(labels, [("lock", "queue.mutex+8"), ("process", "server (100)")]);
    let push = file.location.iter().find(|location| location.line.len() == 2).unwrap();
    let mapping = &file.mapping[push.mapping_id as usize - 1];
    assert_eq!(text(mapping.filename), "/usr/bin/server");
    assert!(mapping.has_inline_frames && mapping.memory_limit > push.address);
}

/// Locks are called in the C library, so that comes first in each stack.
#[test]
fn the_program_is_the_first_module() {
    let mut profile = toy();
    for frame in &mut profile.frames {
        frame.module = if frame.function == "main" { "server" } else { "libc.so.6" }.to_owned();
    }
    let file = file_of(&profile);
    assert_eq!(file.string_table[file.mapping[0].filename as usize], "server");
}

/// As `redis-server`, which is a link to `redis-check-rdb`.
#[test]
fn the_program_has_the_name_by_which_it_was_started() {
    let directory = tempfile::tempdir().unwrap();
    let [file, link] = ["check", "server"].map(|name| directory.path().canonicalize().unwrap().join(name));
    std::fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let mut profile = toy();
    profile.frames.iter_mut().for_each(|frame| frame.module = "check".to_owned());
    profile.processes[0].program = file.display().to_string();
    for (word, expected) in [(link.display().to_string(), "server"), ("/usr/bin/env".to_owned(), "check")] {
        profile.command[0] = word;
        let file = file_of(&profile);
        assert_eq!(file.string_table[file.mapping[0].filename as usize], expected);
    }
}

/// Whose holds, and why threads waited meanwhile: both add up to the whole.
#[test]
fn samples_of_holders_have_causes() {
    let mut profile = toy();
    let stacks: Vec<u32> = profile.locks[0].holders.iter().map(|site| site.stack).collect();
    let all = profile.locks[0].wait_ns;
    let cause = |state, stack, call: &str, part: f64| Cause {
        state,
        stack,
        call: call.to_owned(),
        ns: part * all,
        count: 3.0,
        ..Cause::default()
    };
    profile.locks[0].causes = vec![
        cause(State::Blocked, Some(stacks[0]), "fsync", 0.5),
        Cause { other: Some(WaitObject::Lock(1)), ..cause(State::OtherLock, Some(stacks[0]), "", 0.25) },
        // More than the holds of its stack are charged: threads that fell asleep waited on after they ended.
        cause(State::Computing, Some(stacks[1]), "", 0.03),
        cause(State::Free, None, "", 0.01),
        cause(State::Passing, None, "", 0.21),
    ];
    let file = file_of(&profile);
    let text = |number: i64| file.string_table[number as usize].as_str();
    let (mut by_place, mut by_cause) = (BTreeMap::new(), BTreeMap::new());
    for sample in file.sample.iter().filter(|sample| sample.value[HELD + 1] > 0) {
        let labels: BTreeMap<&str, &str> = sample.label.iter().map(|one| (text(one.key), text(one.str))).collect();
        if labels[LOCK] == "queue.mutex+8" {
            let whose = sample.location_id.clone();
            *by_place.entry(whose).or_insert(0) += sample.value[HELD + 1];
            let more = labels.get(CALL).or(labels.get(OTHER)).copied().unwrap_or_default();
            *by_cause.entry((labels[CAUSE], more)).or_insert(0.0) += sample.value[HELD + 1] as f64 / all;
        } else {
            assert!(["passing", "unknown"].contains(&labels[CAUSE]), "nothing else is known: {labels:?}");
        }
    }
    let held: Vec<i64> = of_side(&profile.locks[0], Side::Holders).iter().map(|row| row.ns as i64).collect();
    let mut found: Vec<i64> = by_place.into_values().collect();
    found.sort_by_key(|ns| -ns);
    assert_eq!(found.iter().sum::<i64>(), all as i64);
    assert_eq!(found, held);
    let expected = [
        (("blocked", "fsync"), 0.5),
        (("computing", ""), 0.03),
        (("free", ""), 0.01),
        (("other-lock", "LOGGER"), 0.25),
        (("passing", ""), 0.21),
    ];
    for ((one, part), (other, expected)) in by_cause.into_iter().zip(expected) {
        assert!(one == other && (part - expected).abs() < 1e-5, "{one:?} {part}, {other:?} {expected}");
    }
}

/// Sums of whole numbers are those of the figures, not of figures that were rounded one by one.
#[test]
fn small_figures_do_not_get_lost() {
    let mut rounding = Rounding::default();
    let given: Vec<i64> = [0.4, 0.4, 0.4, f64::NAN, -1.0, 0.8].map(|value| rounding.next(value)).to_vec();
    assert_eq!(given, [0, 1, 0, 0, 0, 1]);
    assert_eq!(Rounding::default().next(1e300), i64::MAX);
}

#[test]
fn other_files_are_refused_with_what_they_are() {
    let mut other = file();
    other.string_table.push("samples".into());
    other.sample_type[1].r#type = other.string_table.len() as i64 - 1;
    let what = error(&other);
    assert!(what.contains("has contentions/count, samples/nanoseconds, held_"), "{what}");
    assert!(what.contains("and no delay/nanoseconds; accepted: "), "{what}");
    assert!(error(&proto::Profile::default()).contains("has no sample types, and no contentions/count"));

    // As Go's own profiles of mutexes: the first two types, and nothing from us.
    let mut foreign = file();
    foreign.comment.clear();
    assert!(error(&foreign).contains("lacks what `ondeck profile` notes"), "{}", error(&foreign));

    let mut newer = file();
    let comment = newer.string_table.iter_mut().find(|text| text.starts_with(FOR_PROGRAMS)).unwrap();
    *comment = comment.replace("\"version\":1", "\"version\":2");
    assert_eq!(error(&newer), "is a profile of a newer form, version 2; accepted: version 1");
}

#[test]
fn references_to_nothing_are_refused() {
    type Damage = fn(&mut proto::Sample);
    let cases: [(Damage, &str); 3] = [
        (|sample| sample.label[0].str = 4711, "names text 4711 of "),
        (|sample| sample.value.truncate(7), "a sample with 7 values for 8 types"),
        (|sample| sample.value[1] = -5, "has the value -5, as the difference of two files has"),
    ];
    for (damage, expected) in cases {
        let mut odd = file();
        damage(&mut odd.sample[0]);
        assert!(error(&odd).contains(expected), "{expected}: {}", error(&odd));
    }
    // Places and functions that are missing are as good as unknown ones.
    let mut odd = file();
    odd.location.clear();
    assert_eq!(read(&odd.encode_to_vec()).unwrap().locks.len(), 3);
}

/// Two bytes of a file are a sample, which takes 36 times as much memory.
#[test]
fn a_file_of_nothing_but_samples_is_refused() {
    let what = read(&[0x12, 0].repeat(5_000_000)).unwrap_err();
    assert!(what.contains("more than 4000000 samples, places and names"), "{what}");
    // The same within one sample.
    let labels = proto::Sample { label: vec![proto::Label::default(); 5_000_000], ..Default::default() };
    let file = proto::Profile { sample: vec![labels], ..Default::default() };
    assert!(error(&file).contains("more than 4000000"));
}

/// A kB may stand for a thousand frames, each of which is a whole one in a graph.
#[test]
fn a_file_of_endless_stacks_is_refused() {
    let mut endless = file();
    let deep = proto::Sample { location_id: vec![1; 2000], ..endless.sample[0].clone() };
    let read_with = |n: usize, file: &mut proto::Profile| {
        file.sample = vec![deep.clone(); n];
        read(&file.encode_to_vec())
    };
    let few = read_with(2, &mut endless).unwrap();
    assert_eq!(few.locks[0].stacks[0].iter().map(|(stack, _)| stack.len()).collect::<Vec<usize>>(), [1000, 1000]);
    let what = read_with(5001, &mut endless).unwrap_err();
    assert!(what.starts_with("has more than 5000000 frames in its stacks; accepted: "), "{what}");
}

/// What pprof makes of two files: all samples, the sum of the lengths, each comment once.
#[test]
fn joined_files_are_read() {
    let one = file();
    let mut two = one.clone();
    two.sample.extend(one.sample.clone());
    two.duration_nanos *= 2;
    two.comment.extend(one.comment.clone());
    let [one, two] = [one, two].map(|file| read(&file.encode_to_vec()).unwrap());
    assert_eq!(two.seconds, 2.0 * one.seconds);
    assert_eq!(two.locks[0].wait_ns, 2.0 * one.locks[0].wait_ns);
    assert_eq!(two.locks[0].longest_ns, one.locks[0].longest_ns);
}

/// Times by the names of the places.
fn by_name(lock: &LockSummary, sites: fn(&LockSummary) -> &Sites) -> BTreeMap<String, f64> {
    let named = sites(lock).iter().map(|(path, ns)| (path.join(" < "), *ns));
    let mut sums = BTreeMap::new();
    named.for_each(|(name, ns)| *sums.entry(name).or_default() += ns);
    sums
}

#[track_caller]
fn same(profile: &Profile) {
    let (made, read) = (Summary::of(profile), read(&unpacked(&write(profile))).unwrap());
    assert_eq!((&made.command, made.cores, &made.lock, made.rate), (&read.command, read.cores, &read.lock, read.rate));
    assert!((made.seconds - read.seconds).abs() <= 1e-9);
    assert_eq!(made.locks.len(), read.locks.len());
    for made_lock in &made.locks {
        let is_same = |lock: &&LockSummary| (&lock.name, &lock.process) == (&made_lock.name, &made_lock.process);
        let lock = read.locks.iter().find(is_same).unwrap();
        let close = |a: f64, b: f64, by: f64| assert!((a - b).abs() <= by + 1e-9 * a, "{}: {a} and {b}", lock.name);
        // Up to one is no row, half of one is rounded.
        close(made_lock.waits, lock.waits, 1.5);
        close(made_lock.acquisitions, lock.acquisitions, 1.5);
        close(made_lock.wait_ns, lock.wait_ns, 1.5);
        assert_eq!((made_lock.noise, made_lock.longest_ns), (lock.noise, lock.longest_ns));
        assert_eq!(made_lock.origin, lock.origin);
        let sides: [fn(&LockSummary) -> &Sites; 2] = [|lock| &lock.waiters, |lock| &lock.holders];
        for sites in sides {
            let (made, read) = (by_name(made_lock, sites), by_name(lock, sites));
            for (name, ns) in made {
                close(ns, read.get(&name).copied().unwrap_or_default(), f64::from(MOST_SITES));
            }
        }
    }
}

const MOST_SITES: u8 = 5;

#[test]
fn what_is_compared_comes_back() {
    same(&toy());
}

/// A function, any text among them.
fn function() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-e]", 1 => "\\([a-e]\\)", 1 => any::<String>()]
}

prop_compose! {
    fn sites(stacks: u32)(sites in prop::collection::vec((0..stacks, 0.0..1e6, 0.0..1e12), 0..MOST_SITES as usize))
        -> Vec<Site> {
        sites.into_iter().map(|(stack, count, ns)| Site { stack, count, ns }).collect()
    }
}

prop_compose! {
    fn profile()(stacks in prop::collection::vec(prop::collection::vec(function(), 0..6), 1..6))(
        locks in prop::collection::vec(
            (sites(stacks.len() as u32), sites(stacks.len() as u32), sites(stacks.len() as u32), 0.0..1e4, any::<u64>()), 0..5),
        stacks in Just(stacks),
        (rate, seconds, command) in (any::<u32>(), 1e-3..1e6, any::<Vec<String>>()),
    ) -> Profile {
        let mut builder = Builder::new(seconds);
        (builder.0.rate, builder.0.command) = (rate, command);
        for stack in &stacks {
            builder.stack(&stack.iter().map(String::as_str).collect::<Vec<&str>>());
        }
        for (number, (waiters, holders, takers, more, longest_ns)) in locks.into_iter().enumerate() {
            let lock = builder.lock(&format!("lock {number}\n;"), 1.0, 1.0, 0, 0);
            let sum = |sites: &[Site], of: fn(&Site) -> f64| sites.iter().map(of).sum::<f64>();
            lock.waits = sum(&waiters, |site| site.count) + more;
            lock.handing_on_ns = more;
            lock.wait_ns = sum(&waiters, |site| site.ns).max(sum(&holders, |site| site.ns)) + more;
            lock.acquisitions = sum(&takers, |site| site.count) + more;
            lock.longest_ns = longest_ns;
            (lock.waiters, lock.holders, lock.takers) = (waiters, holders, takers);
        }
        builder.0
    }
}

proptest! {
    #[test]
    fn whatever_is_compared_comes_back(profile in profile()) {
        same(&profile);
    }
}

/// A number that some file may have, or none.
fn number() -> impl Strategy<Value = u64> {
    let extremes = vec![1 << 31, 1 << 53, 1 << 62, i64::MAX as u64, 1 << 63, u64::MAX];
    prop_oneof![2 => 0..20_u64, 2 => prop::sample::select(extremes), 1 => any::<u64>()]
}

/// Puts a number in the place of one of a file's, or takes something away. `which` is what, `at` and `inner` are where.
fn damage(file: &mut proto::Profile, which: u8, at: prop::sample::Index, inner: prop::sample::Index, number: u64) {
    fn any<'a, T>(list: &'a mut [T], at: &prop::sample::Index) -> Option<&'a mut T> {
        let place = (!list.is_empty()).then(|| at.index(list.len()))?;
        list.get_mut(place)
    }
    let signed = number as i64;
    let sample = any(&mut file.sample, &at);
    let place = match which {
        0 => Some(&mut file.duration_nanos),
        1 => any(&mut file.comment, &at),
        2 => sample.and_then(|sample| any(&mut sample.value, &inner)),
        3 => sample.and_then(|sample| any(&mut sample.label, &inner)).map(|label| &mut label.key),
        4 => sample.and_then(|sample| any(&mut sample.label, &inner)).map(|label| &mut label.str),
        5 => any(&mut file.function, &at).map(|function| &mut function.name),
        6 => any(&mut file.sample_type, &at).map(|kind| &mut kind.r#type),
        _ => None,
    };
    place.into_iter().for_each(|place| *place = signed);
    let place = match which {
        7 => any(&mut file.sample, &at).and_then(|sample| any(&mut sample.location_id, &inner)),
        8 => any(&mut file.location, &at).map(|location| &mut location.id),
        9 => any(&mut file.location, &at).and_then(|one| any(&mut one.line, &inner)).map(|line| &mut line.function_id),
        10 => any(&mut file.function, &at).map(|function| &mut function.id),
        _ => None,
    };
    place.into_iter().for_each(|place| *place = number);
    let length = (number % 8) as usize;
    match which {
        11 => file.string_table.truncate(at.index(file.string_table.len() + 1)),
        12 => file.sample.truncate(length),
        13 => file.location.truncate(length),
        14 => file.function.truncate(length),
        15 => any(&mut file.sample, &at).into_iter().for_each(|sample| sample.value.truncate(length)),
        // What is noted for programs has numbers of its own.
        16 => {
            let noted = file.string_table.iter_mut().filter(|text| text.starts_with(FOR_PROGRAMS));
            for text in noted {
                let digits: Vec<usize> =
                    text.match_indices(|sign: char| sign.is_ascii_digit()).map(|one| one.0).collect();
                let text_of_number = [number.to_string(), "1e308".to_owned(), "-1".to_owned()][length % 3].clone();
                text.replace_range(digits[at.index(digits.len())]..=digits[at.index(digits.len())], &text_of_number);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn whatever_the_numbers_of_a_file_are_it_is_compared_or_refused(
        damages in prop::collection::vec((0..17_u8, any::<prop::sample::Index>(), any::<prop::sample::Index>(), number()), 1..5),
        (place, byte) in (any::<prop::sample::Index>(), prop::option::weighted(0.3, any::<u8>())),
    ) {
        let mut file = file();
        damages.into_iter().for_each(|(which, at, inner, number)| damage(&mut file, which, at, inner, number));
        let mut bytes = file.encode_to_vec();
        if let Some(byte) = byte {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(summary) = read(&bytes) {
            let whole = Summary::of(&toy());
            for (old, new) in [(&whole, &summary), (&summary, &whole), (&summary, &summary)] {
                let text = crate::compare::compare(old, new).text("a", "b", 120);
                assert!(!text.is_empty() && text.len() < 1 << 20);
            }
        }
    }
}
