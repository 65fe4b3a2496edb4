//! The words and flags of the laboratory. Their texts are the documentation that `--help` prints.

use crate::choice::{self, Locks, OutValue, PinArg, Threads, Workloads};
use clap::{ArgGroup, Args, ValueEnum};
use std::path::PathBuf;

/// What `bench` and `sim` have in common: what is run, and where the results go.
#[derive(Debug, Default, Args)]
pub(crate) struct RunArgs {
    /// Workloads to run, or `all` (see `ondeck list workloads`)
    ///
    /// Without this flag, six workloads run: solo, mutex-contention, sections/cs20-out60, handoff-fast, and lock-bench
    /// with 64 and with 1024 locks. A flag that belongs to one workload, such as --cs, chooses that workload instead.
    ///
    /// Parameters are part of the name. sections/cs20-out60 means --cs 20 and --out 60. sections/cs20-near works on a number
    /// on the lock's cache line, sections/cs20-far on a number on a line of its own. Otherwise an empty loop passes the time,
    /// and a counter shows whether two threads were inside at once. It has a line of its own, in sections/cs20-none the
    /// lock's. lock-bench/locks7 has 7 locks.
    ///
    /// pool/burst4-work5-gap200-after posts 4 jobs of 5 microseconds every 200 microseconds, and notifies the workers after
    /// it has released the mutex. With `under` it does so before. --threads is the number of workers. pool needs a lock
    /// with a condition variable, and does not run in `ondeck sim`.
    ///
    /// readers/write100-cs0-out0 reads, and writes once in 100 operations; with write0 it only reads. readers/locks64
    /// takes one of 64 locks each time. Its locks are the reader-writer locks of ondeck, std, parking_lot and pthread,
    /// under the names of their mutexes.
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = choice::workload)]
    pub(crate) workload: Vec<Workloads>,

    /// Locks to run, `all`, or `peers` for mutexes in common use (see `ondeck list locks`)
    ///
    /// Without this flag, six locks run: ondeck, std, parking-lot, pthread, go-tristate-futex and go-spinbit.
    ///
    /// `ondeck bench` measures the real std, parking_lot and pthread mutexes. In `ondeck sim` the same names stand for
    /// our ports of them. `ondeck bench` has these ports too, as NAME-port.
    ///
    /// Brackets choose other constants for a lock, so you can run variants side by side. Quote them for your shell:
    /// 'ondeck,ondeck[low-latency],ondeck[low-latency+look_ns=0]'. ondeck accepts balanced (its default), low-latency, and
    /// its single constants. The error for a wrong one lists all of them. coreclr-monitor and coreclr-monitor-before accept
    /// default, lower-spin and no-spin, their published settings. Other locks have no such constants.
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = choice::lock)]
    pub(crate) lock: Vec<Locks>,

    /// Numbers of threads, such as 1,2,8, or 1-4, or 2x for twice the CPUs
    /// [default: each workload's own]
    ///
    /// A range includes both ends. With `ondeck sim`, the CPUs are those of the simulated machine. A workload that has
    /// only one number of threads keeps it.
    #[arg(long, value_name = "N,M", value_delimiter = ',', value_parser = choice::threads, allow_negative_numbers = true)]
    pub(crate) threads: Vec<Threads>,

    /// Workload sections: work inside the lock, in turns of an empty loop [default: 0]
    ///
    /// With sections/near and sections/far, a unit is one multiplication of a number in memory instead.
    #[arg(long, value_name = "UNITS", value_parser = choice::units, allow_negative_numbers = true)]
    pub(crate) cs: Option<u32>,

    /// File for the results, .csv or .json. A plain number is work outside the lock, of workload sections
    ///
    /// The extension chooses the format, unless --format does. Any other extension gets CSV. With - the results go to
    /// standard output, and nothing else does.
    ///
    /// FILE is written at the end, in one step. Until then, FILE.partial has the finished measurements, as CSV. It stays
    /// if the run fails or is interrupted, for example by Ctrl-C or SIGTERM.
    ///
    /// A CSV file has no place for the machine and the command. They are in FILE.fingerprint.json beside it, with a
    /// hash of the rows. A JSON file contains all of this.
    ///
    /// A value of digits only is the work outside, in turns of an empty loop, as in --cs 20 --out 60. You may give --out
    /// twice, once for each meaning.
    #[arg(long, value_name = "FILE|UNITS", value_parser = choice::out, allow_negative_numbers = true)]
    pub(crate) out: Vec<OutValue>,

    /// Also write a page with charts: one HTML file, or - for standard output
    ///
    /// `ondeck report` makes the same page from result files.
    #[arg(long, value_name = "PAGE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Workload gc-wait: microseconds of spinning before the first yield
    /// [default: 1,5,10,30,100,200]
    ///
    /// Each further yield comes after half that time. gc-wait compares ways to wait instead of locks, so --lock does
    /// not change it. In place of a lock's name, its results have spin-wait[yield_after_ns=5000].
    ///
    /// By default gc-wait runs with as many threads as CPUs, with 1.25 times as many and with twice as many.
    /// Percentiles of the waits follow the table.
    #[arg(long, value_name = "US,US", value_delimiter = ',', value_parser = choice::yield_after, allow_negative_numbers = true)]
    pub(crate) yield_after_us: Vec<u32>,

    /// Whether each thread is pinned to a core
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) pin: PinArg,

    /// Form of the results: a table, CSV or JSON [default: table]
    ///
    /// With --out, the default is what the extension of FILE says, or else CSV. The table is then printed too, unless
    /// the results go to standard output.
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,
}

/// Measure ondeck and other locks on this machine
///
/// Use it to see how locks behave here when more and more threads want them. Without flags it measures six locks in
/// under a minute: ondeck, std, parking_lot, the C library's mutex, and two of Go's. It prints a table, and says in
/// sentences what the figures show. If something makes the machine slow, such as a busy neighbour in a cloud, it waits
/// and measures again, and takes up to half as long again.
///
/// Example: ondeck bench --report page.html
#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Length of each measurement in seconds
    ///
    /// Warming up and timing the waits take up to three quarters of this time more. Workloads that measure several
    /// phases, such as spike, take longer.
    #[arg(long, value_name = "S", default_value = "0.1", value_parser = choice::seconds, allow_negative_numbers = true)]
    pub(crate) seconds: f64,

    /// How often everything is measured
    ///
    /// For `ondeck compare`, use 4 rounds or more: with 3 in each file, no difference can show. 10 rounds can show
    /// small differences.
    #[arg(long, value_name = "N", default_value = "3", value_parser = choice::rounds, allow_negative_numbers = true)]
    pub(crate) rounds: u32,

    /// Busy loops that run beside the measurements, each a process of its own [default: 0]
    ///
    /// The rows then have another name of the machine, such as epyc-2c-vm-load-3. `ondeck bench` then waits for no quiet
    /// moment.
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true, value_parser = choice::load, allow_negative_numbers = true)]
    pub(crate) load: u32,

    /// Number that decides in which order the locks are measured
    #[arg(long, value_name = "N", default_value = "1", value_parser = choice::seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,
}

/// Simulate the same locks on a machine that you don't have
///
/// Use it to see how locks behave with more cores, on another processor, or under another operating system. The
/// same command gives the same figures each time, on any computer. It uses all cores of this computer.
///
/// Without --workload and --lock, it runs what `ondeck bench` runs. For std and other mutexes that are not ours, it
/// simulates our ports of them. A simulation can be wrong: docs/validation.md compares it with published
/// measurements.
///
/// Example: ondeck sim --machine graviton3 --lock ondeck,std --threads 1,8,64
#[derive(Debug, Args)]
pub struct SimArgs {
    /// Machine to simulate: a name, or a machine file
    ///
    /// `ondeck list machines` has the names, and docs/machines.md describes machine files.
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) machine: Option<String>,

    /// Simulate only N CPUs (hardware threads) of the machine
    ///
    /// The simulation keeps the CPUs that the system would fill first. The machine `mesh` has no size of its own. It
    /// gets as many cores as you say, from 1 to 256. Without this flag it has 64.
    #[arg(long, value_name = "N", value_parser = choice::cores, allow_negative_numbers = true)]
    pub(crate) cores: Option<u32>,

    /// First seed: the same seed on the same machine gives the same figures
    ///
    /// The seed decides everything that is left to chance.
    #[arg(long, value_name = "S", default_value = "1", value_parser = choice::seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,

    /// Number of rounds, each with a seed of its own: S, S+1, and so on
    /// [default: 3; 1 with --trace]
    ///
    /// S is the value of --seed.
    #[arg(long, value_name = "N", value_parser = choice::rounds, allow_negative_numbers = true)]
    pub(crate) rounds: Option<u32>,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Simulated seconds of each measurement
    /// [default: each workload's own, from 0.002 to 0.5]
    ///
    /// With more threads than CPUs, the default is long enough for five time slices of each thread, but at most 0.5.
    ///
    /// Warming up and timing the waits take up to three quarters of this time more. Workloads that measure several
    /// phases, such as spike, take longer. monitor-throughput takes up to four and a quarter times this length more.
    #[arg(long, value_name = "S", value_parser = choice::simulated_seconds, allow_negative_numbers = true)]
    pub(crate) seconds: Option<f64>,

    /// File for the timeline of one run, to open in <https://ui.perfetto.dev>
    ///
    /// The timeline shows what each CPU runs, when each thread holds the lock, spins or sleeps, and how cache lines
    /// move. `chrome://tracing` opens the file too.
    ///
    /// Choose one workload, one lock, one number of threads and one seed, and a short run. Of a long run only the
    /// beginning is written. `ondeck sim` then says which --seconds, if any, would be short enough.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// A table to read
    Table,
    /// A header line, then rows of figures
    Csv,
    /// The same rows, and the machine, the command and the warnings
    Json,
}

/// List the locks, workloads or simulated machines, one line each
///
/// Use it to find the names that --lock, --workload and --machine accept.
///
/// Example: ondeck list machines
#[derive(Debug, Args)]
pub struct ListArgs {
    /// What to list
    #[arg(value_enum, value_name = "locks|workloads|machines")]
    pub(crate) what: Listing,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listing {
    /// The locks that can be measured or simulated
    Locks,
    /// What the threads do with the locks
    Workloads,
    /// The machines that `ondeck sim` simulates
    Machines,
}

/// Measure what pauses, wake-ups and cache-line transfers cost on this machine
///
/// Use it to see how long a lock can spin before a sleep would have been cheaper, or to write a machine file for
/// `ondeck sim` by hand. It takes a few seconds and prints a table.
///
/// It measures only while all CPUs are as fast as they can be. If something else makes them slow, such as a busy
/// neighbour in a cloud, it waits for a quiet moment: up to 20 seconds in all.
///
/// Example: ondeck calibrate
#[derive(Debug, Args)]
pub struct CalibrateArgs {}

/// Turn result files into a page with charts, pictures or tables
///
/// Use it to look at results of `ondeck bench` and `ondeck sim`, or to show them to others. It also draws profiles.
/// Choose at least one of --output, --svg and --markdown.
///
/// Example: ondeck report results.csv --output page.html
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("form").required(true).multiple(true))]
pub struct ReportArgs {
    /// Result files of `ondeck bench` or `ondeck sim`, or one profile in JSON
    ///
    /// Several result files share the charts. For CSV, the machine, the command and the warnings come from
    /// FILE.fingerprint.json beside the file, if that file is about the same rows.
    ///
    /// A profile of `ondeck profile --format json` has a page of its own, with its locks, stacks and flame graphs. You
    /// cannot combine it with other files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Page to write: one HTML file that works offline, or - for standard output
    #[arg(short, long, group = "form", value_name = "PAGE.html")]
    pub(crate) output: Option<PathBuf>,

    /// Directory for the charts as SVG files, created if it does not exist
    #[arg(long, group = "form", value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,

    /// Print the tables as Markdown, for an issue or a pull request
    #[arg(long, group = "form")]
    pub(crate) markdown: bool,
}
