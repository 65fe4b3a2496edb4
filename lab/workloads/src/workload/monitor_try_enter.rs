//! `monitor-try-enter`, after the tests of that name in dotnet/coreclr PR 14216: what does an attempt cost that never
//! waits?
//!
//! One thread tries, in up to three rows: `monitor-try-enter/thin`, the lock free and as it is made; `/fat`, the lock
//! free and in its larger form, of locks that have one; `/locked`, another thread holds the lock and sleeps.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::measure::{Job, Loops, Meter, measure};
use crate::thread_group::{GroupState, ThreadGroup, count_one};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Attempts per turn, as in `solo`.
const PER_TURN: u64 = 100;

struct Tries<L, E: Execution> {
    lock: CachePadded<L>,
    /// Attempts that succeeded.
    count: CachePadded<E::U64>,
    /// Whether another thread holds the lock, so that none may succeed.
    is_held: bool,
}

/// What one thread knows of its attempts.
struct ThreadTally {
    succeeded: u64,
}

impl<L: BenchLock, E: Execution> Tries<L, E> {
    fn new(lock: L, is_held: bool) -> Self {
        Tries { lock: CachePadded(lock), count: CachePadded(E::U64::new(0)), is_held }
    }
}

impl<L: BenchLock, E: Execution> Job for Tries<L, E> {
    type Local = ThreadTally;

    fn local(&self, _me: u32) -> ThreadTally {
        ThreadTally { succeeded: 0 }
    }

    #[inline(always)]
    fn turn<M: Meter>(&self, mine: &mut ThreadTally, _meter: &mut M) {
        for _ in 0..PER_TURN {
            let entered = self.lock.0.try_with(|| E::add_one(&self.count.0));
            mine.succeeded += u64::from(entered.is_some());
        }
    }

    fn ops_per_turn(&self) -> u64 {
        PER_TURN
    }

    fn made(&self, mine: &ThreadTally, _turns: u64) -> u64 {
        if self.is_held { 0 } else { mine.succeeded }
    }

    fn updates(&self) -> u64 {
        self.count.0.load(Relaxed)
    }
}

/// A lock of any kind that is tried.
trait TriedLock<E: Execution>: Loops<E, Local = ThreadTally> {
    /// Runs `section` while holding the lock.
    fn hold(&self, section: &mut dyn FnMut());
}

impl<L: BenchLock, E: Execution> TriedLock<E> for Tries<L, E> {
    fn hold(&self, section: &mut dyn FnMut()) {
        self.lock.0.with(section);
    }
}

/// What the lock is like that is tried.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Thin,
    Fat,
    Locked,
}

pub(crate) fn run<L: BenchLock, E: Execution>(conditions: &Conditions) -> Result<Vec<Row>, End> {
    let make = |form| -> Arc<dyn TriedLock<E>> {
        let lock = L::new();
        if form == Form::Fat {
            lock.make_fat();
        }
        Arc::new(Tries::new(lock, form == Form::Locked))
    };
    try_forms(conditions, L::HAS_FAT_FORM, &make)
}

fn try_forms<E: Execution>(
    conditions: &Conditions,
    has_fat_form: bool,
    make: &dyn Fn(Form) -> Arc<dyn TriedLock<E>>,
) -> Result<Vec<Row>, End> {
    let named = |name: &str, row: Row| Row { workload: format!("{}/{name}", conditions.workload), ..row };
    let mut rows = vec![named("thin", measure(conditions, make(Form::Thin), false)?)];
    if has_fat_form {
        rows.push(named("fat", measure(conditions, make(Form::Fat), false)?));
    }
    rows.push(named("locked", while_held(conditions, make(Form::Locked))?));
    Ok(rows)
}

/// Attempts while another thread holds the lock.
fn while_held<E: Execution>(conditions: &Conditions, job: Arc<dyn TriedLock<E>>) -> Result<Row, End> {
    let signals = Arc::new(CachePadded((E::U32::new(0), E::U32::new(0))));
    let (held, theirs) = (job.clone(), signals.clone());
    let hold = move |_: &GroupState<E>, _| {
        let (is_held, may_go) = &theirs.0;
        held.hold(&mut || {
            count_one::<E>(is_held, 1);
            while may_go.load(Acquire) == 0 {
                E::wait_on(may_go, 0, None);
            }
        });
    };
    let holder = ThreadGroup::<E, ()>::start(conditions, 1, Arc::new(hold))?;
    holder.begin();
    let (is_held, may_go) = &signals.0;
    let held = holder.wait_for_all(is_held, "threads did not acquire");
    let row = held.and_then(|()| measure::<E, ThreadTally>(conditions, job, false));
    // Whatever happened, the holder must not be left asleep.
    may_go.store(1, Release);
    E::wake(may_go, 1);
    holder.dismiss()?;
    row
}
