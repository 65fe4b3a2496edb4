//! The mutex of a wait, whosever it is.

use crate::bytes::mutex::Mutex;
use crate::{Answer, glibc};

/// How the mutex was had before the wait, and is to be had again.
#[derive(Clone, Copy)]
pub(super) struct MutexHold {
    mutex: *const Mutex,
    /// How often beyond the first time, for one of ours.
    count: Option<u32>,
    /// Whether it is kept from being destroyed meanwhile.
    is_counted: bool,
}

impl MutexHold {
    /// Unlocks it. An error, if it is the C library's and that refuses.
    ///
    /// # Safety
    /// The mutex exists until the wait is over.
    pub(super) unsafe fn leave(mutex: *const Mutex) -> Result<Self, Answer> {
        // SAFETY: as the caller says.
        let here = unsafe { &*mutex };
        if here.kind().is_some() {
            return Ok(MutexHold { mutex, count: Some(here.leave_for_wait()), is_counted: true });
        }
        // The count of users is changed by the owner of the mutex.
        let is_counted = here.is_mine();
        if is_counted {
            here.expect_waiter();
        }
        // SAFETY: as the caller says, and it is one that the C library made.
        let answer = unsafe { glibc::unlock(mutex) };
        if answer == 0 {
            return Ok(MutexHold { mutex, count: None, is_counted });
        }
        if is_counted {
            here.forget_waiter();
        }
        Err(answer)
    }

    /// Has it again. `acquire` does that for one of ours.
    ///
    /// # Safety
    /// As for [`leave`](Self::leave).
    pub(super) unsafe fn again(self, acquire: impl FnOnce(&Mutex)) -> Answer {
        // SAFETY: as the caller says.
        let mutex = unsafe { &*self.mutex };
        let Some(count) = self.count else {
            // SAFETY: as the caller says, and it is one that the C library made.
            let answer = unsafe { glibc::lock(self.mutex, 0) };
            if self.is_counted {
                mutex.forget_waiter();
            }
            return answer;
        };
        acquire(mutex);
        mutex.enter_after_wait(count);
        0
    }
}
