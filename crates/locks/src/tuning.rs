//! How the constants of an algorithm reach its text.

/// A choice of constants for the algorithm whose constants form a `C`, made as a type.
///
/// As a type the choice costs no memory in the lock and no load on its paths, and one program can hold the same lock
/// with several choices side by side: a model checker names its own to shrink the spinning, a simulator to sweep it.
///
/// # Example
///
/// ```
/// use ondeck_locks::monitor::Tuning;
/// use ondeck_locks::{Defaults, Tuned};
///
/// struct DeflatesAtOnce;
///
/// impl Tuned<Tuning> for DeflatesAtOnce {
///     const TUNING: Tuning = Tuning { calm_exits: 1, ..<Defaults as Tuned<Tuning>>::TUNING };
/// }
///
/// assert!(DeflatesAtOnce::TUNING.calm_exits < <Defaults as Tuned<Tuning>>::TUNING.calm_exits);
/// ```
pub trait Tuned<C>: Send + Sync + 'static {
    /// The constants.
    const TUNING: C;
}

/// The constants that each algorithm was published with; those of the yardsticks are argued in their files.
#[derive(Clone, Copy, Debug)]
pub struct Defaults;

/// The constants with which PR 14216 of dotnet/coreclr shows its monitors at lower spin budgets.
#[derive(Clone, Copy, Debug)]
pub struct LowerSpin;

/// The constants with which PR 14216 of dotnet/coreclr shows its monitors with spinning disabled.
#[derive(Clone, Copy, Debug)]
pub struct NoSpin;
