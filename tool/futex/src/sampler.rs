//! Where a thread runs: the address of its instruction, told by the kernel each 2 ms of its time on a core.
//!
//! Whoever may trace the thread may ask, unless the kernel refuses it to all but root (`perf_event_paranoid` above 2). What the
//! thread does inside of the kernel is left out. The thread pays some us for each address, and some part of one for each time
//! that it is given a core: who is switched often should not be asked.

use crate::ring::Ring;
use perf_event_open_sys as sys;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use sys::bindings::{
    PERF_COUNT_SW_TASK_CLOCK, PERF_RECORD_SAMPLE, PERF_SAMPLE_IP, PERF_TYPE_SOFTWARE, perf_event_attr,
};

/// The time on a core between two addresses, in ns. None of a program's own periods is likely to be a multiple of it.
pub const SAMPLE_NS: u64 = 1_999_993;

/// Addresses at which one thread runs.
pub struct Sampler {
    ring: Ring,
    _event: OwnedFd,
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sampler")
    }
}

/// How many there are.
static N: AtomicUsize = AtomicUsize::new(0);

impl Drop for Sampler {
    fn drop(&mut self) {
        N.fetch_sub(1, Relaxed);
    }
}

impl Sampler {
    /// Each takes an open file, and two pages that the kernel keeps in memory.
    const MOST: usize = 64;
    /// One page of the kernel's memory, which is full after half a second on a core.
    const BYTES: usize = 4096;

    /// For a thread, from now on.
    ///
    /// # Errors
    /// Why the kernel does not tell, or that there are enough: that many threads are asked at once.
    pub fn of(thread: u32) -> io::Result<Sampler> {
        if N.load(Relaxed) >= Self::MOST {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let event = open(thread, SAMPLE_NS, |attr| attr.sample_type = PERF_SAMPLE_IP.into())?;
        let ring = Ring::map(&event, Self::BYTES)?;
        N.fetch_add(1, Relaxed);
        Ok(Sampler { ring, _event: event })
    }

    /// Shows the addresses since the last call.
    pub fn take(&mut self, mut each: impl FnMut(u64)) {
        let (from, to) = self.ring.places();
        self.ring.read(from, to, |kind, _, body| {
            if let (PERF_RECORD_SAMPLE, Some(address)) = (kind, body.first_chunk()) {
                each(u64::from_ne_bytes(*address));
            }
        });
        self.ring.give_back(to);
    }
}

/// An event for each `period` ns of a thread's time on a core, or what `more` makes of it.
pub(crate) fn open(thread: u32, period: u64, more: impl FnOnce(&mut perf_event_attr)) -> io::Result<OwnedFd> {
    let mut attr = perf_event_attr::default();
    attr.type_ = PERF_TYPE_SOFTWARE;
    attr.size = size_of::<perf_event_attr>() as u32;
    attr.config = PERF_COUNT_SW_TASK_CLOCK.into();
    attr.__bindgen_anon_1.sample_period = period;
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    more(&mut attr);
    let flags = sys::bindings::PERF_FLAG_FD_CLOEXEC.into();
    // SAFETY: attributes that say how long they are; the kernel keeps no pointer to them.
    let fd = unsafe { sys::perf_event_open(&raw mut attr, thread as libc::pid_t, -1, -1, flags) };
    // SAFETY: a file that was opened just now, and is nobody else's.
    if fd >= 0 { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_ns() -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: room for a time.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    /// For 100 ms of its own time, whoever else uses the machine.
    #[inline(never)]
    fn computes_here() {
        let began = own_ns();
        while own_ns() - began < 100_000_000 {
            (0..10_000).for_each(|n| _ = std::hint::black_box(n));
        }
    }

    #[test]
    fn a_thread_is_found_where_it_runs() {
        // SAFETY: always may be called.
        let thread = unsafe { libc::gettid() } as u32;
        let mut sampler = match Sampler::of(thread) {
            Ok(sampler) => sampler,
            // As an unprivileged user, or in a container.
            Err(error) => {
                let refusals = [libc::EACCES, libc::EPERM, libc::ENOSYS];
                return assert!(error.raw_os_error().is_some_and(|number| refusals.contains(&number)), "{error}");
            }
        };
        computes_here();
        let (mut n, mut n_here) = (0, 0);
        let here = computes_here as *const () as u64;
        sampler.take(|address| (n, n_here) = (n + 1, n_here + u32::from((here..here + 4000).contains(&address))));
        // The rest is in what it calls. Some of the time is the kernel's, or that of others.
        assert!((5..=60).contains(&n) && n_here > 0, "{n_here} of {n}");
        let mut n_left = 0;
        sampler.take(|_| n_left += 1);
        assert!(n_left <= 2, "each is told once: {n_left}");
        let more: Vec<Sampler> = (0..Sampler::MOST).map_while(|_| Sampler::of(thread).ok()).collect();
        assert!(more.len() < Sampler::MOST, "no more than a process can have open");
        drop(more);
        assert!(Sampler::of(thread).is_ok());
    }
}
