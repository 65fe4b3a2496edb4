//! The settings that dotnet/coreclr PR 14216 shows its monitors with. Each is a type, so each is compiled.

use crate::bench_lock::{BenchLockVisitor, Family};
use ondeck_core::Platform;
use ondeck_lineage::{LowerSpin, NoSpin};

/// How long they spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spin {
    AsPublished,
    Lower,
    No,
}

/// The settings and their names. The first is what the locks have without being asked.
const SETTINGS: [(&str, Spin); 3] =
    [("default", Spin::AsPublished), ("lower-spin", Spin::Lower), ("no-spin", Spin::No)];

impl Spin {
    pub(super) fn parse(name: &str) -> Option<Spin> {
        SETTINGS.iter().find(|setting| setting.0 == name).map(|setting| setting.1)
    }
}

/// The names of the settings.
pub(super) fn names() -> Vec<&'static str> {
    SETTINGS.iter().map(|setting| setting.0).collect()
}

macro_rules! monitors {
    ($($lock:ident in $file:ident,)*) => {
        /// The locks that have them.
        pub(super) const LOCKS: &[&str] = &[$(ondeck_lineage::$file::ENTRY.name),*];

        /// The names that the locks' own files give them.
        #[cfg(test)]
        fn published() -> Vec<Vec<&'static str>> {
            vec![$(ondeck_lineage::$file::TUNINGS.iter().map(|(name, _)| *name).collect()),*]
        }

        /// Does `visitor` with the lock called `name`, which is one of [`LOCKS`].
        pub(super) fn visit<P: Platform, V: BenchLockVisitor>(name: &str, spin: Spin, visitor: V) -> V::Output {
            $(if name == ondeck_lineage::$file::ENTRY.name {
                use ondeck_lineage::$lock as Lock;
                return match spin {
                    Spin::AsPublished => visitor.visit::<Family<Lock<P>>>(),
                    Spin::Lower => visitor.visit::<Family<Lock<P, LowerSpin>>>(),
                    Spin::No => visitor.visit::<Family<Lock<P, NoSpin>>>(),
                };
            })*
            unreachable!("{name} is none of {LOCKS:?}")
        }
    };
}

monitors! {
    RawCoreclrMonitorBefore in coreclr_monitor_before,
    RawCoreclrMonitor in coreclr_monitor,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_locks() {
        assert!(published().iter().all(|published| *published == names()));
    }
}
