//! A program that uses every method compiles and runs the same against both of two libraries: only its `use` line
//! differs.

mod limit;

mod std_sync {
    mod theirs {
        use std::sync::{Condvar, LockResult, Mutex, MutexGuard, PoisonError, TryLockError, WaitTimeoutResult};
        include!("swap/std_program.rs");
    }

    mod ours {
        use ondeck::poison::{Condvar, LockResult, Mutex, MutexGuard, PoisonError, TryLockError, WaitTimeoutResult};
        include!("swap/std_program.rs");
    }
}

/// Theirs is for nightly compilers only: the program's own `use` line is `use std::sync as poison;` there, below
/// `#![feature(mapped_lock_guards, lock_value_accessors, mutex_data_ptr)]`.
mod std_sync_of_nightly {
    mod ours {
        use ondeck::poison;
        include!("swap/nightly_program.rs");
    }
}

mod parking_lot {
    mod theirs {
        use parking_lot::{Condvar, MappedMutexGuard, Mutex, MutexGuard, WaitTimeoutResult};
        include!("swap/parking_lot_program.rs");
    }

    mod ours {
        use ondeck::{Condvar, MappedMutexGuard, Mutex, MutexGuard, WaitTimeoutResult};
        include!("swap/parking_lot_program.rs");
    }
}

mod parking_lot_rwlock {
    mod theirs {
        use parking_lot::{
            MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
            RwLockWriteGuard,
        };
        include!("swap/parking_lot_rwlock_program.rs");
    }

    mod ours {
        use ondeck::{
            MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
            RwLockWriteGuard,
        };
        include!("swap/parking_lot_rwlock_program.rs");
    }
}

mod crossbeam {
    mod theirs {
        use crossbeam_utils::Backoff;
        include!("swap/crossbeam_program.rs");
    }

    mod ours {
        use ondeck::SpinWait as Backoff;
        include!("swap/crossbeam_program.rs");
    }
}
