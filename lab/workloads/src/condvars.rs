//! Mutexes that have a condition variable, each used as its own users would use it: for whatever waits for something under
//! a lock and not for the lock alone.

use crate::bench_lock::BenchLock;
use crate::peers::Pthread;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A mutex around data, with its condition variable. Like a [`BenchLock`], both may be moved until they are first used.
pub(crate) trait CondvarLock<T: Send + 'static>: Send + Sync + 'static {
    /// Holds the mutex.
    type Guard<'a>: DerefMut<Target = T>
    where
        Self: 'a;
    /// The condition variable, which is used with one mutex only.
    type Condvar: Default + Send + Sync;

    /// A free mutex.
    fn new(data: T) -> Self;

    /// Acquires the mutex.
    fn lock(&self) -> Self::Guard<'_>;

    /// Releases the mutex, sleeps until notified, and acquires it again; may return without a notification.
    fn wait<'a>(condvar: &Self::Condvar, guard: Self::Guard<'a>) -> Self::Guard<'a>;

    /// Wakes a thread that waits.
    fn notify_one(condvar: &Self::Condvar);

    /// Wakes all threads that wait.
    fn notify_all(condvar: &Self::Condvar);
}

/// Libraries with a `Mutex`, a `MutexGuard` and a `Condvar`, whose guards go through a wait as each library wants it.
macro_rules! library {
    ($library:ident, |$mutex:ident| $lock:expr, |$condvar:ident, $guard:ident| $wait:expr) => {
        impl<T: Send + 'static> CondvarLock<T> for $library::Mutex<T> {
            type Guard<'a> = $library::MutexGuard<'a, T>;
            type Condvar = $library::Condvar;

            fn new(data: T) -> Self {
                $library::Mutex::new(data)
            }

            #[inline(always)]
            fn lock(&self) -> Self::Guard<'_> {
                let $mutex = self;
                $lock
            }

            #[inline(always)]
            #[allow(unused_mut, reason = "not where a wait takes the guard")]
            fn wait<'a>($condvar: &Self::Condvar, mut $guard: Self::Guard<'a>) -> Self::Guard<'a> {
                $wait
            }

            #[inline(always)]
            fn notify_one(condvar: &Self::Condvar) {
                condvar.notify_one();
            }

            #[inline(always)]
            fn notify_all(condvar: &Self::Condvar) {
                condvar.notify_all();
            }
        }
    };
    ($library:ident) => {
        library!($library, |mutex| mutex.lock(), |condvar, guard| {
            condvar.wait(&mut guard);
            guard
        });
    };
}

use std::sync as std_sync;
library!(std_sync, |mutex| mutex.lock().expect("nobody panics"), |condvar, guard| condvar
    .wait(guard)
    .expect("nobody panics"));
library!(parking_lot);
library!(parking_lot_012);
library!(ondeck);

/// The C library's mutex, with data beside it.
pub(crate) struct PthreadLock<T, const ADAPTIVE: bool> {
    mutex: Pthread<ADAPTIVE>,
    data: UnsafeCell<T>,
}

// SAFETY: the data are reached through a guard only, which one thread has at a time; so they must be `Send`, and no more.
unsafe impl<T: Send, const ADAPTIVE: bool> Sync for PthreadLock<T, ADAPTIVE> {}

/// Holds a [`PthreadLock`].
pub(crate) struct PthreadGuard<'a, T, const ADAPTIVE: bool> {
    lock: &'a PthreadLock<T, ADAPTIVE>,
    /// Whoever locked it unlocks it, so the guard is not `Send`.
    _of_this_thread: PhantomData<*mut ()>,
}

impl<T, const ADAPTIVE: bool> Deref for PthreadGuard<'_, T, ADAPTIVE> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the mutex, and `&self` forbids `deref_mut` meanwhile.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T, const ADAPTIVE: bool> DerefMut for PthreadGuard<'_, T, ADAPTIVE> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the mutex, and `&mut self` makes this the only reference.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T, const ADAPTIVE: bool> Drop for PthreadGuard<'_, T, ADAPTIVE> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this thread has locked it: a guard comes from `lock`, and a wait gives it back locked.
        unsafe { libc::pthread_mutex_unlock(self.lock.mutex.get()) };
    }
}

/// The C library's condition variable.
pub(crate) struct PthreadCondvar(UnsafeCell<libc::pthread_cond_t>);

// SAFETY: plain bytes in its initial state, in which alone it may be moved; nothing in it belongs to a thread.
unsafe impl Send for PthreadCondvar {}
// SAFETY: the cell is only ever handed to the pthread functions, which are made to be called by many threads at once.
unsafe impl Sync for PthreadCondvar {}

impl Default for PthreadCondvar {
    fn default() -> Self {
        PthreadCondvar(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER))
    }
}

impl Drop for PthreadCondvar {
    fn drop(&mut self) {
        // SAFETY: `&mut self` says that nobody waits on it any more.
        unsafe { libc::pthread_cond_destroy(self.0.get()) };
    }
}

impl<T: Send + 'static, const ADAPTIVE: bool> CondvarLock<T> for PthreadLock<T, ADAPTIVE> {
    type Guard<'a> = PthreadGuard<'a, T, ADAPTIVE>;
    type Condvar = PthreadCondvar;

    fn new(data: T) -> Self {
        PthreadLock { mutex: Pthread::new(), data: UnsafeCell::new(data) }
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        // SAFETY: the mutex is initialised and stays in place from now on. One of these types cannot fail to be locked.
        unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        PthreadGuard { lock: self, _of_this_thread: PhantomData }
    }

    #[inline(always)]
    fn wait<'a>(condvar: &PthreadCondvar, guard: Self::Guard<'a>) -> Self::Guard<'a> {
        // SAFETY: both are initialised and in place, and the guard says that this thread holds the mutex.
        unsafe { libc::pthread_cond_wait(condvar.0.get(), guard.lock.mutex.get()) };
        guard
    }

    #[inline(always)]
    fn notify_one(condvar: &PthreadCondvar) {
        // SAFETY: it is initialised and in place.
        unsafe { libc::pthread_cond_signal(condvar.0.get()) };
    }

    #[inline(always)]
    fn notify_all(condvar: &PthreadCondvar) {
        // SAFETY: as above.
        unsafe { libc::pthread_cond_broadcast(condvar.0.get()) };
    }
}
