//! The words and flags. Their texts are the documentation that `--help` prints.

mod files;
mod kernel;
mod recorder;
mod stats;
mod top;
mod trial;
mod values;

use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use files::CompareArgs;
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
    #[cfg(feature = "lab")]
    Bench(ondeck_lab::BenchArgs),
    #[cfg(feature = "lab")]
    Sim(ondeck_lab::SimArgs),
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
    #[cfg(feature = "lab")]
    List(ondeck_lab::ListArgs),
    #[cfg(feature = "lab")]
    Calibrate(ondeck_lab::CalibrateArgs),
    #[cfg(feature = "lab")]
    Report(ondeck_lab::ReportArgs),
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
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) every: Option<std::time::Duration>,

    /// With --order: a file with orders of locks that are meant
    ///
    /// Each line has an order: HELD -> TAKEN, such as index -> cache, with the names that the list has. A circle with one of these
    /// orders is left out. A line that begins with # is a comment. Source lines and addresses in the names do not matter.
    #[arg(long, value_name = "FILE")]
    pub(crate) known_orders: Option<PathBuf>,

    /// Warn while threads wait for a lock for this long, such as 500ms, 2s or 1m
    ///
    /// A line on standard error says which lock it is, who has it and what that thread does. The stacks follow: where the holder
    /// is, if it sleeps, and where a thread waits. Each such wait is told of once. The recorder has to be in the process.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) warn_after: Option<std::time::Duration>,

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
