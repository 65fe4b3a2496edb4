//! Warnings about what else the machine did, which the measuring program gives and the report has to know.

use ondeck_kit::wording::counted;

/// What a complaint about the load says, and no other warning.
pub const TOO_LOW: &str = "figures of that time are too low";
/// What a complaint about the pace says.
pub const PACE_CHANGED: &str = "the machine's own pace changed";
/// If a unit of work takes so many times as long as it can, the machine is slow.
pub const SLOW: f64 = 1.15;

/// What is told of a measurement beside so many busy loops.
pub fn busy_loops(n: u32) -> String {
    let loops = counted(n as usize, "busy loop");
    format!("{loops} ran beside the measurements (--load {n}): compare only with figures of the same load")
}

/// Whether a warning is about what else the machine did.
pub fn is_noise(warning: &str) -> bool {
    warning.contains(TOO_LOW) || warning.contains(PACE_CHANGED)
}
