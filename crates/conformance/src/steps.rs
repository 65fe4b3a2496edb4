//! Which steps of which algorithm have been taken: coverage of this process in the words of the step tables, and the
//! story of the present execution, which a failure prints.

use ondeck_platform::Step;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Mutex;

static TAKEN: Mutex<BTreeSet<(&str, &str)>> = Mutex::new(BTreeSet::new());

thread_local! {
    /// The present execution on this real thread: thread of the model and step.
    static STORY: RefCell<Vec<(usize, &'static str)>> = const { RefCell::new(Vec::new()) };
}

/// Called by the modelled platforms. Never held across a switch of coroutines.
pub(crate) fn record(thread: usize, step: Step) {
    STORY.with_borrow_mut(|story| story.push((thread, step.name)));
    if let Ok(mut taken) = TAKEN.lock() {
        taken.insert((step.lock, step.name));
    }
}

/// A new execution begins; returns the names of the steps of the one before.
pub(crate) fn begin_execution() -> BTreeSet<&'static str> {
    STORY.with_borrow_mut(|story| story.drain(..).map(|(_, name)| name).collect())
}

/// Which steps the executions of one model took, execution by execution.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    kinds: BTreeSet<BTreeSet<&'static str>>,
}

impl Coverage {
    pub(crate) fn add(&mut self, execution: BTreeSet<&'static str>) {
        self.kinds.insert(execution);
    }

    /// Every step that some execution took, in one line.
    pub(crate) fn all(&self) -> String {
        let all: BTreeSet<&str> = self.kinds.iter().flatten().copied().collect();
        all.into_iter().collect::<Vec<_>>().join(" ")
    }

    /// Panics unless some execution took all of `steps`: a model that is named after a race must contain it.
    pub fn assert_together(&self, steps: &[&str]) {
        let has_all = |kind: &BTreeSet<&str>| steps.iter().all(|step| kind.contains(step));
        assert!(self.kinds.iter().any(has_all), "no execution took all of {steps:?}");
    }
}

/// The steps of the present execution in one line, each as thread and name.
pub(crate) fn story() -> String {
    let mut line = String::new();
    STORY.with_borrow(|story| {
        for (thread, name) in story {
            // Writing to a string cannot fail.
            let _ = write!(line, " {thread}:{name}");
        }
    });
    line
}

/// The names of the steps of `lock` that some model or schedule of this process has taken.
pub fn taken(lock: &str) -> BTreeSet<&'static str> {
    let taken = TAKEN.lock().map(|taken| taken.clone()).unwrap_or_default();
    taken.into_iter().filter(|&(of, _)| of == lock).map(|(_, name)| name).collect()
}
