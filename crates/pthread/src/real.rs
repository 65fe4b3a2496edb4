//! The C library's own functions, for the mutexes that stay with it.
//!
//! They are looked up before the program starts: the loader's lock, which that takes, may be held by a thread that waits for
//! ours. Who needs one even earlier, in the constructor of another library, looks it up then. A plain mutex needs none of them.

use crate::die;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use libc::{clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, pthread_mutexattr_t, timespec};

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
        // SAFETY: the name is a string of C.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if address.is_null() {
            die(&["the C library has no ", self.name.to_str().unwrap_or_default()]);
        }
        self.address.store(address, Relaxed);
        address
    }
}

macro_rules! real {
    ($(fn $name:ident($($argument:ident: $type:ty),*);)*) => {
        /// Looks up whatever may be needed.
        pub(crate) fn look_up_all() {
            $(symbols::$name.address();)*
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
}
