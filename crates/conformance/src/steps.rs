//! Which steps of which algorithm have been taken in this process: coverage in the words of the step tables.

use ondeck_platform::Step;
use std::collections::BTreeSet;
use std::sync::Mutex;

static TAKEN: Mutex<BTreeSet<(&str, &str)>> = Mutex::new(BTreeSet::new());

/// Called by the modelled platforms. Never held across a switch of coroutines.
pub(crate) fn record(step: Step) {
    if let Ok(mut taken) = TAKEN.lock() {
        taken.insert((step.lock, step.name));
    }
}

/// The names of the steps of `lock` that some model or schedule of this process has taken.
pub fn taken(lock: &str) -> BTreeSet<&'static str> {
    let taken = TAKEN.lock().map(|taken| taken.clone()).unwrap_or_default();
    taken.into_iter().filter(|&(of, _)| of == lock).map(|(_, name)| name).collect()
}
