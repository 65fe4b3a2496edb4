//! Atomics of the modelled harnesses: those of the model checker, plus a witness that notices touches after the end of
//! their life and reports what was done to which address.

use core::sync::atomic::Ordering;
use ondeck_core::{Atomic, AtomicPointer};

/// What an access did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Left the value as it was: a load, a compare-exchange that failed, a write of the value that was there.
    Look,
    /// Changed the value.
    Change,
}

/// The witness beside an atomic. Its `Drop` is the end of the atomic's life.
pub trait Witness: Send + Sync {
    /// A witness of an atomic that begins to live.
    fn new() -> Self;
    /// The atomic is about to be accessed; the model checker may switch threads before it is.
    fn before(&self);
    /// The atomic at `address` has been accessed, with no switch of threads since. It may be at the end of its life;
    /// the modelled harnesses keep the memory.
    fn after(&self, address: usize, access: Access);
}

/// An atomic and its witness.
pub struct WitnessedAtomic<A, W> {
    inner: A,
    witness: W,
}

impl<A, W: Witness> WitnessedAtomic<A, W> {
    fn access<R>(&self, operation: impl FnOnce(&A) -> R, access: impl FnOnce(&R) -> Access) -> R {
        self.witness.before();
        let result = operation(&self.inner);
        self.witness.after(core::ptr::from_ref(self).addr(), access(&result));
        result
    }
}

impl<A, W> WitnessedAtomic<A, W> {
    /// The atomic alone, for what the harness itself does with it.
    pub(crate) fn inner(&self) -> &A {
        &self.inner
    }
}

fn look<R>(_: &R) -> Access {
    Access::Look
}

fn change_if(changed: bool) -> Access {
    if changed { Access::Change } else { Access::Look }
}

/// Implements [`Atomic`] for a watched integer of a model checker.
macro_rules! watched_integer {
    ($atomic:ty, $value:ty, $store:ident) => {
        impl<W: Witness> Atomic<$value> for WitnessedAtomic<$atomic, W> {
            fn new(value: $value) -> Self {
                WitnessedAtomic { inner: <$atomic>::new(value), witness: W::new() }
            }
            fn load(&self, order: Ordering) -> $value {
                self.access(|atomic| atomic.load(order), look)
            }
            fn store(&self, value: $value, order: Ordering) {
                self.access(|atomic| atomic.$store(value, order), |_| Access::Change);
            }
            fn swap(&self, value: $value, order: Ordering) -> $value {
                self.access(|atomic| atomic.swap(value, order), |&old| change_if(old != value))
            }
            fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                ok: Ordering,
                err: Ordering,
            ) -> Result<$value, $value> {
                self.access(
                    |atomic| atomic.compare_exchange(old, new, ok, err),
                    |result| change_if(result.is_ok() && old != new),
                )
            }
            fn compare_exchange_weak(
                &self,
                old: $value,
                new: $value,
                ok: Ordering,
                err: Ordering,
            ) -> Result<$value, $value> {
                self.access(
                    |atomic| atomic.compare_exchange_weak(old, new, ok, err),
                    |result| change_if(result.is_ok() && old != new),
                )
            }
            fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                self.access(|atomic| atomic.fetch_add(value, order), |_| change_if(value != 0))
            }
            fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                self.access(|atomic| atomic.fetch_sub(value, order), |_| change_if(value != 0))
            }
            fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                self.access(|atomic| atomic.fetch_and(value, order), |&old| change_if(old & value != old))
            }
            fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                self.access(|atomic| atomic.fetch_or(value, order), |&old| change_if(old | value != old))
            }
        }
    };
}

/// Implements [`AtomicPointer`] for a watched pointer of a model checker.
macro_rules! watched_pointer {
    ($atomic:ident, $store:ident) => {
        impl<T, W: Witness> AtomicPointer<T> for WitnessedAtomic<$atomic<T>, W> {
            fn new(pointer: *mut T) -> Self {
                WitnessedAtomic { inner: $atomic::new(pointer), witness: W::new() }
            }
            fn load(&self, order: Ordering) -> *mut T {
                self.access(|atomic| atomic.load(order), look)
            }
            fn store(&self, pointer: *mut T, order: Ordering) {
                self.access(|atomic| atomic.$store(pointer, order), |_| Access::Change);
            }
            fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
                self.access(|atomic| atomic.swap(pointer, order), |&old| change_if(old != pointer))
            }
            fn compare_exchange(
                &self,
                old: *mut T,
                new: *mut T,
                ok: Ordering,
                err: Ordering,
            ) -> Result<*mut T, *mut T> {
                self.access(
                    |atomic| atomic.compare_exchange(old, new, ok, err),
                    |result| change_if(result.is_ok() && old != new),
                )
            }
        }
    };
}

use loom::sync::atomic::AtomicPtr as LoomPtr;
use shuttle::sync::atomic::AtomicPtr as ShuttlePtr;

// A store is a swap under loom. Loom orders a plain store in time only against the writes that its thread has seen, so
// an RMW of another thread may read the value from before it again and again: a spinner that never gets in, a kernel
// that compares with the past. As a swap, each write follows all that were executed before it. What is lost: a relaxed
// store no longer ends the release sequence of an earlier writer. ThreadSanitizer knows the difference.
watched_integer!(loom::sync::atomic::AtomicU32, u32, swap);
watched_integer!(loom::sync::atomic::AtomicU64, u64, swap);
watched_pointer!(LoomPtr, swap);
watched_integer!(shuttle::sync::atomic::AtomicU32, u32, store);
watched_integer!(shuttle::sync::atomic::AtomicU64, u64, store);
watched_pointer!(ShuttlePtr, store);
