//! What the original offers and promises of its types, asked of both.

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Which of the automatic traits a type has; the original's, asked in the same way, is what is expected.
macro_rules! auto_traits {
    ($type:ty) => {{
        // An inherent constant goes before one of a trait, and is there only where the bound holds.
        #[allow(dead_code)]
        trait Otherwise {
            const HAS: bool = false;
        }
        macro_rules! has {
            ($bound:path) => {{
                struct Asked<T: ?Sized>(std::marker::PhantomData<T>);
                impl<T: ?Sized> Otherwise for Asked<T> {}
                #[allow(dead_code)]
                impl<T: ?Sized + $bound> Asked<T> {
                    const HAS: bool = true;
                }
                <Asked<$type>>::HAS
            }};
        }
        [has!(Send), has!(Sync), has!(Unpin), has!(UnwindSafe), has!(RefUnwindSafe), has!(Debug), has!(Default)]
    }};
}

/// Compares types of the same path in both crates.
macro_rules! same_traits {
    ($($type:ident $(<$($of:tt),*>)?)*) => {
        $(assert_eq!(
            auto_traits!(parking_lot::$type $(<$($of),*>)?),
            auto_traits!(original::$type $(<$($of),*>)?),
            stringify!($type $(<$($of),*>)?)
        );)*
    };
}

/// Data that is neither `Send` nor `Sync`, or only the one or the other.
type Neither = *const u8;
type OnlySend = std::cell::Cell<u8>;
type OnlySync = std::sync::MutexGuard<'static, u8>;

#[test]
fn automatic_traits_are_those_of_the_original() {
    same_traits!(RawMutex RawFairMutex RawRwLock RawThreadId Condvar WaitTimeoutResult Once OnceState);
    same_traits!(Mutex<u8> Mutex<Neither> Mutex<OnlySend> Mutex<OnlySync>);
    same_traits!(FairMutex<u8> FairMutex<Neither> FairMutex<OnlySend> FairMutex<OnlySync>);
    same_traits!(ReentrantMutex<u8> ReentrantMutex<Neither> ReentrantMutex<OnlySend> ReentrantMutex<OnlySync>);
    same_traits!(RwLock<u8> RwLock<Neither> RwLock<OnlySend> RwLock<OnlySync>);
    // The original is compiled without the feature.
    #[cfg(not(feature = "send_guard"))]
    guards_have_the_automatic_traits_of_the_original();
    // The question has both answers.
    assert_eq!(auto_traits!(parking_lot::MutexGuard<'static, u8>)[..2], [cfg!(feature = "send_guard"), true]);
}

#[cfg(not(feature = "send_guard"))]
fn guards_have_the_automatic_traits_of_the_original() {
    same_traits!(MutexGuard<'static, u8> MutexGuard<'static, Neither> MutexGuard<'static, OnlySend>);
    same_traits!(MappedMutexGuard<'static, u8> MappedMutexGuard<'static, OnlySend>);
    same_traits!(FairMutexGuard<'static, u8> MappedFairMutexGuard<'static, u8>);
    same_traits!(ReentrantMutexGuard<'static, u8> MappedReentrantMutexGuard<'static, OnlySend>);
    same_traits!(RwLockReadGuard<'static, u8> RwLockWriteGuard<'static, u8> RwLockUpgradableReadGuard<'static, u8>);
    same_traits!(MappedRwLockReadGuard<'static, u8> MappedRwLockWriteGuard<'static, u8>);
}

#[test]
fn each_can_be_made_in_a_constant() {
    use parking_lot::*;
    static _MUTEX: Mutex<u8> = const_mutex(1);
    static _FAIR: FairMutex<u8> = const_fair_mutex(1);
    static _REENTRANT: ReentrantMutex<u8> = const_reentrant_mutex(1);
    static _RWLOCK: RwLock<u8> = const_rwlock(1);
    static _NEW: (Mutex<u8>, FairMutex<u8>, RwLock<u8>) = (Mutex::new(1), FairMutex::new(1), RwLock::new(1));
    static _CONDVAR: Condvar = Condvar::new();
    static _ONCE: Once = Once::new();
}

/// Every trait of `lock_api` 0.4 that the original's raw locks have.
#[test]
fn raw_locks_have_the_traits_of_the_original() {
    use parking_lot::lock_api::*;
    fn mutex<R: RawMutex + RawMutexFair + RawMutexTimed>() {}
    fn rwlock<R: RawRwLock + RawRwLockFair + RawRwLockDowngrade + RawRwLockTimed>() {}
    fn recursive<R: RawRwLockRecursive + RawRwLockRecursiveTimed>() {}
    fn upgrade<R: RawRwLockUpgrade + RawRwLockUpgradeFair + RawRwLockUpgradeDowngrade + RawRwLockUpgradeTimed>() {}
    mutex::<parking_lot::RawMutex>();
    mutex::<original::RawMutex>();
    mutex::<parking_lot::RawFairMutex>();
    mutex::<original::RawFairMutex>();
    rwlock::<parking_lot::RawRwLock>();
    recursive::<parking_lot::RawRwLock>();
    recursive::<original::RawRwLock>();
    rwlock::<original::RawRwLock>();
    upgrade::<parking_lot::RawRwLock>();
    upgrade::<original::RawRwLock>();
}

#[test]
fn sizes_are_those_of_the_documentation() {
    assert_eq!((size_of::<parking_lot::RawMutex>(), size_of::<original::RawMutex>()), (8, 1));
    assert_eq!((size_of::<parking_lot::RawFairMutex>(), size_of::<original::RawFairMutex>()), (8, 1));
    assert_eq!((size_of::<parking_lot::ReentrantMutex<()>>(), size_of::<original::ReentrantMutex<()>>()), (24, 24));
    assert_eq!((size_of::<parking_lot::Condvar>(), size_of::<original::Condvar>()), (24, 8));
    assert_eq!((size_of::<parking_lot::RawRwLock>(), size_of::<original::RawRwLock>()), (16, 8));
    assert_eq!((size_of::<parking_lot::Once>(), size_of::<original::Once>()), (8, 1));
    assert_eq!(size_of::<parking_lot::MutexGuard<'_, u8>>(), size_of::<original::MutexGuard<'_, u8>>());
    assert!(!std::mem::needs_drop::<(parking_lot::Mutex<u8>, parking_lot::Condvar, parking_lot::Once)>());
    assert!(std::mem::needs_drop::<parking_lot::RawRwLock>());
}

#[test]
fn what_is_printed_is_what_the_original_prints() {
    fn same(ours: &dyn Debug, theirs: &dyn Debug) {
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        assert_eq!(format!("{ours:#?}"), format!("{theirs:#?}"));
    }
    let (ours, theirs) = (parking_lot::Mutex::new(1), original::Mutex::new(1));
    same(&ours, &theirs);
    let guards = (ours.lock(), theirs.lock());
    same(&ours, &theirs);
    same(&guards.0, &guards.1);
    same(&parking_lot::FairMutex::new(1), &original::FairMutex::new(1));
    same(&parking_lot::ReentrantMutex::new(1), &original::ReentrantMutex::new(1));
    same(&parking_lot::RwLock::new(1), &original::RwLock::new(1));
    same(&parking_lot::Condvar::new(), &original::Condvar::new());
    let (ours, theirs) = (parking_lot::Once::new(), original::Once::new());
    same(&ours, &theirs);
    ours.call_once(|| ());
    theirs.call_once(|| ());
    same(&ours, &theirs);
}

/// Every feature of the original's manifest is one of ours, as cargo refuses a tree in which one is missing.
#[test]
fn every_feature_of_the_original_exists() {
    let manifest = include_str!("../Cargo.toml");
    for feature in [
        "arc_lock",
        "deadlock_detection",
        "hardware-lock-elision",
        "nightly",
        "owning_ref",
        "send_guard",
        "serde",
        "default",
    ] {
        assert!(manifest.contains(&format!("\n{feature} = [")), "{feature}");
    }
}
