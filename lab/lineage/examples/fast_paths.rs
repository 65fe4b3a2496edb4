//! Each fast path as one function with a plain name, to look at its machine code.
//!
//! `cargo xtask asm` compiles this and counts the locked instructions; by eye:
//! `cargo rustc --release -p ondeck-lineage --example fast_paths -- --emit asm`.

use ondeck_core::Hardware;
use ondeck_lineage::ondeck::RawOndeck;
use ondeck_lineage::{
    RawGoSpinbit, RawGoSpinbitFutex, RawGoTristateFutex, RawGoTristateSema, RawLock, RawMcs, RawTas, RawTicket, RawTtas,
};

macro_rules! fast_paths {
    ($($lock:ident $acquire:ident $release:ident)*) => { $(
        /// Acquires; the straight path is that of a free lock.
        #[unsafe(no_mangle)]
        pub fn $acquire(lock: &$lock<Hardware>) {
            lock.acquire();
        }

        /// Releases; the straight path is that of a lock that nobody waits for.
        ///
        /// # Safety
        /// The calling thread holds the lock.
        #[unsafe(no_mangle)]
        pub unsafe fn $release(lock: &$lock<Hardware>) {
            // SAFETY: the caller's duty is the same.
            unsafe { lock.release() };
        }
    )* };
}

fast_paths! {
    RawTas tas_acquire tas_release
    RawTtas ttas_acquire ttas_release
    RawTicket ticket_acquire ticket_release
    RawMcs mcs_acquire mcs_release
    RawGoTristateFutex go_tristate_futex_acquire go_tristate_futex_release
    RawGoTristateSema go_tristate_sema_acquire go_tristate_sema_release
    RawGoSpinbitFutex go_spinbit_futex_acquire go_spinbit_futex_release
    RawGoSpinbit go_spinbit_acquire go_spinbit_release
    RawOndeck ondeck_acquire ondeck_release
}

fn main() {
    println!("Nothing to run here: `cargo xtask asm` reads the machine code of this program.");
}
