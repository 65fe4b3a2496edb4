//! Which locks there are on which platform.

use crate::bench_lock::{BenchLockVisitor, Family, FamilyVisitor};
use crate::execution::Execution;
use crate::peers::{Adaptive, Monitor, ParkingLot, ParkingLot012, ParkingLotReentrant, Posix, Std};
use crate::tuning::TuningSlot;
use ondeck_core::Hardware;
use ondeck_lineage::{LOCKS, RawOndeckMonitor};
use ondeck_sim::Simulated;

const MONITOR: LockInfo = LockInfo { name: "ondeck-monitor", idea: ondeck_lineage::monitor::ENTRY.idea, peer: false };

/// What `ondeck list locks` says of one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockInfo {
    /// Name as the command line spells it.
    pub name: &'static str,
    /// What it is, in one line.
    pub idea: &'static str,
    /// Whether it is somebody else's: the ones that the family is compared with.
    pub peer: bool,
}

/// The locks of other libraries.
const PEERS: [LockInfo; 6] = [
    peer("std", "std::sync::Mutex: three-state futex that spins about 100 times before it sleeps"),
    peer("parking-lot", "parking_lot 0.13: one byte, sleepers in a global table, releases before it looks for them"),
    peer(
        "parking-lot-012",
        "parking_lot 0.12: as 0.13, but searches its table first and hands over fairly now and then",
    ),
    peer(
        "parking-lot-reentrant",
        "parking_lot 0.13's ReentrantMutex: its mutex with the holder's id and a depth beside it",
    ),
    peer("pthread", "pthread_mutex_t as the C library makes it by default: three-state futex, sleeps at once"),
    peer("pthread-adaptive", "pthread_mutex_t of type PTHREAD_MUTEX_ADAPTIVE_NP: learns how long to spin"),
];

/// How the names of our texts of other libraries' locks end.
const PORT: &str = "-port";

/// The name of our text of another library's lock.
fn port_of(peer: &str) -> Option<&'static str> {
    LOCKS.iter().map(|entry| entry.name).find(|name| name.strip_suffix(PORT) == Some(peer))
}

const fn peer(name: &'static str, idea: &'static str) -> LockInfo {
    LockInfo { name, idea, peer: true }
}

/// A platform that locks are measured on. The family runs on each; others are a platform's own.
pub trait BenchPlatform: Execution + TuningSlot {
    /// Whether the locks of other libraries are our texts of them here, under the names of the originals.
    const HAS_PORTS_FOR_PEERS: bool;

    /// The locks that it has beside the family, in the order in which they are best read.
    fn other_locks() -> Vec<LockInfo>;

    /// Does `visitor` with the one called `name`; `None` if it is none of them.
    fn with_other_lock<V: BenchLockVisitor>(name: &str, visitor: V) -> Option<V::Output>;
}

impl BenchPlatform for Hardware {
    const HAS_PORTS_FOR_PEERS: bool = false;

    fn other_locks() -> Vec<LockInfo> {
        [MONITOR].into_iter().chain(PEERS).collect()
    }

    fn with_other_lock<V: BenchLockVisitor>(name: &str, visitor: V) -> Option<V::Output> {
        match name {
            "ondeck-monitor" => Some(visitor.visit::<Monitor>()),
            "std" => Some(visitor.visit::<Std>()),
            "parking-lot" => Some(visitor.visit::<ParkingLot>()),
            "parking-lot-012" => Some(visitor.visit::<ParkingLot012>()),
            "parking-lot-reentrant" => Some(visitor.visit::<ParkingLotReentrant>()),
            "pthread" => Some(visitor.visit::<Posix>()),
            "pthread-adaptive" => Some(visitor.visit::<Adaptive>()),
            _ => None,
        }
    }
}

/// The locks of others are compiled for hardware; here our texts stand for them.
impl BenchPlatform for Simulated {
    const HAS_PORTS_FOR_PEERS: bool = true;

    fn other_locks() -> Vec<LockInfo> {
        [MONITOR].into_iter().chain(PEERS.into_iter().filter(|peer| port_of(peer.name).is_some())).collect()
    }

    fn with_other_lock<V: BenchLockVisitor>(name: &str, visitor: V) -> Option<V::Output> {
        if name == MONITOR.name {
            return Some(visitor.visit::<Family<RawOndeckMonitor<Simulated>>>());
        }
        ondeck_lineage::with_lock::<Simulated, _>(port_of(name)?, FamilyVisitor(visitor))
    }
}

/// All locks that can be measured on `G`, the family first, in the order in which they are best read.
pub fn locks_on<G: BenchPlatform>() -> Vec<LockInfo> {
    let is_shown = |name: &str| !(G::HAS_PORTS_FOR_PEERS && name.ends_with(PORT));
    let family = LOCKS.iter().filter(|entry| is_shown(entry.name));
    let family = family.map(|entry| LockInfo { name: entry.name, idea: entry.idea, peer: false });
    family.chain(G::other_locks()).collect()
}

/// The names of the mutexes that programs use today and that can be run on each platform: those of other libraries that we
/// have texts of.
pub fn peer_names() -> Vec<&'static str> {
    PEERS.iter().map(|peer| peer.name).filter(|name| port_of(name).is_some()).collect()
}

/// The names of [`locks_on`].
pub fn lock_names_on<G: BenchPlatform>() -> Vec<&'static str> {
    locks_on::<G>().iter().map(|lock| lock.name).collect()
}

/// All locks that there are: those on hardware, which has all.
pub fn locks() -> Vec<LockInfo> {
    locks_on::<Hardware>()
}

/// The names of [`locks`].
pub fn lock_names() -> Vec<&'static str> {
    lock_names_on::<Hardware>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names = lock_names();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
