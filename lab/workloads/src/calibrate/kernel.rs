//! What the release of the kernel says about its scheduler.

/// How the scheduler of a release works.
#[derive(Debug, PartialEq)]
pub(super) struct Rules {
    /// A base slice, which grows with the CPUs, up to eight.
    pub(super) slice_ms: f64,
    /// How often the clock ticks.
    pub(super) tick_ms: Option<f64>,
    pub(super) delays_dequeue: bool,
    pub(super) yield_forfeits: bool,
    /// Whether CPUs that fall idle look for work according to how often that helped.
    pub(super) looks_seldom: bool,
}

impl Rules {
    /// A release that cannot be read counts as the newest.
    pub(super) fn of(release: &str, cpus: u32) -> Rules {
        let version = version(release).unwrap_or((u32::MAX, 0));
        let base_ms = if version >= (6, 15) { 0.70 } else { 0.75 };
        Rules {
            slice_ms: base_ms * f64::from(1 + cpus.clamp(1, 8).ilog2()),
            tick_ms: tick_ms(),
            delays_dequeue: version >= (6, 12),
            yield_forfeits: version >= (6, 18),
            looks_seldom: version >= (6, 18),
        }
    }
}

/// The first two numbers of a release, as in `6.18.44-generic`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The coarse clock is set at each tick, so what it is good for is a tick.
#[cfg(target_os = "linux")]
fn tick_ms() -> Option<f64> {
    let mut resolution = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec that we own.
    let failed = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut resolution) } != 0;
    let ms = resolution.tv_nsec as f64 / 1e6;
    (!failed && resolution.tv_sec == 0 && ms >= 0.5).then_some(ms)
}

#[cfg(not(target_os = "linux"))]
fn tick_ms() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_with_their_release() {
        let of = |release| {
            let rules = Rules::of(release, 4);
            (rules.slice_ms, rules.delays_dequeue, rules.yield_forfeits, rules.looks_seldom)
        };
        assert_eq!(of("6.6.0-generic"), (2.25, false, false, false));
        assert_eq!(of("6.12.3"), (2.25, true, false, false));
        assert_eq!(of("6.18.44-fc"), (0.70 * 3.0, true, true, true));
        assert_eq!(of("7.0-rc1"), of("6.18"));
        assert_eq!(of("of my own"), of("6.18"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_clock_ticks_100_to_1000_times_a_second() {
        let tick_ms = tick_ms().expect("Linux has a coarse clock");
        assert!((0.9..=10.1).contains(&tick_ms), "{tick_ms}");
    }
}
