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
        assert!(kind.smt_slowdown >= 1000 && kind.derate >= 1000 && kind.pause_jitter < 1000, "{name}");
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
