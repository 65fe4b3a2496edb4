//! From what a machine file says to the machine.

use super::model::{CoreKind, Eevdf, FarAtomics, Machine, Memory, Os, Policy};
use super::schema;
use super::topology::Topology;
use super::tree::{FieldError, wrong};

/// The machine that a file describes. `cores` is what the command line asks for; a machine that is as large as one likes
/// is made that large here, every other as large as its file says. Returns whether it was asked for and done.
pub(super) fn resolve(file: &schema::File, cores: Option<u32>) -> Result<(Machine, bool), FieldError> {
    let line_bytes = file.machine.line_bytes.0;
    if !line_bytes.is_power_of_two() {
        return Err(wrong("machine.line_bytes", format!("{line_bytes}; accepted: a power of two")));
    }
    let is_scalable = file.topology.scalable == Some(true);
    let Topology { kinds, n_cores, cpus, distance_ps } = Topology::of(file, cores)?;
    let machine = Machine {
        name: file.machine.name.0.clone(),
        about: file.machine.about.0.clone(),
        hash: 0,
        guesses: 0,
        figures: 0,
        line_bytes,
        kinds: kinds.into_iter().map(|name| core_kind(name, &file.kind[name])).collect(),
        cpus,
        cores: n_cores,
        distance_ps,
        memory: memory(&file.memory)?,
        os: os(&file.os)?,
    };
    Ok((machine, is_scalable))
}

fn core_kind(name: &str, kind: &schema::Kind) -> CoreKind {
    CoreKind {
        name: name.to_string(),
        hit_ps: kind.hit_ns.0,
        rmw_ps: kind.rmw_ns.0,
        store_ps: kind.store_ns.0,
        sibling_ps: kind.sibling_ns.map_or(0, |ns| ns.0),
        barrier_ps: kind.barrier_ns.0,
        pause_ps: kind.pause_ns.0,
        pause_jitter: kind.pause_jitter.0,
        work_ps: kind.work_ns.0,
        fib_call_ps: kind.fib_call_ns.0,
        ticks_ps: kind.ticks_ns.0,
        clock_ps: kind.clock_ns.0,
        yield_ps: kind.yield_ns.0,
        smt_slowdown: kind.smt_slowdown.0,
        smt_pausing: kind.smt_pausing.0,
        // Files have the ratio of the two, which is at least one.
        derate: kind.derate.0 - 1000,
    }
}

fn memory(memory: &schema::Memory) -> Result<Memory, FieldError> {
    let far_atomics = match (memory.far_round_trip_ns, memory.far_busy_ns) {
        (Some(round_trip), Some(busy)) => Some(FarAtomics { round_trip_ps: round_trip.0, busy_ps: busy.0 }),
        (None, None) => None,
        (Some(_), None) => return Err(wrong("memory.far_busy_ns", "missing beside far_round_trip_ns")),
        (None, Some(_)) => return Err(wrong("memory.far_round_trip_ns", "missing beside far_busy_ns")),
    };
    Ok(Memory {
        read_owned: memory.read_owned.0,
        read_shared_ps: memory.read_shared_ns.0,
        llc: memory.llc.0,
        write: memory.write.0,
        upgrade: memory.upgrade.0,
        per_sharer_ps: memory.per_sharer_ns.0,
        write_again: memory.write_again.0,
        ahead_ps: memory.ahead_ns.map_or(0, |ns| ns.0),
        way_jitter: memory.way_jitter.0,
        store_buffer: memory.store_buffer.0,
        far_atomics,
    })
}

fn os(os: &schema::Os) -> Result<Os, FieldError> {
    Ok(Os {
        policy: policy(os)?,
        syscall_ps: os.syscall_ns.0,
        wake_none_ps: os.wake_none_ns.0,
        wake_call_ps: os.wake_call_ns.0,
        sleep_ps: os.sleep_ns.0,
        resume_ps: os.resume_ns.0,
        bucket_ps: os.bucket_ns.0,
        buckets: os.buckets.0,
        wake_latency_ps: os.wake_latency_ns.0,
        // Files that are older than the field do without.
        wake_jitter: os.wake_jitter.map_or(0, |jitter| jitter.0),
        kernel_jitter: os.kernel_jitter.map_or(0, |jitter| jitter.0),
        wake_deeper_ps: os.wake_deeper_ns.0,
        idle_ps: os.idle_ns.0,
        wake_deepest_ps: os.wake_deepest_ns.0,
        switch_ps: os.switch_ns.0,
        move_on_wake: os.move_on_wake.0,
        wake_affine: os.wake_affine.0,
        wake_fastest: os.wake_fastest.0,
        yield_sleeps: os.yield_sleeps.0,
        cache_hot_ps: os.cache_hot_ms.0,
        balance_ps: os.balance_ms.0,
        newidle: os.newidle.map(|share| share.0),
    })
}

fn policy(os: &schema::Os) -> Result<Policy, FieldError> {
    match (&os.fair, &os.eevdf, &os.quantum) {
        (Some(fair), None, None) => Ok(Policy::Fair {
            latency_ps: fair.latency_ms.0,
            slice_ps: fair.slice_ms.0,
            wakeup_granularity_ps: fair.wakeup_granularity_ms.0,
        }),
        (None, Some(eevdf), None) => Ok(Policy::Eevdf(Eevdf {
            slice_ps: eevdf.slice_ms.0,
            tick_ps: eevdf.tick_ms.map_or(0, |ms| ms.0),
            delays_dequeue: eevdf.delays_dequeue.is_some_and(|switch| switch.0),
            yield_forfeits: eevdf.yield_forfeits.is_some_and(|switch| switch.0),
        })),
        (None, None, Some(quantum)) => Ok(Policy::Quantum {
            quantum_ps: quantum.quantum_ms.0,
            boost: quantum.boost.0,
            starved_ps: quantum.starved_ms.0,
        }),
        (None, None, None) => Err(wrong("os", "accepted: a section [os.fair], [os.eevdf] or [os.quantum]")),
        (fair, _, quantum) => {
            let first = if fair.is_some() { "fair" } else { "eevdf" };
            let last = if quantum.is_some() { "quantum" } else { "eevdf" };
            Err(wrong(format!("os.{last}"), format!("beside [os.{first}]; accepted: one of them")))
        }
    }
}
