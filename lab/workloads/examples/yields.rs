//! What a yield costs: a thread works for a while, yields, and so on, beside others on its core that only work. Measured, and
//! simulated if a machine file is given.
//!
//! `cargo run --release -p ondeck-workloads --example yields [FILE.toml]`

use ondeck_core::Platform;
use ondeck_workloads::execution::{Execution, Hardware, Simulated};
use ondeck_workloads::simulate;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// How long each setting runs.
const RUN_NS: u64 = 2_000_000_000;

/// What the yielding thread found.
struct Found {
    /// Of the core's time.
    share: f64,
    mean_ms: f64,
    longest_ms: f64,
}

fn run<E: Execution>(every_us: u32, others: u32, unit_ns: f64) -> Result<Found, String> {
    let core = E::cores().first().copied();
    let [times, away, longest] = [(); 3].map(|()| Arc::new(AtomicU64::new(0)));
    let (counted, summed, most) = (times.clone(), away.clone(), longest.clone());
    let units = (f64::from(every_us) * 1e3 / unit_ns) as u32;
    let end = E::now_ns() + RUN_NS;
    let yields = move || {
        while E::now_ns() < end {
            E::spend(units);
            let from = E::now_ns();
            E::yield_now();
            let ns = E::now_ns() - from;
            counted.fetch_add(1, Relaxed);
            summed.fetch_add(ns, Relaxed);
            most.fetch_max(ns, Relaxed);
        }
    };
    let mut threads = vec![E::start_thread(core, Box::new(yields))?];
    for _ in 0..others {
        let works = move || {
            while E::now_ns() < end {
                E::spend(100_000);
            }
        };
        threads.push(E::start_thread(core, Box::new(works))?);
    }
    threads.into_iter().for_each(E::join);
    let [times, away, longest] = [times, away, longest].map(|sum| sum.load(Relaxed) as f64);
    let share = times * f64::from(every_us) * 1e3 / RUN_NS as f64;
    Ok(Found { share, mean_ms: away / times.max(1.0) / 1e6, longest_ms: longest / 1e6 })
}

/// What a unit of work takes alone: the best of some tries.
fn unit_ns() -> f64 {
    const UNITS: u32 = 1_000_000;
    let timed = |_| {
        let from = Hardware::now_ns();
        Hardware::spend(UNITS);
        (Hardware::now_ns() - from) as f64 / f64::from(UNITS)
    };
    (0..20).map(timed).fold(f64::INFINITY, f64::min)
}

fn shown(found: &Found) -> String {
    format!("{:.3}  {:6.3} ms  {:6.2} ms", found.share, found.mean_ms, found.longest_ms)
}

fn main() -> Result<(), String> {
    let machine = std::env::args().nth(1).map(|file| simulate::machine(&file, None)).transpose()?;
    println!("others  works for   measured: share, mean, longest away   simulated");
    for others in [1, 3] {
        for every_us in [10, 100, 1000] {
            let measured = run::<Hardware>(every_us, others, unit_ns())?;
            print!("{others:6}  {every_us:6} us  {}", shown(&measured));
            if let Some(machine) = &machine {
                let options = ondeck_sim::Options { seed: 1, record: false };
                let unit_ns = f64::from(machine.kinds[0].work_ps) / 1e3;
                let outcome = ondeck_sim::run(machine, &options, || run::<Simulated>(every_us, others, unit_ns));
                print!("  {}", shown(&outcome.map_err(|failure| failure.to_string())?.value?));
            }
            println!();
        }
    }
    Ok(())
}
