use super::figures::{Estimate, Figures, Spread};
use super::*;
use crate::profile::{Bar, Cause, Histogram, Noise, Origin, Profile, Site, Spot, State};
use crate::sample::Builder;
use crate::summary::weight;

fn text(old: &Profile, new: &Profile) -> String {
    compare(&Summary::of(old), &Summary::of(new)).text("old.pb.gz", "new.json", 120)
}

/// The line that begins with `name` in the table with this title, words apart by one space.
#[track_caller]
fn line(text: &str, title: &str, name: &str) -> String {
    let table = text.split("\n\n").find(|part| part.trim_start().starts_with(title)).expect(title);
    let line = table.lines().find(|line| line.trim_start().starts_with(name)).expect(name);
    line.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// A run with one lock: so many waits of the same length, at one place.
fn run(seconds: f64, rate: u32, waits: f64, each_ns: f64) -> Profile {
    let mut builder = Builder::new(seconds);
    builder.0.rate = rate;
    let stack = builder.stack(&["push", "worker", "main", "start"]);
    builder.lock("queue", waits, each_ns, stack, stack);
    builder.0
}

#[test]
fn figures_are_of_each_second() {
    let text = text(&run(2.0, 1, 20_000.0, 1000.0), &run(4.0, 1, 20_000.0, 1000.0));
    assert_eq!(line(&text, "waiting in", "all locks"), "all locks 10.0 ms ± 0% 5.00 ms ± 0% -50.0%");
    assert_eq!(line(&text, "waiting in", "queue"), "queue 10.0 ms ± 0% 5.00 ms ± 0% -50.0%");
    assert_eq!(line(&text, "waits in", "queue"), "queue 10.0 k ± 0% 5.00 k ± 0% -50.0%");
    assert_eq!(line(&text, "mean wait", "queue"), "queue 1.00 us ± 0% 1.00 us ± 0% ~");
    assert_eq!(line(&text, "acquisitions in", "queue"), "queue 100 k ± 0% 50.0 k ± 0% -50.0%");
    assert_eq!(line(&text, "longest wait", "queue"), "queue 3.00 us 3.00 us");
    assert!(text.starts_with(
        "old.pb.gz: 2.0 s, lock glibc, each acquisition recorded: ./server --port '80 80'\nnew.json: 4.0 s"
    ));
    assert!(text.contains("\none run each: "), "{text}");
}

/// 10 % more waits: 1000 of them differ by 3 standard deviations if each was seen, and by less than one if it is one of 16.
#[test]
fn what_sampling_explains_is_not_stated() {
    let change = |rate: u32| {
        let text = text(&run(1.0, rate, 2000.0, 1000.0), &run(1.0, rate, 2200.0, 1000.0));
        line(&text, "waits in", "queue").split(' ').next_back().unwrap().to_string()
    };
    assert_eq!((change(1).as_str(), change(16).as_str()), ("+10.0%", "~"));
}

/// Of waits that are long enough all are recorded, whatever the rate.
#[test]
fn waits_that_are_all_recorded_have_no_noise_of_sampling() {
    let row = |rate: u32| {
        let text = text(&run(1.0, rate, 400.0, 5e6), &run(1.0, rate, 600.0, 5e6));
        ["waiting in", "waits in"].map(|title| line(&text, title, "queue"))
    };
    let expected = ["queue 2.00 s ± 0% 3.00 s ± 0% +50.0%", "queue 400 ± 0% 600 ± 0% +50.0%"];
    assert_eq!(row(1), expected);
    assert_eq!(row(1000), expected);
}

/// One side of a binomial distribution: 6 or more of 6 are rarer than one in twenty on both sides, 5 of 5 are not.
#[test]
fn few_events_are_no_change() {
    let change = |old: f64, new: f64| {
        let text = text(&run(1.0, 1, old, 1000.0), &run(1.0, 1, new, 1000.0));
        line(&text, "waits in", "queue").split(' ').next_back().unwrap().to_string()
    };
    assert_eq!((change(0.0, 5.0).as_str(), change(0.0, 6.0).as_str()), ("~", "new"));
    assert_eq!((change(5.0, 0.0).as_str(), change(6.0, 0.0).as_str()), ("~", "-100.0%"));
    assert!(text(&run(1.0, 1, 3.0, 1.0), &run(1.0, 1, 3.0, 1.0)).contains("few  a few long waits"));
}

/// 12 waits of 1 ms and one of 3 s, all recorded: there is nothing that sampling could have missed, and one wait makes it up.
#[test]
fn one_long_wait_has_no_interval() {
    let profile = |long_ns: f64| {
        let mut profile = run(1.0, 1, 12.0, 1e6);
        let lock = &mut profile.locks[0];
        lock.wait_ns += long_ns;
        lock.waits += 1.0;
        lock.wait_histogram.0.push(Bar { from: long_ns as u64, to: long_ns as u64, count: 1.0 });
        profile
    };
    let text = text(&profile(3e9), &profile(2e9));
    assert_eq!(line(&text, "waiting in", "queue"), "queue 3.01 s few 2.01 s few ~");
    assert_eq!(line(&text, "waits in", "queue"), "queue 13.0 ± 0% 13.0 ± 0% ~");
    assert_eq!(line(&text, "mean wait", "queue"), "queue 232 ms few 155 ms few ~");
    assert!(text.contains("few  a few long waits") && !text.contains("fewer than 5 samples"), "{text}");
}

/// `±` is the error of sampling: of the same waits, sampled again and again, 95 of 100 intervals hold what is true. What is
/// recorded whole is true.
#[test]
fn intervals_hold_the_truth_that_was_sampled() {
    let mut random = random();
    // Few are so short that one sample stands for hundreds: of these an interval knows too little.
    let lengths: Vec<f64> = (0..2000).map(|_| 500.0 - 4000.0 * random().ln()).collect();
    let (waits, wait_ns) = (lengths.len() as f64, lengths.iter().sum::<f64>());
    let [mut hits_of_waits, mut hits_of_times] = [0, 0];
    for _ in 0..1000 {
        let figures = sampled(&lengths, 8, &mut random);
        let holds = |estimate: Estimate, truth: f64| match estimate.spread() {
            Spread::Part(part) => (estimate.value - truth).abs() <= part * estimate.value,
            other => panic!("{other:?}"),
        };
        hits_of_waits += u32::from(holds(figures.waits(4000.0), waits));
        hits_of_times += u32::from(holds(figures.waiting(4000.0), wait_ns));
    }
    for (what, hits) in [("waits", hits_of_waits), ("times", hits_of_times)] {
        assert!((925..975).contains(&hits), "{what}: {hits} of 1000");
    }
    let whole = sampled(&lengths, 1, &mut random);
    let estimates = [whole.waits(4000.0), whole.waiting(4000.0), whole.mean().unwrap()];
    assert_eq!(estimates.map(|estimate| estimate.spread()), [Spread::Part(0.0); 3]);
    assert_eq!((whole.sum.waits, whole.sum.wait_ns), (waits, wait_ns));
}

fn random() -> impl FnMut() -> f64 {
    let mut seed = 7_u64;
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) as f64 + 0.5) / (1_u64 << 31) as f64
    }
}

/// Each wait is seen with a chance in proportion to its length.
fn sampled(lengths: &[f64], rate: u32, random: &mut impl FnMut() -> f64) -> Figures {
    let mut figures = Figures { seconds: 1.0, rate, ..Figures::default() };
    for length in lengths {
        let weight = weight(*length, rate);
        if random() < 1.0 / weight {
            figures.sum.waits += weight;
            figures.sum.wait_ns += weight * length;
            let noise = |times: f64| Noise {
                counts: weight * times,
                lengths: weight * times * length,
                squares: weight * times * length * length,
            };
            figures.sum.noise.add(noise(weight));
            figures.sum.sampling.add(noise(weight - 1.0));
        }
    }
    figures
}

/// The chance of a false statement is one in twenty: of many pairs of the same program, with waits drawn and sampled.
#[test]
fn the_same_program_twice_rarely_counts_as_changed() {
    let mut random = random();
    // In each of 4000 instants a wait happens or not, with a length of an exponential distribution.
    let mut draw = || {
        let waits = (0..4000).map(|_| (random() < 0.2, -4000.0 * random().ln()));
        let lengths: Vec<f64> = waits.filter(|(happens, _)| *happens).map(|(_, length)| length).collect();
        sampled(&lengths, 8, &mut random)
    };
    let (mut false_waits, mut false_times, mut false_means) = (0, 0, 0);
    for _ in 0..1000 {
        let (old, new) = (draw(), draw());
        let mean = (old.sum.wait_ns + new.sum.wait_ns) / (old.sum.waits + new.sum.waits);
        false_waits += u32::from(old.waits(mean).differs_from(&new.waits(mean)));
        false_times += u32::from(old.waiting(mean).differs_from(&new.waiting(mean)));
        false_means += u32::from(old.mean().unwrap().differs_from(&new.mean().unwrap()));
    }
    for (what, count) in [("waits", false_waits), ("times", false_times), ("means", false_means)] {
        assert!((20..80).contains(&count), "{what}: {count} of 1000 pairs");
    }
}

#[test]
fn locks_of_other_names_are_known_by_where_they_come_from() {
    let profile = |name: &str, other: &str| {
        let mut builder = Builder::new(1.0);
        let [setup, push, odd] =
            [&["queue_init", "main"][..], &["push", "main"], &["odd", "main"]].map(|stack| builder.stack(stack));
        builder.lock(name, 1000.0, 1000.0, push, push).origin = Some(Origin { stack: setup, spot: Spot::Initialised });
        builder.lock(other, 500.0, 1000.0, odd, odd);
        builder.0
    };
    let text = text(&profile("0x7f01", "0x7f02"), &profile("0x8801", "0x8802"));
    assert_eq!(line(&text, "waits in", "0x8801"), "0x8801 1.00 k ± 0% 1.00 k ± 0% ~");
    assert!(text.contains("0x8801 was 0x7f01 before: both come from queue_init < main"), "{text}");
    assert!(text.contains("0x8802 was 0x7f02 before: both have most of their waiting at odd < main"), "{text}");
    assert!(!text.contains("only in"), "{text}");
}

/// Locks of one place, as those of the buckets of a table, that cannot be told apart.
#[test]
fn several_locks_of_one_place_are_one_row() {
    let profile = |names: &[&str]| {
        let mut builder = Builder::new(1.0);
        let [setup, push] = [&["table_init", "main"][..], &["insert", "main"]].map(|stack| builder.stack(stack));
        for name in names {
            builder.lock(name, 1000.0, 1000.0, push, push).origin =
                Some(Origin { stack: setup, spot: Spot::Initialised });
        }
        builder.0
    };
    let text = text(&profile(&["0x1", "0x2", "same"]), &profile(&["0x3", "0x4", "0x5", "same"]));
    let row = line(&text, "waits in", "3 locks of table_init < main");
    assert_eq!(row, "3 locks of table_init < main 2.00 k ± 0% 3.00 k ± 0% +50.0%");
    assert_eq!(line(&text, "waits in", "same"), "same 1.00 k ± 0% 1.00 k ± 0% ~");
    assert!(text.contains("was 2 locks before"), "{text}");
}

#[test]
fn new_and_vanished_locks_are_named() {
    let profile = |locks: &[(&str, &str)]| {
        let mut builder = Builder::new(1.0);
        for (name, function) in locks {
            let stack = builder.stack(&[function]);
            builder.lock(name, 1000.0, 1e6, stack, stack);
        }
        let stack = builder.stack(&["quiet"]);
        builder.lock("never waited for", 0.0, 1.0, stack, stack);
        builder.0
    };
    let (old, new) = (profile(&[("a", "f"), ("b", "g")]), profile(&[("a", "f"), ("c", "h")]));
    let text = text(&old, &new);
    assert!(
        text.contains("only in old.pb.gz: b, 1.00 s of waiting in each second, most at g and most charged to g"),
        "{text}"
    );
    assert!(text.contains("only in new.json: c, 1.00 s of waiting in each second, most at h"), "{text}");
    assert!(!text.contains("never waited for"), "{text}");
    assert_eq!(line(&text, "waits in", "all locks"), "all locks 2.00 k ± 0% 2.00 k ± 0% ~");
}

#[test]
fn who_waits_and_who_holds_may_be_others_now() {
    let profile = |push: f64, pop: f64| {
        let mut profile = run(1.0, 1, 1000.0, 1000.0);
        profile.stacks.push(vec![1, 2]);
        let site = |stack, part: f64| Site { stack, count: 1000.0 * part, ns: 1e6 * part };
        profile.locks[0].waiters = vec![site(0, push), site(1, pop)];
        profile.locks[0].holders = vec![site(0, pop), site(1, push)];
        profile
    };
    let changed = text(&profile(0.7, 0.3), &profile(0.2, 0.8)).replace('\n', " ");
    let said = "queue: most waiting is now at worker < main (80 %, before 30 %). Before, it was at push < worker < main \
                (70 %, now 20 %).";
    assert!(changed.contains(said), "{changed}");
    assert!(
        changed.contains("queue: most waiting is now charged to push < worker < main (80 %, before 30 %)"),
        "{changed}"
    );
    let flipped = text(&profile(0.52, 0.48), &profile(0.48, 0.52));
    assert!(!flipped.contains("most waiting"), "{flipped}");
}

#[test]
fn it_is_said_how_the_causes_of_a_changed_lock_changed() {
    let profile = |fsync_ns: f64| {
        let mut profile = run(1.0, 1, 1000.0, (fsync_ns + 2e7) / 1000.0);
        let cause = |state, call: &str, ns| Cause { state, call: call.into(), ns, count: 10.0, ..Cause::default() };
        profile.locks[0].causes = vec![cause(State::Blocked, "fdatasync", fsync_ns), cause(State::Computing, "", 2e7)];
        profile
    };
    let (old, mut new) = (profile(3.1e9), profile(2e8));
    let said = "queue, waiting in each second by cause: blocked in fdatasync 3.10 s -> 200 ms";
    assert!(text(&old, &new).contains(&format!("{said}\n")), "{}", text(&old, &new));
    assert!(!text(&old, &old).contains("by cause"), "it did not change");
    let mut shorter = profile(3.1e9);
    let lock = &mut shorter.locks[0];
    (lock.waits, lock.wait_histogram) = (5000.0, Histogram(vec![Bar { from: 600_000, to: 648_000, count: 5000.0 }]));
    lock.causes[0].call = "read".into();
    let said_of_mean = "blocked in fdatasync 3.10 s -> 0 ns, blocked in read 0 ns -> 3.10 s";
    assert!(text(&old, &shorter).contains(said_of_mean), "{}", text(&old, &shorter));
    let packed = |profile: &Profile| {
        use std::io::Read as _;
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(&crate::pprof::write(profile)[..]).read_to_end(&mut bytes).unwrap();
        crate::pprof::read(&bytes).unwrap()
    };
    let of_files = compare(&packed(&old), &packed(&new)).text("a", "b", 120);
    assert!(of_files.contains(said), "{of_files}");
    new.locks[0].causes.clear();
    assert!(!text(&old, &new).contains("by cause"), "an earlier version has none");
}

/// A file stays with its line.
#[test]
fn names_are_broken_at_spaces() {
    let mut profile = run(1.0, 1, 1000.0, 1000.0);
    profile.locks[0].name = "initialised in session_start (sess2.cc:11)".into();
    let text = text(&profile, &profile);
    assert!(text.contains("initialised in session_start ") && text.contains(" (sess2.cc:11)"), "{text}");
}

#[test]
fn what_is_too_much_to_show_is_counted() {
    let profile = |prefix: &str| {
        let mut builder = Builder::new(1.0);
        for number in 0..25 {
            let [shared, own] = [format!("f{number}"), format!("{prefix}{number}")].map(|name| builder.stack(&[&name]));
            builder.lock(&format!("lock {number}"), 1000.0 + f64::from(number), 1000.0, shared, shared);
            builder.lock(&format!("{prefix} {number}"), 1000.0, 1000.0, own, own);
        }
        builder.0
    };
    let text = text(&profile("x"), &profile("y"));
    assert!(text.contains("lock 5 ") && !text.contains("lock 4 "), "those with the most are shown: {text}");
    assert!(text.contains("5 more locks of both runs with less waiting: not shown"), "{text}");
    assert!(text.contains("only in new.json: 15 more locks with less waiting"), "{text}");
}

#[test]
fn text_fits_its_width_whatever_locks_are_called() {
    let mut old = run(1.0, 1, 1000.0, 1000.0);
    old.locks[0].name = "a::very::long::name::".repeat(20) + "\u{1b}[31m";
    let comparison = compare(&Summary::of(&old), &Summary::of(&old));
    let text = comparison.text("old.pb.gz", &"long/name/".repeat(5), 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn nothing_to_compare_is_said() {
    let empty = Builder::new(1.0).0;
    assert!(text(&empty, &empty).contains("no thread waited for a lock, in either run"));
    let mut other = Builder::new(1.0).0;
    other.cores = 8;
    let warnings = compare(&Summary::of(&empty), &Summary::of(&other)).warnings;
    assert_eq!(warnings, ["the numbers of cores differ: 4 and 8"]);
}
