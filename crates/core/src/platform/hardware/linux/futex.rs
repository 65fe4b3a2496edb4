//! The system call `futex`, which has two forms where a processor's words have 32 bits.
//!
//! The first form takes a point of time as two words of the processor, which with 32 bits end 68 years after the clock's
//! start. `futex_time64`, since Linux 5.1, takes two of 64 bits everywhere, and kernels can be built without the first
//! form. Neither has to do with the C library's `timespec`: with 32 bits that has the one layout or the other, depending
//! on the library, its age, and how the program is built. So the layouts here are our own.

use crate::WaitEnd;
use crate::platform::kernel::{self, Answer};
use core::ffi::c_long;
use core::ptr;

/// How the kernel takes a point of time. `T` is the type of both fields.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Timespec<T> {
    seconds: T,
    nanoseconds: T,
}

/// What `futex_time64` takes; so does the only form on processors of 64 bits, and under x32, whose times are wide in
/// every call.
type Timespec64 = Timespec<i64>;

const _: () = assert!(size_of::<Timespec64>() == 16 && core::mem::offset_of!(Timespec64, nanoseconds) == 8);

/// Seconds and nanoseconds of a point of time, which are 2^34 seconds and a billion nanoseconds at most.
const fn split(ns: u64) -> (i64, i32) {
    const SECOND_NS: u64 = 1_000_000_000;
    ((ns / SECOND_NS) as i64, (ns % SECOND_NS) as i32)
}

impl Timespec64 {
    /// The kernel takes what is beyond its own clock for never.
    const fn at(ns: u64) -> Self {
        let (seconds, nanoseconds) = split(ns);
        Timespec { seconds, nanoseconds: nanoseconds as i64 }
    }
}

/// Sleeps while `*word == expected`, until woken or the monotonic clock reaches `deadline_ns`. `word` is aligned and alive.
pub(super) fn wait(word: *const u32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
    if form::wait(word, expected, deadline_ns) == Err(libc::ETIMEDOUT) { WaitEnd::TimedOut } else { WaitEnd::Woken }
}

/// Wakes at most `n` sleepers on the address; never dereferences it. There is nobody to tell an error.
pub(super) fn wake(word: *const u32, n: u32) {
    let _ = form::wake(word, n);
}

/// The call of this number as a wait, of a form that takes such a `deadline`.
fn wait_by<T>(number: c_long, word: *const u32, expected: u32, deadline: Option<Timespec<T>>) -> Answer {
    let timeout = deadline.as_ref().map_or(ptr::null(), ptr::from_ref) as usize;
    // FUTEX_WAIT_BITSET rather than FUTEX_WAIT: its timeout is a point of the monotonic clock.
    let operation = (libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: `word` is aligned and alive, as the callers of `wait` say; `timeout` is null or points to a local, in the
    // layout of the form with this number.
    unsafe { kernel::call(number, [word as usize, operation, expected as usize, timeout, 0, u32::MAX as usize]) }
}

/// The call of this number as a wake.
fn wake_by(number: c_long, word: *const u32, n: u32) -> Answer {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: a private FUTEX_WAKE uses the address as a key only; a key without sleepers, even one of freed memory, is
    // no error.
    unsafe { kernel::call(number, [word as usize, operation, n.min(i32::MAX as u32) as usize]) }
}

#[cfg(any(target_pointer_width = "64", target_arch = "x86_64"))]
mod form {
    use super::*;

    pub(super) fn wait(word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Answer {
        wait_by(libc::SYS_futex, word, expected, deadline_ns.map(Timespec64::at))
    }

    pub(super) fn wake(word: *const u32, n: u32) -> Answer {
        wake_by(libc::SYS_futex, word, n)
    }
}

#[cfg(not(any(target_pointer_width = "64", target_arch = "x86_64")))]
use two_forms as form;

/// Of use with words of 32 bits; the tests of every system look at it.
#[cfg(any(test, not(any(target_pointer_width = "64", target_arch = "x86_64"))))]
mod two_forms {
    #![cfg_attr(any(target_pointer_width = "64", target_arch = "x86_64"), allow(dead_code))]

    use super::*;
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

    /// What the first form takes.
    pub(super) type Timespec32 = Timespec<i32>;

    const _: () = assert!(size_of::<Timespec32>() == 8 && core::mem::offset_of!(Timespec32, nanoseconds) == 4);

    impl Timespec32 {
        /// The last second of 68 years stands for all that follow.
        pub(super) fn at(ns: u64) -> Self {
            let (seconds, nanoseconds) = split(ns);
            Timespec { seconds: i32::try_from(seconds).unwrap_or(i32::MAX), nanoseconds }
        }
    }

    /// Number of `futex_time64` on all processors that have both forms and atomics of 64 bits.
    const TIME64: c_long = 422;

    /// On Android the second form is not tried: its programs run under a filter that may kill for calls it does not know.
    static FORMS: CallForm = CallForm { is_second_refused: AtomicBool::new(cfg!(target_os = "android")) };

    /// Which form there is: the second, until it has been refused.
    pub(super) struct CallForm {
        pub(super) is_second_refused: AtomicBool,
    }

    impl CallForm {
        /// Makes the call in one form, or in both.
        pub(super) fn call(&self, first: impl FnOnce() -> Answer, second: impl FnOnce() -> Answer) -> Answer {
            if !self.is_second_refused.load(Relaxed) {
                let answer = second();
                // EPERM comes from filters that are older than the call; a futex has no other use for it here.
                if !matches!(answer, Err(libc::ENOSYS | libc::EPERM)) {
                    return answer;
                }
                // All threads that find out store the same.
                self.is_second_refused.store(true, Relaxed);
            }
            first()
        }
    }

    pub(super) fn wait(word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Answer {
        FORMS.call(
            || wait_by(libc::SYS_futex, word, expected, deadline_ns.map(Timespec32::at)),
            || wait_by(TIME64, word, expected, deadline_ns.map(Timespec64::at)),
        )
    }

    pub(super) fn wake(word: *const u32, n: u32) -> Answer {
        FORMS.call(|| wake_by(libc::SYS_futex, word, n), || wake_by(TIME64, word, n))
    }
}

#[cfg(test)]
mod tests {
    use super::two_forms::{CallForm, Timespec32};
    use super::*;
    use core::cell::Cell;
    use core::sync::atomic::{AtomicBool, AtomicU32};

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_point_of_time_is_the_same_in_both_layouts() {
        for (ns, seconds, nanoseconds) in [(0, 0, 0), (1, 0, 1), (SECOND_NS - 1, 0, 999_999_999), (SECOND_NS, 1, 0)] {
            assert_eq!(Timespec64::at(ns), Timespec { seconds: seconds.into(), nanoseconds: i64::from(nanoseconds) });
            assert_eq!(Timespec32::at(ns), Timespec { seconds, nanoseconds });
        }
    }

    #[test]
    fn the_far_future_is_never_the_past() {
        let end = (i32::MAX as u64 + 1) * SECOND_NS;
        assert_eq!(Timespec32::at(end - 1), Timespec { seconds: i32::MAX, nanoseconds: 999_999_999 });
        for later in [end, end + 5, u64::MAX] {
            assert_eq!(Timespec32::at(later).seconds, i32::MAX);
            assert!((0..SECOND_NS as i32).contains(&Timespec32::at(later).nanoseconds), "the kernel refuses others");
        }
        assert_eq!(Timespec64::at(end), Timespec { seconds: i64::from(i32::MAX) + 1, nanoseconds: 0 });
        assert_eq!(Timespec64::at(u64::MAX), Timespec { seconds: 18_446_744_073, nanoseconds: 709_551_615 });
    }

    /// The kernel has to take the far future for a point of time, and not to end the wait with an error.
    #[test]
    fn a_wait_until_the_far_future_lasts() {
        static WORD: AtomicU32 = AtomicU32::new(0);
        for deadline in [None, Some(u64::MAX), Some(1 << 62), Some((i32::MAX as u64 + 5) * SECOND_NS)] {
            let sleeper = std::thread::spawn(move || wait(WORD.as_ptr(), 0, deadline));
            std::thread::sleep(core::time::Duration::from_millis(20));
            assert!(!sleeper.is_finished(), "{deadline:?} has come already");
            // Ended by the sleeper's return: a wake that comes before it sleeps is lost.
            while !sleeper.is_finished() {
                wake(WORD.as_ptr(), 1);
                std::thread::yield_now();
            }
            assert_eq!(sleeper.join().unwrap(), WaitEnd::Woken);
        }
    }

    #[test]
    fn a_second_form_that_is_refused_is_tried_once() {
        for refusal in [libc::ENOSYS, libc::EPERM] {
            let forms = CallForm { is_second_refused: AtomicBool::new(false) };
            let (n_first, n_second) = (Cell::new(0), Cell::new(0));
            for _ in 0..3 {
                let first = || (n_first.set(n_first.get() + 1), Ok(7)).1;
                let second = || (n_second.set(n_second.get() + 1), Err(refusal)).1;
                assert_eq!(forms.call(first, second), Ok(7));
            }
            assert_eq!((n_first.get(), n_second.get()), (3, 1));
        }
    }

    #[test]
    fn a_second_form_that_answers_is_the_only_one() {
        let forms = CallForm { is_second_refused: AtomicBool::new(false) };
        for answer in [Ok(0), Err(libc::ETIMEDOUT), Err(libc::EAGAIN), Err(libc::EINTR)] {
            assert_eq!(forms.call(|| unreachable!("the second form is there"), || answer), answer);
        }
    }

    /// Where both forms exist, both wait until the deadline and no longer.
    #[cfg(not(any(target_pointer_width = "64", target_arch = "x86_64")))]
    #[test]
    fn both_forms_keep_a_deadline() {
        let word = AtomicU32::new(0);
        let clock = super::super::now_ns;
        for is_first in [true, false] {
            let deadline = clock() + 20_000_000;
            let answer = if is_first {
                wait_by(libc::SYS_futex, word.as_ptr(), 0, Some(Timespec32::at(deadline)))
            } else {
                wait_by(422, word.as_ptr(), 0, Some(Timespec64::at(deadline)))
            };
            assert_eq!(answer, Err(libc::ETIMEDOUT), "the first form: {is_first}");
            assert!((deadline..deadline + SECOND_NS).contains(&clock()), "the first form: {is_first}");
        }
    }
}
