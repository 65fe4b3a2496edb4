//! What hardware was measured to do, by the programs that measured it.

use super::programs::{self, Count};
use super::published::{self, Line};
use super::{Declared, Group, Limit, Row, machine};
use ondeck_sim::machine::Machine;

pub(super) fn groups() -> Result<Vec<Group>, String> {
    let mut groups = core_to_core()?;
    groups.extend(contended()?);
    groups.push(calls()?);
    Ok(groups)
}

/// A pair of hardware threads, and the published class of pairs that it stands for.
struct Pair {
    machine: &'static str,
    cpus: [u32; 2],
    cpu: &'static str,
    class: &'static str,
    /// What the published figure is multiplied with, where it is of a sibling that is known to differ by so much.
    times: f64,
}

/// What the distances of the i9-12900K are multiplied with to be those of the i7-13700H; see `i7-13700h.toml`.
const MOBILE: f64 = 1.44;

const fn pair(machine: &'static str, cpus: [u32; 2], cpu: &'static str, class: &'static str, times: f64) -> Pair {
    Pair { machine, cpus, cpu, class, times }
}

const CORES: [Pair; 13] = [
    pair("i7-13700h", [0, 2], "i9-12900K", "P-P different core", MOBILE),
    pair("i7-13700h", [0, 12], "i9-12900K", "P-E", MOBILE),
    pair("i7-13700h", [12, 13], "i9-12900K", "E-E same 4-core cluster", MOBILE),
    pair("i7-13700h", [12, 16], "i9-12900K", "E-E other cluster", MOBILE),
    pair("i7-6700-linux", [0, 2], "i7-6700K", "other core", 1.0),
    pair("m1", [0, 1], "Apple M1 Pro (6P+2E)", "P-P same 3-core cluster", 1.0),
    pair("m1", [0, 4], "Apple M1 Pro (6P+2E)", "P-E", 1.0),
    pair("m1", [4, 5], "Apple M1 Pro (6P+2E)", "E-E", 1.0),
    pair("graviton2", [0, 1], "AWS Graviton2 (64 N1)", "any other core", 1.0),
    pair("graviton3", [0, 1], "AWS Graviton3 (64 V1)", "any other core", 1.0),
    pair("epyc-2x48", [0, 2], "2x EPYC 7R13 (Zen3)", "same CCX (8 cores)", 1.0),
    pair("epyc-2x48", [0, 16], "2x EPYC 7R13 (Zen3)", "same socket 0, other CCX", 1.0),
    pair("epyc-2x48", [0, 96], "2x EPYC 7R13 (Zen3)", "other socket", 1.0),
];

/// Two hardware threads of one core.
const SIBLINGS: [Pair; 3] = [
    pair("i7-13700h", [0, 1], "i9-12900K", "SMT siblings (P)", MOBILE),
    pair("i7-6700-linux", [0, 1], "i7-6700K", "SMT siblings", 1.0),
    pair("epyc-2x48", [0, 1], "2x EPYC 7R13 (Zen3)", "SMT siblings", 1.0),
];

fn core_to_core() -> Result<Vec<Group>, String> {
    let group = |title: &str, pairs: &[Pair], declared| -> Result<Group, String> {
        let rows = pairs.iter().map(ping_pong).collect::<Result<_, String>>()?;
        Ok(Group { title: title.into(), expected: "published", limit: Limit::Each(0.03), declared, rows })
    };
    Ok(vec![
        group("T1 ping-pong between cores", &CORES, Declared::Held)?,
        group("T1 ping-pong between hardware threads of a core", &SIBLINGS, Declared::Held)?,
    ])
}

fn ping_pong(pair: &Pair) -> Result<Row, String> {
    let line = published::line("core_to_core", &[("cpu", pair.cpu), ("pair_class", pair.class)]);
    let times = if pair.times == 1.0 { String::new() } else { format!(" x {}", pair.times) };
    Ok(Row {
        what: format!("{} beside {}: {}{times}", pair.machine, pair.cpu, pair.class),
        unit: "ns",
        expected: line.number("median_ns") * pair.times,
        simulated: programs::ping_pong(&machine(pair.machine), pair.cpus)?,
        limit: None,
    })
}

/// Threads that count in one word, and the published machine that counted so.
struct Counting {
    title: &'static str,
    machine: &'static str,
    published: &'static str,
    name: &'static str,
    how: Count,
    threads: std::ops::RangeInclusive<u32>,
    declared: Declared,
}

fn contended() -> Result<Vec<Group>, String> {
    let on = |machine, published| {
        move |title, name, how, threads, declared| Counting { title, machine, published, name, how, threads, declared }
    };
    let (skylake, graviton) = (on("i7-6700-linux", "skl"), on("graviton2", "g2-16"));
    let all = [
        skylake("T1 one thread adds", "atomic add", Count::Add, 1..=1, Declared::Held),
        skylake("T1 threads add in one word", "atomic add", Count::Add, 2..=4, Declared::Held),
        skylake("T1 threads compare-exchange one word", "cas add", Count::Exchange, 2..=4, Declared::Missed),
        graviton("T1 one thread adds", "atomic add", Count::Add, 1..=1, Declared::Held),
        graviton("T1 two threads add in one word", "atomic add", Count::Add, 2..=2, Declared::Missed),
        graviton("T1 threads add in one word", "atomic add", Count::Add, 3..=16, Declared::Held),
        graviton("T1 few threads compare-exchange one word", "cas add", Count::Exchange, 2..=5, Declared::Missed),
        graviton("T1 threads compare-exchange one word", "cas add", Count::Exchange, 6..=16, Declared::Held),
    ];
    all.iter().map(counting).collect()
}

/// The published Skylake is an i7-6700HQ, tested at 2.6 GHz, and the machine file is of 3.9. What a core does alone scales
/// with that. What a line takes on its way need not, as part of it is in the L3's domain: the row of two threads that add
/// tells by how much.
fn slow_down(machine: &mut Machine) {
    const CORE: f64 = 3.9 / 2.6;
    const WAY: f64 = 1.14;
    let times = |ps: &mut u32, factor: f64| *ps = (f64::from(*ps) * factor) as u32;
    for kind in &mut machine.kinds {
        for ps in [&mut kind.hit_ps, &mut kind.rmw_ps, &mut kind.store_ps, &mut kind.work_ps] {
            times(ps, CORE);
        }
    }
    machine.distance_ps.iter_mut().for_each(|ps| times(ps, WAY));
}

fn counting(counting: &Counting) -> Result<Group, String> {
    let (name, theirs) = (counting.machine, counting.published);
    let mut rows = Vec::new();
    let wanted = [("machine", theirs), ("implementation", counting.name)];
    for line in published::lines("contended_atomics", &wanted) {
        let threads = line.threads();
        if counting.threads.contains(&threads) {
            let (mut machine, mut slowed) = (machine(name), "");
            if theirs == "skl" {
                slow_down(&mut machine);
                slowed = " at 2.6 GHz";
            }
            rows.push(Row {
                what: format!("{name}{slowed} beside {theirs}: {}, {threads} threads", counting.name),
                unit: "ns",
                expected: line.number("median_thread_ns_per_op"),
                simulated: programs::contended(&machine, threads, counting.how)?,
                limit: None,
            });
        }
    }
    let title = format!("{}, {name}", counting.title);
    Ok(Group { title, expected: "published", limit: Limit::Each(0.1), declared: counting.declared, rows })
}

/// The hardware threads that stand for the published kinds of cores; `all` was measured with most of the time on P cores.
const KINDS: [(&str, u32, &str, &str); 5] = [
    ("i7-13700h", 0, "i7-13700H", "all"),
    ("i7-13700h", 0, "i7-13700H", "P"),
    ("i7-13700h", 12, "i7-13700H", "E"),
    ("m1", 0, "Apple M1", "all"),
    ("rpi5", 0, "Raspberry Pi 5", "all"),
];

fn calls() -> Result<Group, String> {
    let mut rows = Vec::new();
    for (name, cpu, published_cpu, kind) in KINDS {
        let lines = published::lines("procyield_osyield", &[("cpu", published_cpu), ("core_kind", kind)]);
        for line in lines {
            rows.push(call(name, cpu, &line)?);
        }
    }
    let title = "T1 procyield and osyield, within 2 % or the published interval".to_owned();
    Ok(Group { title, expected: "published", limit: Limit::Each(0.02), declared: Declared::Missed, rows })
}

fn call(name: &str, cpu: u32, line: &Line) -> Result<Row, String> {
    let (call, pauses) = (line.text("call"), line.number("procyield_count") as u32);
    let machine = machine(name);
    let simulated = match call {
        "procyield" => programs::procyield(&machine, cpu, pauses)?,
        _ => programs::osyield(&machine, cpu)?,
    };
    let argument = if call == "procyield" { pauses.to_string() } else { String::new() };
    Ok(Row {
        what: format!("{name}, {} cores: {call}({argument})", line.text("core_kind")),
        unit: "ns",
        expected: line.number("ns_per_call"),
        simulated,
        limit: Some((line.number("pct") / 100.0).max(0.02)),
    })
}
