//! Which steps of which algorithm have been taken: coverage of this process in the words of the step tables, and the
//! story of the present execution, which a failure prints.

use crate::sequences;
use ondeck_core::Step;
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

/// A new execution begins.
pub(crate) fn begin_execution() {
    STORY.with_borrow_mut(Vec::clear);
    sequences::begin_execution();
}

/// Whether the present execution took the steps of `pattern` in this order, by whatever threads, with any others between.
pub(crate) fn contain(pattern: &[&str]) -> bool {
    STORY.with_borrow(|story| {
        let mut wanted = pattern.iter().peekable();
        for (_, name) in story {
            wanted.next_if(|next| *next == name);
        }
        wanted.peek().is_none()
    })
}

/// The steps of the present execution, each once.
pub(crate) fn present() -> BTreeSet<&'static str> {
    STORY.with_borrow(|story| story.iter().map(|&(_, name)| name).collect())
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
