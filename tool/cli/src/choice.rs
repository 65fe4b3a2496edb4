//! Values of flags: read, or refused with what is accepted.

use clap::ValueEnum;
use ondeck_workloads::busy_loops::MAX_LOAD;
use ondeck_workloads::driver;
use ondeck_workloads::lock::{self, LockSpec, lock_names};
use ondeck_workloads::plan::{MAX_SECONDS, Pin};
use ondeck_workloads::simulate::{self, MAX_CORES};
use ondeck_workloads::wait_policy;
use ondeck_workloads::workload::{MAX_UNITS, WORKLOADS, WorkloadSpec, workload_names};
use regex_lite::Regex;
use std::path::PathBuf;

/// The value of `--out`, which the command line has for two things: its look decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OutValue {
    /// Only digits: units of work outside the section.
    Units(u32),
    /// Anything else: the file for the results.
    File(PathBuf),
}

pub(crate) fn out(text: &str) -> Result<OutValue, String> {
    if text.is_empty() {
        return Err("accepted: a file name, or a number of units of work".to_string());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        units(text).map(OutValue::Units)
    } else {
        Ok(OutValue::File(text.into()))
    }
}

/// A value of `--lock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Locks {
    /// Each that there is.
    All,
    /// Each that programs use today.
    Peers,
    /// This one.
    One(LockSpec),
}

pub(crate) fn lock(text: &str) -> Result<Locks, String> {
    match text {
        "all" => return Ok(Locks::All),
        "peers" => return Ok(Locks::Peers),
        _ => {}
    }
    let (names, name) = (lock_names(), lock::split(text).0);
    if !names.contains(&name) {
        return Err(unknown("lock", name, &[&names[..], &["all", "peers"]].concat()));
    }
    LockSpec::parse(text).map(Locks::One)
}

/// A value of `--workload`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workloads {
    /// Each that there is, with its default parameters.
    All,
    /// This one.
    One(WorkloadSpec),
}

pub(crate) fn workload(text: &str) -> Result<Workloads, String> {
    if text == "all" {
        return Ok(Workloads::All);
    }
    let spec = WorkloadSpec::parse_name(text).map(Workloads::One);
    spec.ok_or_else(|| unknown("workload", text, &[&workload_names()[..], &["all"]].concat()))
}

/// A value of `--pin`.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum PinArg {
    /// The system chooses, and may move threads
    #[default]
    None,
    /// Each thread gets the next core, and after the last core the first again
    Alternate,
}

impl From<PinArg> for Pin {
    fn from(pin: PinArg) -> Pin {
        match pin {
            PinArg::None => Pin::None,
            PinArg::Alternate => Pin::Alternate,
        }
    }
}

pub(crate) fn cores(text: &str) -> Result<u32, String> {
    whole_number(text, 1, MAX_CORES)
}

pub(crate) fn yield_after(text: &str) -> Result<u32, String> {
    whole_number(text, 0, wait_policy::MOST_US)
}

/// Numbers of threads, as somebody writes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Threads {
    /// From the one to the other, both included.
    Range(u32, u32),
    /// So many for each CPU.
    PerCpu(f64),
}

impl Threads {
    /// The numbers, on a machine of so many CPUs.
    pub(crate) fn on(self, cpus: u32) -> std::ops::RangeInclusive<u32> {
        match self {
            Threads::Range(least, most) => least..=most,
            Threads::PerCpu(times) => {
                let number = ((times * f64::from(cpus)).round() as u32).max(1);
                number..=number
            }
        }
    }
}

/// The longest separator first, as each shorter one is a part of it or another.
const RANGES: [&str; 3] = ["..=", "..", "-"];

pub(crate) fn threads(text: &str) -> Result<Threads, String> {
    let most = WORKLOADS.iter().map(|workload| workload.max_threads).max().unwrap_or(1);
    let number = |text: &str| whole_number(text.trim(), 1, most).ok();
    let per_cpu = |text: &str| text.parse().ok().filter(|times| (0.01..=100.0).contains(times)).map(Threads::PerCpu);
    let range = || RANGES.iter().find_map(|separator| text.split_once(separator));
    let parsed = match (text.strip_suffix('x'), range()) {
        (Some(times), _) => per_cpu(times),
        (None, Some((least, most))) => number(least).zip(number(most)).map(|(least, most)| Threads::Range(least, most)),
        (None, None) => number(text).map(|number| Threads::Range(number, number)),
    };
    let is_possible = |threads: &Threads| !matches!(threads, Threads::Range(least, most) if least > most);
    parsed.filter(is_possible).ok_or_else(|| {
        format!("accepted: whole numbers from 1 to {most}, ranges like 1-4, and multiples of the CPUs like 2x")
    })
}

pub(crate) fn rounds(text: &str) -> Result<u32, String> {
    whole_number(text, 1, 10_000)
}

/// Work inside or outside a section.
pub(crate) fn units(text: &str) -> Result<u32, String> {
    whole_number(text, 0, MAX_UNITS)
}

pub(crate) fn load(text: &str) -> Result<u32, String> {
    whole_number(text, 0, MAX_LOAD)
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("accepted: whole numbers from 0 to {}", u64::MAX))
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    seconds_from(driver::MIN_SECONDS, text)
}

/// Seconds of simulated time.
pub(crate) fn simulated_seconds(text: &str) -> Result<f64, String> {
    seconds_from(simulate::MIN_SECONDS, text)
}

fn seconds_from(least: f64, text: &str) -> Result<f64, String> {
    let most = MAX_SECONDS;
    // A comparison with NaN is false, so NaN is refused too.
    let accepted = |seconds: &f64| (least..=most).contains(seconds);
    text.parse().ok().filter(accepted).ok_or_else(|| format!("accepted: {least} to {most} seconds"))
}

fn whole_number(text: &str, least: u32, most: u32) -> Result<u32, String> {
    let accepted = |number: &u32| (least..=most).contains(number);
    text.parse().ok().filter(accepted).ok_or_else(|| format!("accepted: whole numbers from {least} to {most}"))
}

/// The message about a name that does not exist, with the name that was probably meant.
fn unknown(what: &str, text: &str, names: &[&str]) -> String {
    let meant = names.iter().map(|name| (strsim::jaro_winkler(text, name), name)).max_by(|a, b| a.0.total_cmp(&b.0));
    // 0.8 still finds two swapped or missing letters in a word of six, and rarely a stranger.
    let hint = meant.filter(|meant| meant.0 > 0.8).map(|meant| format!("; did you mean '{}'?", meant.1));
    format!("there is no such {what}{} Accepted: {}", hint.unwrap_or(".".to_string()), names.join(", "))
}

/// A time with its unit.
pub(crate) fn duration(text: &str) -> Result<std::time::Duration, String> {
    const SHORTEST_S: f64 = 0.1;
    /// Clocks count further, but nobody waits.
    const LONGEST_S: f64 = 1000.0 * 3600.0;
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        std::time::Duration::try_from_secs_f64(number * seconds).ok()
    });
    match parsed {
        Some(time) if (SHORTEST_S..=LONGEST_S).contains(&time.as_secs_f64()) => Ok(time),
        _ => Err("accepted: a time from 100ms to 1000h with its unit, like 500ms, 10s, 2m or 1h".to_owned()),
    }
}

/// A regular expression.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let error = error.to_string();
        // The lines before show where that is in the text.
        let what = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("{what}; accepted: a regular expression, like 'ops/s: ([0-9.,]+)'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_is_units_or_a_file() {
        assert_eq!(out("60"), Ok(OutValue::Units(60)));
        assert_eq!(out("60.csv"), Ok(OutValue::File("60.csv".into())));
        assert_eq!(out("./60"), Ok(OutValue::File("./60".into())));
        assert!(out("99999999999").is_err());
        assert!(out("").is_err());
    }

    #[test]
    fn threads_are_numbers_ranges_and_times_the_cpus() {
        for text in ["2-4", "2..4", "2..=4", "2 - 4"] {
            assert_eq!(threads(text).map(|threads| threads.on(8)), Ok(2..=4), "{text}");
        }
        assert_eq!(threads("7").map(|threads| threads.on(8)), Ok(7..=7));
        for (text, number) in [("2x", 16), ("1.25x", 10), ("0.01x", 1)] {
            assert_eq!(threads(text).map(|threads| threads.on(8)), Ok(number..=number), "{text}");
        }
        for text in ["", "0", "-1", "4-2", "1-", "..", "x", "-2x", "nanx", "infx", "2x-4", "1-2-3", "99999"] {
            assert!(threads(text).unwrap_err().starts_with("accepted: "), "{text}");
        }
    }

    #[test]
    fn seconds_are_possible_ones() {
        assert_eq!((seconds("0.02"), simulated_seconds("0.0005")), (Ok(0.02), Ok(0.0005)));
        assert!(seconds("0.0005").is_err() && simulated_seconds("0.000001").is_err());
        for text in ["0", "-1", "nan", "inf", "1e9", "soon", ""] {
            assert!(seconds(text).unwrap_err().starts_with("accepted: "), "{text}");
        }
    }

    #[test]
    fn near_misses_get_a_hint() {
        let message = self::lock("pthread-adaptiv").unwrap_err();
        assert!(message.contains("did you mean 'pthread-adaptive'?"), "{message}");
        assert!(!self::lock("zzz").unwrap_err().contains("did you mean"));
        assert!(workload("mutex-contenton").unwrap_err().contains("did you mean 'mutex-contention'?"));
    }
}
