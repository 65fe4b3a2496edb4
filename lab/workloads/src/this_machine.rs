//! Which machine this is.
//!
//! Everything is read from files that Linux offers; what is not there stays unknown rather than guessed.

use ondeck_kit::date::utc;
use ondeck_report::fingerprint::Fingerprint;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// This machine, now.
pub fn fingerprint() -> Fingerprint {
    use ondeck_core::{Hardware, Platform};
    let cpuinfo = CpuInfo::parse(&read("/proc/cpuinfo").unwrap_or_default());
    let online = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let mut fingerprint = Fingerprint {
        cpu: cpuinfo.model.unwrap_or_else(|| std::env::consts::ARCH.to_string()),
        arch: std::env::consts::ARCH.to_string(),
        cpus_online: cpuinfo.cpus.max(online),
        cpus_allowed: Hardware::parallelism(),
        cores: cpuinfo.cores,
        sockets: cpuinfo.sockets,
        numa_nodes: count_numa_nodes(Path::new("/sys/devices/system/node")),
        smt: smt(),
        virtual_machine: cpuinfo.hypervisor || Path::new("/sys/hypervisor/type").exists(),
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        os: std::env::consts::OS.to_string(),
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_string()),
        load_average: read("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
        ondeck: env!("CARGO_PKG_VERSION").to_string(),
        commit: option_env!("ONDECK_COMMIT").map(str::to_string),
        date: utc(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())),
        ..Fingerprint::default()
    };
    fingerprint.machine = slug(&fingerprint);
    fingerprint
}

/// The name in the `machine` column: stable on one machine, readable, fit for a file name.
fn slug(fingerprint: &Fingerprint) -> String {
    let cores = fingerprint.cores.unwrap_or(fingerprint.cpus_online);
    let threads = if fingerprint.cpus_online > cores { format!("{}t", fingerprint.cpus_online) } else { String::new() };
    let vm = if fingerprint.virtual_machine { "-vm" } else { "" };
    format!("{}-{cores}c{threads}{vm}", short_cpu_name(&fingerprint.cpu))
}

/// What `/proc/cpuinfo` says.
#[derive(Debug, Default, PartialEq)]
struct CpuInfo {
    model: Option<String>,
    cpus: u32,
    cores: Option<u32>,
    sockets: Option<u32>,
    hypervisor: bool,
}

impl CpuInfo {
    fn parse(text: &str) -> Self {
        let fields: Vec<(&str, &str)> = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| (key.trim(), value.trim()))
            .collect();
        let all = |wanted: &'static str| fields.iter().filter(move |(key, _)| *key == wanted).map(|(_, value)| *value);
        let packages: std::collections::BTreeSet<&str> = all("physical id").collect();
        let cores_per_socket: Option<u32> = all("cpu cores").next().and_then(|n| n.parse().ok());
        let sockets = (!packages.is_empty()).then_some(packages.len() as u32);
        CpuInfo {
            model: all("model name").next().or(all("Model").next()).map(str::to_string),
            cpus: all("processor").count() as u32,
            cores: sockets.zip(cores_per_socket).map(|(sockets, cores)| sockets * cores),
            sockets,
            hypervisor: all("flags").next().is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        }
    }
}

/// The words of a processor's name that tell it from others, joined with dashes.
fn short_cpu_name(cpu: &str) -> String {
    const NOISE: [&str; 12] =
        ["intel", "amd", "arm", "apple", "core", "cpu", "processor", "generation", "gen", "with", "radeon", "graphics"];
    let cpu = cpu.split('@').next().unwrap_or_default().to_lowercase();
    let cpu = cpu.replace("(r)", " ").replace("(tm)", " ");
    let is_noise = |word: &str| {
        NOISE.contains(&word)
            || word.ends_with("-core")
            // "13th Gen": the model number that follows says it better.
            || (word.ends_with("th") && word.starts_with(|c: char| c.is_ascii_digit()))
    };
    let words: Vec<String> = cpu
        .split_whitespace()
        .filter(|word| !is_noise(word))
        .map(|word| word.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect())
        .filter(|word: &String| !word.is_empty())
        .take(4)
        .collect();
    if words.is_empty() { std::env::consts::ARCH.to_string() } else { words.join("-") }
}

fn smt() -> Option<bool> {
    match read("/sys/devices/system/cpu/smt/active")?.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

fn count_numa_nodes(directory: &Path) -> Option<u32> {
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok());
    let nodes = fs::read_dir(directory).ok()?.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_node));
    Some(nodes.count() as u32)
}

/// The file without surrounding white space; `None` if it cannot be read or is empty.
fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slug(cpu: &str, cores: Option<u32>, cpus_online: u32, virtual_machine: bool) -> String {
        super::slug(&Fingerprint {
            cpu: cpu.to_string(),
            cores,
            cpus_online,
            virtual_machine,
            ..Fingerprint::default()
        })
    }

    #[test]
    fn slugs_are_short_and_tell_machines_apart() {
        assert_eq!(slug("Intel(R) Xeon(R) Processor", Some(2), 2, true), "xeon-2c-vm");
        assert_eq!(slug("13th Gen Intel(R) Core(TM) i7-13700H", Some(14), 20, false), "i7-13700h-14c20t");
        assert_eq!(slug("AMD Ryzen 9 7950X 16-Core Processor", Some(16), 32, false), "ryzen-9-7950x-16c32t");
        assert_eq!(slug("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", Some(24), 24, false), "xeon-e5-2680-v3-24c");
        assert_eq!(slug("Apple M1", None, 8, false), "m1-8c");
        assert_eq!(slug("", None, 4, false), format!("{}-4c", std::env::consts::ARCH));
    }

    #[test]
    fn cpuinfo_of_two_sockets() {
        let one = |cpu: u32, socket: u32| {
            format!(
                "processor\t: {cpu}\nmodel name\t: Xeon\nphysical id\t: {socket}\ncpu cores\t: 8\nflags\t\t: fpu hypervisor\n\n"
            )
        };
        let info = CpuInfo::parse(&(one(0, 0) + &one(1, 1)));
        let expected =
            CpuInfo { model: Some("Xeon".into()), cpus: 2, cores: Some(16), sockets: Some(2), hypervisor: true };
        assert_eq!(info, expected);
        assert_eq!(CpuInfo::parse("garbage"), CpuInfo::default());
    }

    #[test]
    fn this_machine_has_a_fingerprint() {
        let fingerprint = fingerprint();
        assert!(fingerprint.cpus_online >= 1 && fingerprint.cpus_allowed >= 1);
        assert!(fingerprint.line().starts_with(&fingerprint.machine));
        assert!(fingerprint.machine.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
    }
}
