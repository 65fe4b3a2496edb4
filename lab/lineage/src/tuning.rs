//! How an algorithm gets its constants.

/// A choice of constants for an algorithm, as a type. `C` is the struct of the algorithm's constants.
///
/// As the choice is a type, it costs no memory in the lock and no load on its paths. One program can also use the same
/// lock with several choices: a model checker chooses shorter spinning, and a simulator tries many values.
///
/// # Example
///
/// ```
/// use ondeck_lineage::coreclr_monitor::Tuning;
/// use ondeck_lineage::{Defaults, TuningSource};
///
/// struct StarvesSoon;
///
/// impl TuningSource<Tuning> for StarvesSoon {
///     const TUNING: Tuning = Tuning { starved_after_ms: 1, ..<Defaults as TuningSource<Tuning>>::TUNING };
/// }
///
/// assert!(StarvesSoon::TUNING.starved_after_ms < <Defaults as TuningSource<Tuning>>::TUNING.starved_after_ms);
/// ```
pub trait TuningSource<C>: Send + Sync + 'static {
    /// The constants.
    const TUNING: C;
}

/// The default constants of each algorithm. The file of each algorithm says where they come from.
#[derive(Clone, Copy, Debug)]
pub struct Defaults;
