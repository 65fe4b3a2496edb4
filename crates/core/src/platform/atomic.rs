//! The atomic operations that locks use, as traits. A model checker or a simulator can provide its own atomics.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// An atomic integer. The methods are those of `core::sync::atomic`, and orderings have the same meaning.
pub trait Atomic<T: Copy>: Send + Sync {
    /// Makes an atomic that holds `value`.
    fn new(value: T) -> Self;
    /// Reads the value.
    fn load(&self, order: Ordering) -> T;
    /// Writes the value.
    fn store(&self, value: T, order: Ordering);
    /// Writes the value and returns the one before.
    fn swap(&self, value: T, order: Ordering) -> T;
    /// Writes `new` if the value is `current`. Returns the value found, as `Ok` if it was `current`.
    fn compare_exchange(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T>;
    /// As [`compare_exchange`](Atomic::compare_exchange), but may fail spuriously.
    fn compare_exchange_weak(&self, current: T, new: T, success: Ordering, failure: Ordering) -> Result<T, T>;
    /// Adds, wrapping around, and returns the value before.
    fn fetch_add(&self, value: T, order: Ordering) -> T;
    /// Subtracts, wrapping around, and returns the value before.
    fn fetch_sub(&self, value: T, order: Ordering) -> T;
    /// Makes a bitwise and, and returns the value before.
    fn fetch_and(&self, value: T, order: Ordering) -> T;
    /// Makes a bitwise or, and returns the value before.
    fn fetch_or(&self, value: T, order: Ordering) -> T;
}

/// An atomic pointer. The methods are those of `core::sync::atomic::AtomicPtr`.
pub trait AtomicPointer<T>: Send + Sync {
    /// Makes an atomic that holds `pointer`.
    fn new(pointer: *mut T) -> Self;
    /// Reads the pointer.
    fn load(&self, order: Ordering) -> *mut T;
    /// Writes the pointer.
    fn store(&self, pointer: *mut T, order: Ordering);
    /// Writes the pointer and returns the one before.
    fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T;
    /// Writes `new` if the pointer is `current`. Returns the pointer found, as `Ok` if it was `current`.
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T>;
}

/// Implements [`Atomic`] by forwarding to inherent methods of the same names.
macro_rules! forward_atomic {
    ($atomic:ty, $value:ty) => {
        impl Atomic<$value> for $atomic {
            #[inline(always)]
            fn new(value: $value) -> Self {
                <$atomic>::new(value)
            }
            #[inline(always)]
            fn load(&self, order: Ordering) -> $value {
                <$atomic>::load(self, order)
            }
            #[inline(always)]
            fn store(&self, value: $value, order: Ordering) {
                <$atomic>::store(self, value, order);
            }
            #[inline(always)]
            fn swap(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::swap(self, value, order)
            }
            #[inline(always)]
            fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                <$atomic>::compare_exchange(self, current, new, success, failure)
            }
            #[inline(always)]
            fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                <$atomic>::compare_exchange_weak(self, current, new, success, failure)
            }
            #[inline(always)]
            fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::fetch_add(self, value, order)
            }
            #[inline(always)]
            fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::fetch_sub(self, value, order)
            }
            #[inline(always)]
            fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::fetch_and(self, value, order)
            }
            #[inline(always)]
            fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::fetch_or(self, value, order)
            }
        }
    };
}

forward_atomic!(AtomicU32, u32);
forward_atomic!(AtomicU64, u64);

impl<T> AtomicPointer<T> for AtomicPtr<T> {
    #[inline(always)]
    fn new(pointer: *mut T) -> Self {
        AtomicPtr::new(pointer)
    }
    #[inline(always)]
    fn load(&self, order: Ordering) -> *mut T {
        AtomicPtr::load(self, order)
    }
    #[inline(always)]
    fn store(&self, pointer: *mut T, order: Ordering) {
        AtomicPtr::store(self, pointer, order);
    }
    #[inline(always)]
    fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
        AtomicPtr::swap(self, pointer, order)
    }
    #[inline(always)]
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        AtomicPtr::compare_exchange(self, current, new, success, failure)
    }
}

/// The address of the half of a 64-bit word that holds its upper 32 bits.
pub(super) fn upper_half(word: *const u64) -> *const u32 {
    word.cast::<u32>().wrapping_add(cfg!(target_endian = "little") as usize)
}
