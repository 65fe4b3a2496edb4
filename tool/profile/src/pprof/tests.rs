use super::*;
use crate::profile::State;
use crate::sample::toy;
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::io::Read;

/// What is in the file of a profile.
fn file_of(profile: &Profile) -> proto::Profile {
    let mut unpacked = Vec::new();
    GzDecoder::new(&write(profile)[..]).read_to_end(&mut unpacked).unwrap();
    proto::Profile::decode(&unpacked[..]).unwrap()
}

#[test]
fn inlined_functions_share_the_location_of_their_caller() {
    let file = file_of(&toy());
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
