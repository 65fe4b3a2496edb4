//! The C library's own functions: for the mutexes that stay with it, and for what is only recorded.
//!
//! They are looked up before the program starts: the loader's lock, which that takes, may be held by a thread that
//! waits for ours. A caller that needs one even earlier, in the constructor of another library, looks it up then. A
//! plain mutex needs none of them. What an old C library does not have, no program calls that runs with it.

use crate::die;
use core::ffi::{CStr, c_int, c_long, c_uint, c_ulong, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use libc::{
    clockid_t, pthread_barrier_t, pthread_barrierattr_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t,
    pthread_mutexattr_t, pthread_rwlock_t, pthread_rwlockattr_t, pthread_spinlock_t, pthread_t, sem_t, timespec,
};

/// One of them, as an address that is looked up once. Threads that race to do it store the same.
struct Symbol {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Symbol {
    const fn new(name: &'static CStr) -> Self {
        Symbol { name, address: AtomicPtr::new(core::ptr::null_mut()) }
    }

    fn address(&self) -> *mut c_void {
        let address = self.address.load(Relaxed);
        if address.is_null() { self.look_up() } else { address }
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        self.ask();
        let address = self.address.load(Relaxed);
        if address.is_null() {
            die(&["the C library has no ", self.name.to_str().unwrap_or_default()]);
        }
        address
    }

    fn ask(&self) {
        // SAFETY: the name is a string of C.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(address, Relaxed);
    }
}

/// Whether the C library's mutexes can be used without a look-up, which may wait for the loader's lock.
pub(crate) fn has_mutexes() -> bool {
    let both = [&symbols::pthread_mutex_lock, &symbols::pthread_mutex_unlock];
    both.iter().all(|symbol| !symbol.address.load(Relaxed).is_null())
}

/// The core that the calling thread is on, from the C library's own words of that thread; 0 before it was looked up.
pub(crate) fn core() -> u32 {
    if symbols::sched_getcpu.address.load(Relaxed).is_null() {
        return 0;
    }
    // SAFETY: always may be called.
    u32::try_from(unsafe { sched_getcpu() }).unwrap_or(0)
}

/// Looks up what tells whether the C library's mutexes are known.
pub(crate) fn look_up_mutexes() {
    for symbol in [&symbols::pthread_mutex_lock, &symbols::pthread_mutex_trylock, &symbols::pthread_mutex_unlock] {
        symbol.address();
    }
}

/// Jumps to the C library's own, which does not unwind: with no frame for a thread that does.
///
/// # Safety
/// As of `pthread_mutex_lock`.
#[inline(always)]
pub(crate) unsafe fn lock_as_is(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the C library's function has this type.
    let function = unsafe { core::mem::transmute::<*mut c_void, OfMutex>(symbols::pthread_mutex_lock.address()) };
    // SAFETY: the caller's.
    unsafe { function(mutex) }
}

/// As [`lock_as_is`].
///
/// # Safety
/// As of `pthread_mutex_unlock`.
#[inline(always)]
pub(crate) unsafe fn unlock_as_is(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the C library's function has this type.
    let function = unsafe { core::mem::transmute::<*mut c_void, OfMutex>(symbols::pthread_mutex_unlock.address()) };
    // SAFETY: the caller's.
    unsafe { function(mutex) }
}

type OfMutex = unsafe extern "C-unwind" fn(*mut pthread_mutex_t) -> c_int;

macro_rules! real {
    ($(fn $name:ident($($argument:ident: $type:ty),*);)*) => {
        /// Looks up whatever may be needed.
        pub(crate) fn look_up_all() {
            $(symbols::$name.ask();)*
            SYSCALL.ask();
        }

        #[allow(non_upper_case_globals, reason = "named as what they stand for")]
        mod symbols {
            use super::{CStr, Symbol};
            $(pub(super) static $name: Symbol =
                Symbol::new(match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name has no zero inside"),
                });)*
        }

        $(
        /// As in the C library.
        ///
        /// # Safety
        /// As there.
        #[inline(always)]
        pub(crate) unsafe fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the C library's function of this name has this type.
            let function = unsafe {
                core::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($type),*) -> c_int>(symbols::$name.address())
            };
            // SAFETY: the caller keeps what the function asks for.
            unsafe { function($($argument),*) }
        }
        )*
    };
}

real! {
    fn pthread_mutex_init(mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t);
    fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t);
    fn pthread_mutex_lock(mutex: *mut pthread_mutex_t);
    fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t);
    fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, at: *const timespec);
    fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, at: *const timespec);
    fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t);
    fn pthread_cond_init(condition: *mut pthread_cond_t, attributes: *const pthread_condattr_t);
    fn pthread_cond_destroy(condition: *mut pthread_cond_t);
    fn pthread_cond_signal(condition: *mut pthread_cond_t);
    fn pthread_cond_broadcast(condition: *mut pthread_cond_t);
    fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t);
    fn pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, at: *const timespec);
    fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        at: *const timespec
    );
    fn pthread_rwlock_init(lock: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t);
    fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t);
    fn pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t);
    fn pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t);
    fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t);
    fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t);
    fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, at: *const timespec);
    fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, at: *const timespec);
    fn pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, at: *const timespec);
    fn pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, at: *const timespec);
    fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t);
    fn sem_init(semaphore: *mut sem_t, is_shared: c_int, value: c_uint);
    fn sem_wait(semaphore: *mut sem_t);
    fn sem_timedwait(semaphore: *mut sem_t, at: *const timespec);
    fn sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, at: *const timespec);
    fn pthread_barrier_init(barrier: *mut pthread_barrier_t, attributes: *const pthread_barrierattr_t, n: c_uint);
    fn pthread_barrier_wait(barrier: *mut pthread_barrier_t);
    fn pthread_once(once: *mut c_int, run: Run);
    fn pthread_join(thread: pthread_t, result: *mut *mut c_void);
    fn pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void, at: *const timespec);
    fn pthread_clockjoin_np(thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, at: *const timespec);
    fn thrd_join(thread: pthread_t, result: *mut c_int);
    fn pthread_spin_init(lock: *mut pthread_spinlock_t, is_shared: c_int);
    fn pthread_spin_lock(lock: *mut pthread_spinlock_t);
    fn pthread_spin_trylock(lock: *mut pthread_spinlock_t);
    fn sched_getcpu();
    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong);
}

static SYSCALL: Symbol = Symbol::new(c"syscall");

/// Its type for callers that give all arguments, which they need not.
pub(crate) type Call = unsafe extern "C-unwind" fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;

/// The C library's `syscall`. A thread may be cancelled at each of its instructions; to look it up is no place for that.
#[inline(always)]
pub(crate) fn syscall() -> Call {
    // SAFETY: the C library's function has this type for callers that give all.
    unsafe { core::mem::transmute::<*mut c_void, Call>(SYSCALL.address()) }
}

/// What is to happen once. It may unwind.
pub(crate) type Run = Option<unsafe extern "C-unwind" fn()>;
