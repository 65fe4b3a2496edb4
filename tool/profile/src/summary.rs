//! What of a profile is compared with another one, whichever file it comes from.

use crate::profile::{Lock, Noise, Profile};
use crate::rows::{Place, Side, UNKNOWN, functions, is_function, of_side, with_rest};
use crate::words::{causes, is_woken};
use ondeck_kit::wording::{cut, plain, run_time, typed};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Functions by which a place is known: the innermost ones. What the callers of their callers are called changes more often
/// than what is done there.
pub(crate) const DEPTH: usize = 3;
/// The same of the place where a lock comes from, which only serves to know it again.
const ORIGIN_DEPTH: usize = 8;
/// Longer names are cut, wherever they come from.
const LONGEST_NAME: usize = 200;

/// What of a profile is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Length of the run.
    pub seconds: f64,
    /// Cores that could run it.
    pub cores: u32,
    /// Which lock answered its calls.
    pub lock: String,
    /// One of so many acquisitions was looked at.
    pub rate: u32,
    pub(crate) locks: Vec<LockSummary>,
}

/// What of a lock is compared. Figures are estimates, as in the profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LockSummary {
    pub(crate) name: String,
    pub(crate) process: String,
    /// Functions where it was initialised or first seen, the innermost first; empty where that is not known.
    pub(crate) origin: Vec<String>,
    pub(crate) acquisitions: f64,
    pub(crate) waits: f64,
    pub(crate) wait_ns: f64,
    pub(crate) noise: Noise,
    /// The part of it that comes from waits that were not recorded.
    pub(crate) sampling: Noise,
    /// `None` where it is not known.
    pub(crate) longest_ns: Option<u64>,
    /// How long it was waited where.
    pub(crate) waiters: Sites,
    /// How much waiting is charged to whom.
    pub(crate) holders: Sites,
    /// How much waiting has which cause, in ns; empty where that is not known.
    pub(crate) causes: BTreeMap<String, f64>,
    /// Whole stacks, of waiters and of holders, with their waiting in ns; those of wakers where nobody is known to hold it.
    /// Only of a lock by itself.
    pub(crate) stacks: [Vec<(Path, f64)>; 2],
}

/// For how many waits a sample of one of that length stands: longer ones than so many us as the rate says are recorded
/// all, and others in proportion.
pub(crate) fn weight(ns: f64, rate: u32) -> f64 {
    let whole = f64::from(rate.max(1) - 1) * 1000.0;
    if ns >= whole { 1.0 } else { whole / ns.max(1.0) }
}

impl Noise {
    /// As far as the histogram tells. Within a bar, waits count as spread evenly.
    pub(crate) fn of(lock: &Lock, rate: u32) -> Noise {
        let mut noise = Noise::sum(lock, |_| 1.0);
        noise.add(Noise::of_sampling(lock, rate));
        // Waits of the same length have the least; a histogram that has less is not of all waits.
        let mean = lock.mean_wait_ns().unwrap_or_default();
        let least = Noise { counts: lock.waits, lengths: lock.wait_ns, squares: mean * lock.wait_ns };
        Noise {
            counts: noise.counts.max(least.counts).min(f64::MAX),
            lengths: noise.lengths.max(least.lengths).min(f64::MAX),
            squares: noise.squares.max(least.squares).min(f64::MAX),
        }
    }

    /// What of it comes from sampling: a wait that is recorded for itself has none.
    pub(crate) fn of_sampling(lock: &Lock, rate: u32) -> Noise {
        lock.sampling.unwrap_or_else(|| Noise::sum(lock, |mean| weight(mean, rate) - 1.0))
    }

    fn sum(lock: &Lock, times: impl Fn(f64) -> f64) -> Noise {
        let mut noise = Noise::default();
        for bar in &lock.wait_histogram.0 {
            let (from, to) = (bar.from as f64, bar.to as f64);
            let mean = f64::midpoint(from, to);
            let count = bar.count * times(mean);
            noise.counts += count;
            noise.lengths += count * mean;
            noise.squares += count * (from * from + from * to + to * to) / 3.0;
        }
        noise
    }
}

/// ns by place.
pub(crate) type Sites = BTreeMap<Path, f64>;

/// Functions of a stack, the innermost first; of a place at most [`DEPTH`] of them. Those of one file share their names.
pub(crate) type Path = Vec<Arc<str>>;

impl LockSummary {
    /// Several locks of a run as one without a name.
    pub(crate) fn sum(locks: &[&LockSummary]) -> LockSummary {
        fn add<K: Ord + Clone>(to: &mut BTreeMap<K, f64>, amounts: &BTreeMap<K, f64>) {
            amounts.iter().for_each(|(key, ns)| *to.entry(key.clone()).or_default() += ns);
        }
        let mut sum = LockSummary::default();
        for lock in locks {
            sum.acquisitions += lock.acquisitions;
            sum.waits += lock.waits;
            sum.wait_ns += lock.wait_ns;
            sum.noise.add(lock.noise);
            sum.sampling.add(lock.sampling);
            sum.longest_ns = sum.longest_ns.max(lock.longest_ns);
            add(&mut sum.waiters, &lock.waiters);
            add(&mut sum.holders, &lock.holders);
            add(&mut sum.causes, &lock.causes);
        }
        if !locks.iter().all(|lock| lock.knows_causes()) {
            sum.causes.clear();
        }
        sum
    }

    /// Files of earlier versions have no causes.
    pub(crate) fn knows_causes(&self) -> bool {
        self.wait_ns <= 0.0 || !self.causes.is_empty()
    }
}

impl Summary {
    /// What of the profile is compared.
    pub fn of(profile: &Profile) -> Summary {
        let names: Vec<Arc<str>> = profile.frames.iter().map(|frame| short(&frame.function).into()).collect();
        Summary {
            command: profile.command.iter().map(|word| short(word)).collect(),
            seconds: profile.seconds,
            cores: profile.cores,
            lock: short(&profile.lock),
            rate: profile.rate,
            locks: profile.locks.iter().map(|lock| LockSummary::of(profile, &names, lock)).collect(),
        }
    }

    /// What the run was, in one line.
    pub(crate) fn head(&self) -> String {
        let (time, command) = (run_time(self.seconds), short(&typed(&self.command)));
        let rate =
            if self.rate > 1 { format!("1 acquisition in {}", self.rate) } else { "each acquisition".to_string() };
        format!("{time}, lock {}, {rate} recorded: {command}", self.lock)
    }
}

impl LockSummary {
    /// `names` are those of the profile's frames.
    fn of(profile: &Profile, names: &[Arc<str>], lock: &Lock) -> LockSummary {
        let stacks = Side::BOTH.map(|side| {
            let rows = match side {
                Side::Holders if is_woken(profile) => with_rest(&lock.wakers, 0.0, lock.wait_ns),
                side => of_side(lock, side),
            };
            rows.into_iter().map(|row| (stack(profile, names, row.place), row.ns)).collect::<Vec<(Path, f64)>>()
        });
        let sites = |side: Side| {
            let mut sites = Sites::new();
            for row in of_side(lock, side) {
                let names = stack(profile, names, row.place).into_iter();
                *sites.entry(path(names)).or_default() += row.ns;
            }
            sites
        };
        LockSummary {
            name: short(&lock.name),
            process: short(&profile.process_name(lock.process)),
            origin: origin(profile, lock),
            acquisitions: lock.acquisitions,
            waits: lock.waits,
            wait_ns: lock.wait_ns,
            noise: Noise::of(lock, profile.rate),
            sampling: Noise::of_sampling(lock, profile.rate),
            longest_ns: Some(lock.longest_ns),
            waiters: sites(Side::Waiters),
            holders: sites(Side::Holders),
            causes: causes(profile, &lock.causes).into_iter().map(|(name, ns)| (short(&name), ns)).collect(),
            stacks,
        }
    }
}

/// The functions of a place; never none.
fn stack(profile: &Profile, names: &[Arc<str>], place: Place) -> Path {
    let stack = match place {
        Place::Stack(stack) => profile.stacks.get(stack as usize).map_or(&[][..], Vec::as_slice),
        Place::Without(name) => return vec![name.into()],
    };
    let functions: Path = stack.iter().filter_map(|frame| names.get(*frame as usize).cloned()).collect();
    if functions.is_empty() { vec![UNKNOWN.into()] } else { functions }
}

/// The place with these functions. A name that is empty says nothing.
pub(crate) fn path(names: impl Iterator<Item = Arc<str>>) -> Path {
    names.take(DEPTH).filter(|name| !name.is_empty()).collect()
}

/// The functions where a lock comes from, the innermost first.
pub(crate) fn origin(profile: &Profile, lock: &Lock) -> Vec<String> {
    let stack = lock.origin.map(|origin| functions(profile, Place::Stack(origin.stack)));
    let functions = stack.into_iter().flatten().filter(|name| is_function(name));
    functions.take(ORIGIN_DEPTH).map(|name| short(&name)).collect()
}

/// A foreign name in one line of bounded length.
pub(crate) fn short(name: &str) -> String {
    cut(&plain(name), LONGEST_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::toy;

    #[test]
    fn a_profile_in_short() {
        let summary = Summary::of(&toy());
        let queue = &summary.locks[0];
        assert_eq!((queue.waits, queue.wait_ns, queue.longest_ns), (1100.0, 2_100_000.0, Some(6000)));
        // Of 15 us and more all would have been recorded; each of these stands for 7.5 and 15.
        let expected = Noise { counts: 9000.0, lengths: 16.5e6, squares: 31.5e9 };
        assert_eq!(queue.noise, expected);
        assert_eq!(queue.origin, ["queue_init", "main"]);
        let (path, ns) = queue.waiters.iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        assert_eq!((path.join(" < ").as_str(), *ns), ("queue_lock < push < worker", 2_000_000.0));
    }

    #[test]
    fn names_are_cut() {
        assert_eq!(short(&"é".repeat(500)).chars().count(), LONGEST_NAME + 3);
        assert_eq!(short("a\nb"), "a b");
    }
}
