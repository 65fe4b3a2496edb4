//! `monitor-try-enter`, after the tests of that name in dotnet/coreclr PR 14216: what does an attempt cost that never
//! waits?
//!
//! One thread tries, in up to three rows: `monitor-try-enter/thin`, the lock free and as it is made; `/fat`, the lock
//! free and in its larger form, of locks that have one; `/locked`, another thread holds the lock and sleeps.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::crew::{Crew, Stage, count_one};
use crate::measure::{Job, Loops, Meter, measure};
use crate::world::{Alone, World};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Attempts per turn, as in `solo`.
const PER_TURN: u64 = 100;

struct Tries<L, W: World> {
    lock: Alone<L>,
    /// Attempts that succeeded.
    count: Alone<W::U64>,
    /// Whether another thread holds the lock, so that none may succeed.
    is_held: bool,
}

/// What one thread knows of its attempts.
struct Mine {
    succeeded: u64,
}

impl<L: BenchLock, W: World> Tries<L, W> {
    fn new(lock: L, is_held: bool) -> Self {
        Tries { lock: Alone(lock), count: Alone(W::U64::new(0)), is_held }
    }
}

impl<L: BenchLock, W: World> Job for Tries<L, W> {
    type Local = Mine;

    fn local(&self, _me: u32) -> Mine {
        Mine { succeeded: 0 }
    }

    #[inline(always)]
    fn turn<M: Meter>(&self, mine: &mut Mine, _meter: &mut M) {
        for _ in 0..PER_TURN {
            let entered = self.lock.0.try_with(|| W::add_one(&self.count.0));
            mine.succeeded += u64::from(entered.is_some());
        }
    }

    fn ops_per_turn(&self) -> u64 {
        PER_TURN
    }

    fn made(&self, mine: &Mine, _turns: u64) -> u64 {
        if self.is_held { 0 } else { mine.succeeded }
    }

    fn updates(&self) -> u64 {
        self.count.0.load(Relaxed)
    }
}

/// A lock of any kind that is tried.
trait Tried<W: World>: Loops<W, Local = Mine> {
    /// Runs `section` while holding the lock.
    fn hold(&self, section: &mut dyn FnMut());
}

impl<L: BenchLock, W: World> Tried<W> for Tries<L, W> {
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

pub(crate) fn run<L: BenchLock, W: World>(conditions: &Conditions) -> Result<Vec<Row>, End> {
    let make = |form| -> Arc<dyn Tried<W>> {
        let lock = L::new();
        if form == Form::Fat {
            lock.make_fat();
        }
        Arc::new(Tries::new(lock, form == Form::Locked))
    };
    try_forms(conditions, L::HAS_FAT_FORM, &make)
}

fn try_forms<W: World>(
    conditions: &Conditions,
    has_fat_form: bool,
    make: &dyn Fn(Form) -> Arc<dyn Tried<W>>,
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
fn while_held<W: World>(conditions: &Conditions, job: Arc<dyn Tried<W>>) -> Result<Row, End> {
    let signals = Arc::new(Alone((W::U32::new(0), W::U32::new(0))));
    let (held, theirs) = (job.clone(), signals.clone());
    let hold = move |_: &Stage<W>, _| {
        let (is_held, may_go) = &theirs.0;
        held.hold(&mut || {
            count_one::<W>(is_held, 1);
            while may_go.load(Acquire) == 0 {
                W::wait_on(may_go, 0, None);
            }
        });
    };
    let holder = Crew::<W, ()>::start(conditions, 1, Arc::new(hold))?;
    holder.begin();
    let (is_held, may_go) = &signals.0;
    let held = holder.wait_for_all(is_held, "threads did not acquire");
    let row = held.and_then(|()| measure::<W, Mine>(conditions, job, false));
    // Whatever happened, the holder must not be left asleep.
    may_go.store(1, Release);
    W::wake(may_go, 1);
    holder.dismiss()?;
    row
}
