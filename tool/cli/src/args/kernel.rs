//! The flags of `ondeck profile` that watch a program from the kernel.

use super::values;
use clap::Args;

/// Whether a program is watched from the kernel, and which.
#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    /// Watch the program from the kernel, and see every lock that sleeps
    ///
    /// This sees Rust's std::sync::Mutex, parking_lot, and the locks of Go's and Java's runtimes, also in static
    /// programs. It sees who waits and who wakes them, but not who holds a lock, and no waiting without sleep. You need
    /// the rights to trace system calls, so run it with sudo.
    ///
    /// Example: sudo ondeck profile --futex -- ./server
    #[arg(long, conflicts_with_all = ["lock", "rate", "exact", "budget", "order", "library", "warn_after"])]
    pub(crate) futex: bool,

    /// Profile a process that runs already, or several
    ///
    /// If it was started by `ondeck run`, or its locks are ondeck's with the feature `record`, the recorder in it is
    /// switched on, and off again at the end. `ondeck run --lock glibc` leaves a program its own locks. Any other process
    /// is watched from the kernel, as by --futex. If you may not do that, its threads are looked at from outside: that needs no
    /// root for a process of yours. It ends at Ctrl-C, with the process, or after the time of --for. The process runs on.
    ///
    /// Put spaces or commas between several numbers. Processes that run already as children of PID are left out, unless
    /// you give their numbers too.
    ///
    /// Example: sudo ondeck profile --pid $(pidof server) --for 30s
    #[arg(
        long,
        value_name = "PID",
        value_parser = clap::value_parser!(u32).range(1..),
        value_delimiter = ',',
        num_args = 1..,
        conflicts_with_all = ["lock", "library"]
    )]
    pub(crate) pid: Vec<u32>,

    /// Profile all processes of a control group that have the recorder, as a container's
    ///
    /// NAME is a path as /proc/PID/cgroup has it, or one of its parts: a container's id, of which twelve digits are
    /// enough, or a service. Processes that begin later are left out.
    ///
    /// Example: sudo ondeck profile --cgroup $(docker inspect -f '{{.Id}}' web) --for 30s
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pid", "futex", "lock", "library"])]
    pub(crate) cgroup: Option<String>,

    /// With --pid or --cgroup: stop after this time, such as 500ms, 30s or 2m
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    pub(crate) length: Option<std::time::Duration>,
}
