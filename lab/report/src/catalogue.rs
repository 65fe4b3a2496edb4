//! What there is to be run, as far as a report cares: names in the order in which they are best read.

/// The lock that the others are compared with.
pub const FLAGSHIP: &str = "ondeck";

/// Names of workloads and locks. What it does not name is shown after what it does, in the order of appearance.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// The workloads, without their parameters or with them.
    pub workloads: Vec<String>,
    /// The locks.
    pub locks: Vec<String>,
    /// Those of the locks that are other projects': the flagship is compared with the best of them.
    pub peers: Vec<String>,
}

impl Catalogue {
    /// These names.
    pub fn new<T: ToString>(workloads: &[T], locks: &[T], peers: &[T]) -> Catalogue {
        let owned = |names: &[T]| names.iter().map(T::to_string).collect();
        Catalogue { workloads: owned(workloads), locks: owned(locks), peers: owned(peers) }
    }
}
