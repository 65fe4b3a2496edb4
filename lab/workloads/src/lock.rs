//! What stands where a lock does in a plan: read once from words like `ondeck[low-latency]`, and never again.

mod bench_platform;

pub use bench_platform::{BenchPlatform, LockInfo, lock_names, lock_names_on, locks, locks_on, peer_names};

use crate::bench_lock::{BenchLockVisitor, FamilyVisitor};
use crate::tuning::Constants;
use crate::wait_policy;
use ondeck_lineage::{LOCKS, SpinPolicy};
use std::fmt;

/// A lock with its constants, or a policy of waiting for a workload that has no lock. It is shown, and told from others, by
/// the words that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockSpec {
    words: String,
    meaning: SpecKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpecKind {
    Lock { name: &'static str, constants: Option<Constants> },
    Policy(SpinPolicy),
}

impl LockSpec {
    /// Reads `NAME`, `NAME[TUNING]` where the lock has tunings, or the [name of a policy](wait_policy::name).
    ///
    /// # Errors
    /// In one line with what is accepted.
    pub fn parse(words: &str) -> Result<Self, String> {
        let spec = |meaning| LockSpec { words: words.to_string(), meaning };
        if let Some(policy) = wait_policy::parse(words) {
            return Ok(spec(SpecKind::Policy(policy)));
        }
        let (name, tuning) = split(words);
        let Some(name) = lock_names().into_iter().find(|lock| *lock == name) else {
            return Err(format!("there is no lock \"{name}\"; accepted: {}", lock_names().join(", ")));
        };
        let constants = tuning.map(|tuning| Constants::parse(name, tuning)).transpose()?;
        Ok(spec(SpecKind::Lock { name, constants }))
    }

    /// The name of the lock, without its tuning; of a policy, its words.
    pub fn name(&self) -> &str {
        match self.meaning {
            SpecKind::Lock { name, .. } => name,
            SpecKind::Policy(_) => &self.words,
        }
    }

    /// The words that it was read from.
    pub fn as_str(&self) -> &str {
        &self.words
    }

    /// The policy, if it is one.
    pub fn policy(&self) -> Option<SpinPolicy> {
        match self.meaning {
            SpecKind::Policy(policy) => Some(policy),
            SpecKind::Lock { .. } => None,
        }
    }

    /// Whether constants stand in brackets.
    pub fn is_tuned(&self) -> bool {
        matches!(self.meaning, SpecKind::Lock { constants: Some(_), .. })
    }

    /// What keeps it from being run on `G`, in one line with what is accepted.
    pub fn fault<G: BenchPlatform>(&self) -> Option<String> {
        let accepted = lock_names_on::<G>();
        match self.meaning {
            SpecKind::Policy(_) => Some(format!("{self} is not a lock; it is for the workload gc-wait")),
            SpecKind::Lock { name, .. } if accepted.contains(&name) => None,
            // Our texts of others' locks have a name of their own wherever they run.
            SpecKind::Lock { name, .. } if LOCKS.iter().any(|entry| entry.name == name) => None,
            SpecKind::Lock { name, .. } => Some(format!(
                "{name} is compiled for hardware and cannot run on {}; accepted: {}",
                G::NAME,
                accepted.join(", ")
            )),
        }
    }

    /// Does `visitor` with the lock on `G`; `None` where [`fault`](LockSpec::fault) says why.
    pub fn visit<G: BenchPlatform, V: BenchLockVisitor>(&self, visitor: V) -> Option<V::Output> {
        match self.meaning {
            SpecKind::Lock { constants: Some(constants), .. } => Some(constants.visit::<G, V>(visitor)),
            SpecKind::Lock { name, .. } if G::other_locks().iter().any(|lock| lock.name == name) => {
                G::with_other_lock(name, visitor)
            }
            SpecKind::Lock { name, .. } => ondeck_lineage::with_lock::<G, _>(name, FamilyVisitor(visitor)),
            SpecKind::Policy(_) => None,
        }
    }
}

impl std::str::FromStr for LockSpec {
    type Err = String;

    fn from_str(words: &str) -> Result<Self, String> {
        LockSpec::parse(words)
    }
}

impl fmt::Display for LockSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// Name and tuning of a lock spelled `NAME` or `NAME[TUNING]`.
pub fn split(words: &str) -> (&str, Option<&str>) {
    match words.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((name, tuning)) => (name, Some(tuning)),
        None => (words, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_lock::BenchLock;
    use ondeck_core::Hardware;
    use ondeck_sim::Simulated;

    struct TakeVisitor;

    impl BenchLockVisitor for TakeVisitor {
        type Output = bool;
        fn visit<L: BenchLock>(self) -> bool {
            let lock = L::new();
            lock.with(|| ());
            lock.make_fat();
            lock.with(|| ());
            lock.try_with(|| true) == Some(true) && lock.try_with(|| ()).is_some()
        }
    }

    #[test]
    fn spelling_of_a_tuned_lock() {
        assert_eq!(split("ondeck"), ("ondeck", None));
        assert_eq!(split("ondeck[low-latency]"), ("ondeck", Some("low-latency")));
        assert_eq!(split("ondeck[]"), ("ondeck", Some("")));
        assert_eq!(split("ondeck[low-latency"), ("ondeck[low-latency", None));
    }

    #[test]
    fn every_name_leads_to_a_lock() {
        let tuned = ["ondeck[low-latency]", "ondeck[low-latency+look_ns=0]", "coreclr-monitor-before[no-spin]"];
        for words in lock_names().into_iter().chain(tuned) {
            let spec = LockSpec::parse(words).unwrap();
            assert_eq!((spec.to_string().as_str(), spec.fault::<Hardware>()), (words, None));
            assert_eq!(spec.visit::<Hardware, _>(TakeVisitor), Some(true), "{words}");
        }
        for words in ["no-such-lock", "std[low-latency]", "ondeck[fast]", "ondeck[", "[low-latency]", ""] {
            assert!(LockSpec::parse(words).is_err(), "{words}");
        }
    }

    #[test]
    fn a_lock_of_others_is_on_hardware_only() {
        let fault = |words: &str| LockSpec::parse(words).unwrap().fault::<Simulated>();
        let text = fault("parking-lot-reentrant").unwrap();
        let (begins, ends) = ("parking-lot-reentrant is compiled for hardware", "pthread, pthread-adaptive");
        assert!(text.starts_with(begins) && text.ends_with(ends), "{text}");
        for words in lock_names_on::<Simulated>().into_iter().chain(["ondeck[look_ns=0]", "coreclr-monitor[no-spin]"]) {
            assert_eq!(fault(words), None);
        }
    }

    /// What is simulated under the name of a peer is our text of it, and on hardware it is the peer.
    #[test]
    fn a_port_stands_for_its_original_in_the_simulator() {
        let peers = ["std", "parking-lot", "parking-lot-012", "pthread", "pthread-adaptive"];
        assert_eq!(peer_names(), peers);
        let (simulated, hardware) = (lock_names_on::<Simulated>(), lock_names_on::<Hardware>());
        for peer in peers {
            let port = format!("{peer}-port");
            assert!(hardware.contains(&peer) && hardware.contains(&port.as_str()), "{peer}");
            assert!(simulated.contains(&peer) && !simulated.contains(&port.as_str()), "{peer}");
            assert_eq!(LockSpec::parse(&port).unwrap().fault::<Simulated>(), None);
        }
    }

    #[test]
    fn a_policy_is_no_lock() {
        let policy = LockSpec::parse("spin-wait[yield_after_ns=5000]").unwrap();
        assert_eq!((policy.policy(), policy.is_tuned()), (Some(SpinPolicy::yield_after(5_000)), false));
        assert!(policy.fault::<Hardware>().unwrap().contains("is not a lock"));
        assert_eq!(policy.visit::<Hardware, _>(TakeVisitor), None);
    }
}
