//! How far the tests search. A developer waits for them at each change, so they go only so far, unless `ONDECK_LONG` is
//! set in the environment, as it is in the nightly tests and where mutants are tried: then to the end.

/// Executions of a loom model that is cut short. Loom takes them in a fixed order, so they are the same each time.
#[cfg(feature = "models")]
pub(crate) const MODEL: usize = 300;
/// And of one that has not met by then what it is there for.
#[cfg(feature = "models")]
pub(crate) const MOST_OF_MODEL: usize = 16 * MODEL;
/// Random schedules of a search that is cut short.
#[cfg(feature = "models")]
pub(crate) const SCHEDULES: usize = 200;

/// Whether searches go to their end. Only then must they have met what they are there for.
pub fn is_whole() -> bool {
    std::env::var_os("ONDECK_LONG").is_some()
}
