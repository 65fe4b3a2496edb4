//! Warnings about what else the machine did, which the measuring program gives and the report has to know.

/// What a complaint about the load says, and no other warning.
pub const TOO_LOW: &str = "figures of that time are too low";
/// What a complaint about the pace says.
pub const PACE_CHANGED: &str = "the machine's own pace changed";
/// If a unit of work takes so many times as long as it can, the machine is slow.
pub const SLOW: f64 = 1.15;

/// Whether a warning is about what else the machine did.
pub fn is_noise(warning: &str) -> bool {
    warning.contains(TOO_LOW) || warning.contains(PACE_CHANGED)
}
