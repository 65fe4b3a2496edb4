//! What every machine must be, and what a bad file gets.

use super::*;
use std::collections::BTreeSet;

fn check(machine: &Machine) {
    let name = &machine.name;
    assert!(!machine.about.is_empty() && machine.hash != 0 && machine.line_bytes.is_power_of_two(), "{name}");
    assert!((1..=MAX_CORES).contains(&machine.cores), "{name}");
    assert_eq!(machine.distance_ps.len(), (machine.cores * machine.cores) as usize, "{name}");
    for from in 0..machine.cores {
        assert_eq!(machine.distance(from, from), 0, "{name}");
        for to in 0..machine.cores {
            assert_eq!(machine.distance(from, to), machine.distance(to, from), "{name}: {from} {to}");
            assert!(from == to || machine.distance(from, to) > 0, "{name}: {from} {to}");
        }
    }
    let on: BTreeSet<u32> = machine.cpus.iter().map(|cpu| cpu.core).collect();
    assert!(on.iter().copied().eq(0..machine.cores), "{name}: every core has a hardware thread");
    let ranks: BTreeSet<u32> = machine.cpus.iter().map(|cpu| cpu.rank).collect();
    assert!(ranks.iter().copied().eq(0..machine.cpus.len() as u32), "{name}: ranks are the numbers from 0");
    for kind in &machine.kinds {
        assert!(kind.hit_ps > 0 && kind.rmw_ps > 0 && kind.pause_ps > 0 && kind.work_ps > 0, "{name}");
        assert!(kind.smt_slowdown >= 1000 && kind.derate < 1000 && kind.pause_jitter < 1000, "{name}");
    }
    for (index, cpu) in machine.cpus.iter().enumerate() {
        assert!((cpu.kind as usize) < machine.kinds.len(), "{name}");
        let earlier = machine.cpus[..index].iter().filter(|other| other.core == cpu.core);
        assert!(earlier.into_iter().all(|other| other.rank < cpu.rank && other.kind == cpu.kind), "{name}");
    }
    let firsts = machine.cpus.iter().filter(|cpu| cpu.rank < machine.cores).map(|cpu| cpu.core);
    assert_eq!(firsts.collect::<BTreeSet<u32>>().len() as u32, machine.cores, "{name}: second threads come last");
}

#[test]
fn figures_are_counted_by_where_they_come_from() {
    let text = include_str!("../../machines/rpi5.toml");
    let figures = |name| builtin(name).map(|machine| (machine.figures, machine.guesses)).unwrap();
    let [all, guesses] = ["origin = \"", "origin = \"guess\""].map(|words| text.matches(words).count() as u32);
    assert_eq!(figures("rpi5"), (all, guesses));
    // What it inherits counts too.
    let [one, eight] = ["westmere-1n", "westmere-8n"].map(|name| figures(name).0);
    assert!(one > 30 && one.abs_diff(eight) < 3);
}

#[test]
fn every_built_in_machine_is_sound() {
    for name in builtin_names() {
        let machine = builtin(name).unwrap();
        assert_eq!(machine.name, name);
        check(&machine);
        for n in [1, 2, 3, machine.cores, machine.cpus.len() as u32] {
            if let Ok(smaller) = find(name, Some(n)) {
                check(&smaller);
                assert_eq!(smaller.cpus.len() as u32, n, "{name}");
            }
        }
    }
}

/// What a core pair of a machine is apart, in nanoseconds.
fn apart_ns(machine: &Machine, from: u32, to: u32) -> f64 {
    machine.distance(from, to) as f64 / 1000.0
}

#[test]
fn a_hybrid_machine_fills_as_its_system_does() {
    let machine = builtin("i7-13700h").unwrap();
    assert_eq!((machine.cores, machine.cpus.len(), machine.kinds.len()), (14, 20, 2));
    let ranks: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.rank).collect();
    // Six P cores with two threads each, side by side; then eight E cores, filled from both clusters in turn.
    assert_eq!(ranks, [0, 14, 1, 15, 2, 16, 3, 17, 4, 18, 5, 19, 6, 8, 10, 12, 7, 9, 11, 13]);
    assert_eq!(machine.kind_of(0).name, "P");
    assert_eq!(machine.kind_of(12).name, "E");
    let [p_p, p_e, e_e, e_far] = [(0, 5), (0, 6), (6, 9), (6, 10)].map(|(from, to)| apart_ns(&machine, from, to));
    assert!(p_p < p_e && p_e < e_far && e_far < e_e, "{p_p} {p_e} {e_far} {e_e}");
}

#[test]
fn nodes_have_hops_and_names_with_ht_have_threads() {
    let machine = builtin("westmere-8n").unwrap();
    assert_eq!((machine.cores, machine.cpus.len()), (80, 80));
    let [near, one_hop, two_hops] = [(0, 9), (0, 39), (0, 40)].map(|(from, to)| apart_ns(&machine, from, to));
    assert!(near < one_hop && one_hop < two_hops, "{near} {one_hop} {two_hops}");
    assert_eq!((machine.cpus[79].node, machine.cpus[79].socket, machine.memory_nodes()), (7, 7, 8));
    // One core of each node comes before the second of any.
    assert!((0..8).all(|node| machine.cpus[node * 10].rank == node as u32));
    for (n, name) in [(1, "westmere-1n"), (2, "westmere-2n"), (4, "westmere-4n"), (8, "westmere-8n")] {
        let (off, on) = (builtin(name).unwrap(), builtin(&format!("{name}-ht")).unwrap());
        assert_eq!((off.cores, off.cpus.len()), (n * 10, n as usize * 10));
        assert_eq!((on.cores, on.cpus.len(), on.cpus[0].core), (n * 10, n as usize * 20, on.cpus[1].core));
        assert_eq!((&off.kinds, &off.os, &off.distance_ps), (&on.kinds, &on.os, &on.distance_ps));
    }
}

/// Each socket is one memory node, and clusters are none.
#[test]
fn machines_have_as_many_memory_nodes_as_sockets_in_use() {
    let nodes = |name, cores| find(name, cores).unwrap().memory_nodes();
    assert_eq!(["epyc-2x48", "spr-2x56", "i7-13700h", "m1"].map(|name| nodes(name, None)), [2, 2, 1, 1]);
    assert_eq!([1, 2].map(|n| nodes("westmere-8n", Some(n))), [1, 2], "it fills one core of each node first");
}

/// Two threads share a socket; the third has the other one, and after that they take turns.
#[test]
fn few_threads_stay_in_one_socket() {
    let sockets = |name| {
        let mut cpus = builtin(name).unwrap().cpus;
        cpus.sort_by_key(|cpu| cpu.rank);
        cpus.iter().take(7).map(|cpu| cpu.socket).collect::<Vec<_>>()
    };
    assert_eq!(sockets("spr-2x56"), [0, 0, 1, 1, 0, 1, 0]);
    assert_eq!(sockets("epyc-2x48"), [0, 0, 1, 1, 0, 1, 0]);
    assert_eq!(sockets("westmere-2n"), [0, 1, 0, 1, 0, 1, 0]);
}

#[test]
fn one_machine_has_two_systems() {
    let (linux, windows) = (builtin("i7-6700-linux").unwrap(), builtin("i7-6700-windows").unwrap());
    assert!(matches!(linux.os.policy, Policy::Fair { latency_ps: 24_000_000_000, .. }));
    assert!(matches!(
        windows.os.policy,
        Policy::Quantum { quantum_ps: 31_250_000_000, boost: true, starved_ps: 4_000_000_000_000 }
    ));
    // What the published figures say of their pauses differs.
    let mut kinds = windows.kinds;
    (kinds[0].pause_ps, kinds[0].smt_pausing) = (linux.kinds[0].pause_ps, linux.kinds[0].smt_pausing);
    assert_eq!((linux.kinds, linux.cpus, linux.distance_ps), (kinds, windows.cpus, windows.distance_ps));
}

#[test]
fn cores_restrict_a_machine_or_make_it() {
    let four = find("i7-13700h", Some(4)).unwrap();
    assert_eq!((four.cores, four.cpus.len()), (4, 4));
    assert!(four.cpus.iter().all(|cpu| cpu.kind == 0));
    assert!(four.about.ends_with("4 of its 20 hardware threads"), "{}", four.about);
    assert_eq!(four.kinds[0].derate, 200 * 3 / 19);
    let fifteen = find("i7-13700h", Some(15)).unwrap();
    assert_eq!((fifteen.cores, fifteen.cpus.iter().filter(|cpu| cpu.core == 0).count()), (14, 2));
    let all = find("i7-13700h", Some(20)).unwrap();
    assert_eq!(Machine { hash: 0, ..all }, Machine { hash: 0, ..builtin("i7-13700h").unwrap() });
    for n in [1, 2, 64, 256] {
        let mesh = find("mesh", Some(n)).unwrap();
        check(&mesh);
        assert_eq!((mesh.cores, mesh.cpus.len() as u32), (n, n));
    }
    for (name, n) in [("mesh", 0), ("mesh", 257), ("mesh", u32::MAX), ("m1", 0), ("m1", 9), ("rpi5", u32::MAX)] {
        let error = find(name, Some(n)).unwrap_err();
        assert!(error.contains(name) && error.contains("accepted: 1 to "), "{error}");
    }
}

#[test]
fn a_name_that_does_not_exist_gets_the_names() {
    let error = find("i7-13700", None).unwrap_err();
    assert!(error.contains("did you mean i7-13700h?") && error.contains("graviton3, epyc-2x48"), "{error}");
    assert!(!find("zx81", None).unwrap_err().contains("did you mean"));
    assert!(find("no/such.toml", None).unwrap_err().starts_with("no/such.toml: "));
}

#[test]
fn the_hash_tells_texts_and_cores_apart_and_nothing_else() {
    let hash = |name, cores| find(name, cores).unwrap().hash;
    assert_eq!(hash("m1", None), builtin("m1").unwrap().hash);
    let all =
        [("m1", None), ("m1", Some(8)), ("m1", Some(4)), ("rpi5", None), ("westmere-1n", None), ("mesh", Some(9))];
    assert_eq!(all.map(|(name, cores)| hash(name, cores)).iter().collect::<BTreeSet<_>>().len(), all.len());
    let text = include_str!("../../machines/i7-6700-windows.toml");
    assert_eq!(from_text("elsewhere", text).unwrap().hash, hash("i7-6700-windows", None));
    assert_ne!(from_text("elsewhere", &format!("{text}# more\n")).unwrap().hash, hash("i7-6700-windows", None));
}

/// The first column of the table below a heading of the document.
fn documented<'a>(document: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, rest) = document.split_once(&format!("\n## `[{heading}]`\n")).expect("each section has its heading");
    let part = rest.split("\n## ").next().unwrap();
    part.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name).collect()
}

#[test]
fn the_document_has_every_field_and_no_other() {
    let document = include_str!("../../../../docs/machines.md");
    for (heading, fields) in [
        ("machine", schema::About::FIELDS),
        ("topology", schema::Layout::FIELDS),
        ("kind.NAME", schema::Kind::FIELDS),
        ("distance.A-B", schema::Distance::FIELDS),
        ("memory", schema::Memory::FIELDS),
        ("os", schema::Os::FIELDS),
        ("os.fair", schema::Fair::FIELDS),
        ("os.eevdf", schema::Eevdf::FIELDS),
        ("os.quantum", schema::Quantum::FIELDS),
    ] {
        assert_eq!(documented(document, heading), fields, "[{heading}]");
    }
    assert!(schema::File::FIELDS.iter().all(|name| document.contains(&format!("\n## `[{name}"))));
    for word in figure::ORIGINS.iter().chain(figure::PARTS) {
        assert!(document.contains(&format!("\n| `{word}` | ")), "{word}");
    }
    let example = document.split("```").nth(1).unwrap().strip_prefix("toml").unwrap();
    let machine = from_text("docs/machines.md", example).unwrap();
    assert!(
        matches!(machine.os.policy, Policy::Eevdf(eevdf) if eevdf.slice_ps == 500_000_000),
        "{:?}",
        machine.os.policy
    );
}

#[test]
fn the_hash_is_fnv_1a() {
    // FNV-1a of "a" is published as af63dc4c8601ec8c; the length follows.
    let length = 1u64.to_le_bytes();
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let expected = length.into_iter().fold(0xaf63_dc4c_8601_ec8c, add);
    assert_eq!(model::hashed(0xcbf2_9ce4_8422_2325, b"a"), expected);
}
