//! The library of released.rs.

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn backtrace(buffer: *mut *mut c_void, n_most: c_int) -> c_int;
}

pub struct Mutex;

pub struct Guard<'a>(&'a Mutex, &'static str);

impl Mutex {
    #[inline(always)]
    pub fn lock(&self, name: &'static str) -> Guard<'_> {
        Guard(self, name)
    }

    #[inline(always)]
    fn unlock(&self, name: &str) {
        let mut stack = [std::ptr::null_mut(); 40];
        let n = unsafe { backtrace(stack.as_mut_ptr(), 40) };
        tell(name, &stack[..n as usize]);
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.unlock(self.1);
    }
}

#[inline(never)]
fn tell(name: &str, stack: &[*mut c_void]) {
    for (at, address) in stack.iter().enumerate() {
        println!("{name}.{at:02} {:p}", *address);
    }
}
