//! The machine file: a calibration as TOML, with the origin of each figure, for a simulated machine to be built from.
//!
//! What can be measured from here is; the rest is guessed, and the file says so figure by figure. All cores are of one
//! kind, because a process cannot tell kinds apart without knowing them.

use super::kernel::Rules;
use super::{Calibration, Cost, LineTransfer, Shared, Time, ways};
use ondeck_report::fingerprint::Fingerprint;
use ondeck_sim::machine::from_text;
use std::fmt::Display;

const HEADER: &str = "\
# One machine, made by `ondeck calibrate` for `ondeck sim --machine`. docs/machines.md says what the
# fields mean. Each figure has its origin: measured here, derived from that, or a guess. What was
# measured stands at the end as it was found: the median of several rounds, the lowest, the highest.
";

/// The text of the machine file.
pub fn text(calibration: &Calibration, fingerprint: &Fingerprint) -> String {
    let with = |per_distance: f64| File { out: HEADER.to_string(), calibration, fingerprint, per_distance }.written();
    // What a simulated line takes grows with the distance as a measured one does; so one try tells the factor.
    let first = with(1.0);
    let machine = from_text(&fingerprint.machine, &first).ok();
    machine.as_ref().and_then(ways::per_distance).map_or(first, with)
}

/// How the hardware threads are laid out.
struct Shape {
    sockets: u32,
    /// Of each socket.
    cores: u32,
    /// Of each core.
    threads: u32,
}

impl Shape {
    fn of(calibration: &Calibration, fingerprint: &Fingerprint) -> Shape {
        let cpus = fingerprint.cpus_allowed.max(1);
        let siblings = calibration.line_transfers.iter().any(|transfer| transfer.shared == Shared::Core);
        // Kinds of cores with different numbers of threads are not told apart; such a machine has a core per thread.
        let threads = if siblings && cpus.is_multiple_of(2) { 2 } else { 1 };
        let has_sockets = calibration.line_transfers.iter().any(|transfer| transfer.shared == Shared::Nothing);
        let sockets = fingerprint.sockets.filter(|&n| has_sockets && n > 1 && cpus.is_multiple_of(n * threads));
        let sockets = sockets.unwrap_or(1);
        Shape { sockets, cores: (cpus / sockets / threads).clamp(1, 256 / sockets), threads }
    }
}

/// Why most guesses are.
const NOT_MEASURED: &str = "not measured: that takes more cores, or more knowledge of them";

struct File<'a> {
    out: String,
    calibration: &'a Calibration,
    fingerprint: &'a Fingerprint,
    /// What the passing of a line that was measured takes on a simulated machine, as a multiple of the distance.
    per_distance: f64,
}

impl File<'_> {
    fn written(mut self) -> String {
        let shape = Shape::of(self.calibration, self.fingerprint);
        self.line(format!("\n[machine]\nname = {}", quoted(&self.fingerprint.machine)));
        self.line(format!("about = {}", quoted(&self.fingerprint.line())));
        self.guess("line_bytes", 64, "the usual");
        self.topology(&shape);
        self.kind(&shape);
        self.distances();
        self.memory();
        self.os();
        self.policy();
        self.calibrated();
        self.out
    }

    fn line(&mut self, text: impl Display) {
        self.out += &format!("{text}\n");
    }

    fn topology(&mut self, shape: &Shape) {
        let nearest = self.calibration.line_transfers.iter().map(|transfer| transfer.time.ns).reduce(f64::min);
        let hidden = nearest.map_or(String::new(), |ns| {
            format!("; a hypervisor may hide that two CPUs share a core: the nearest two take {ns:.0} ns, which share one if below about 15")
        });
        self.line("\n[topology]\norigin = \"measured\"");
        self.line(format!("from = {}", quoted(&format!("what the system says{hidden}"))));
        self.line(format!("kinds = [\"core\"]\nsockets = {}\nfill = \"spread\"\nnear = \"socket\"", shape.sockets));
    }

    fn kind(&mut self, shape: &Shape) {
        self.line(format!("\n[kind.core]\nclusters = 1\ncores = {}\nthreads = {}", shape.cores, shape.threads));
        for (field, cost) in [
            ("hit_ns", "hit"),
            ("rmw_ns", "rmw"),
            ("store_ns", "store"),
            ("barrier_ns", "barrier"),
            ("pause_ns", "pause"),
            ("work_ns", "work"),
            ("fib_call_ns", "fib_call"),
            ("ticks_ns", "ticks_read"),
            ("clock_ns", "clock_read"),
            ("yield_ns", "yield"),
        ] {
            self.measured(field, cost);
        }
        self.guess("pause_jitter", "0.05", NOT_MEASURED);
        self.guess("smt_slowdown", if shape.threads > 1 { "1.35" } else { "1.0" }, NOT_MEASURED);
        self.guess("smt_pausing", "1.0", NOT_MEASURED);
        self.guess("derate", "1.0", NOT_MEASURED);
    }

    fn distances(&mut self) {
        self.line("\n[distance.core-core]");
        for (field, shared, what) in
            [("cluster_ns", Shared::Socket, "of one socket"), ("hop_1_ns", Shared::Nothing, "of different sockets")]
        {
            let is_meant = |transfer: &&LineTransfer| transfer.shared == shared;
            let medians: Vec<f64> =
                self.calibration.line_transfers.iter().filter(is_meant).map(|transfer| transfer.time.ns).collect();
            if let Some(Time { ns, low_ns, high_ns }) = Time::of(&medians) {
                let [ns, low_ns, high_ns] = [ns, low_ns, high_ns].map(|ns| ns / self.per_distance);
                let from = format!(
                    "a cache line moves between two cores {what}: median of {} pairs, divided by {:.2}, as a simulated line \
                     takes so many distances for the same",
                    medians.len(),
                    self.per_distance
                );
                self.figure(field, &Time { ns, low_ns, high_ns }, "derived", &from);
            } else if shared == Shared::Socket {
                self.guess(field, 50, NOT_MEASURED);
            }
        }
    }

    fn memory(&mut self) {
        self.line("\n[memory]");
        for (field, value) in [
            ("read_owned", "1.0"),
            ("read_shared_ns", "8"),
            ("llc", "0.7"),
            ("write", "1.0"),
            ("upgrade", "1.0"),
            ("per_sharer_ns", "1"),
            ("write_again", "0.02"),
            ("way_jitter", "0.1"),
            ("store_buffer", "64"),
        ] {
            self.guess(field, value, NOT_MEASURED);
        }
        self.ahead();
    }

    /// Whether several lines are under way at once was measured; how far a core sees is what some hundred instructions take.
    fn ahead(&mut self) {
        const AHEAD_NS: &str = "50";
        // Of the same two CPUs; hardware threads of a core need no line from each other.
        let transfer = self.calibration.line_transfers.first().filter(|transfer| transfer.shared != Shared::Core);
        match self.time("second_line").zip(transfer) {
            Some((second, transfer)) if second.ns < transfer.time.ns / 2.0 => {
                let what =
                    "second_line is less than half of what a line takes, so cores look ahead; how far is a guess";
                self.figure_without_range("ahead_ns", AHEAD_NS, "derived", what);
            }
            Some(_) => {
                let what = "second_line is more than half of what a line takes: one is asked for after the other";
                self.figure_without_range("ahead_ns", 0, "derived", what);
            }
            None => self.guess("ahead_ns", AHEAD_NS, NOT_MEASURED),
        }
    }

    fn os(&mut self) {
        const BUCKET_NS: f64 = 150.0;
        const RESUME_NS: f64 = 300.0;
        const LEAST_NS: f64 = 50.0;
        let ns = |name: &str| self.time(name).map(|time| time.ns);
        let syscall = ns("syscall").unwrap_or(100.0);
        let switch = ns("yield_to_other").zip(ns("yield")).map(|(other, alone)| (other - alone).max(LEAST_NS));
        let call = ns("wake_call").map(|call| (call - syscall - BUCKET_NS).max(LEAST_NS));
        let after = |latency: &str| {
            let until_and_call = ns(latency).zip(ns("wake_call"));
            until_and_call.map(|(until, call)| (until - call - RESUME_NS).max(LEAST_NS))
        };
        let (short, long) = (after("wake_latency_after_10_us"), after("wake_latency"));
        let latency = short.zip(long).map(|(short, long)| short.min(long)).or(long);
        let deeper = latency.zip(long).map(|(latency, long)| long - latency);
        // Drawn evenly, half of all lie in half of the width.
        let jitter = ns("wake_latency_spread").zip(long).map(|(spread, long)| (spread / long).min(0.9));
        let trip = ns("futex_round_trip_same_core").zip(switch);
        let sleep =
            trip.map(|(trip, switch)| (trip / 2.0 - switch - 2.0 * (syscall + BUCKET_NS) - RESUME_NS).max(LEAST_NS));
        self.line("\n[os]");
        self.measured("syscall_ns", "syscall");
        self.measured("wake_none_ns", "futex_wake_none");
        self.derived("wake_call_ns", call, 1100.0, "wake_call without a system call and the bucket");
        let what =
            "half of futex_round_trip_same_core without the switch, two system calls, two buckets and the return";
        self.derived("sleep_ns", sleep, 500.0, what);
        self.guess("resume_ns", RESUME_NS, NOT_MEASURED);
        self.guess("bucket_ns", BUCKET_NS, NOT_MEASURED);
        let buckets = (256 * self.fingerprint.cpus_online.clamp(1, 256)).next_power_of_two();
        self.guess("buckets", buckets, "256 per CPU, as Linux has");
        let what = "wake_latency without wake_call and the return, of the length of sleep that gives less";
        self.derived("wake_latency_ns", latency, 3000.0, what);
        let what = "the middle half of wake_latency, as a share of it without wake_call and the return";
        self.derived("wake_jitter", jitter, 0.2, what);
        let what =
            "two threads that fought for a mutex on a virtual machine: 210 to 730 ns for wakes that found nobody";
        self.guess("kernel_jitter", "0.3", what);
        let what = "the same after a sleep of 10 us and after one ten times as long, which is three doublings";
        self.derived("wake_deeper_ns", deeper.map(|deeper| deeper / 3.0), 0.0, what);
        self.guess("idle_ns", "10000", "the shorter of the two sleeps");
        self.derived("wake_deepest_ns", deeper, 0.0, "what was seen after the longer one");
        self.derived("switch_ns", switch, 600.0, "yield_to_other without the yield");
        self.guess("move_on_wake", "0.1", NOT_MEASURED);
        self.guess("wake_affine", "true", "as Linux does");
        self.guess("wake_fastest", "false", NOT_MEASURED);
        self.guess("yield_sleeps", "false", "as Linux does");
        self.guess("cache_hot_ms", "0.5", "as Linux has it");
        self.guess("balance_ms", "4", "as Linux has it, about");
    }

    /// Linux from 6.6 on, as it is in this release.
    fn policy(&mut self) {
        let rules = Rules::of(&self.fingerprint.kernel, self.fingerprint.cpus_online);
        if rules.looks_seldom {
            let what = "a virtual machine with 2 CPUs and Linux 6.18, where an idle CPU took a waiting thread at 20 to 54 of 270 chances";
            self.guess("newidle", "0.1", what);
        }
        self.line("\n[os.eevdf]");
        let what = "Linux since 6.6: grows with the CPUs, up to 8";
        self.figure_without_range("slice_ms", format_args!("{:.2}", rules.slice_ms), "recalled", what);
        if let Some(tick_ms) = rules.tick_ms {
            let what = "clock_getres: the coarse clock is set when the clock ticks";
            self.figure_without_range("tick_ms", format_args!("{tick_ms:.3}"), "measured", what);
        }
        for (field, is_so, what) in [
            ("delays_dequeue", rules.delays_dequeue, "Linux since 6.12, by its release"),
            ("yield_forfeits", rules.yield_forfeits, "Linux since 6.18, by its release"),
        ] {
            self.figure_without_range(field, is_so, "recalled", what);
        }
    }

    fn time(&self, name: &str) -> Option<Time> {
        self.calibration.costs.iter().find(|cost| cost.name == name).map(|cost| cost.time)
    }

    /// A figure that is a measured cost; without it, as on a machine of one CPU, a guess.
    fn measured(&mut self, field: &str, name: &str) {
        match self.calibration.costs.iter().find(|cost| cost.name == name) {
            Some(cost) => self.figure(field, &cost.time, "measured", &format!("{name}: {}", cost.what)),
            None => self.guess(field, 1, NOT_MEASURED),
        }
    }

    fn derived(&mut self, field: &str, ns: Option<f64>, guess: f64, from: &str) {
        match ns {
            Some(ns) => self.figure_without_range(field, format_args!("{ns:.3}"), "derived", from),
            None => self.guess(field, guess, NOT_MEASURED),
        }
    }

    fn guess(&mut self, field: &str, value: impl Display, from: &str) {
        self.figure_without_range(field, value, "guess", from);
    }

    fn figure_without_range(&mut self, field: &str, value: impl Display, origin: &str, from: &str) {
        self.line(format!("{field} = {{ value = {value}, origin = \"{origin}\", from = {} }}", quoted(from)));
    }

    fn figure(&mut self, field: &str, time: &Time, origin: &str, from: &str) {
        // Nothing that happens takes no time at all, whatever a clock says.
        let [value, low, high] = [time.ns, time.low_ns, time.high_ns].map(|ns| ns.max(0.001));
        let from = quoted(from);
        self.line(format!(
            "{field} = {{ value = {value:.3}, origin = \"{origin}\", from = {from}, low = {low:.3}, high = {high:.3} }}"
        ));
    }

    /// What was measured, and of which machine; the simulator reads nothing of it.
    fn calibrated(&mut self) {
        let Fingerprint { cpu, arch, cpus_online, virtual_machine, os, kernel, ondeck, date, .. } = self.fingerprint;
        let Fingerprint { cores, sockets, numa_nodes, .. } = self.fingerprint;
        self.line(format!("\n[calibration]\ncpu = {}\narch = {}\ncpus = {cpus_online}", quoted(cpu), quoted(arch)));
        for (name, value) in [("cores", cores), ("sockets", sockets), ("numa_nodes", numa_nodes)] {
            value.iter().for_each(|value| self.line(format!("{name} = {value}")));
        }
        let kernel = quoted(&format!("{os} {kernel}"));
        self.line(format!("virtual_machine = {virtual_machine}\nkernel = {kernel}"));
        self.line(format!("ondeck = {}\ndate = {}", quoted(ondeck), quoted(date)));
        let Calibration { costs, line_transfers, pairs } = self.calibration;
        let times =
            |time: &Time| format!("ns = {:.2}\nlow_ns = {:.2}\nhigh_ns = {:.2}", time.ns, time.low_ns, time.high_ns);
        for Cost { name, what, time } in costs {
            self.line(format!("\n# {what}\n[calibration.cost.{name}]\n{}", times(time)));
        }
        if !line_transfers.is_empty() {
            let n = line_transfers.len();
            self.line(format!("\n# a cache line moves from one core to another; {n} of {pairs} pairs"));
        }
        for LineTransfer { cores: (first, second), time, .. } in line_transfers {
            self.line(format!("[[calibration.line_transfer]]\ncores = [{first}, {second}]\n{}", times(time)));
        }
    }
}

/// A JSON string is a TOML basic string too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Time = Time { ns: 43.25, low_ns: 43.0, high_ns: 50.5 };

    fn transfer(cores: (u32, u32), shared: Shared, ns: f64) -> LineTransfer {
        LineTransfer { cores, shared, time: Time { ns, low_ns: ns, high_ns: ns } }
    }

    fn fingerprint(cpus: u32, sockets: u32) -> Fingerprint {
        let (machine, cpu) = ("toy".into(), "Toy \"Quoted\" \\ CPU".into());
        Fingerprint {
            machine,
            cpu,
            cpus_allowed: cpus,
            cpus_online: cpus,
            sockets: Some(sockets),
            ..Fingerprint::default()
        }
    }

    #[test]
    fn the_file_is_a_machine_with_every_figure() {
        let calibration = Calibration {
            costs: vec![Cost { name: "pause", what: "one pause", time: TIME }],
            line_transfers: vec![transfer((0, 1), Shared::Socket, 40.0), transfer((0, 2), Shared::Nothing, 120.0)],
            pairs: 3,
        };
        let fingerprint = fingerprint(4, 2);
        let text = text(&calibration, &fingerprint);
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(table["calibration"]["cpu"].as_str(), Some(fingerprint.cpu.as_str()));
        assert_eq!(table["kind"]["core"]["pause_ns"]["low"].as_float(), Some(43.0));
        assert_eq!(table["kind"]["core"]["rmw_ns"]["origin"].as_str(), Some("guess"));
        assert_eq!(table["calibration"]["cost"]["pause"]["high_ns"].as_float(), Some(50.5));
        assert_eq!(table["calibration"]["line_transfer"][1]["cores"][1].as_integer(), Some(2));
        let machine = from_text("toy", &text).unwrap();
        assert_eq!((machine.cores, machine.cpus.len(), machine.kinds[0].pause_ps), (4, 4, 43_250));
        let far = machine.distance(0, 2) as f64 / machine.distance(0, 1) as f64;
        assert!((2.99..3.01).contains(&far), "{far}");
        // The passing of a line takes there what it was measured to take.
        let passing_ns = ways::per_distance(&machine).unwrap() * machine.distance(0, 1) as f64 / 1e3;
        assert!((39.0..41.0).contains(&passing_ns), "{passing_ns}");
    }

    #[test]
    fn siblings_are_told_and_one_cpu_is_a_machine_too() {
        let pairs = [((0, 1), Shared::Core, 5.0), ((0, 2), Shared::Socket, 40.0), ((1, 2), Shared::Socket, 44.0)];
        let line_transfers = pairs.map(|(cores, shared, ns)| transfer(cores, shared, ns)).to_vec();
        let calibration = Calibration { line_transfers, pairs: 6, ..Calibration::default() };
        let machine = from_text("toy", &text(&calibration, &fingerprint(4, 1))).unwrap();
        assert_eq!((machine.cores, machine.cpus.len()), (2, 4));
        assert_eq!(machine.kinds[0].smt_slowdown, 1350);
        let one = from_text("toy", &text(&Calibration::default(), &fingerprint(1, 1))).unwrap();
        assert_eq!((one.cores, one.cpus.len()), (1, 1));
    }

    #[test]
    fn cores_look_ahead_where_a_second_line_comes_with_the_first() {
        let ahead_ps = |second_ns: Option<f64>| {
            let cost = |ns| Cost { name: "second_line", what: "it", time: Time { ns, low_ns: ns, high_ns: ns } };
            let costs = second_ns.map(cost).into_iter().collect();
            let line_transfers = vec![transfer((0, 1), Shared::Socket, 40.0)];
            let calibration = Calibration { costs, line_transfers, pairs: 1 };
            from_text("toy", &text(&calibration, &fingerprint(2, 1))).unwrap().memory.ahead_ps
        };
        assert_eq!([Some(19.0), Some(21.0), None].map(ahead_ps), [50_000, 0, 50_000]);
    }

    #[test]
    fn derived_figures_are_what_is_left_of_the_measured_ones() {
        let cost = |name, ns| Cost { name, what: "it", time: Time { ns, low_ns: ns, high_ns: ns } };
        let costs = vec![
            cost("syscall", 100.0),
            cost("yield", 200.0),
            cost("yield_to_other", 900.0),
            cost("wake_call", 1000.0),
            cost("wake_latency", 5000.0),
            cost("wake_latency_spread", 740.0),
            cost("wake_latency_after_10_us", 4400.0),
            cost("futex_round_trip_same_core", 5000.0),
        ];
        let calibration = Calibration { costs, ..Calibration::default() };
        let os = from_text("toy", &text(&calibration, &fingerprint(2, 1))).unwrap().os;
        assert_eq!((os.switch_ps, os.wake_call_ps), (700_000, 750_000));
        assert_eq!((os.wake_latency_ps, os.sleep_ps), (3_100_000, 1_000_000));
        assert_eq!((os.wake_deeper_ps, os.wake_deepest_ps, os.wake_jitter), (200_000, 600_000, 200));
    }
}
