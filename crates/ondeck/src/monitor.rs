//! The monitor: a reentrant lock in which threads can wait for each other.

use crate::raw::{deadline_at, deadline_in};
use ondeck_core::{Hardware, RawLock, RawMonitor, RawOndeckMonitor, RawTimedLock};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::{Duration, Instant};

pub use ondeck_core::NotHeld;

/// A lock that its holder may enter again, and in which threads can wait for each other.
///
/// Java and .NET call such a lock a monitor. It takes 32 bytes beside its data.
///
/// # Shared access
/// [`enter`](Monitor::enter) gives `&T` and not `&mut T`. A thread that enters twice has two guards, and two `&mut T`
/// to one place would be undefined behaviour. So data that changes lives in a [`Cell`] or [`RefCell`] inside, as in
/// `parking_lot`'s reentrant mutex. These types need one thread at a time, and a monitor provides that.
///
/// ```
/// use ondeck::Monitor;
/// use std::cell::RefCell;
///
/// let names = Monitor::new(RefCell::new(vec!["first"]));
/// let add = |name| names.enter().borrow_mut().push(name);
///
/// let entered = names.enter();
/// add("second"); // enters again
/// assert_eq!(entered.borrow().len(), 2);
/// ```
///
/// # Waiting
/// [`MonitorGuard::wait`] leaves the monitor, sleeps until another thread calls [`pulse`](Monitor::pulse) or
/// [`pulse_all`](Monitor::pulse_all), and enters again. `pulse` ends the wait of the thread that has waited longest. A
/// wait ends with a pulse or its deadline, never for no reason. Check your condition in a loop all the same: other
/// threads may enter between the pulse and the return.
///
/// ```
/// use ondeck::{Monitor, MonitorGuard};
/// use std::cell::Cell;
///
/// let is_ready = Monitor::new(Cell::new(false));
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         is_ready.enter().set(true);
///         // Not inside any more: the pulse is refused, and nothing else happens.
///         assert!(is_ready.pulse().is_err());
///         let _entered = is_ready.enter();
///         is_ready.pulse().expect("entered");
///     });
///     let mut entered = is_ready.enter();
///     while !entered.get() {
///         MonitorGuard::wait(&mut entered).expect("entered once");
///     }
/// });
/// ```
///
/// Other threads are inside during a wait, so nothing may stay borrowed from the data. Therefore a wait takes the guard
/// as `&mut`. It cannot see what a guard of another level has lent. So it refuses a thread that has entered more than
/// once, with the error [`Nested`].
///
/// Data that threads may share (`T: Sync`, such as `()` or an atomic) can stay borrowed. Use [`Monitor::wait`] for it.
/// As in Java and .NET, it leaves the monitor however deep the thread is inside, and later enters again just as deep.
///
/// # Errors
/// - [`NotHeld`]: a thread that is not inside called `pulse` or a wait of the monitor.
/// - [`Nested`]: a thread that has entered more than once called a wait of a guard.
///
/// In both cases nothing has happened. A thread cannot leave without having entered: a guard leaves when it is dropped,
/// and it stays on its thread.
///
/// # Panics
/// - If the process has started 2^32 threads.
/// - If one thread is 2^32 levels deep.
///
/// The monitor is then as it was before the call. A panic while a guard is alive leaves the monitor, and does not
/// poison it. A leaked guard leaves its thread inside for good.
///
/// # Blocking
/// Threads wait as for a [`Mutex`](crate::Mutex), with its fairness. Leaving never waits for a holder.
///
/// [`Cell`]: std::cell::Cell
/// [`RefCell`]: std::cell::RefCell
pub struct Monitor<T: ?Sized> {
    raw: RawOndeckMonitor<Hardware>,
    data: T,
}

// SAFETY: a reference to a monitor gives `&T` to one thread at a time, each of which sees what those before did, and
// the data itself to the owner of the monitor. So it is sent from thread to thread, but never shared: a thread that
// lets others in before it has dropped its last guard has nothing borrowed from any of them (`MonitorGuard::wait` and
// `bump`), or the data may be shared (`Monitor::wait`, by its own bound).
unsafe impl<T: ?Sized + Send> Sync for Monitor<T> {}

impl<T> Monitor<T> {
    /// Makes a monitor around `data`, with nobody inside.
    #[inline]
    pub const fn new(data: T) -> Self {
        Monitor { raw: RawOndeckMonitor::INIT, data }
    }

    /// Consumes the monitor and returns the data.
    #[inline]
    pub fn into_inner(self) -> T {
        self.data
    }
}

impl<T: ?Sized> Monitor<T> {
    /// Enters the monitor. Waits while another thread is inside. A thread that is inside already gets one level deeper.
    #[inline]
    pub fn enter(&self) -> MonitorGuard<'_, T> {
        self.raw.acquire();
        MonitorGuard::new(self)
    }

    /// Enters the monitor if no other thread is inside. Never waits.
    ///
    /// # Example
    /// ```
    /// let monitor = ondeck::Monitor::new(1);
    /// let entered = monitor.enter();
    /// assert!(monitor.try_enter().is_some(), "we are inside");
    /// std::thread::scope(|scope| scope.spawn(|| assert!(monitor.try_enter().is_none())).join().unwrap());
    /// assert_eq!(*entered, 1);
    /// ```
    #[inline]
    pub fn try_enter(&self) -> Option<MonitorGuard<'_, T>> {
        self.raw.try_acquire().then(|| MonitorGuard::new(self))
    }

    /// Enters the monitor, and waits for at most `timeout`. Returns `None` if the timeout passed first.
    #[inline]
    pub fn try_enter_for(&self, timeout: Duration) -> Option<MonitorGuard<'_, T>> {
        self.enter_until(deadline_in(timeout))
    }

    /// Enters the monitor, and waits at most until `deadline`. Returns `None` if the deadline passed first.
    #[inline]
    pub fn try_enter_until(&self, deadline: Instant) -> Option<MonitorGuard<'_, T>> {
        self.enter_until(deadline_at(deadline))
    }

    fn enter_until(&self, deadline_ns: u64) -> Option<MonitorGuard<'_, T>> {
        self.raw.try_acquire_until(deadline_ns).then(|| MonitorGuard::new(self))
    }

    /// Returns whether the calling thread is inside.
    ///
    /// # Example
    /// ```
    /// let monitor = ondeck::Monitor::new(());
    /// assert!(!monitor.is_entered());
    /// let entered = monitor.enter();
    /// assert!(monitor.is_entered());
    /// std::thread::scope(|scope| scope.spawn(|| assert!(!monitor.is_entered())).join().unwrap());
    /// # drop(entered);
    /// ```
    #[inline]
    pub fn is_entered(&self) -> bool {
        self.raw.is_held()
    }

    /// Leaves one level whose guard has been forgotten. It is for code that enters and leaves by separate calls, as C
    /// does.
    ///
    /// # Safety
    /// - The calling thread is inside, by a guard that was given to [`forget`](std::mem::forget). Each forgotten guard
    ///   allows one call.
    /// - Nothing that was borrowed through this guard is used any more.
    ///
    /// # Example
    /// ```
    /// let monitor = ondeck::Monitor::new(1);
    /// std::mem::forget(monitor.enter());
    /// // SAFETY: entered above, by this thread; nothing is borrowed.
    /// unsafe { monitor.force_exit() };
    /// assert!(!monitor.is_entered());
    /// ```
    #[inline]
    pub unsafe fn force_exit(&self) {
        // SAFETY: the calling thread is inside, and the level that is left has no guard that would leave it again.
        unsafe { self.raw.release() };
    }

    /// Ends the wait of the thread that has waited longest. This thread enters when the monitor is free.
    ///
    /// Returns false if nobody waits.
    ///
    /// # Errors
    /// [`NotHeld`] if the calling thread is not inside.
    #[inline]
    pub fn pulse(&self) -> Result<bool, NotHeld> {
        self.raw.pulse()
    }

    /// Ends the waits of all threads that wait now, and returns their number. They enter one after the other.
    ///
    /// # Errors
    /// [`NotHeld`] if the calling thread is not inside.
    #[inline]
    pub fn pulse_all(&self) -> Result<usize, NotHeld> {
        self.raw.pulse_all()
    }

    /// Returns the data without entering. Nobody else can have a reference to the monitor.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.data
    }
}

/// Waits on any level, for data that may stay borrowed while other threads are inside.
impl<T: ?Sized + Sync> Monitor<T> {
    /// Leaves the monitor on all levels, waits for a pulse, and enters again just as deep.
    ///
    /// # Errors
    /// [`NotHeld`] if the calling thread is not inside.
    ///
    /// For data that is not `Sync`, use [`MonitorGuard::wait`]. This does not compile:
    /// ```compile_fail,E0277
    /// let monitor = ondeck::Monitor::new(std::cell::Cell::new(1));
    /// let _entered = monitor.enter();
    /// monitor.wait().expect("entered");
    /// ```
    #[inline]
    pub fn wait(&self) -> Result<(), NotHeld> {
        self.raw.wait(None).map(|_is_pulsed| ())
    }

    /// As [`wait`](Monitor::wait), but waits for a pulse for at most `timeout`. Entering again may take longer.
    ///
    /// # Example
    /// ```
    /// use ondeck::{Monitor, WaitEnd};
    /// use std::time::Duration;
    ///
    /// let monitor = Monitor::new(());
    /// let short = Duration::from_millis(1);
    /// let error = monitor.wait_for(short).expect_err("we are not inside");
    /// println!("{error}"); // the calling thread does not hold the monitor; ...
    ///
    /// let _levels = (monitor.enter(), monitor.enter());
    /// assert_eq!(monitor.wait_for(short), Ok(WaitEnd::TimedOut));
    /// ```
    #[inline]
    pub fn wait_for(&self, timeout: Duration) -> Result<WaitEnd, NotHeld> {
        self.raw.wait(Some(deadline_in(timeout))).map(WaitEnd::from_is_pulsed)
    }

    /// As [`wait`](Monitor::wait), but waits for a pulse at most until `deadline`. Entering again may take longer.
    #[inline]
    pub fn wait_until(&self, deadline: Instant) -> Result<WaitEnd, NotHeld> {
        self.raw.wait(Some(deadline_at(deadline))).map(WaitEnd::from_is_pulsed)
    }
}

/// How a wait with a deadline ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// Another thread pulsed.
    Pulsed,
    /// The deadline came first. No pulse was spent on this wait.
    TimedOut,
}

impl WaitEnd {
    fn from_is_pulsed(is_pulsed: bool) -> Self {
        if is_pulsed { WaitEnd::Pulsed } else { WaitEnd::TimedOut }
    }
}

/// The error of a wait through a guard: the thread has entered the monitor more than once.
///
/// During the wait other threads would be inside, while data may still be borrowed through another of the guards. Wait
/// where the thread has entered only once. Or keep data in the monitor that threads may share: [`Monitor::wait`] then
/// works on any level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nested;

impl fmt::Display for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the calling thread has entered the monitor more than once; wait through a guard when it is the only one",
        )
    }
}

impl std::error::Error for Nested {}

/// The calling thread's stay inside a [`Monitor`], on one level. Dropping the guard leaves this level.
///
/// Guards of several levels may be dropped in any order. The last one leaves the monitor. A guard stays on its thread:
/// ```compile_fail,E0277
/// let monitor = ondeck::Monitor::new(1);
/// let entered = monitor.enter();
/// std::thread::scope(|scope| scope.spawn(move || drop(entered)).join());
/// ```
#[must_use = "dropped at once, it leaves the monitor at once"]
pub struct MonitorGuard<'a, T: ?Sized> {
    monitor: &'a Monitor<T>,
    stays_on_its_thread: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives `&T` only; dropping takes the guard itself, which stays on its thread.
unsafe impl<T: ?Sized + Sync> Sync for MonitorGuard<'_, T> {}

impl<'a, T: ?Sized> MonitorGuard<'a, T> {
    /// The calling thread has entered `monitor`, and makes one guard of that.
    #[inline]
    fn new(monitor: &'a Monitor<T>) -> Self {
        MonitorGuard { monitor, stays_on_its_thread: PhantomData }
    }

    /// Leaves the monitor, waits for a pulse, and enters again.
    ///
    /// # Errors
    /// [`Nested`] if the calling thread has entered more than once. It is still inside then, and has not waited.
    ///
    /// Nothing may stay borrowed from the data during a wait, because other threads are inside. This does not compile:
    /// ```compile_fail,E0502
    /// use ondeck::{Monitor, MonitorGuard};
    ///
    /// let names = Monitor::new(std::cell::RefCell::new(vec!["first"]));
    /// let mut entered = names.enter();
    /// let borrowed = entered.borrow();
    /// MonitorGuard::wait(&mut entered).expect("entered once");
    /// println!("{borrowed:?}");
    /// ```
    #[inline]
    pub fn wait(s: &mut Self) -> Result<(), Nested> {
        s.wait_inner(None).map(|_is_pulsed| ())
    }

    /// As [`wait`](MonitorGuard::wait), but waits for a pulse for at most `timeout`. Entering again may take longer.
    ///
    /// # Example
    /// ```
    /// use ondeck::{Monitor, MonitorGuard, Nested, WaitEnd};
    /// use std::cell::Cell;
    /// use std::time::Duration;
    ///
    /// let monitor = Monitor::new(Cell::new(1));
    /// let mut entered = monitor.enter();
    /// assert_eq!(MonitorGuard::wait_for(&mut entered, Duration::ZERO), Ok(WaitEnd::TimedOut));
    /// let again = monitor.enter();
    /// assert_eq!(MonitorGuard::wait_for(&mut entered, Duration::ZERO), Err(Nested));
    /// # drop(again);
    /// ```
    #[inline]
    pub fn wait_for(s: &mut Self, timeout: Duration) -> Result<WaitEnd, Nested> {
        s.wait_inner(Some(deadline_in(timeout))).map(WaitEnd::from_is_pulsed)
    }

    /// As [`wait`](MonitorGuard::wait), but waits for a pulse at most until `deadline`. Entering again may take longer.
    #[inline]
    pub fn wait_until(s: &mut Self, deadline: Instant) -> Result<WaitEnd, Nested> {
        s.wait_inner(Some(deadline_at(deadline))).map(WaitEnd::from_is_pulsed)
    }

    /// True if pulsed.
    fn wait_inner(&mut self, deadline_ns: Option<u64>) -> Result<bool, Nested> {
        let raw = &self.monitor.raw;
        if raw.is_nested() {
            return Err(Nested);
        }
        Ok(raw.wait(deadline_ns).expect("a guard is a stay inside"))
    }

    /// Lets a waiting thread in, and enters again behind it.
    ///
    /// It does nothing if nobody is known to wait, or if the calling thread has entered more than once. It is cheaper
    /// than leaving and entering: without a waiting thread it only looks at the monitor.
    ///
    /// # Example
    /// ```
    /// use ondeck::{Monitor, MonitorGuard};
    ///
    /// let steps = Monitor::new(std::cell::Cell::new(0));
    /// let mut entered = steps.enter();
    /// while entered.get() < 100 {
    ///     entered.set(entered.get() + 1);
    ///     MonitorGuard::bump(&mut entered);
    /// }
    /// ```
    #[inline]
    pub fn bump(s: &mut Self) {
        let raw = &s.monitor.raw;
        if !raw.is_nested() {
            // SAFETY: the guard is the only stay of its thread, which has it for itself. Nothing unwinds in between, after
            // which the guard would leave a second time.
            unsafe { raw.bump() };
        }
    }
}

impl<T: ?Sized> Deref for MonitorGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.monitor.data
    }
}

impl<T: ?Sized> Drop for MonitorGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard was made from one entering of this thread, which it has not left, and ends it now.
        unsafe { self.monitor.raw.release() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MonitorGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MonitorGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Monitor<T> {
    /// Shows the data if no other thread is inside.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entered = self.try_enter();
        let data: &dyn fmt::Debug = match &entered {
            Some(data) => data,
            None => &format_args!("<locked>"),
        };
        f.debug_struct("Monitor").field("data", data).finish()
    }
}

impl<T: Default> Default for Monitor<T> {
    fn default() -> Self {
        Monitor::new(T::default())
    }
}

impl<T> From<T> for Monitor<T> {
    fn from(data: T) -> Self {
        Monitor::new(data)
    }
}
