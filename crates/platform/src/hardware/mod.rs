//! This machine. One file per operating system behind the same functions, one file for the processor's clock.

mod clock;
mod parallelism;

#[cfg_attr(any(target_os = "linux", target_os = "android"), path = "linux.rs")]
#[cfg_attr(target_os = "macos", path = "macos.rs")]
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(
    not(any(target_os = "linux", target_os = "android", target_os = "macos", windows)),
    path = "portable.rs"
)]
mod os;

use crate::{Platform, Running, StaticPlatform, Step, ThreadId, Waited};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// The machine that the program runs on.
#[derive(Clone, Copy, Debug)]
pub struct Hardware;

impl Platform for Hardware {
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    type Ptr<T: 'static> = AtomicPtr<T>;

    #[inline]
    fn wait_on(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> Waited {
        os::wait(word.as_ptr(), expected, deadline_ns)
    }

    #[inline]
    fn wake(word: *const AtomicU32, n: u32) {
        os::wake(word.cast(), n);
    }

    #[inline]
    fn wait_on_upper(word: &AtomicU64, expected: u64, deadline_ns: Option<u64>) -> Waited {
        os::wait(upper_half(word.as_ptr()), (expected >> 32) as u32, deadline_ns)
    }

    #[inline]
    fn wake_upper(word: *const AtomicU64, n: u32) {
        os::wake(upper_half(word.cast_mut().cast()), n);
    }

    #[inline(always)]
    fn pause() {
        core::hint::spin_loop();
    }

    #[inline]
    fn pause_ns(ns: u32) {
        clock::pause_ns(ns);
    }

    #[inline]
    fn yield_now() {
        os::yield_now();
    }

    #[inline]
    fn now_ns() -> u64 {
        os::now_ns()
    }

    #[inline(always)]
    fn ticks() -> u64 {
        clock::ticks()
    }

    #[inline]
    fn ns_to_ticks(ns: u64) -> u64 {
        clock::ns_to_ticks(ns)
    }

    #[inline]
    fn thread_id() -> ThreadId {
        // The address of a thread-local is unique among living threads and costs no system call. The variable has no
        // destructor, so it works while a thread is being torn down.
        std::thread_local!(static MARK: u8 = const { 0 });
        MARK.with(|mark| ThreadId::new(core::ptr::from_ref(mark).addr() as u64)).unwrap_or(ThreadId::MAX)
    }

    #[inline]
    fn current_core() -> u32 {
        os::current_core()
    }

    #[inline]
    fn parallelism() -> u32 {
        parallelism::effective()
    }

    #[inline]
    fn may_spin() -> bool {
        parallelism::may_spin()
    }

    #[inline]
    fn is_running(_thread: ThreadId) -> Running {
        Running::Unknown
    }

    #[inline(always)]
    fn step(_step: Step) {}
}

impl StaticPlatform for Hardware {
    const U32_ZERO: AtomicU32 = AtomicU32::new(0);
    const U64_ZERO: AtomicU64 = AtomicU64::new(0);
}

/// The address of the half of a 64-bit word that holds its upper 32 bits.
fn upper_half(word: *mut u64) -> *mut u32 {
    word.cast::<u32>().wrapping_add(cfg!(target_endian = "little") as usize)
}
