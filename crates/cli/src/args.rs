//! The words and flags. Their texts are the documentation that `--help` prints.

use crate::choice::{self, Locks, Out, Shard, Threads, Workloads};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use ondeck_lab::plan::Pin;
use std::ffi::OsString;
use std::path::PathBuf;

/// Locks that keep their speed under contention, and the tools to see whether yours do.
#[derive(Debug, Parser)]
#[command(name = "ondeck", version = env!("ONDECK_VERSION"), arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure locks side by side on this machine
    ///
    /// Without flags: a set of workloads that shows, in under a minute, how ondeck, its ancestors and the mutexes in
    /// common use behave as more threads want them. Ends with a table and what it says.
    Bench(BenchArgs),
    /// Run the same locks and workloads on a simulated machine: any number of cores, the same result each time
    ///
    /// Without --workload and --lock, the set that `ondeck bench` has, without the mutexes of others: those are compiled for
    /// hardware. One run is one point with one seed; runs are computed in parallel, one on each core of this machine, and
    /// what comes out does not depend on it.
    Sim(SimArgs),
    /// Run any program with ondeck's locks in place of the C library's mutexes and condition variables
    ///
    /// The program is not changed: a library that is loaded first answers its pthread_mutex_*, pthread_cond_*, mtx_* and
    /// cnd_* calls. It must be dynamically linked with glibc. Its input, output, signals and exit status are its own, and
    /// so are its children, which get the same locks.
    ///
    /// ONDECK_SPIN=0 in the environment keeps waiters from spinning, for containers with a CPU quota.
    #[command(override_usage = "ondeck run [OPTIONS] -- PROGRAM [ARGUMENTS]...")]
    Run(LaunchArgs),
    /// Run any program and say which of its locks hurts: who waits, who holds it meanwhile, and what would help
    ///
    /// The program is not changed: a library that is loaded first looks on at its pthread_mutex_*, pthread_cond_*, mtx_*
    /// and cnd_* calls, and those of its children. It must be dynamically linked with glibc. Its input, output and exit
    /// status are its own; the list is written to standard error when it ends. SIGUSR2 to this process writes a snapshot.
    #[command(override_usage = "ondeck profile [OPTIONS] -- PROGRAM [ARGUMENTS]...")]
    Profile(ProfileArgs),
    /// Name the locks, workloads or machines, one line each
    List {
        /// What to list
        #[arg(value_enum, value_name = "locks|workloads|machines")]
        what: What,
        /// With machines: how many of each one's figures were measured, found in print, or guessed
        #[arg(long)]
        sources: bool,
    },
    /// Measure what pauses, wakes and cache-line moves cost on this machine
    Calibrate(CalibrateArgs),
    /// Make a page, pictures or tables from result files
    Report(ReportArgs),
    /// Compare two result files: medians, change, and whether it can be told from noise
    Compare(CompareArgs),
    /// Show how it works, in under a minute: finds the lock of a small server, and replaces it
    Demo {
        /// The library that is loaded first, if it is neither beside this program nor in ../lib/ondeck
        #[arg(long, value_name = "PATH")]
        library: Option<PathBuf>,
    },
    /// The server of `demo`
    #[command(hide = true)]
    DemoServer,
    /// Print a script that completes ondeck's commands and flags in your shell
    ///
    /// For bash: ondeck completions bash > ~/.local/share/bash-completion/completions/ondeck
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write ondeck's man pages into a directory
    #[command(hide = true)]
    Man {
        /// The directory; it is made if it is not there
        directory: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum What {
    Locks,
    Workloads,
    Machines,
}

/// What `bench` and `sim` have in common: what is run, and where the results go.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Workloads, or `all`; `ondeck list workloads` names them. Parameters may be part of the name: sections/cs20-out60
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = choice::workload)]
    pub(crate) workload: Vec<Workloads>,

    /// Locks, or `all`, or `peers`; `ondeck list locks` names them. With a tuning: 'ondeck[poll_max_ns=4000]'
    ///
    /// `peers` are the mutexes that programs use today: with bench the originals, with sim our texts of them, which have the
    /// names of the originals there and NAME-port with bench.
    ///
    /// So variants can be measured beside each other: 'ondeck,ondeck[throughput],ondeck[low-latency+look_ns=0]'. See
    /// --tuning for what may stand in the brackets; most shells want them quoted.
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = choice::lock)]
    pub(crate) lock: Vec<Locks>,

    /// Numbers of threads: 1,2,8; a range 1-4 (or 1..4), its ends included; 2x for twice the CPUs
    /// [default: each workload's own]
    #[arg(long, value_name = "N,M", value_delimiter = ',', value_parser = choice::threads, allow_negative_numbers = true)]
    pub(crate) threads: Vec<Threads>,

    /// Constants of the locks: default; balanced, throughput, low-latency or FIELD=NUMBER; lower-spin or no-spin
    ///
    /// For every lock in --lock that has such a tuning and no brackets; the same as to write 'NAME[TUNING]' there. ondeck
    /// has balanced, which is its default, throughput and low-latency, and constants of its own: a FIELD is one of them,
    /// as in rotate_ns=100000, several are joined by +, and a wrong one gets the list of all. The coreclr monitors have
    /// default, lower-spin and no-spin, the published settings. All others have none and stay as they are.
    #[arg(long, value_name = "TUNING", default_value = "default", value_parser = choice::tuning)]
    pub(crate) tuning: String,

    /// Workload sections: units of work inside (a unit is one turn of an empty loop)
    #[arg(long, value_name = "UNITS", value_parser = choice::units, allow_negative_numbers = true)]
    pub(crate) cs: Option<u32>,

    /// File for the results; or, if it is only digits, as --think. May be given once for each
    ///
    /// The format follows the extension, .csv or .json, unless --format says otherwise; it is CSV where neither does.
    /// Beside CSV in FILE, FILE.fingerprint.json tells the machine and the command, and by a hash which rows they are of;
    /// JSON holds all that itself. FILE is replaced once, at the end, when it is whole. What was finished before a failure,
    /// Ctrl-C or SIGTERM is kept in FILE.partial, from which --resume goes on. With - for FILE, the results go to standard
    /// output, and nothing else does.
    #[arg(long, value_name = "FILE|UNITS", value_parser = choice::out, allow_negative_numbers = true)]
    pub(crate) out: Vec<Out>,

    /// Go on from what an interrupted or failed run of the same command has left in FILE.partial
    ///
    /// The command is the same but for --resume, and so are machine and version. Only what is missing is run; FILE is then
    /// written whole, with a warning that it is of more than one run, and FILE.partial is removed. Where there is none, the
    /// run begins from the start, so a job that may be interrupted can always have this flag.
    #[arg(long)]
    pub(crate) resume: bool,

    /// Page to write as well, or - for standard output: one HTML file with charts, as `ondeck report` makes it
    #[arg(long, value_name = "PAGE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Workload sections: units of work outside
    #[arg(long, value_name = "UNITS", value_parser = choice::units, allow_negative_numbers = true)]
    pub(crate) think: Option<u32>,

    /// Workload lock-bench: number of locks
    #[arg(long, value_name = "N", value_parser = choice::locks, allow_negative_numbers = true)]
    pub(crate) locks: Option<u32>,

    /// Workload gc-wait: microseconds of spinning before the first yield, half as many between yields
    /// [default: 1,5,10,30,100,200]
    ///
    /// The workload compares policies of waiting. They stand where other workloads have their lock, as
    /// spin-wait[yield_after_ns=5000], and --lock does not concern it. Its threads are by default as many as cores, 1.25
    /// times and twice as many. Percentiles and a histogram of the waits follow the table.
    #[arg(long, value_name = "US,US", value_delimiter = ',', value_parser = choice::yield_after, allow_negative_numbers = true)]
    pub(crate) yield_after_us: Vec<u32>,

    /// Where threads run: wherever the system puts them, or each on a core of its own in turn
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) pin: PinArg,

    /// What to write, to the --out file or else to standard output [default: table]
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Length of each measurement; warming up and timing of waits take up to three quarters more
    #[arg(long, value_name = "S", default_value = "0.15", value_parser = choice::seconds, allow_negative_numbers = true)]
    pub(crate) seconds: f64,

    /// How often everything is measured; 4 or more can show a difference between two runs, 10 a small one
    #[arg(long, value_name = "N", default_value = "3", value_parser = choice::rounds, allow_negative_numbers = true)]
    pub(crate) rounds: u32,

    /// Decides the order in which locks are measured
    #[arg(long, value_name = "N", default_value = "1", value_parser = choice::seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// Machine to simulate: one of `ondeck list machines`, a machine file, or `here`
    ///
    /// `here` is this machine, measured first, which takes some seconds and comes out a little different each time:
    /// `ondeck calibrate --out FILE.toml` keeps what it has measured, and --machine FILE.toml takes it.
    #[arg(long, value_name = "NAME|FILE.toml|here")]
    pub(crate) machine: Option<String>,

    /// How many of its hardware threads there are, the first ones; of a machine of any size, how large it is
    #[arg(long, value_name = "N", value_parser = choice::cores, allow_negative_numbers = true)]
    pub(crate) cores: Option<u32>,

    /// Decides what is left to chance: the same seed on the same machine gives the same result, to the last digit
    #[arg(long, value_name = "S", default_value = "1", value_parser = choice::seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,

    /// How many seeds: S, S+1, and so on; each is a round of its own [default: 3; 1 with
    /// --trace]
    #[arg(long, value_name = "K", value_parser = choice::rounds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u32>,

    /// The same as --seeds
    #[arg(long, value_name = "N", conflicts_with = "seeds", value_parser = choice::rounds, allow_negative_numbers = true)]
    pub(crate) rounds: Option<u32>,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Length of each measurement in simulated time; warming up and timing of waits take up to three quarters more, with
    /// monitor-throughput up to four and a quarter times as much
    /// [default: each workload's own, from 0.002 to 0.5; with more threads than CPUs as long as each thread has five slices,
    /// up to 0.5]
    #[arg(long, value_name = "S", value_parser = choice::simulated_seconds, allow_negative_numbers = true)]
    pub(crate) seconds: Option<f64>,

    /// Compute only the i-th of n parts; the parts' CSV, one after the other, is that of the whole
    ///
    /// A part is a block of points that stand together. Only the first has the header, so that `cat` puts them together.
    #[arg(long, value_name = "i/n", value_parser = choice::shard)]
    pub(crate) shard: Option<Shard>,

    /// Say where the time of an operation goes: work, line transfer, queueing, pause, kernel, waiting for a CPU, asleep
    ///
    /// A table for each workload and number of threads, after the results, or on standard error if those are CSV or JSON.
    #[arg(long)]
    pub(crate) explain: bool,

    /// File for the timeline of one run, which <https://ui.perfetto.dev> and `chrome://tracing` open
    ///
    /// One track per hardware thread and one per thread; lock held, spinning, asleep; moves of cache lines. It is for one
    /// workload, lock, number of threads and seed, and for a short run: of a long one the beginning is written, and how
    /// short a run would be written whole is said.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    Table,
    Csv,
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PinArg {
    None,
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

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Machine file to write, in TOML, or - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct LaunchArgs {
    /// The lock: any of the family whose form allows it [default: ondeck]
    ///
    /// It must fit into a mutex, let whoever it lets in free it at once, and have waiters that sleep. Another one is
    /// refused with the reason.
    #[arg(long, value_name = "NAME")]
    pub(crate) lock: Option<String>,

    /// The library that is loaded first, if it is neither beside this program nor in ../lib/ondeck
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// The lock that answers: glibc, which is recorded and left as it is, or ondeck
    #[arg(long, value_name = "NAME", default_value = "glibc")]
    pub(crate) lock: String,

    /// Look at one acquisition of N, and at waits of N microseconds or more; at shorter ones in proportion
    ///
    /// What is seen is scaled to the whole. With 1 everything is recorded, which costs about a microsecond each time.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: u32,

    /// Memory for the samples of a process that are still to be read; what finds no room is counted
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(crate) max_mb: u32,

    /// Profile for `go tool pprof` and what else reads its format
    #[arg(short, long, value_name = "FILE.pb.gz")]
    pub(crate) output: Option<PathBuf>,

    /// Page to write: one HTML file that needs nothing else, not even a network
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Picture of who waits and who holds meanwhile
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) flamegraph: Option<PathBuf>,

    /// Stacks of who waits as lines of text, for tools that draw flame graphs
    #[arg(long, value_name = "FILE")]
    pub(crate) folded: Option<PathBuf>,

    /// Profile for the Firefox Profiler
    #[arg(long, value_name = "FILE.json")]
    pub(crate) firefox: Option<PathBuf>,

    /// What is written at the end: the list, or all of it as JSON
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: ProfileFormat,

    /// File for what --format says [default: standard error for the list, standard output for JSON]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Write a snapshot of what happened since the last one, each time that this has passed: 10s, 500ms, 2m
    ///
    /// Into the same files with a number before the extension; as a list if there are none.
    #[arg(long, value_name = "TIME", value_parser = choice::duration)]
    pub(crate) every: Option<std::time::Duration>,

    /// Say where the probes are that bpftrace and perf can use meanwhile
    #[arg(long)]
    pub(crate) usdt: bool,

    /// Leave out the simulated predictions, which take some seconds
    #[arg(long)]
    pub(crate) no_prediction: bool,

    /// The library that is loaded first, if it is neither beside this program nor in ../lib/ondeck
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

/// What `profile` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileFormat {
    Table,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Result file of before: CSV or JSON, as `ondeck bench --out` writes it; or a profile of `ondeck profile`, for pprof or in
    /// JSON
    pub(crate) old: PathBuf,
    /// Result file of after; a profile if the other is one
    pub(crate) new: PathBuf,

    /// End with exit code 1 if a figure is worse in NEW: by 5 % or more, and by more than noise (for CI)
    #[arg(long, value_enum)]
    pub(crate) fail_on: Option<FailOn>,
}

/// What makes `compare` fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Regression,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("form").required(true).multiple(true))]
pub(crate) struct ReportArgs {
    /// Result files: CSV or JSON, as `ondeck bench --out` writes them. Several are laid over each other. Traces, too
    ///
    /// What CSV in FILE does not say, machine, command and warnings, is read from FILE.fingerprint.json beside it, if that is
    /// about the rows that are in FILE. What `ondeck sim --trace` writes is drawn as a timeline: who holds the lock, who is awake and wants it, who
    /// sleeps. A profile, as `ondeck profile --format json` writes it, is shown by itself: its locks, stacks and flame graphs.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Page to write, or - for standard output: one HTML file that needs nothing else, not even a network
    #[arg(short, long, group = "form", value_name = "PAGE.html")]
    pub(crate) output: Option<PathBuf>,

    /// Directory for the same charts as SVG files, one each; it is made if it is not there
    #[arg(long, group = "form", value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,

    /// Print the tables as Markdown, for an issue or a pull request
    #[arg(long, group = "form")]
    pub(crate) markdown: bool,
}
