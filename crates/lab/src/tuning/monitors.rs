//! The settings that dotnet/coreclr PR 14216 shows its monitors with. Each is a type, so each is compiled.

use crate::lock::{Inflatable, VisitLock};
use ondeck_locks::{LowerSpin, NoSpin};
use ondeck_platform::Platform;

/// The names of the settings. The first is what the locks have without being asked.
pub(super) const TUNINGS: [&str; 3] = ["default", "lower-spin", "no-spin"];

macro_rules! monitors {
    ($($lock:ident in $file:ident,)*) => {
        /// The locks that have them.
        pub(super) const LOCKS: &[&str] = &[$(ondeck_locks::$file::ENTRY.name),*];

        /// The names that the locks' own files give them.
        #[cfg(test)]
        fn published() -> Vec<Vec<&'static str>> {
            vec![$(ondeck_locks::$file::TUNINGS.iter().map(|(name, _)| *name).collect()),*]
        }

        /// Does `visitor` with the lock called `name` with `tuning`; `None` if there is no such lock or tuning.
        pub(super) fn with_tuning<P: Platform, V: VisitLock>(
            name: &str,
            tuning: &str,
            visitor: V,
        ) -> Option<V::Out> {
            $(if name == ondeck_locks::$file::ENTRY.name {
                use ondeck_locks::$lock as Lock;
                return match tuning {
                    "default" => Some(visitor.visit::<Inflatable<Lock<P>>>()),
                    "lower-spin" => Some(visitor.visit::<Inflatable<Lock<P, LowerSpin>>>()),
                    "no-spin" => Some(visitor.visit::<Inflatable<Lock<P, NoSpin>>>()),
                    _ => None,
                };
            })*
            None
        }
    };
}

monitors! {
    RawCoreclrMonitorBefore in coreclr_monitor_before,
    RawCoreclrMonitor in coreclr_monitor,
}

/// Whether the lock called `name` has this tuning.
pub(super) fn knows(name: &str, tuning: &str) -> bool {
    LOCKS.contains(&name) && TUNINGS.contains(&tuning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_locks() {
        assert!(published().iter().all(|names| *names == TUNINGS));
    }
}
