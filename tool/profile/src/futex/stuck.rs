//! Threads that wait for long, and who has what they wait for: as far as the C library's locks say who that is.

use super::names::{Names, is_long};
use crate::collect::holders::{Activity, OWNER_OF_MUTEX, OWNER_OF_RWLOCK, Thread};
use crate::kinds::WaitSubject;
use crate::profile::{Lock, LockKind, Profile, State, Stuck, WaitObject};
use ondeck_futex::process::{bytes, syscall};
use ondeck_futex::{Sleepers, Wait, in_time};
use std::path::PathBuf;

/// A thread that waits, before it is known which of a profile's locks it waits for.
pub(super) struct StuckWait {
    address: u64,
    stuck: Stuck,
}

impl Names<'_> {
    /// The threads that have waited for long, those first that have for longest.
    pub(super) fn hanging(&mut self) -> Vec<StuckWait> {
        let mut waits: Vec<Wait> = self.told.waiting.iter().copied().filter(is_long).collect();
        waits.sort_by_key(|wait| (wait.from_ns, wait.thread));
        let mut hanging: Vec<StuckWait> = waits.into_iter().map(|wait| self.one(&wait)).collect();
        let waiting: Vec<u32> = hanging.iter().map(|one| one.stuck.thread).collect();
        for one in &mut hanging {
            if one.stuck.holder.is_some_and(|holder| waiting.contains(&holder)) {
                one.stuck.state = State::OtherLock;
                one.stuck.call.clear();
            }
        }
        hanging
    }

    fn one(&mut self, wait: &Wait) -> StuckWait {
        let pid = self.told.processes[wait.image].pid;
        let stack = self.stack(wait.image, wait.stack);
        let meant = self.meant_by_sleeper(wait);
        let (address, class) = self.meant(wait.image, meant, stack);
        let address = in_time::plain(address);
        let places = match class.meaning {
            _ if !self.names(stack).any(is_of_the_c_library) && !self.is_in_library(stack) => &[][..],
            WaitSubject::Lock(LockKind::Mutex) => &[OWNER_OF_MUTEX][..],
            // It has two words, and which of them this one is cannot be told.
            WaitSubject::Lock(LockKind::RwLock) => &[OWNER_OF_RWLOCK, OWNER_OF_RWLOCK - 4][..],
            _ => &[][..],
        };
        let process = PathBuf::from(format!("/proc/{pid}"));
        let number = |place: &u64| bytes(pid, address.wrapping_add(*place)).map(u32::from_ne_bytes);
        let owner = |place: &u64| number(place).filter(|owner| is_thread(&process, *owner));
        let holder = places.iter().find_map(owner);
        let doing = holder.and_then(|holder| Thread::new(&process, holder).doing());
        let (state, call) = doing.map(Activity::told).unwrap_or_default();
        let holder_stack = holder.and_then(|holder| {
            let stacks = self.stacks_of_sleepers.entry(pid).or_insert_with(|| Sleepers::new(pid));
            let stack = stacks.look(holder, &syscall(pid, holder)?)?;
            let told =
                stacks.addresses(stack).iter().map(|address| self.told.now(wait.image, in_time::plain(*address)));
            let told = told.collect::<Vec<u64>>();
            Some(self.walked(wait.image, &told))
        });
        let (process, thread, ns) = (wait.image as u32, wait.thread, wait.to_ns - wait.from_ns);
        let stack = Some(stack);
        let stuck = Stuck { process, thread, ns, stack, holder, holder_stack, state, call, ..Stuck::default() };
        StuckWait { address, stuck }
    }
}

fn is_thread(process: &std::path::Path, thread: u32) -> bool {
    thread != 0 && process.join(format!("task/{thread}")).exists()
}

fn is_of_the_c_library(function: &str) -> bool {
    ["pthread_mutex_", "pthread_rwlock_", "lll_lock_wait"].iter().any(|name| function.contains(name))
}

/// Puts them into a profile whose locks have their numbers.
pub(super) fn add(profile: &mut Profile, hanging: Vec<StuckWait>) {
    for StuckWait { address, mut stuck } in hanging {
        // Two may have been at one address after each other, with the libraries that they are in.
        let is_there = |lock: &&Lock| (lock.process, lock.address) == (stuck.process, address);
        let waits_there = |lock: &Lock| lock.waiters.iter().any(|site| Some(site.stack) == stuck.stack);
        let its_own = profile.locks.iter().position(|lock| is_there(&lock) && waits_there(lock));
        let lock = its_own.or_else(|| profile.locks.iter().position(|lock| is_there(&lock)));
        let condition =
            || profile.conditions.iter().position(|one| (one.process, one.address) == (stuck.process, address));
        let other = lock
            .map(|at| WaitObject::Lock(at as u32))
            .or_else(|| condition().map(|at| WaitObject::Condition(at as u32)));
        if let Some(on) = other {
            stuck.on = on;
            profile.stuck.push(stuck);
        }
    }
}
