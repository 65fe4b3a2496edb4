use super::*;
use crate::profile::{Bar, Origin, Stuck};
use crate::sample::Builder;

/// `n` locks that come from one stack, each waited for once, 1000 ns.
fn several(builder: &mut Builder, n: u64, name: &str, origin: Origin) {
    let waiter = builder.stack(&["transfer", "main"]);
    for _ in 0..n {
        let lock = builder.lock(name, 1.0, 1000.0, waiter, waiter);
        lock.origin = Some(origin);
    }
}

fn origin(builder: &mut Builder, functions: &[&str], spot: Spot) -> Origin {
    Origin { stack: builder.stack(functions), spot }
}

/// As a collector leaves it.
fn finished(builder: Builder) -> Profile {
    let mut profile = builder.0;
    crate::sorting::put_in_order(&mut profile);
    profile
}

fn names(profile: &Profile) -> Vec<&str> {
    profile.locks.iter().map(|lock| lock.name.as_str()).collect()
}

#[test]
fn locks_that_come_from_one_place_are_one_with_all_sums() {
    let mut builder = Builder::new(2.0);
    let used = origin(&mut builder, &["pthread_mutex_lock", "transfer", "main"], Spot::FirstSeen);
    several(&mut builder, 200, "first seen in transfer (server.c:4)", used);
    let profile = finished(builder);
    assert_eq!(profile.locks[0].name, "first seen in transfer (server.c:4) at 0x7f0000000000");
    let whole = grouped(profile.clone());
    assert_eq!(names(&whole), ["200 locks first used in transfer (server.c:4)"]);
    let lock = &whole.locks[0];
    assert_eq!((lock.members, lock.waits, lock.wait_ns, lock.acquisitions), (200, 200.0, 200_000.0, 2000.0));
    assert_eq!((lock.longest_ns, lock.most_waiting, lock.threads), (3000, 3, 4));
    assert_eq!(lock.wait_histogram.0, [Bar { from: 1000, to: 1000, count: 200.0 }]);
    assert_eq!(lock.timeline.amounts.iter().sum::<f64>(), 200_000.0);
    let [all, wait_ns] = [&whole, &profile].map(Profile::wait_ns);
    assert_eq!(all, wait_ns);
    // Each has a stack of its own number here; together they are all waits.
    assert_eq!(lock.waiters.iter().map(|site| site.count).sum::<f64>(), 200.0);
    assert!(lock.waiters.len() < 200, "sites of one stack are one");
}

#[test]
fn locks_of_other_places_stay_by_themselves() {
    let mut builder = Builder::new(2.0);
    let one = origin(&mut builder, &["open", "main"], Spot::Initialised);
    let other = origin(&mut builder, &["close", "main"], Spot::Initialised);
    let used = origin(&mut builder, &["open", "main"], Spot::FirstSeen);
    several(&mut builder, 2, "initialised in open (server.c:5)", one);
    several(&mut builder, 1, "initialised in close (server.c:6)", other);
    several(&mut builder, 1, "first seen in open (server.c:5)", used);
    several(&mut builder, 1, "open_lock", used);
    let expected = [
        "2 locks made in open (server.c:3)",
        "initialised in close (server.c:6)",
        "first seen in open (server.c:5)",
        "open_lock",
    ];
    assert_eq!(names(&grouped(finished(builder))), expected);
}

#[test]
fn elements_of_an_array_are_one_and_members_of_a_struct_are_not() {
    let mut builder = Builder::new(2.0);
    let made = origin(&mut builder, &["start", "main"], Spot::Initialised);
    let other = origin(&mut builder, &["serve", "main"], Spot::Initialised);
    for name in ["io_mutex", "io_mutex+0x28", "io_mutex+0x50", "queue+0x28"] {
        several(&mut builder, 1, name, made);
    }
    several(&mut builder, 1, "queue+0x60", other);
    assert_eq!(names(&grouped(finished(builder))), ["3 locks of io_mutex[]", "queue+0x28", "queue+0x60"]);
}

#[test]
fn a_function_that_only_locks_is_no_place() {
    let mut builder = Builder::new(2.0);
    for caller in ["Cache::Cache", "Log::Log"] {
        let made = origin(&mut builder, &["app::Mutex::Mutex", caller, "main"], Spot::Initialised);
        several(&mut builder, 3, "initialised in app::Mutex::Mutex (server.c:3)", made);
    }
    let all = grouped(finished(builder));
    assert_eq!(names(&all), ["3 locks made in Cache::Cache (server.c:4)", "3 locks made in Log::Log (server.c:7)"]);
}

#[test]
fn without_lines_the_address_tells_places_apart() {
    let mut builder = Builder::new(2.0);
    let frames = [0x1000, 0x1010].map(|address| {
        builder.0.frames.push(Frame { function: "init".into(), is_named: true, address, ..Frame::default() });
        builder.0.stacks.push(vec![builder.0.frames.len() as u32 - 1]);
        builder.0.stacks.len() as u32 - 1
    });
    for stack in frames {
        several(&mut builder, 1, "initialised in init", Origin { stack, spot: Spot::Initialised });
    }
    assert_eq!(grouped(finished(builder)).locks.len(), 2);
}

#[test]
fn the_kernel_knows_only_where_locks_are_waited_for() {
    let mut builder = Builder::new(2.0);
    for function in ["transfer", "transfer", "audit"] {
        let waiter = builder.stack(&[function, "main"]);
        builder.lock(&format!("in {function} (server.c:3)"), 1.0, 1000.0, waiter, waiter);
    }
    let all = grouped(finished(builder));
    assert_eq!(names(&all), ["2 locks waited for in transfer (server.c:3)", "in audit (server.c:3)"]);
}

/// Each in a process of its own.
#[test]
fn locks_of_two_processes_are_two_rows_without_an_address() {
    let mut builder = Builder::new(2.0);
    builder.0.processes.push(crate::sample::process(101, "/usr/bin/child"));
    let made = origin(&mut builder, &["open", "main"], Spot::Initialised);
    several(&mut builder, 4, "initialised in open (server.c:3)", made);
    builder.0.locks[2].process = 1;
    builder.0.locks[3].process = 1;
    let all = grouped(finished(builder));
    let name = "2 locks made in open (server.c:3) of process";
    assert_eq!(names(&all), [format!("{name} 100"), format!("{name} 101")]);
}

#[test]
fn what_points_at_locks_follows_them() {
    let mut builder = Builder::new(2.0);
    let made = origin(&mut builder, &["open", "main"], Spot::Initialised);
    several(&mut builder, 2, "initialised in open (server.c:3)", made);
    let waiter = builder.stack(&["log"]);
    builder.lock("LOGGER", 1.0, 1500.0, waiter, waiter);
    let mut profile = finished(builder);
    // The logger comes first, and the two together before it.
    assert_eq!(profile.locks[0].name, "LOGGER");
    for wait in 0..2 {
        let (other, ns) = (Some(WaitObject::Lock(1 + wait)), 1000.0 * f64::from(wait + 1));
        let cause = Cause { state: State::OtherLock, other, ns, count: 1.0, each_ns: ns, ..Cause::default() };
        profile.locks[0].causes.push(cause);
    }
    profile.stuck = [2, 0].map(|lock| Stuck { on: WaitObject::Lock(lock), ..Stuck::default() }).to_vec();
    let all = grouped(profile);
    assert_eq!(names(&all), ["2 locks made in open (server.c:3)", "LOGGER"]);
    assert_eq!(all.stuck.iter().map(|stuck| stuck.on).collect::<Vec<WaitObject>>(), [0, 1].map(WaitObject::Lock));
    let [cause] = &all.locks[1].causes[..] else { panic!("one cause expected: {:?}", all.locks[1].causes) };
    assert_eq!((cause.other, cause.ns, cause.count), (Some(WaitObject::Lock(0)), 3000.0, 2.0));
    assert!((cause.each_ns - 5000.0 / 3.0).abs() < 1e-6, "{}", cause.each_ns);
}

/// Wherever they were made; and not with what is only called alike, or is of another kind.
#[test]
fn locks_that_the_program_calls_alike_are_one() {
    let mut builder = Builder::new(2.0);
    for (index, (name, is_named)) in
        [("shard[0]", true), ("shard[0]", true), ("shard[0]", true), ("shard[0]", false), ("shard[1]", true)]
            .into_iter()
            .enumerate()
    {
        let place = ["open", "main", "close", "open", "open"][index];
        let made = origin(&mut builder, &[place], Spot::Initialised);
        several(&mut builder, 1, name, made);
        let lock = builder.0.locks.last_mut().unwrap();
        lock.is_named = is_named;
        // One has most of the waiting.
        lock.wait_ns = if index == 0 { 1e6 } else { 10.0 - index as f64 };
        lock.waits = 50.0;
    }
    let kind = crate::profile::LockKind::RwLock;
    let rwlock = Lock { kind, address: 7, ..builder.0.locks[0].clone() };
    builder.0.locks.extend([rwlock.clone(), Lock { address: 8, ..rwlock }]);
    let all = grouped(finished(builder));
    let rows: Vec<(&str, u32, bool)> =
        all.locks.iter().map(|lock| (lock.name.as_str(), lock.members, lock.is_named)).collect();
    let expected = [
        ("2 locks of shard[0]", 2, true),
        ("3 locks of shard[0]", 3, true),
        ("shard[0]", 1, false),
        ("shard[1]", 1, true),
    ];
    assert_eq!(rows, expected);
    for name in ["2 locks of shard[0]", "3 locks of shard[0]"] {
        assert_eq!(crate::names::kind_of(name), "of shard[0]");
    }
}

#[test]
fn conditions_of_one_place_are_one() {
    let mut builder = Builder::new(2.0);
    for (name, address) in
        [("first seen in wait (a.c:9)", 1), ("first seen in wait (a.c:9)", 2), ("filled", 3), ("filled", 3)]
    {
        builder.0.conditions.push(Condition { name: name.into(), address, wait_ns: 9.0, ..Condition::default() });
    }
    let all = grouped(finished(builder));
    let names: Vec<&str> = all.conditions.iter().map(|condition| condition.name.as_str()).collect();
    assert_eq!(names, ["2 condition variables first used in wait (a.c:9)", "filled"]);
    assert_eq!(all.conditions[0].wait_ns, 18.0);
    let mut builder = Builder::new(2.0);
    for (address, is_named) in [(1, true), (2, true), (2, true), (3, false)] {
        builder.0.conditions.push(Condition { name: "filled".into(), address, is_named, ..Condition::default() });
    }
    let all = grouped(finished(builder));
    let names: Vec<&str> = all.conditions.iter().map(|condition| condition.name.as_str()).collect();
    assert_eq!(names, ["2 condition variables of filled", "filled"]);
}

#[test]
fn a_kind_has_one_name_whether_there_are_many_or_one() {
    for (name, kind) in [
        ("200 locks made in open (a.c:7)", "made in open (a.c:7)"),
        ("initialised in open (a.c:7)", "made in open (a.c:7)"),
        ("first seen in open", "first used in open"),
        ("3 locks of table[]", "of table[]"),
        ("table", "table"),
        ("in open", "waited for in open"),
    ] {
        assert_eq!(crate::names::kind_of(name), kind, "{name}");
    }
}

/// Of an array one of whose elements has most of the waiting, that one is what to look at.
#[test]
fn a_hot_element_of_an_array_is_told_of_by_itself() {
    let of = |name: fn(usize) -> String, hot: f64, waits: f64| {
        let mut builder = Builder::new(2.0);
        let made = builder.stack(&["main"]);
        for (index, wait_ns) in [5.0, hot, 5.0].into_iter().enumerate() {
            builder.0.locks.push(Lock {
                name: name(index),
                address: index as u64 + 1,
                origin: Some(Origin { stack: made, spot: Spot::Initialised }),
                wait_ns,
                waits,
                members: 1,
                ..Lock::default()
            });
        }
        grouped(finished(builder)).locks.into_iter().map(|lock| lock.name).collect::<Vec<String>>()
    };
    let named = |hot, waits| of(|index| format!("shards[{index}].m"), hot, waits);
    assert_eq!(named(100.0, 50.0), ["shards[1].m", "2 locks of shards[].m"]);
    let by_offsets = of(|index| format!("shards+{:#x}", 48 * (index + 1)), 100.0, 50.0);
    assert_eq!(by_offsets, ["shards+0x60", "2 locks of shards[]"]);
    assert_eq!(named(10.0, 50.0), ["3 locks of shards[].m"]);
    assert_eq!(named(100.0, 1.0), ["3 locks of shards[].m"], "one wait may be long by chance");
}
