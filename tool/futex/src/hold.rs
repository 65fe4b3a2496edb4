//! Where a thread is that holds a lock: the kernel tells its registers and its stack once, as soon as it runs, and then as it writes
//! the word that says who holds the lock. That write ends the hold, so what was told before is of the hold.
//!
//! The word is watched by the processor itself, as a debugger does it: the thread goes on meanwhile, at its own pace, and pays some us
//! for each of the two. Whoever may ask for a thread's [samples](crate::Sampler) may ask for this. The processor has four words
//! for each thread; if others have them, nothing is told.

use crate::event::REGISTERS;
use crate::record::{N_REGISTERS, WatchedStack, watched_stack};
use crate::ring::Ring;
use crate::sampler::open;
use perf_event_open_sys as sys;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use sys::bindings::{
    HW_BREAKPOINT_W, PERF_RECORD_SAMPLE, PERF_SAMPLE_ADDR, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER,
    PERF_TYPE_BREAKPOINT, perf_event_attr,
};

/// A hold that is watched, from now on.
pub struct WatchedHold {
    ring: Ring,
    /// Kept open: closed ones tell nothing.
    _events: [OwnedFd; 2],
    pub(crate) ran: Option<StackCopy>,
    pub(crate) ended: Option<StackCopy>,
}

/// Registers, and the stack from the stack pointer on.
pub(crate) type StackCopy = ([u64; N_REGISTERS], Vec<u8>);

impl WatchedHold {
    /// Of its time on a core, a thread is asked this much later. The kernel takes no less.
    const PERIOD_NS: u64 = 10_000;
    /// Two stacks, with their registers, have room.
    const RING_BYTES: usize = 16 << 10;
    const STACK_BYTES: u32 = 7 << 10;

    /// Watches a thread until it writes that word. Whether it holds the lock is to be asked after this.
    ///
    /// # Errors
    /// Why the kernel does not tell.
    pub fn of(thread: u32, word: u64) -> io::Result<WatchedHold> {
        let with_stack = |attr: &mut perf_event_attr| {
            attr.sample_type = u64::from(PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
            (attr.sample_regs_user, attr.sample_stack_user) = (REGISTERS, Self::STACK_BYTES);
            attr.set_disabled(1);
        };
        let end = open(thread, 1, |attr| {
            with_stack(attr);
            (attr.type_, attr.config, attr.bp_type) = (PERF_TYPE_BREAKPOINT, 0, HW_BREAKPOINT_W);
            (attr.__bindgen_anon_3.bp_addr, attr.__bindgen_anon_4.bp_len) = (word, size_of::<u32>() as u64);
        })?;
        let run = open(thread, Self::PERIOD_NS, with_stack)?;
        let ring = Ring::map(&end, Self::RING_BYTES)?;
        // SAFETY: two events of ours.
        told(unsafe { sys::ioctls::SET_OUTPUT(run.as_raw_fd(), end.as_raw_fd()) })?;
        for event in [&end, &run] {
            // SAFETY: an event of ours, and how often it may happen.
            told(unsafe { sys::ioctls::REFRESH(event.as_raw_fd(), 1) })?;
        }
        Ok(WatchedHold { ring, _events: [end, run], ran: None, ended: None })
    }

    /// Takes what is told by now. Whether the hold is over.
    pub fn has_ended(&mut self) -> bool {
        let (from, to) = self.ring.places();
        let WatchedHold { ring, ran, ended, .. } = self;
        ring.read(from, to, |kind, _, body| {
            let Some(WatchedStack { address, registers, stack }) = watched_stack(body) else { return };
            let is_end = address != 0;
            // What comes behind the end is another hold's.
            if kind == PERF_RECORD_SAMPLE && ended.is_none() {
                *(if is_end { &mut *ended } else { &mut *ran }) = Some((registers, stack.to_vec()));
            }
        });
        ring.give_back(to);
        self.ended.is_some()
    }
}

fn told(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sleepers;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

    static WORD: AtomicU32 = AtomicU32::new(0);
    static DONE: AtomicU64 = AtomicU64::new(0);

    #[inline(never)]
    fn computes() {
        for _ in 0..3_000_000 {
            DONE.fetch_add(1, SeqCst);
        }
    }

    #[inline(never)]
    fn takes_and_leaves() {
        WORD.store(1, SeqCst);
        while DONE.load(SeqCst) == 0 {
            std::hint::spin_loop();
        }
        computes();
        WORD.store(0, SeqCst);
        DONE.fetch_add(1, SeqCst);
    }

    #[inline(never)]
    fn works() {
        takes_and_leaves();
        computes();
        DONE.fetch_add(1, SeqCst);
    }

    #[test]
    fn any_registers_and_any_stack_are_read_without_harm() {
        let mut sleepers = Sleepers::new(std::process::id());
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 16
        };
        let code = [computes, takes_and_leaves, works].map(|function: fn()| function as *const () as u64);
        let mut stacks = Vec::new();
        for _ in 0..300 {
            // Most words lead somewhere: into code, or back into the stack.
            let word = |random: u64| match random % 4 {
                0 => 0x7000 + random / 4 % 512,
                1 => random << 16,
                2 => u64::MAX - random % 9,
                _ => code[random as usize / 4 % code.len()] + random / 16 % 200,
            };
            let registers = [(); N_REGISTERS].map(|()| word(random()));
            let stack = (0..64).flat_map(|_| word(random()).to_ne_bytes()).collect();
            stacks.push(sleepers.copied(&(registers, stack)));
        }
        assert!(stacks.iter().all(|stack| sleepers.addresses(*stack).len() <= 128));
        for pair in stacks.windows(2) {
            let holder = sleepers.holder(pair[0], pair[1]);
            assert!(holder.is_none_or(|holder| sleepers.addresses(holder).len() <= 128));
        }
    }

    #[test]
    fn a_hold_is_known_by_where_it_ran_and_where_it_ended() {
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // SAFETY: always may be called.
            tell.send(unsafe { libc::gettid() } as u32).unwrap();
            works();
        });
        let thread_number = told.recv().unwrap();
        while WORD.load(SeqCst) == 0 {
            std::hint::spin_loop();
        }
        let hold = WatchedHold::of(thread_number, WORD.as_ptr() as u64);
        DONE.fetch_add(1, SeqCst);
        thread.join().unwrap();
        let mut hold = match hold {
            Ok(hold) => hold,
            // As an unprivileged user, in a container, or under a debugger.
            Err(error) => {
                let refusals = [libc::EACCES, libc::EPERM, libc::ENOSYS, libc::ENOSPC, libc::ENODEV, libc::EOPNOTSUPP];
                return assert!(error.raw_os_error().is_some_and(|number| refusals.contains(&number)), "{error}");
            }
        };
        assert!(hold.has_ended());
        let mut sleepers = Sleepers::new(std::process::id());
        let [ran, ended] = [hold.ran.take(), hold.ended.take()].map(|copy| sleepers.copied(&copy.unwrap()));
        let holder = sleepers.holder(ran, ended).expect("both have the same calls");
        let here = takes_and_leaves as *const () as u64;
        let first = sleepers.addresses(holder)[0];
        assert!((here..here + 1000).contains(&first), "{first:x} {here:x}");
        // It was in a function that this one has called, or here.
        let n_outer = sleepers.addresses(holder).len();
        assert!(sleepers.addresses(ran).ends_with(&sleepers.addresses(holder)[1..]) && n_outer > 2);
    }
}
