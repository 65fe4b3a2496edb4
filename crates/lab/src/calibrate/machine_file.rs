//! The machine file: a calibration as TOML, with the origin of each figure, for a simulated machine to be built from.

use super::{Calibration, Time};
use crate::fingerprint::Fingerprint;
use std::fmt::Write;

/// The text of the machine file.
pub fn machine_file(calibration: &Calibration, fingerprint: &Fingerprint) -> String {
    let mut out = String::new();
    write_all(&mut out, calibration, fingerprint).expect("a string takes every write");
    out
}

fn write_all(out: &mut String, calibration: &Calibration, fingerprint: &Fingerprint) -> std::fmt::Result {
    writeln!(out, "# Costs of one machine, made by `ondeck calibrate`. Times are nanoseconds: the median of several")?;
    writeln!(
        out,
        "# rounds, and the lowest and highest of them. `origin` says how a figure was come by: \"measured\""
    )?;
    writeln!(out, "# on this machine, or where else it is from.")?;
    writeln!(out, "\n[machine]")?;
    writeln!(out, "name = {}", quoted(&fingerprint.machine))?;
    writeln!(out, "cpu = {}", quoted(&fingerprint.cpu))?;
    writeln!(out, "arch = {}", quoted(&fingerprint.arch))?;
    writeln!(out, "cpus = {}", fingerprint.cpus_online)?;
    for (name, value) in
        [("cores", fingerprint.cores), ("sockets", fingerprint.sockets), ("numa_nodes", fingerprint.numa_nodes)]
    {
        if let Some(value) = value {
            writeln!(out, "{name} = {value}")?;
        }
    }
    writeln!(out, "virtual_machine = {}", fingerprint.virtual_machine)?;
    writeln!(out, "kernel = {}", quoted(&format!("{} {}", fingerprint.os, fingerprint.kernel)))?;
    writeln!(out, "ondeck = {}", quoted(&fingerprint.ondeck))?;
    writeln!(out, "date = {}", quoted(&fingerprint.date))?;
    for cost in &calibration.costs {
        writeln!(out, "\n# {}", cost.what)?;
        writeln!(out, "[cost.{}]", cost.name)?;
        write_time(out, &cost.time)?;
    }
    if !calibration.line_transfers.is_empty() {
        let (n, all) = (calibration.line_transfers.len(), calibration.pairs);
        writeln!(out, "\n# a cache line moves from one core to another; {n} of {all} pairs")?;
    }
    for transfer in &calibration.line_transfers {
        writeln!(out, "[[line_transfer]]")?;
        writeln!(out, "cores = [{}, {}]", transfer.cores.0, transfer.cores.1)?;
        write_time(out, &transfer.time)?;
    }
    Ok(())
}

fn write_time(out: &mut String, time: &Time) -> std::fmt::Result {
    writeln!(out, "ns = {:.2}", time.ns)?;
    writeln!(out, "low_ns = {:.2}", time.low_ns)?;
    writeln!(out, "high_ns = {:.2}", time.high_ns)?;
    writeln!(out, "origin = \"measured\"")
}

/// A JSON string is a TOML basic string too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{Cost, LineTransfer};

    #[test]
    fn the_file_is_toml_with_every_figure() {
        let time = Time { ns: 43.25, low_ns: 43.0, high_ns: 50.5 };
        let calibration = Calibration {
            costs: vec![Cost { name: "pause", what: "one pause", time }],
            line_transfers: vec![LineTransfer { cores: (0, 1), time }, LineTransfer { cores: (0, 2), time }],
            pairs: 3,
        };
        let cpu = "Toy \"Quoted\" \\ CPU".to_string();
        let fingerprint = Fingerprint { machine: "toy-3c".into(), cpu: cpu.clone(), ..Fingerprint::default() };
        let table: toml::Table = machine_file(&calibration, &fingerprint).parse().unwrap();
        assert_eq!(table["machine"]["cpu"].as_str(), Some(cpu.as_str()));
        assert_eq!(table["cost"]["pause"]["ns"].as_float(), Some(43.25));
        assert_eq!(table["cost"]["pause"]["origin"].as_str(), Some("measured"));
        assert_eq!(table["line_transfer"].as_array().unwrap().len(), 2);
        assert_eq!(table["line_transfer"][1]["cores"][1].as_integer(), Some(2));
    }
}
