//! Atomics whose accesses take simulated time.
//!
//! They are as large as those of the hardware, so that whatever shares a line there shares one here.

use crate::engine::{EngineHandle, Kind, Op};
use ondeck_core::{Atomic, AtomicPointer};
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{self, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// A 32-bit atomic whose accesses take simulated time.
#[repr(transparent)]
#[derive(Debug)]
pub struct SimU32(AtomicU32);

/// A 64-bit atomic whose accesses take simulated time.
#[repr(transparent)]
#[derive(Debug)]
pub struct SimU64(AtomicU64);

/// An atomic pointer whose accesses take simulated time.
#[repr(transparent)]
#[derive(Debug)]
pub struct SimPtr<T>(SimU64, PhantomData<AtomicPtr<T>>);

/// Does one operation on the word at `address`: in a run as its machine does it, else at once. There is one of it: in
/// line, it would make every workload with every lock larger by a hundred instructions per operation.
#[inline(never)]
fn atomic(address: u64, is_wide: bool, kind: Kind, a: u64, b: u64) -> u64 {
    let op = Op { kind, address, is_wide, a, b };
    match EngineHandle::find() {
        Some(here) => here.atomic(op),
        // SAFETY: the methods below pass the address of a word that they have a reference to.
        None => unsafe { op.apply() },
    }
}

/// A store that all threads must see in one order is a read-modify-write, as compilers make it one.
fn kind_of_store(order: Ordering) -> Kind {
    if order == SeqCst { Kind::Swap } else { Kind::Store }
}

/// Implements [`Atomic`] for a word of this width.
macro_rules! simulate {
    ($atomic:ty, $inner:ty, $value:ty, $is_wide:literal) => {
        impl $atomic {
            pub(crate) fn address(&self) -> u64 {
                std::ptr::from_ref(self) as u64
            }

            #[inline]
            fn atomic(&self, kind: Kind, a: $value, b: $value) -> $value {
                atomic(self.address(), $is_wide, kind, a.into(), b.into()) as $value
            }

            /// Adds, and does not ask for the value from before: on a machine that does additions at the home of a line, the
            /// thread goes on meanwhile, as with Arm's `STADD`. Relaxed. Never blocks, and wraps around.
            #[inline]
            pub fn count(&self, value: $value) {
                self.atomic(Kind::Count, value, 0);
            }
        }

        impl Drop for $atomic {
            /// The word is about to be gone.
            fn drop(&mut self) {
                if let Some(here) = EngineHandle::find() {
                    here.with(|engine| engine.forget(self.address()));
                }
            }
        }

        impl Atomic<$value> for $atomic {
            fn new(value: $value) -> Self {
                Self(<$inner>::new(value))
            }
            #[inline]
            fn load(&self, _order: Ordering) -> $value {
                self.atomic(Kind::Load, 0, 0)
            }
            #[inline]
            fn store(&self, value: $value, order: Ordering) {
                self.atomic(kind_of_store(order), value, 0);
            }
            #[inline]
            fn swap(&self, value: $value, _order: Ordering) -> $value {
                self.atomic(Kind::Swap, value, 0)
            }
            #[inline]
            fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                _success: Ordering,
                _failure: Ordering,
            ) -> Result<$value, $value> {
                let found = self.atomic(Kind::CompareExchange, current, new);
                if found == current { Ok(found) } else { Err(found) }
            }
            #[inline]
            fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }
            #[inline]
            fn fetch_add(&self, value: $value, _order: Ordering) -> $value {
                self.atomic(Kind::Add, value, 0)
            }
            #[inline]
            fn fetch_sub(&self, value: $value, _order: Ordering) -> $value {
                self.atomic(Kind::Add, value.wrapping_neg(), 0)
            }
            #[inline]
            fn fetch_and(&self, value: $value, _order: Ordering) -> $value {
                self.atomic(Kind::And, value, 0)
            }
            #[inline]
            fn fetch_or(&self, value: $value, _order: Ordering) -> $value {
                self.atomic(Kind::Or, value, 0)
            }
        }
    };
}

simulate!(SimU32, AtomicU32, u32, false);
simulate!(SimU64, AtomicU64, u64, true);

fn bits<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}

fn pointer<T>(bits: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(bits as usize)
}

impl<T> AtomicPointer<T> for SimPtr<T> {
    fn new(pointer: *mut T) -> Self {
        SimPtr(Atomic::new(bits(pointer)), PhantomData)
    }
    #[inline]
    fn load(&self, order: Ordering) -> *mut T {
        pointer(self.0.load(order))
    }
    #[inline]
    fn store(&self, pointer: *mut T, order: Ordering) {
        self.0.store(bits(pointer), order);
    }
    #[inline]
    fn swap(&self, new: *mut T, order: Ordering) -> *mut T {
        pointer(self.0.swap(bits(new), order))
    }
    #[inline]
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.0.compare_exchange(bits(current), bits(new), success, failure).map(pointer).map_err(pointer)
    }
}
