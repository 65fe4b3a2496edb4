//! From the tree of a machine file to the machine.

use super::schema;
use super::section::Section;
use super::topology::Topology;
use super::tree::{POLICIES, Place, Table};
use super::{CoreKind, Eevdf, FarAtomics, Machine, Memory, Os, Policy};

/// The machine that a file describes. `cores` is what the command line asks for; a machine that is as large as one likes
/// is made that large here, every other as large as its file says. Returns whether it was asked for and done.
pub(super) fn resolve(tree: &Table, file: &str, cores: Option<u32>) -> Result<(Machine, bool), String> {
    let file = Section::file(tree, Place::start(file), schema::FILE)?;
    let machine = file.section("machine", schema::MACHINE)?;
    let topology = file.section("topology", schema::TOPOLOGY)?;
    let (name, about) = (machine.text("name")?.to_string(), machine.text("about")?.to_string());
    let line_bytes = machine.whole("line_bytes")?;
    if !line_bytes.is_power_of_two() {
        return Err(machine.error("line_bytes", format!("{line_bytes}; accepted: a power of two")));
    }
    let is_scalable = topology.flag("scalable")?;
    let layout = Topology::read(&file, &topology, cores)?;
    let kinds = layout.kinds.iter().map(|(name, section)| core_kind(name, section)).collect::<Result<_, _>>()?;
    let machine = Machine {
        name,
        about,
        hash: 0,
        guesses: 0,
        figures: 0,
        line_bytes,
        kinds,
        cpus: layout.cpus,
        cores: layout.cores.len() as u32,
        distance_ps: layout.distance_ps,
        memory: memory(&file.section("memory", schema::MEMORY)?)?,
        os: os(&file.section("os", schema::OS)?)?,
    };
    Ok((machine, is_scalable))
}

fn core_kind(name: &str, kind: &Section<'_>) -> Result<CoreKind, String> {
    Ok(CoreKind {
        name: name.to_string(),
        hit_ps: kind.ps("hit_ns")?,
        rmw_ps: kind.ps("rmw_ns")?,
        store_ps: kind.ps("store_ns")?,
        sibling_ps: if kind.has("sibling_ns") { kind.ps("sibling_ns")? } else { 0 },
        barrier_ps: kind.ps("barrier_ns")?,
        pause_ps: kind.ps("pause_ns")?,
        pause_jitter: kind.thousandths("pause_jitter")?,
        work_ps: kind.ps("work_ns")?,
        fib_call_ps: kind.ps("fib_call_ns")?,
        ticks_ps: kind.ps("ticks_ns")?,
        clock_ps: kind.ps("clock_ns")?,
        yield_ps: kind.ps("yield_ns")?,
        smt_slowdown: kind.thousandths("smt_slowdown")?,
        smt_pausing: kind.thousandths("smt_pausing")?,
        // Files have the ratio of the two, which is at least one.
        derate: kind.thousandths("derate")? - 1000,
    })
}

fn memory(memory: &Section<'_>) -> Result<Memory, String> {
    let far_atomics = if memory.has("far_round_trip_ns") || memory.has("far_busy_ns") {
        Some(FarAtomics { round_trip_ps: memory.ps("far_round_trip_ns")?, busy_ps: memory.ps("far_busy_ns")? })
    } else {
        None
    };
    Ok(Memory {
        read_owned: memory.thousandths("read_owned")?,
        read_shared_ps: memory.ps("read_shared_ns")?,
        llc: memory.thousandths("llc")?,
        write: memory.thousandths("write")?,
        upgrade: memory.thousandths("upgrade")?,
        per_sharer_ps: memory.ps("per_sharer_ns")?,
        write_again: memory.thousandths("write_again")?,
        ahead_ps: if memory.has("ahead_ns") { memory.ps("ahead_ns")? } else { 0 },
        way_jitter: memory.thousandths("way_jitter")?,
        store_buffer: memory.whole("store_buffer")?,
        far_atomics,
    })
}

fn os(os: &Section<'_>) -> Result<Os, String> {
    Ok(Os {
        policy: policy(os)?,
        syscall_ps: os.ps("syscall_ns")?,
        wake_none_ps: os.ps("wake_none_ns")?,
        wake_call_ps: os.ps("wake_call_ns")?,
        sleep_ps: os.ps("sleep_ns")?,
        resume_ps: os.ps("resume_ns")?,
        bucket_ps: os.ps("bucket_ns")?,
        buckets: os.whole("buckets")?,
        wake_latency_ps: os.ps("wake_latency_ns")?,
        wake_jitter: jitter(os, "wake_jitter")?,
        kernel_jitter: jitter(os, "kernel_jitter")?,
        wake_deeper_ps: os.ps("wake_deeper_ns")?,
        idle_ps: os.ps("idle_ns")?,
        wake_deepest_ps: os.ps("wake_deepest_ns")?,
        switch_ps: os.ps("switch_ns")?,
        move_on_wake: os.thousandths("move_on_wake")?,
        wake_affine: os.switch("wake_affine")?,
        wake_fastest: os.switch("wake_fastest")?,
        yield_sleeps: os.switch("yield_sleeps")?,
        cache_hot_ps: os.long_ps("cache_hot_ms")?,
        balance_ps: os.long_ps("balance_ms")?,
        newidle: if os.has("newidle") { Some(os.thousandths("newidle")?) } else { None },
    })
}

/// Files that are older than the field do without.
fn jitter(os: &Section<'_>, name: &str) -> Result<u32, String> {
    if os.has(name) { os.thousandths(name) } else { Ok(0) }
}

fn policy(os: &Section<'_>) -> Result<Policy, String> {
    let accepted = "a section [os.fair], [os.eevdf] or [os.quantum]";
    let found: Vec<&str> = POLICIES.into_iter().filter(|name| os.has(name)).collect();
    match found[..] {
        ["fair"] => {
            let fair = os.section("fair", schema::FAIR)?;
            Ok(Policy::Fair {
                latency_ps: fair.long_ps("latency_ms")?,
                slice_ps: fair.long_ps("slice_ms")?,
                wakeup_granularity_ps: fair.long_ps("wakeup_granularity_ms")?,
            })
        }
        ["eevdf"] => {
            let eevdf = os.section("eevdf", schema::EEVDF)?;
            let switch = |name| if eevdf.has(name) { eevdf.switch(name) } else { Ok(false) };
            Ok(Policy::Eevdf(Eevdf {
                slice_ps: eevdf.long_ps("slice_ms")?,
                tick_ps: if eevdf.has("tick_ms") { eevdf.long_ps("tick_ms")? } else { 0 },
                delays_dequeue: switch("delays_dequeue")?,
                yield_forfeits: switch("yield_forfeits")?,
            }))
        }
        ["quantum"] => {
            let quantum = os.section("quantum", schema::QUANTUM)?;
            Ok(Policy::Quantum {
                quantum_ps: quantum.long_ps("quantum_ms")?,
                boost: quantum.switch("boost")?,
                starved_ps: quantum.long_ps("starved_ms")?,
            })
        }
        [] => Err(os.error("fair", format!("missing; accepted: {accepted}"))),
        [first, .., last] => Err(os.error(last, format!("beside [os.{first}]; accepted: one of them"))),
        [name] => unreachable!("{name} is one of the three above"),
    }
}
