//! What the workloads need of a lock, and how the locks of the family give it.
//!
//! A workload is generic over [`BenchLock`], and a lock is chosen by name through a [`BenchLockVisitor`]. For hardware it is
//! compiled once per lock, so that no indirect call lies on a measured path; for the simulator, see `simulate::erased`.

use ondeck_lineage::{LockVisitor, RawLock};

/// A lock under measurement.
pub trait BenchLock: Send + Sync + 'static {
    /// A free lock. It may be moved until the first [`with`](BenchLock::with).
    fn new() -> Self;

    /// Runs `section` while holding the lock. `section` does not panic.
    fn with<R>(&self, section: impl FnOnce() -> R) -> R;

    /// Makes one attempt, and runs `section` while holding the lock if that succeeded. A lock that its holder may
    /// acquire again grants it to the holder.
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R>;

    /// Whether the lock has a larger form that it takes on for good, as a monitor does once it was contended.
    const HAS_FAT_FORM: bool = false;

    /// Makes the lock take on its larger form, if it has one.
    fn make_fat(&self) {}

    /// Whether some thread sleeps in the lock; `None` where the lock cannot tell.
    fn shows_sleeper(&self) -> Option<bool> {
        None
    }
}

/// Something to be done with a lock whose type is chosen by name.
pub trait BenchLockVisitor {
    /// What comes out of it.
    type Output;
    /// Does it.
    fn visit<L: BenchLock>(self) -> Self::Output;
}

/// A lock of the family, as the workloads see it.
pub struct Family<L>(L);

impl<L: RawLock> BenchLock for Family<L> {
    fn new() -> Self {
        Family(L::new())
    }

    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        self.0.acquire();
        let result = section();
        // SAFETY: this thread has acquired the lock three lines above, and `section` cannot reach it.
        unsafe { self.0.release() };
        result
    }

    #[inline(always)]
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        if !self.0.try_acquire() {
            return None;
        }
        let result = section();
        // SAFETY: this thread has acquired the lock above, and `section` cannot reach it.
        unsafe { self.0.release() };
        Some(result)
    }

    const HAS_FAT_FORM: bool = L::HAS_LARGE_FORM;

    fn make_fat(&self) {
        self.0.inflate();
    }

    fn shows_sleeper(&self) -> Option<bool> {
        self.0.shows_sleeper()
    }
}

/// Lets a visitor of measured locks visit a lock of the family.
pub(crate) struct FamilyVisitor<V>(pub(crate) V);

impl<V: BenchLockVisitor> LockVisitor for FamilyVisitor<V> {
    type Output = V::Output;

    fn visit<L: RawLock>(self) -> V::Output {
        self.0.visit::<Family<L>>()
    }
}
