//! The kernel's events: three or four for each thread and CPU, inherited by what the thread starts.
//!
//! Events that are inherited need a ring for each CPU. All events of a CPU share its ring. The kernel refuses what would need
//! fewer: an inherited event for any CPU can neither have a ring nor use another one's. Events for a CPU instead of a thread
//! would tell of all processes.
//!
//! A copy of the stack costs most, so the three are chosen for few of these:
//!
//! - Calls that may sleep, with a stack.
//! - Returns that have woken nobody, without. Under contention most calls are to wake a thread that may sleep, and none
//!   does.
//! - Returns that have woken somebody, with a stack.
//!
//! Of a process with very many calls, these are four ([`EventKind::THINNED`]): all calls that may sleep and all returns
//! without a stack, and one in so many with one.

use crate::refusal::Refusal;
use crate::tracefs::Tracepoints;
use perf_event_open_sys as sys;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use sys::bindings::{
    PERF_SAMPLE_RAW, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
    PERF_TYPE_TRACEPOINT, perf_event_attr,
};

/// Bytes of each stack that the kernel copies. Frames beyond are missing. Most stacks that wait are shorter, and each call
/// costs as much as is copied.
const STACK_BYTES: u32 = 8 << 10;

/// The number of the call.
pub(crate) const FUTEX: u64 = libc::SYS_futex as u64;

/// What `op` may be, without the flags for private futexes and for the clock.
pub(crate) mod op {
    use libc::{
        FUTEX_CLOCK_REALTIME, FUTEX_CMP_REQUEUE, FUTEX_CMP_REQUEUE_PI, FUTEX_LOCK_PI, FUTEX_LOCK_PI2,
        FUTEX_PRIVATE_FLAG, FUTEX_REQUEUE, FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_WAKE,
        FUTEX_WAKE_BITSET, FUTEX_WAKE_OP,
    };

    /// The flags: for futexes of one process, and for the clock of the day.
    pub(crate) const FLAGS: [i32; 4] =
        [0, FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME, FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME];
    /// In these a thread sleeps.
    pub(crate) const WAITING: [i32; 5] =
        [FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_LOCK_PI, FUTEX_LOCK_PI2, FUTEX_WAIT_REQUEUE_PI];
    /// These return how many they have woken.
    const WAKING: [i32; 6] =
        [FUTEX_WAKE, FUTEX_WAKE_BITSET, FUTEX_WAKE_OP, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_CMP_REQUEUE_PI];

    pub(crate) fn waits(op: i32) -> bool {
        WAITING.contains(&(op & libc::FUTEX_CMD_MASK))
    }

    /// The thread for whose end such a call may wait, if this is what the word must be; 0 for none. The kernel clears the word of
    /// a thread that ends as one of all processes.
    pub(crate) fn thread(op: i32, value: u32) -> u32 {
        if op & FUTEX_PRIVATE_FLAG == 0 { value } else { 0 }
    }

    pub(crate) fn wakes(op: i32) -> bool {
        WAKING.contains(&(op & libc::FUTEX_CMD_MASK))
    }
}

/// Registers that a walk begins with, in the order in which a record has them: frame pointer, stack pointer, address of the
/// instruction; on aarch64 with the link register behind the first.
///
/// Before them on x86-64 are the second and the first argument of the system call, which the kernel leaves alone: so a call's
/// return tells what was called. On aarch64 the result takes the place of the first one.
#[cfg(target_arch = "x86_64")]
pub(crate) const REGISTERS: u64 = 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8;
#[cfg(target_arch = "aarch64")]
pub(crate) const REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

/// When events begin to count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountingStart {
    /// When [`enable`] says so.
    Enabled,
    /// When the process becomes another program.
    Exec,
}

/// What all records say of themselves.
const ABOUT: u64 = PERF_SAMPLE_TID as u64 | PERF_SAMPLE_TIME as u64;

/// Which event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A call that may sleep.
    Wait,
    /// A return that has woken nobody.
    Return,
    /// A return that has woken somebody.
    Wake,
    /// A call that may sleep, without its stack.
    BareWait,
    /// Any return, with registers and without a stack.
    AnyReturn,
}

impl EventKind {
    /// Each call with its stack. The first has the ring.
    pub(crate) const WHOLE: &[EventKind] = &[EventKind::Wait, EventKind::Return, EventKind::Wake];
    /// Each call, and some stacks.
    pub(crate) const THINNED: &[EventKind] =
        &[EventKind::BareWait, EventKind::AnyReturn, EventKind::Wait, EventKind::Wake];

    fn is_call(self) -> bool {
        matches!(self, EventKind::Wait | EventKind::BareWait)
    }

    fn has_stack(self) -> bool {
        matches!(self, EventKind::Wait | EventKind::Wake)
    }
}

/// Which calls are told of, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) kinds: &'static [EventKind],
    /// One stack in so many is copied.
    pub(crate) period: u64,
}

impl Plan {
    pub(crate) const WHOLE: Plan = Plan { kinds: EventKind::WHOLE, period: 1 };

    pub(crate) fn of_period(period: u64) -> Plan {
        if period > 1 { Plan { kinds: EventKind::THINNED, period } } else { Plan::WHOLE }
    }
}

/// An event of a thread on a CPU.
pub(crate) fn open(
    points: &Tracepoints,
    plan: Plan,
    which: EventKind,
    thread: u32,
    cpu: u32,
    begin: CountingStart,
) -> io::Result<OwnedFd> {
    // What is loaded, started and ended; one event is enough to tell.
    let tells = u64::from(which == plan.kinds[0]);
    let mut attr = perf_event_attr::default();
    attr.type_ = PERF_TYPE_TRACEPOINT;
    attr.size = size_of::<perf_event_attr>() as u32;
    attr.config = if which.is_call() { points.enter } else { points.exit }.into();
    attr.sample_type = ABOUT | PERF_SAMPLE_RAW as u64;
    attr.clockid = libc::CLOCK_MONOTONIC;
    attr.__bindgen_anon_1.sample_period = if which.has_stack() { plan.period } else { 1 };
    attr.set_use_clockid(1);
    attr.set_sample_id_all(1);
    attr.set_inherit(1);
    attr.set_disabled(1);
    attr.set_enable_on_exec((begin == CountingStart::Exec).into());
    attr.set_mmap(tells);
    attr.set_mmap2(tells);
    attr.set_comm(tells);
    attr.set_comm_exec(tells);
    attr.set_task(tells);
    if which.has_stack() || which == EventKind::AnyReturn {
        attr.sample_type |= PERF_SAMPLE_REGS_USER as u64;
        attr.sample_regs_user = REGISTERS;
    }
    if which.has_stack() {
        attr.sample_type |= PERF_SAMPLE_STACK_USER as u64;
        attr.sample_stack_user = STACK_BYTES;
    }
    let (thread, cpu, flags) = (thread as libc::pid_t, cpu as libc::c_int, sys::bindings::PERF_FLAG_FD_CLOEXEC.into());
    // SAFETY: attributes that say how long they are; the kernel keeps no pointer to them.
    let fd = unsafe { sys::perf_event_open(&raw mut attr, thread, cpu, -1, flags) };
    // SAFETY: a file that was opened just now, and is nobody else's.
    if fd >= 0 { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) } else { Err(io::Error::last_os_error()) }
}

/// Tells the kernel which of the tracepoint's calls the event is for.
pub(crate) fn filter(event: &OwnedFd, which: EventKind) -> Result<(), Refusal> {
    let text = match which {
        EventKind::Wait | EventKind::BareWait => waiting(),
        EventKind::Return => "ret <= 0".to_owned(),
        EventKind::Wake => "ret > 0".to_owned(),
        EventKind::AnyReturn => return Ok(()),
    };
    let text = CString::new(text).expect("no zero in it");
    // SAFETY: an event of ours, and a string of C that the kernel copies.
    let done = unsafe { sys::ioctls::SET_FILTER(event.as_raw_fd(), text.as_ptr().cast_mut()) };
    answer(done, "cannot filter the kernel's events")
}

/// Every `op` that may sleep, as the kernel's filters want it: they cannot take flags away.
fn waiting() -> String {
    let each = op::WAITING.iter().flat_map(|command| op::FLAGS.map(|flags| format!("op == {}", command | flags)));
    each.collect::<Vec<_>>().join(" || ")
}

/// The event's records go to the ring of another one.
pub(crate) fn redirect(event: &OwnedFd, to: &OwnedFd) -> Result<(), Refusal> {
    // SAFETY: two events of ours.
    let done = unsafe { sys::ioctls::SET_OUTPUT(event.as_raw_fd(), to.as_raw_fd()) };
    answer(done, "cannot join the kernel's events")
}

/// The event begins to count, in the thread and in all that have inherited it.
pub(crate) fn enable(event: &OwnedFd) -> Result<(), Refusal> {
    // SAFETY: an event of ours.
    let done = unsafe { sys::ioctls::ENABLE(event.as_raw_fd(), 0) };
    answer(done, "cannot enable the kernel's events")
}

/// The event counts no more, in the thread and in all that have inherited it.
pub(crate) fn disable(event: &OwnedFd) -> Result<(), Refusal> {
    // SAFETY: an event of ours.
    let done = unsafe { sys::ioctls::DISABLE(event.as_raw_fd(), 0) };
    answer(done, "cannot disable the kernel's events")
}

fn answer(done: libc::c_int, what: &'static str) -> Result<(), Refusal> {
    if done >= 0 { Ok(()) } else { Err(Refusal::Other(what, io::Error::last_os_error())) }
}

/// What it means that the kernel refuses an event for a thread of the process. `needed` is how many are wanted.
pub(crate) fn refusal(error: io::Error, pid: u32, needed: usize, files: Files) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => Refusal::TooManyFiles { needed, limit: files.limit, most: files.most },
        Some(libc::ENOSYS) => Refusal::Sealed,
        Some(libc::EACCES | libc::EPERM) => not_permitted(pid),
        Some(libc::ESRCH) => Refusal::NoProcess(pid),
        _ => Refusal::Other("cannot open the kernel's events", error),
    }
}

fn not_permitted(pid: u32) -> Refusal {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: always may be called.
    let user = unsafe { libc::geteuid() };
    let owner = std::fs::metadata(format!("/proc/{pid}")).map(|metadata| metadata.uid());
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let level = level.ok().and_then(|text| text.trim().parse().ok());
    match (owner, level) {
        (Ok(owner), _) if user != 0 && owner != user => Refusal::OtherUser(pid),
        (_, Some(level)) if user != 0 && level > -1 => Refusal::Paranoid(level),
        _ => Refusal::Sealed,
    }
}

/// How many files may be open, and for how many the kernel has room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files {
    pub(crate) limit: u64,
    pub(crate) most: u64,
}

/// Raises the limit on open files as far as this user may: a process of hundreds of threads needs thousands.
pub(crate) fn raise_limit_of_files() -> Files {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: room for a limit. If it is refused, both numbers are left at 0.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    // When there is no room for another file, this could not be read.
    let most = std::fs::read_to_string("/proc/sys/fs/nr_open").ok().and_then(|text| text.trim().parse().ok());
    let most = most.unwrap_or(0).max(limit.rlim_max);
    // Root may have as many as the kernel has room for, others as many as they have been granted.
    for wanted in [most, limit.rlim_max] {
        let wanted = libc::rlimit { rlim_cur: wanted, rlim_max: wanted };
        // SAFETY: a limit that is there. If it is refused, what there is has to be enough.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) } == 0 {
            return Files { limit: wanted.rlim_cur, most };
        }
    }
    Files { limit: limit.rlim_cur, most }
}
