//! As places.c, with generics.

use std::arch::{asm, global_asm};
use std::sync::Mutex;

// Where the caller continues.
#[cfg(target_arch = "x86_64")]
global_asm!(".type whereabouts, @function", "whereabouts: mov rax, [rsp]", "ret", ".size whereabouts, . - whereabouts");
#[cfg(target_arch = "aarch64")]
global_asm!(".type whereabouts, @function", "whereabouts: mov x0, x30", "ret", ".size whereabouts, . - whereabouts");

unsafe extern "C" {
    fn whereabouts() -> usize;
}

mod shelf {
    use super::*;

    pub static GUARD: Mutex<[u64; 4]> = Mutex::new([7; 4]);

    pub trait Place {
        fn visit(&self) -> usize;
    }

    pub struct Slot<T>(pub T);

    impl<T> Place for Slot<T> {
        #[inline(never)]
        fn visit(&self) -> usize {
            let address = enter::<T>(); // mark: visit
            unsafe { asm!("") };
            address
        }
    }

    #[inline(always)]
    fn enter<T>() -> usize {
        unsafe { whereabouts() } // mark: enter
    }
}

fn main() {
    use shelf::Place;
    println!("visit {:#x}", shelf::Slot(5_u16).visit());
    println!("guard {:p}", &shelf::GUARD);
    print!("{}", std::fs::read_to_string("/proc/self/maps").unwrap());
}
