//! The words and flags. Their texts are the documentation that `--help` prints.

mod files;
mod kernel;
mod recorder;
mod stats;
mod top;
mod trial;

use crate::choice::{self, Locks, OutValue, PinArg, Threads, Workloads};
use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use files::{CompareArgs, FailOn, ReportArgs};
use kernel::KernelArgs;
pub(crate) use recorder::RecorderArgs;
pub(crate) use stats::StatsArgs;
use std::ffi::OsString;
use std::path::PathBuf;
pub(crate) use top::TopArgs;
pub(crate) use trial::TryArgs;

/// Find the lock that slows your program down, and replace it
///
/// `ondeck profile` shows which locks your program waits for. `ondeck run` runs your program with ondeck's locks,
/// without recompiling it. Both need Linux on x86-64, and a program that is dynamically linked with glibc.
///
/// `ondeck bench` measures locks on this machine, and `ondeck sim` simulates them on others.
///
/// Example: ondeck profile -- ./server
#[derive(Debug, Parser)]
#[command(name = "ondeck", version = env!("ONDECK_VERSION"), arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure ondeck and other locks on this machine
    ///
    /// Use it to see how locks behave here when more and more threads want them. Without flags it measures six locks in
    /// under a minute: ondeck, std, parking_lot, the C library's mutex, and two of Go's. It prints a table, and says in
    /// sentences what the figures show. If something makes the machine slow, such as a busy neighbour in a cloud, it waits
    /// and measures again, and takes up to half as long again.
    ///
    /// Example: ondeck bench --report page.html
    Bench(BenchArgs),
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
    Sim(SimArgs),
    /// Run your program with ondeck's mutexes, without recompiling it
    ///
    /// Use it when `ondeck profile` says that `ondeck run` would help or may help. Then measure whether your program
    /// gets faster. The program runs with ondeck's mutexes and condition variables in place of the C library's. The
    /// program must be dynamically linked with glibc. The locks of Go, Java and Rust's std do not come from the C
    /// library, so they stay as they are.
    ///
    /// A library that is loaded first (LD_PRELOAD) answers the program's calls of pthread_mutex_*, pthread_cond_*,
    /// mtx_* and cnd_*. The program's file is not changed. Its input, output, signals and exit status are its own.
    /// Child processes get the same locks if they can load the library. docs/pthread.md says what may go wrong.
    ///
    /// If a CPU quota throttles your container, set ONDECK_SPIN=0 in the environment. Waiting threads then do not poll.
    /// This saves CPU time, and costs throughput if few threads wait.
    ///
    /// With --stats, Prometheus can watch the program's locks, also with `--lock glibc`.
    ///
    /// Example: ondeck run -- ./server --port 80
    #[command(override_usage = "ondeck run [OPTIONS] -- PROGRAM [ARGUMENTS]...")]
    Run(LaunchArgs),
    /// Show which locks your program waits for, and what would help
    ///
    /// Use it first, to see whether a lock slows your program down. It runs the program with its own locks and records
    /// them. When the program ends, it lists on standard error which locks threads waited for, who waited, and who
    /// held the lock meanwhile. The first sentence says
    /// what keeps them waiting most: which function holds which lock, for how long, and whether it computes, sleeps, or waits for
    /// something else meanwhile.
    ///
    /// You don't recompile the program, but it must be dynamically linked with glibc. `ondeck profile` records the C
    /// library's mutexes and reader-writer locks, also in child processes. It cannot see the locks of Go, Java and Rust's
    /// std, which do not come from the C library: see --futex. Recording slows contended locks: docs/profile.md says how much.
    ///
    /// Input, output and exit status are the program's own. Send SIGUSR2 to the process `ondeck` for a snapshot.
    ///
    /// Example: ondeck profile -o page.html -- ./server
    #[command(override_usage = "ondeck profile [OPTIONS] -- PROGRAM [ARGUMENTS]...")]
    Profile(ProfileArgs),
    /// Measure whether your program is faster with ondeck's locks
    ///
    /// It runs the program three times in each round: twice with glibc's locks, once with ondeck's. Then it compares
    /// run time, CPU time, standard output and exit code, and says whether the difference is larger than that between
    /// runs with glibc's locks. Use it for a program that does the same work in each run and then ends. For a program
    /// that runs for a fixed time, add --metric.
    ///
    /// The program's output is not shown. If standard input is a file, each run reads it from the same place.
    /// Otherwise the program's standard input is empty. Ctrl-C ends the program too. If the output or the exit code is
    /// another with ondeck's locks, the exit code of `ondeck` is 1.
    ///
    /// `ondeck profile --try` is another spelling of it.
    ///
    /// Example: ondeck try -- ./job
    #[command(override_usage = "ondeck try [OPTIONS] -- PROGRAM [ARGUMENTS]...")]
    Try(TryArgs),
    /// Watch the locks that your program waits for, while it runs
    ///
    /// Use it to see how waiting changes with the load. It starts the program and shows the list of `ondeck profile` once
    /// a second. The list is of the last second.
    ///
    /// Press q to end the program with SIGTERM and quit. Ctrl-C sends SIGINT. Press either again to kill the program. Other
    /// keys sort the locks: s by share of the waiting, w by waits, l by the longest wait, n by name.
    /// At the end, the list of the whole run is printed on standard error. If standard output is not a terminal, a list
    /// is printed each second. The same programs and locks can be watched as with `ondeck profile`.
    ///
    /// Example: ondeck top -- ./server
    #[command(override_usage = "ondeck top [OPTIONS] -- PROGRAM [ARGUMENTS]...")]
    Top(TopArgs),
    /// List the locks, workloads or simulated machines, one line each
    ///
    /// Use it to find the names that --lock, --workload and --machine accept.
    ///
    /// Example: ondeck list machines
    List {
        /// What to list
        #[arg(value_enum, value_name = "locks|workloads|machines")]
        what: Listing,
    },
    /// Measure what pauses, wake-ups and cache-line transfers cost on this machine
    ///
    /// Use it to see how long a lock can spin before a sleep would have been cheaper, or to write a machine file for
    /// `ondeck sim` by hand. It takes a few seconds and prints a table.
    ///
    /// It measures only while all CPUs are as fast as they can be. If something else makes them slow, such as a busy
    /// neighbour in a cloud, it waits for a quiet moment: up to 20 seconds in all.
    ///
    /// Example: ondeck calibrate
    Calibrate,
    /// Turn result files into a page with charts, pictures or tables
    ///
    /// Use it to look at results of `ondeck bench` and `ondeck sim`, or to show them to others. It also draws traces
    /// and profiles. Choose at least one of --output, --svg and --markdown.
    ///
    /// Example: ondeck report results.csv --output page.html
    Report(ReportArgs),
    /// Compare two result files, and tell changes from noise; or show two profiles side by side
    ///
    /// Use it to see what a change of yours did. Measure before and after the change with the same flags, for example
    /// with `ondeck bench --rounds 10 --out before.csv`. With 3 rounds in each file, no difference can show.
    ///
    /// The tables have the medians of both files and the change. A `~` means that the difference may be noise. Two
    /// profiles are shown side by side: waits, waiting and share of each lock. A profile is one run, so repeat both.
    ///
    /// Example: ondeck compare before.csv after.csv
    Compare(CompareArgs),
    /// Find and replace the lock of a small example server
    ///
    /// Use it to see in under a minute what `ondeck profile` and `ondeck run` do. It records the server, prints its
    /// locks and writes a page. Then it runs the server three times with glibc's locks and three times with ondeck's,
    /// and prints the medians.
    ///
    /// Example: ondeck demo
    Demo(LibraryArgs),
    /// The server of `demo`
    #[command(hide = true)]
    DemoServer,
    /// Print a script for tab completion in your shell
    ///
    /// Use it once, and save the script where your shell looks for such scripts. For bash:
    ///
    /// ondeck completions bash > ~/.local/share/bash-completion/completions/ondeck
    ///
    /// To try it in this bash only: source <(ondeck completions bash)
    Completions {
        /// Your shell
        shell: clap_complete::Shell,
    },
    /// Write ondeck's man pages into a directory
    ///
    /// Example: ondeck man man1
    #[command(hide = true)]
    Man {
        /// Directory for the pages, created if it does not exist
        directory: PathBuf,
    },
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
    /// Percentiles and a histogram of the waits follow the table.
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

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
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

#[derive(Debug, Args)]
pub(crate) struct SimArgs {
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

    /// Show what the time of an operation is spent on, such as work, system calls or sleep
    ///
    /// There is a table for each workload and number of threads. Its rows are work, line transfer, queueing for lines,
    /// pause, kernel, waiting for a CPU, waking, and asleep. The tables come after the results. If the results go to
    /// standard output as CSV or JSON, the tables go to standard error.
    #[arg(long)]
    pub(crate) explain: bool,

    /// File for the timeline of one run, to open in <https://ui.perfetto.dev>
    ///
    /// The timeline shows what each CPU runs, when each thread holds the lock, spins or sleeps, and how cache lines
    /// move. `chrome://tracing` opens the file too, and `ondeck report` draws it.
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

#[derive(Debug, Args)]
pub(crate) struct LaunchArgs {
    /// Lock that replaces the C library's mutex [default: ondeck]
    ///
    /// Other locks are for comparisons: go-tristate-futex, go-tristate-sema, go-spinbit-futex and std-port. All
    /// others are refused, with the reason. For example, some never sleep, and some do not fit into a mutex. With glibc,
    /// the program keeps its own locks, and `ondeck profile --pid` can record them at any time.
    #[arg(long, value_name = "NAME")]
    pub(crate) lock: Option<String>,

    #[command(flatten)]
    pub(crate) library: LibraryArgs,

    /// Say which processes have ondeck's lock
    ///
    /// Each process that loads the library prints one line on its standard error, with its number, program and lock. Child
    /// processes do so too. A process without a line has its own locks: a static program, for example.
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Leave the programs that PROGRAM starts with their own locks
    ///
    /// Without this flag, child processes get the same locks. If PROGRAM is a script, the flag leaves out everything but
    /// the shell that reads it. Processes that PROGRAM forks, and that start no other program, keep the lock.
    #[arg(long)]
    pub(crate) no_children: bool,

    #[command(flatten)]
    pub(crate) stats: StatsArgs,

    /// The program to run, and its arguments
    ///
    /// Put -- before the program.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,

    #[command(flatten)]
    pub(crate) recorder: RecorderArgs,

    /// File for the profile; the extension says its form. May be given several times
    ///
    /// .html is a page with locks, stacks, flame graphs and advice, which works offline. .svg is a flame graph of who waits,
    /// and who holds the lock meanwhile. .pb.gz is for `go tool pprof` and speedscope. .json has all figures and the verdict,
    /// for scripts, `ondeck report` and `ondeck compare`. .txt is the list, which is then not printed.
    ///
    /// Other spellings: --report FILE for a page, --flamegraph FILE for a flame graph, and --out FILE for what --format
    /// chooses, each with any extension.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,

    /// A page
    #[arg(long, value_name = "FILE.html", hide = true)]
    pub(crate) report: Option<PathBuf>,

    /// A flame graph
    #[arg(long, value_name = "FILE.svg", hide = true)]
    pub(crate) flamegraph: Option<PathBuf>,

    /// What --format chooses, in a file
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) out: Option<PathBuf>,

    /// What to print at the end: the list, or all figures as JSON
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: ProfileFormat,

    /// Write a snapshot at this interval, such as 500ms, 10s or 2m
    ///
    /// A snapshot contains only what happened since the last one, and no advice. Snapshots go into the files that you
    /// asked for, with a number before the extension, such as page.0001.html. If you asked for none, the list is
    /// printed. The shortest interval is 100ms. For a single snapshot, send SIGUSR2 to the process `ondeck`.
    #[arg(long, value_name = "TIME", value_parser = choice::duration)]
    pub(crate) every: Option<std::time::Duration>,

    /// Accepted for the sake of old command lines: nothing is simulated any more
    #[arg(long, hide = true)]
    pub(crate) no_prediction: bool,

    /// The program to run, and its arguments
    ///
    /// Put -- before the program.
    #[arg(
        required_unless_present_any = ["pid", "cgroup"],
        conflicts_with_all = ["pid", "cgroup"],
        trailing_var_arg = true,
        value_name = "PROGRAM"
    )]
    pub(crate) command: Vec<OsString>,
}

// What each command that loads the library into a program has. A documentation comment would be the help of `demo`.
#[derive(Debug, Args)]
pub(crate) struct LibraryArgs {
    /// Path of libondeck_pthread.so, if `ondeck` does not find it
    ///
    /// Without this flag, the library must be beside `ondeck` or in ../lib/ondeck. Its path must have no spaces and no
    /// colons.
    #[arg(id = "library", long = "library", value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

/// What `profile` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileFormat {
    /// The list to read, with advice
    Table,
    /// All figures and the verdict, for scripts and `ondeck report`
    Json,
}
