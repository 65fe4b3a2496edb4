//! The locks that the family is compared with, each used as its own users would use it.

use crate::lock::BenchLock;
use std::cell::UnsafeCell;

/// `std::sync::Mutex`.
pub(crate) struct Std(std::sync::Mutex<()>);

impl BenchLock for Std {
    fn new() -> Self {
        Std(std::sync::Mutex::new(()))
    }

    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        // The check for poison belongs to the price of this lock, so it is made as its users make it.
        let _guard = self.0.lock().expect("sections do not panic");
        section()
    }

    #[inline(always)]
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        let _guard = self.0.try_lock().ok()?;
        Some(section())
    }
}

/// `parking_lot::Mutex` 0.13.
pub(crate) struct ParkingLot(parking_lot::Mutex<()>);

impl BenchLock for ParkingLot {
    fn new() -> Self {
        ParkingLot(parking_lot::Mutex::new(()))
    }

    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock();
        section()
    }

    #[inline(always)]
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        let _guard = self.0.try_lock()?;
        Some(section())
    }
}

/// `parking_lot::Mutex` 0.12.
pub(crate) struct ParkingLot012(parking_lot_012::Mutex<()>);

impl BenchLock for ParkingLot012 {
    fn new() -> Self {
        ParkingLot012(parking_lot_012::Mutex::new(()))
    }

    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock();
        section()
    }

    #[inline(always)]
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        let _guard = self.0.try_lock()?;
        Some(section())
    }
}

/// `parking_lot::ReentrantMutex` 0.13.
pub(crate) struct ParkingLotReentrant(parking_lot::ReentrantMutex<()>);

impl BenchLock for ParkingLotReentrant {
    fn new() -> Self {
        ParkingLotReentrant(parking_lot::ReentrantMutex::new(()))
    }

    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock();
        section()
    }

    #[inline(always)]
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        let _guard = self.0.try_lock()?;
        Some(section())
    }
}

/// The C library's mutex, in place like in a C program: behind a pointer it would lie on a cache line of its own
/// even where the workload puts it next to other things.
struct Pthread(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex in its initial state is plain bytes, and `BenchLock::new` allows moves only in that state; nothing
// in it belongs to the thread that made it.
unsafe impl Send for Pthread {}
// SAFETY: the cell is only ever handed to the pthread functions, which are made to be called by many threads at once.
unsafe impl Sync for Pthread {}

impl Pthread {
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

impl Drop for Pthread {
    fn drop(&mut self) {
        // SAFETY: `&mut self` says that nobody uses it any more, and every `with` has unlocked what it locked.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

/// `pthread_mutex_t` of the default type.
pub(crate) struct Posix(Pthread);

impl BenchLock for Posix {
    fn new() -> Self {
        Posix(Pthread(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)))
    }

    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        self.0.with(section)
    }

    #[inline(always)]
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        self.0.try_with(section)
    }
}

/// `pthread_mutex_t` that spins for a learned while before it sleeps.
pub(crate) struct Adaptive(Pthread);

impl BenchLock for Adaptive {
    fn new() -> Self {
        Adaptive(Pthread(UnsafeCell::new(libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP)))
    }

    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        self.0.with(section)
    }

    #[inline(always)]
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        self.0.try_with(section)
    }
}
