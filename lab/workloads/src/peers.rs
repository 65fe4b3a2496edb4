//! The locks that the family is compared with, each used as its own users would use it.

use crate::bench_lock::BenchLock;
use std::cell::UnsafeCell;

/// Locks that give a guard: `lock` and `try_lock` of each, with what its users do to come to it.
macro_rules! guarded {
    ($($(#[$doc:meta])* $name:ident is $lock:ty: |$this:ident| $guard:expr, $try_guard:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name($lock);

        impl BenchLock for $name {
            fn new() -> Self {
                $name(<$lock>::new(()))
            }

            #[inline(always)]
            fn with<R>(&self, section: impl FnOnce() -> R) -> R {
                let $this = &self.0;
                let _guard = $guard;
                section()
            }

            #[inline(always)]
            fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
                let $this = &self.0;
                let _guard = $try_guard?;
                Some(section())
            }
        }
    )*};
}

guarded! {
    /// `std::sync::Mutex`. The check for poison belongs to its price, so it is made as its users make it.
    Std is std::sync::Mutex<()>: |lock| lock.lock().expect("sections do not panic"), lock.try_lock().ok();
    /// `parking_lot::Mutex` 0.13.
    ParkingLot is parking_lot::Mutex<()>: |lock| lock.lock(), lock.try_lock();
    /// `parking_lot::Mutex` 0.12.
    ParkingLot012 is parking_lot_012::Mutex<()>: |lock| lock.lock(), lock.try_lock();
    /// `parking_lot::ReentrantMutex` 0.13.
    ParkingLotReentrant is parking_lot::ReentrantMutex<()>: |lock| lock.lock(), lock.try_lock();
    /// `ondeck::Monitor`, as its users use it.
    Monitor is ondeck::Monitor<()>: |lock| lock.enter(), lock.try_enter();
}

/// The C library's mutex, in place like in a C program: behind a pointer it would lie on a cache line of its own
/// even where the workload puts it next to other things.
pub(crate) struct Pthread<const ADAPTIVE: bool>(UnsafeCell<libc::pthread_mutex_t>);

/// `pthread_mutex_t` of the default type.
pub(crate) type Posix = Pthread<false>;
/// `pthread_mutex_t` that spins for a learned while before it sleeps.
pub(crate) type Adaptive = Pthread<true>;

// SAFETY: a mutex in its initial state is plain bytes, and `BenchLock::new` allows moves only in that state; nothing
// in it belongs to the thread that made it.
unsafe impl<const ADAPTIVE: bool> Send for Pthread<ADAPTIVE> {}
// SAFETY: the cell is only ever handed to the pthread functions, which are made to be called by many threads at once.
unsafe impl<const ADAPTIVE: bool> Sync for Pthread<ADAPTIVE> {}

impl<const ADAPTIVE: bool> Pthread<ADAPTIVE> {
    /// For the pthread functions.
    pub(crate) fn get(&self) -> *mut libc::pthread_mutex_t {
        self.0.get()
    }
}

impl<const ADAPTIVE: bool> BenchLock for Pthread<ADAPTIVE> {
    fn new() -> Self {
        let default = libc::PTHREAD_MUTEX_INITIALIZER;
        Pthread(UnsafeCell::new(if ADAPTIVE { libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP } else { default }))
    }

    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        // SAFETY: the mutex is initialised, and stays in place from the first call on (see `BenchLock::new`). A mutex
        // of these two types cannot fail to be locked.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        let result = section();
        // SAFETY: this thread has locked it above.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
        result
    }

    #[inline(always)]
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        // SAFETY: as in `with`.
        if unsafe { libc::pthread_mutex_trylock(self.0.get()) } != 0 {
            return None;
        }
        let result = section();
        // SAFETY: this thread has locked it above.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
        Some(result)
    }
}

impl<const ADAPTIVE: bool> Drop for Pthread<ADAPTIVE> {
    fn drop(&mut self) {
        // SAFETY: `&mut self` says that nobody uses it any more, and every `with` has unlocked what it locked.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}
